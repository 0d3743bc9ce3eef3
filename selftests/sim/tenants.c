// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tenants: contexts of one user with a low limit. An arm is refused only if there may be as many
 * timers as the limit allows at some moment of the call, however the contexts make and end theirs
 * beside each other; and there are never more, not even of a context whose clock is changed before
 * it has a timer. An administrator may change the limit meanwhile: then that of some moment of the
 * call counts.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "oracle.h"

#define TENANTS		3U
#define ROUNDS		12U
/* So often an administrator changes the limit. */
#define CHANGES		60U

/* From one number to another one */
struct range {
	u32 low, high;
};

/* How many timers there are for sure, and at most, as some are being made or ended */
static struct range timers;
/* What the limit is, or is being changed from and to */
static struct range limit;
/*
 * By tenant, since its call began: the fewest that there were for sure and the most that there may
 * have been, what the limit was, and was memory short?
 */
static struct range seen[TENANTS], limits[TENANTS];
static bool lacked[TENANTS];
/* There is an administrator. */
static bool administered;

/* @range has @now in it, too. */
static void widen(struct range *range, const struct range *now)
{
	range->low = min(range->low, now->low);
	range->high = max(range->high, now->high);
}

/* The number of timers or the limit has changed. */
static void note(void)
{
	u32 i;

	for (i = 0; i < TENANTS; i++) {
		widen(&seen[i], &timers);
		widen(&limits[i], &limit);
	}
}

void tenants_config(struct sim_config *config, u64 seed)
{
	config->cpus = 2 + by_seed(seed, 53, 2);
	config->signal_chance = 0;
	/* What is killed while it waits may have waited for a moment only. */
	config->kill_chance = is_crowd(seed) ? 8 * config->kill_chance : 0;
	config->fault_chance = 0;
	config->efault_chance = 0;
	config->fail_chance = 0;
}

static bool make(u32 tenant, struct context *c, u64 *handle)
{
	struct twheel_arm arm = {
		.flags		= TWHEEL_ARM_ABS,
		.expires	= time_of(c) + 3600 * NSEC_PER_SEC,
	};
	long ret;

	timers.high++;
	seen[tenant] = timers;
	limits[tenant] = limit;
	lacked[tenant] = sim_config.fail_chance;
	note();
	ret = call_arm(c, &arm);
	*handle = arm.handle;
	if (!ret) {
		expect(seen[tenant].low < limits[tenant].high && timers.low < TENANTS_LIMIT,
		       CONTAINED, "a timer is made beside %u, now %u, of %u", seen[tenant].low,
		       timers.low, limits[tenant].high);
		timers.low++;
		return true;
	}
	expect((ret == -EDQUOT && seen[tenant].high > limits[tenant].low) ||
	       (ret == -ENOMEM && lacked[tenant]), CONTAINED,
	       "an arm fails with %ld, and there are %u timers at most of %u", ret,
	       seen[tenant].high, limits[tenant].low);
	timers.high--;
	return false;
}

static void end(struct context *c, u64 handle)
{
	struct twheel_cancel cancel = { .handle = handle };
	long ret;

	timers.low--;
	note();
	ret = call_cancel(c, &cancel);
	expect(!ret, CONTAINED, "a tenant's cancel fails with %ld", ret);
	timers.high--;
}

static void configure(struct context *c, clockid_t clock)
{
	struct twheel_config config = { .clock = clock };
	long ret = call_config(c, &config);

	/* Room that was made for a timer stays if the limit became lower then. */
	if (ret == -EBUSY && administered)
		return;
	expect(!ret, CONTAINED, "a tenant cannot be configured: %ld", ret);
	c->clock = clock;
}

/* Begin with a clock on which the first arms fail, most likely. Returns whether one has not. */
static bool change_clock(u32 tenant, struct context *c, u64 *handle)
{
	bool made = false;
	u32 i, arms;

	configure(c, CLOCK_MONOTONIC);
	sim_config.fail_chance = 60000;
	for (i = 0; i < TENANTS; i++)
		lacked[i] = true;
	for (arms = 1 + sim_below(4); arms && !made; arms--) {
		made = make(tenant, c, handle);
		sim_move((int)sim_below(sim_config.cpus));
	}
	sim_config.fail_chance = 0;
	if (!made)
		configure(c, CLOCK_BOOTTIME);
	return made;
}

static void tenant_main(void *arg)
{
	u32 tenant = (u32)(uintptr_t)arg, rounds = ROUNDS, n, left;
	u64 handles[TENANTS_LIMIT];
	struct context *c = &world.contexts[1 + tenant];

	while (rounds--) {
		/* Memory may be short, and an open does not wait for what is about to be freed. */
		while (call_open(c, FMODE_READ | FMODE_WRITE))
			sim_sleep_until(sim_now() + NSEC_PER_MSEC);
		c->clock = CLOCK_MONOTONIC;
		n = sim_below(2) ? change_clock(tenant, c, handles) : 0;
		for (left = sim_below(40); left; left--) {
			if (!sim_below(8))
				sim_move((int)sim_below(sim_config.cpus));
			if (n < TENANTS_LIMIT && sim_below(3) && make(tenant, c, &handles[n]))
				n++;
			else if (n)
				end(c, handles[--n]);
		}
		timers.low -= n;
		note();
		call_close(c);
		timers.high -= n;
	}
	world.owners_left--;
}

static void administrator_main(void *unused)
{
	u32 low = TENANTS_LIMIT / 4 + sim_below(TENANTS_LIMIT / 2), i, n;
	/* It is lower for moments, and then what it was. */
	bool to_and_fro = sim_below(3);

	for (i = 0; i < CHANGES; i++) {
		sim_sleep_until(sim_now() + sim_below(to_and_fro && i % 2 ? 6000 : 30000));
		n = TENANTS_LIMIT / 4 + sim_below(TENANTS_LIMIT);
		n = min(n, TENANTS_LIMIT);
		if (to_and_fro)
			n = i % 2 ? TENANTS_LIMIT : low;
		sim_trace("the limit becomes %u", n);
		widen(&limit, &(struct range){ n, n });
		note();
		sim_set_user_limit(n);
		limit = (struct range){ n, n };
	}
	world.owners_left--;
}

void tenants_spawn(void)
{
	u32 i;

	timers = (struct range){ };
	limit = (struct range){ TENANTS_LIMIT, TENANTS_LIMIT };
	for (i = 0; i < TENANTS; i++, world.owners_left++) {
		world.contexts[1 + i].nr = 1 + i;
		world.contexts[1 + i].cred = one_of(world.cred, i);
		sim_spawn("tenant", (int)i, tenant_main, (void *)(uintptr_t)i,
			  (int)(i % sim_config.cpus), false);
	}
	administered = sim_below(3);
	if (administered) {
		world.owners_left++;
		sim_spawn("administrator", 0, administrator_main, NULL, 0, false);
	}
}
