// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tenants: contexts of one user with a low limit. An arm is refused only if there may be as many
 * timers as the limit allows at some moment of the call, however the contexts make and end theirs
 * beside each other; and there are never more, not even of a context whose clock is changed before
 * it has a timer.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "oracle.h"

#define TENANTS		3U
#define ROUNDS		12U

/* How many timers there are for sure, and at most, as some are being made or ended */
static u32 surely, perhaps;
/* By tenant: the most that there may have been since its call began, and was memory short? */
static u32 most[TENANTS];
static bool lacked[TENANTS];

void tenants_config(struct sim_config *config, u64 seed)
{
	config->cpus = 2 + by_seed(seed, 53, 2);
	config->signal_chance = 0;
	config->kill_chance = 0;
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
	u32 i;

	perhaps++;
	most[tenant] = 0;
	lacked[tenant] = sim_config.fail_chance;
	for (i = 0; i < TENANTS; i++)
		most[i] = max(most[i], perhaps);
	ret = call_arm(c, &arm);
	*handle = arm.handle;
	if (!ret) {
		surely++;
		expect(surely <= TENANTS_LIMIT, CONTAINED, "there are %u timers of %u", surely,
		       TENANTS_LIMIT);
		return true;
	}
	expect((ret == -EDQUOT && most[tenant] > TENANTS_LIMIT) ||
	       (ret == -ENOMEM && lacked[tenant]), CONTAINED,
	       "an arm fails with %ld, and there are %u timers at most", ret, most[tenant]);
	perhaps--;
	return false;
}

static void end(struct context *c, u64 handle)
{
	struct twheel_cancel cancel = { .handle = handle };
	long ret;

	surely--;
	ret = call_cancel(c, &cancel);
	expect(!ret, CONTAINED, "a tenant's cancel fails with %ld", ret);
	perhaps--;
}

static void configure(struct context *c, clockid_t clock)
{
	struct twheel_config config = { .clock = clock };
	long ret = call_config(c, &config);

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
		surely -= n;
		call_close(c);
		perhaps -= n;
	}
	world.owners_left--;
}

void tenants_spawn(void)
{
	u32 i;

	surely = 0;
	perhaps = 0;
	for (i = 0; i < TENANTS; i++, world.owners_left++) {
		world.contexts[1 + i].nr = 1 + i;
		world.contexts[1 + i].cred = world.cred;
		sim_spawn("tenant", (int)i, tenant_main, (void *)(uintptr_t)i,
			  (int)(i % sim_config.cpus), false);
	}
}
