// SPDX-License-Identifier: GPL-2.0-only
/* Many timers at once: lists, drains, and more timers than a chunk holds. */
#include <stdlib.h>
#include <string.h>

#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/mm.h>

#include "oracle.h"

void do_peep(struct context *c)
{
	u32 n = sim_below(8);

	while (n--) {
		struct twheel_timer_info info = {
			.handle = keyed(c) ? 0x9999000000 + sim_below(300) :
				  0xF0000000ULL << 32 | sim_below(1024),
		};
		long ret = call_get(c, &info);

		expect(ret == -ENOENT || oracle_may_lack(ret), CONTAINED,
		       "GET of no timer: %ld", ret);
	}
}

void do_list(struct context *c, bool drain)
{
	struct twheel_timer_info infos[8];
	struct twheel_list list = {
		.entries	= (uintptr_t)infos,
		.count		= ARRAY_SIZE(infos),
		.flags		= drain ? TWHEEL_LIST_DRAIN : 0,
	};
	u64 began = oracle_stamp();
	bool read_only = false;
	long ret, i;

	if (sim_config.efault_chance && !sim_below(8))
		read_only = sim_hole(&list.cursor);
	else if (sim_config.efault_chance && sim_below(2))
		sim_hole((char *)infos + sim_below(sizeof(infos)));
	c->drains += drain;
	c->draining += drain;
	/* Wait for somebody who extends a lease, and goes on with that meanwhile. */
	for (i = 0; drain && leases(c) && !c->extending && i < 200; i++)
		sim_sleep_until(sim_now() + sim_below(20000));
	ret = call_list(c, &list);
	c->draining -= drain;
	expect(ret >= 0 || ((ret == -EINTR || ret == -ERESTARTSYS) && sim_config.signal_chance) ||
	       oracle_may_lack(ret) || (ret == -EFAULT && sim_config.fault_chance), CONTAINED,
	       "a list fails with %ld", ret);
	expect(!read_only || ret < 0, STABLE_INTERFACE,
	       "a list whose cursor cannot be stored returns %ld", ret);
	for (i = 0; i < ret; i++)
		oracle_listed(c, &infos[i], drain, began);
}

/* Was @a, of @c, pending from stamp @began until now, as far as @o knows? */
static bool was_pending(const struct owner *o, const struct context *c, const struct arming *a,
			u64 began)
{
	if (a->ctx != c->nr || a->end != LIVE || a->armed > began || a->shared || a->interval)
		return false;
	/* Somebody may just be ending it; or it may have expired before the clock was set back. */
	if ((a->owner != o->nr && world.owners[a->owner].busy) || was_set(c, a))
		return false;
	return !is_wild(c, a) && a->low > latest_time_of(c);
}

void do_walk(struct owner *o, struct context *c, u32 made)
{
	struct twheel_timer_info infos[5];
	struct twheel_list list = { .entries = (uintptr_t)infos, .count = ARRAY_SIZE(infos) };
	u32 n = world.nr_armings, found = 0, drains = c->drains, i;
	u64 mine = NEVER_TOLD | (u64)o->nr << 32, began;
	bool drained = c->draining;
	u8 *seen = calloc(n + 1, 1);
	long ret, k;

	/* What nobody has told this task of need not be listed. */
	drain_all();
	began = oracle_stamp();
	do {
		ret = call_list(c, &list);
		for (k = 0; k < ret; k++) {
			u64 nr = infos[k].user_data - 1;

			found += (infos[k].user_data & ~0xffffffffULL) == mine;
			if (nr < n)
				seen[nr]++;
		}
		if (!sim_below(8))
			sim_sleep_until(sim_now() + sim_below(TICK));
	} while (ret > 0 || ret == -ERESTARTSYS);
	/* Where the cursor could not be stored the walk has gone back. */
	if (!ret && !sim_stats.efaults) {
		for (i = 0; i < n; i++)
			expect(seen[i] < 2 || arming_of(i)->shared, EXACTLY_ONCE,
			       "arming %u is listed twice", i + 1);
		/* A drain tells what it has ended when it returns. */
		drained |= c->drains != drains;
		expect(drained || found == made, EXACTLY_ONCE,
		       "%u timers are listed that were pending all the while, and there are %u",
		       found, made);
		for (i = 0; i < n && !drained; i++)
			expect(seen[i] || !was_pending(o, c, arming_of(i), began), EXACTLY_ONCE,
			       "arming %u was pending all the while, and is not listed", i + 1);
	}
	free(seen);
}

static void cancel_bulk(struct context *c, struct twheel_cancel *cancels, u32 n)
{
	u32 done = 0;
	long ret;

	while (done < n) {
		ret = call_cancel_batch(c, cancels + done, n - done);
		expect(ret > 0 || oracle_may_lack(ret), CONTAINED, "a batch fails with %ld", ret);
		done += ret > 0 ? (u32)ret : 0;
	}
}

void *user_memory(size_t size)
{
	size_t whole = (size + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;

	return memset(aligned_alloc(PAGE_SIZE, whole), 0, whole);
}

void do_bulk(struct owner *o, struct context *c)
{
	/* Sometimes so many that the table of chunks, or that of keys, needs more pages. */
	const u32 all = sim_below(keyed(c) ? 8 : 16) ? 70 : 700;
	struct twheel_arm *arms = user_memory(all * sizeof(*arms));
	struct twheel_cancel *cancels = user_memory(all * sizeof(*cancels));
	u32 i, n = 0, made = 0, drains = c->drains;
	bool drained = c->draining;
	long ret;

	for (i = 0; i < all; i++)
		arms[i] = (struct twheel_arm) {
			.handle		= keyed(c) ? 0x10000 * (o->nr + 1) + i : 0,
			.user_data	= NEVER_TOLD | (u64)o->nr << 32 | i,
			.flags		= TWHEEL_ARM_ABS,
			.expires	= time_of(c) + 3600 * NSEC_PER_SEC,
		};
	ret = call_arm_batch(c, arms, all);
	for (i = 0; i < all; i++) {
		bool is_made = (long)i < ret && !arms[i].result;

		made += is_made;
		if (keyed(c) || is_made)
			cancels[n++].handle = arms[i].handle;
	}
	if (has(LISTS) && !sim_stats.efaults && !drained && c->drains == drains && !sim_below(3))
		do_walk(o, c, made);
	cancel_bulk(c, cancels, n);
	for (i = 0; i < n; i++)
		expect(!cancels[i].result || cancels[i].result == -ENOENT, CONTAINED,
		       "a cancel fails with %d", cancels[i].result);
	free(arms);
	free(cancels);
}
