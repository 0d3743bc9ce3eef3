// SPDX-License-Identifier: GPL-2.0-only
/*
 * A crowd: contexts of one user that come and go, under a limit on memory that is often reached.
 * What was closed counts until a grace period is over, and what a context keeps after its last
 * timer has ended until somebody wants it. So an arm waits for the one, and takes the other: it is
 * refused only if what contexts need may be all there is. And they never have more.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "oracle.h"

#define CROWD_MAX	14U
#define ROUNDS		12U
/* What the user may have: see max_memory() in the module's quota.c */
#define LIMIT		(16 * 4096U + 96 * TENANTS_LIMIT)
/* The most that a context takes before it has a timer */
#define EMPTY		1024U
/* Timers come in chunks of that size, and words in pages; keys have a table. */
#define CHUNK		4096U
#define KEYS		6144U
/*
 * The wait of an arm ends with a grace period, and not when it has been too long, which a second
 * is. Others may take what has left, several times: of a million arms 200 took more than 200 ms, 13
 * more than 300.
 */
#define MOST_NS		(9 * NSEC_PER_SEC / 10)

/* How many bytes contexts have for timers and words for sure, and how many they may need */
static u32 had, needed;
/* By member, the most that @needed has been since its call began */
static u32 seen[CROWD_MAX];

static void need(u32 bytes)
{
	u32 i;

	needed += bytes;
	for (i = 0; i < CROWD_MAX; i++)
		seen[i] = max(seen[i], needed);
}

/* Arm a timer of @c, which then takes @bytes. Returns its handle, or 0 if it is refused. */
static u64 make(u32 nr, struct context *c, u32 bytes)
{
	struct twheel_arm arm = {
		.handle		= keyed(c),
		.flags		= TWHEEL_ARM_ABS | (leases(c) ? TWHEEL_ARM_LEASE : 0),
		.expires	= time_of(c) + 3600 * NSEC_PER_SEC,
	};
	u64 began = sim_now();
	long ret;

	seen[nr] = needed;
	ret = call_arm(c, &arm);
	expect(sim_now() - began < MOST_NS, CONSTANT_COST, "an arm takes %llu ns",
	       sim_now() - began);
	if (!ret) {
		had += bytes;
		expect(had <= LIMIT, CONTAINED, "contexts have %u bytes, of %u", had, LIMIT);
		return arm.handle;
	}
	expect((ret == -EDQUOT && seen[nr] + CROWD_MAX * EMPTY > LIMIT) ||
	       (ret != -EDQUOT && oracle_may_lack(ret)), CONTAINED,
	       "an arm fails with %ld, and contexts need %u bytes at most", ret, seen[nr]);
	return 0;
}

static void sleep_a_little(void)
{
	if (sim_below(2))
		sim_sleep_until(sim_now() + sim_below(50000));
}

static void open_member(struct context *c)
{
	u32 tries = 0;

	c->config.flags = (sim_below(2) ? TWHEEL_CONFIG_LEASE : 0) |
			  (sim_below(4) ? 0 : TWHEEL_CONFIG_KEYED);
	/* An open does not wait for what is about to be freed. */
	while (call_open(c, FMODE_READ | FMODE_WRITE)) {
		expect(++tries < 1000, CONTAINED, "a user cannot open the device any more");
		sim_sleep_until(sim_now() + NSEC_PER_MSEC);
	}
	while (call_config(c, &c->config))
		expect(sim_config.kill_chance, CONTAINED, "settings are refused");
}

static void member_main(void *arg)
{
	u32 nr = (u32)(uintptr_t)arg, rounds = ROUNDS, bytes;
	struct context *c = &world.contexts[1 + nr];
	struct twheel_cancel cancel;

	while (rounds--) {
		open_member(c);
		bytes = leases(c) ? CHUNK + 4096 : CHUNK;
		need(keyed(c) ? bytes + KEYS : bytes);
		cancel = (struct twheel_cancel){ .handle = make(nr, c, bytes) };
		sleep_a_little();
		if (cancel.handle)
			had -= bytes;
		if (cancel.handle && sim_below(2)) {
			expect(!call_cancel(c, &cancel), CONTAINED, "a cancel fails");
			/* It keeps its chunk until others want it, and its words. */
			bytes -= CHUNK;
			needed -= CHUNK;
			sleep_a_little();
		}
		call_close(c);
		needed -= keyed(c) ? bytes + KEYS : bytes;
	}
	world.owners_left--;
}

void crowd_spawn(void)
{
	u32 n = 4 + sim_below(CROWD_MAX - 3), i;
	/* Nobody is this user yet, and there are moments at which nobody is any more. */
	struct cred user = world.cred;

	user.uid.val += 128;
	had = 0;
	needed = 0;
	for (i = 0; i < n; i++, world.owners_left++) {
		world.contexts[1 + i].nr = 1 + i;
		world.contexts[1 + i].cred = one_of(user, i);
		world.contexts[1 + i].clock = CLOCK_MONOTONIC;
		sim_spawn("member", (int)i, member_main, (void *)(uintptr_t)i,
			  (int)(i % sim_config.cpus), false);
	}
}
