// SPDX-License-Identifier: GPL-2.0-only
/* An owner: arms, pushes, extends, looks at and cancels timers of its own and shared ones. */
#include <string.h>

#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/mm.h>

#include "oracle.h"

u64 some_delay(void)
{
	/* What comes first is often what was armed last. */
	if (world.isolated)
		return sim_below((u32)TICK << sim_below(8));
	switch (sim_below(8)) {
	case 0:		return 0;
	case 1:		return sim_below(1000);
	case 2:
	case 3:		return sim_below(4 * TICK);
	case 4:
	case 5:		return sim_below(100) * TICK + sim_below(TICK);
	/* At the end of a level of the wheel */
	case 6:		return sim_below(70) * 64 * (TICK / 2);
	default:	return sim_below(3000) * TICK;
	}
}

static u64 key_of(const struct owner *o, u32 i)
{
	return 0x100 * (o->nr + 1ULL) + i;
}

/* By which handle or key timer @i is armed */
static u64 handle_of(const struct context *c, const struct owner *o, u32 i)
{
	if (keyed(c))
		return key_of(o, i);
	return o->own[i].live ? o->own[i].handle : 0;
}

static void choose_rounds(struct twheel_arm *arm)
{
	arm->interval = sim_below(2) ? 1 + sim_below(20 * TICK) : TICK * (1 + sim_below(40));
	arm->count = 1 + sim_below(6);
	if (!sim_below(3))
		arm->flags |= TWHEEL_ARM_FIXED_DELAY;
}

/* Choose how @handle is to be armed. */
static void choose(struct context *c, bool shared, u64 handle, struct twheel_arm *arm)
{
	u64 delay = some_delay();

	*arm = (struct twheel_arm){ .handle = handle, .expires = delay };
	if (leases(c) && !shared && sim_below(2))
		arm->flags |= TWHEEL_ARM_LEASE;
	else if (has(PERIODIC) && !shared && !sim_below(6))
		choose_rounds(arm);
	if (has(SLACK) && !sim_below(6))
		arm->slack = sim_below(16 * TICK);
	if (sim_below(2) || c->clock == CLOCK_REALTIME) {
		arm->flags |= TWHEEL_ARM_ABS;
		arm->expires += time_of(c);
		if (!sim_below(8))
			arm->expires -= sim_below(3 * TICK);
	}
	if (!has(CONDITIONS))
		return;
	if ((shared || keyed(c) || handle) && !sim_below(8))
		arm->flags |= TWHEEL_ARM_IF_PENDING;
	else if ((keyed(c) || !handle) && !sim_below(8))
		arm->flags |= TWHEEL_ARM_IF_NONE;
}

/* A call for @own, with arming @nr, has ended with EFAULT: see that there is no such timer now. */
static void settle(struct context *c, struct own *own, u32 nr, u64 handle)
{
	struct twheel_cancel cancel = { .handle = handle };
	bool rearm = own->live && handle && !keyed(c) && nr != U32_MAX;
	long ret;

	oracle_unsure(own, nr, !handle && !keyed(c));
	if (!handle)
		return;
	do {
		call_sure();
		ret = call_cancel(c, &cancel);
		call_sure_end();
	} while (ret == -EFAULT);
	expect(!ret || ret == -ENOENT, CONTAINED, "a cancel fails with %ld", ret);
	if (ret && rearm)
		oracle_owes(own->arming, nr);
}

static void arm_as(struct owner *o, struct context *c, u32 i, struct twheel_arm *asked)
{
	u32 nr = oracle_begins(c, o->nr, false, asked);
	struct own *own = &o->own[i];
	struct twheel_arm arm;
	long ret;

	asked->user_data = nr + 1;
	arm = *asked;
	ret = call_arm(c, &arm);
	if (ret == -EFAULT)
		settle(c, own, nr, asked->handle);
	else
		oracle_armed(c, own, nr, asked, &arm, ret);
}

static void do_arm(struct owner *o, struct context *c, u32 i)
{
	struct twheel_arm asked;

	choose(c, false, handle_of(c, o, i), &asked);
	arm_as(o, c, i, &asked);
}

/* In each context a timer that is due at one moment: many have records in one run of a wheel. */
static void do_everywhere(struct owner *o)
{
	u64 when = (sim_now() / TICK + 3 + sim_below(4)) * TICK;
	u32 i;

	o->busy = true;
	for (i = 0; i < world.nr_contexts; i++) {
		struct context *c = &world.contexts[i];
		struct twheel_arm asked = {
			.handle		= handle_of(c, o, i),
			.flags		= TWHEEL_ARM_ABS,
			.expires	= when + (time_of(c) - sim_now()),
		};

		arm_as(o, c, i, &asked);
	}
	o->busy = false;
}

static void do_arm_batch(struct owner *o, struct context *c)
{
	struct twheel_arm asked[MAX_OWN] = { }, arms[MAX_OWN];
	u32 nrs[MAX_OWN], which[MAX_OWN], n = 0, i;
	u64 handles[MAX_OWN];
	long ret;

	for (i = c->nr; i < world.nr_own; i += world.nr_contexts) {
		if (!sim_below(4))
			continue;
		handles[n] = handle_of(c, o, i);
		choose(c, false, handles[n], &asked[n]);
		nrs[n] = oracle_begins(c, o->nr, false, &asked[n]);
		asked[n].user_data = nrs[n] + 1;
		which[n++] = i;
	}
	memcpy(arms, asked, sizeof(arms));
	ret = call_arm_batch(c, arms, n);
	expect(ret == (long)n || ret >= 0 || oracle_may_lack(ret), CONTAINED,
	       "a batch fails with %ld", ret);
	expect(ret < 0 || ret == (long)n || sim_config.signal_chance || sim_stats.efaults,
	       CONTAINED, "%ld of %u entries of a batch were handled", ret, n);
	for (i = 0; i < n; i++) {
		struct own *own = &o->own[which[i]];

		if ((long)i < ret)
			oracle_armed(c, own, nrs[i], &asked[i], &arms[i], arms[i].result);
		else if (sim_stats.efaults)
			settle(c, own, nrs[i], handles[i]);
		else
			oracle_not_begun(nrs[i]);
	}
}

static void do_cancel(struct owner *o, struct context *c, u32 i)
{
	struct own *own = &o->own[i];
	struct twheel_cancel cancel = { .handle = own->handle };
	long ret;

	if (!own->live)
		return;
	ret = call_cancel(c, &cancel);
	if (ret == -EFAULT)
		settle(c, own, U32_MAX, own->handle);
	else
		oracle_cancelled(c, own, &cancel, ret);
}

static void do_get(struct owner *o, struct context *c, u32 i)
{
	struct own *own = &o->own[i];
	struct twheel_timer_info info = { .handle = own->handle };
	long ret;

	if (!own->live)
		return;
	ret = call_get(c, &info);
	oracle_found(c, own, &info, ret);
}

/*
 * With keys a push makes a timer without user_data if there was none. So find out which there is
 * after @push was carried out, and cancel one that was made. @drains: so many had begun before, or
 * U32_MAX if one went on.
 */
static void settle_push(struct context *c, struct own *own, const struct twheel_push *push,
			const struct arming *before, u32 drains)
{
	struct twheel_timer_info info = { .handle = push->handle };
	struct twheel_cancel cancel = { .handle = push->handle };
	long ret;

	call_sure();
	do
		ret = call_get(c, &info);
	while (ret == -EFAULT);
	if (!ret && own->live && info.user_data == own->arming + 1) {
		oracle_pushed(c, own, push, before, 0);
		call_sure_end();
		return;
	}
	expect(ret || !info.user_data, CONTAINED, "key %#llx has a timer of arming %llu",
	       push->handle, info.user_data);
	if (ret == -ENOENT && c->drains == drains)
		oracle_push_lost(c, own, push);
	/* It may have been pushed, and have ended since. */
	if (own->live)
		oracle_gone(own);
	while (!ret && call_cancel(c, &cancel) == -EFAULT)
		;
	call_sure_end();
}

static void do_push(struct owner *o, struct context *c)
{
	struct twheel_push pushes[MAX_OWN];
	struct arming before[MAX_OWN];
	u32 which[MAX_OWN], n = 0, done, i, drains = c->draining ? U32_MAX : c->drains;
	u64 began = time_of(c);
	long ret;

	for (i = c->nr; i < world.nr_own; i += world.nr_contexts) {
		if (sim_below(3) || (!keyed(c) && !o->own[i].live))
			continue;
		pushes[n].handle = keyed(c) ? key_of(o, i) : o->own[i].handle;
		pushes[n].expires = time_of(c) + some_delay();
		oracle_push_begins(c, &o->own[i], &pushes[n], &before[n]);
		which[n++] = i;
	}
	if (!n)
		return;
	ret = call_push(c, pushes, n);
	expect(ret > 0 || (ret == -ENOENT && !keyed(c)) || oracle_may_lack(ret), CONTAINED,
	       "a push fails with %ld", ret);
	expect(ret < 0 || !(ret % (long)sizeof(*pushes)), STABLE_INTERFACE,
	       "a push of %u entries returns %ld", n, ret);
	done = ret > 0 ? (u32)ret / sizeof(*pushes) : 0;
	expect(done <= n, STABLE_INTERFACE, "a push of %u entries returns %ld", n, ret);
	for (i = 0; i < n; i++) {
		struct own *own = &o->own[which[i]];

		if (i >= done)
			oracle_not_pushed(c, own, &before[i], done ? 0 : i ? 0 : ret);
		else if (keyed(c))
			settle_push(c, own, &pushes[i], &before[i], drains);
		else
			oracle_pushed(c, own, &pushes[i], &before[i], began);
	}
}

static void do_shared(struct owner *o, struct context *c)
{
	u32 i = sim_below(world.nr_shared), nr;
	u64 *handle = &c->shared[i], was = keyed(c) ? i + 1 : *handle;
	struct twheel_cancel cancel = { .handle = was };
	struct twheel_push push = { .handle = was, .expires = time_of(c) + some_delay() };
	struct twheel_arm asked, arm;
	long ret;

	if (was && !sim_below(3)) {
		ret = call_cancel(c, &cancel);
		expect(!ret || ret == -ENOENT || oracle_may_lack(ret), CONTAINED,
		       "a cancel fails with %ld", ret);
		c->shared_live -= !ret;
		if (*handle == was)
			*handle = 0;
		return;
	}
	if (was && has(PUSHES) && !keyed(c) && !sim_below(3)) {
		ret = call_push(c, &push, 1);
		expect(ret == sizeof(push) || ret == -ENOENT || oracle_may_lack(ret), CONTAINED,
		       "a push fails with %ld", ret);
		if (ret > 0 && world.latest < sim_time_of(c, push.expires) + 20 * TICK)
			world.latest = sim_time_of(c, push.expires) + 20 * TICK;
		return;
	}
	choose(c, true, was, &asked);
	nr = oracle_begins(c, o->nr, true, &asked);
	asked.user_data = nr + 1;
	arm = asked;
	ret = call_arm(c, &arm);
	oracle_armed_shared(c, nr, &asked, &arm, ret);
	if (!ret)
		*handle = arm.handle;
	else if (*handle == was)
		*handle = 0;
}

/* False if the lease has ended, or somebody has changed its word meanwhile. */
static bool extend_now(struct context *c, struct own *own, u64 *word, u64 by)
{
	u64 old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	u64 units = (old & TWHEEL_LEASE_UNITS_MASK) + by / UNIT;
	u64 new = units | (u64)own->tag << TWHEEL_LEASE_TAG_SHIFT;

	counts.operations++;
	if (old & TWHEEL_LEASE_EXPIRED ||
	    (old >> TWHEEL_LEASE_TAG_SHIFT & TWHEEL_LEASE_TAG_MASK) != own->tag ||
	    !__atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	sim_trace("context %u: extend lease %u to %llu", c->nr, own->arming + 1, units * UNIT);
	oracle_extended(c, own, units * UNIT);
	return true;
}

/* Extend a lease as a program does, at times just as it ends. */
static void do_extend(struct owner *o, struct context *c, u32 i)
{
	struct own *own = &o->own[i];
	struct page *page;
	u64 *word, old;
	u32 n, tries;

	if (!own->live || !world.armings[own->arming].lease || c->hostile)
		return;
	page = call_map(c, own->word / 512);
	expect(page, CONTAINED, "the word of a lease cannot be reached");
	word = (u64 *)page_address(page) + own->word % 512;
	old = *word;
	if (sim_below(2) && !(old & TWHEEL_LEASE_EXPIRED)) {
		u64 end = (old & TWHEEL_LEASE_UNITS_MASK) * UNIT;

		/* If it were 0 nobody would ever wake this task. */
		expect(end, CONTAINED, "the word of a lease that goes on says nothing");
		sim_sleep_until(sim_time_of(c, (end + TICK - 1) / TICK * TICK) + sim_below(3000));
	}
	n = sim_below(2) ? 1 : 1 + sim_below(12);
	c->extending++;
	/* While somebody drains, go on: a lease may be extended as it is drained. */
	for (tries = 1000; n && tries; tries--) {
		sim_point();
		if (!extend_now(c, own, word, c->draining ? UNIT :
				--n ? sim_below(2) * UNIT : some_delay()))
			break;
	}
	c->extending--;
	call_unmap(c, page);
}

static void do_info(struct context *c)
{
	struct twheel_info info = { .flags = sim_below(2) };
	long ret = call_info(c, &info);

	expect(!ret || oracle_may_lack(ret), CONTAINED, "GET_INFO fails with %ld", ret);
	if (!ret)
		oracle_info(c, &info, false);
	if (!sim_below(8))
		call_fdinfo(c);
	if (!sim_below(16))
		sim_read_debugfs();
}

/* The same settings again, while others may be arming the first timer already */
static void do_config(struct context *c)
{
	struct twheel_config config = c->config;
	long ret = call_config(c, &config);

	expect(!ret || ret == -EBUSY || oracle_may_lack(ret), STABLE_INTERFACE,
	       "the same settings are refused: %ld", ret);
}

#define NR_KINDS	16
#define SLEEP		(NR_KINDS - 1)

static void do_something(struct owner *o)
{
	struct context *c = &world.contexts[sim_below(world.nr_contexts)];
	u32 i = c->nr + world.nr_contexts * sim_below(world.nr_own / world.nr_contexts), kind;

	do
		kind = sim_below(NR_KINDS);
	while (!(world.kinds >> kind & 1));
	o->busy = kind != SLEEP;
	switch (kind) {
	case 0:
	case 1:
	case 2:
		do_arm(o, c, i);
		break;
	case 3:
	case 4:
		if (has(BATCHES))
			do_arm_batch(o, c);
		break;
	case 5:
	case 6:
		do_cancel(o, c, i);
		break;
	case 7:
	case 8:
		if (has(SHARED_TIMERS))
			do_shared(o, c);
		break;
	case 9:
		do_get(o, c, i);
		do_peep(c);
		if (has(BULK) && !sim_below(6))
			do_bulk(o, c);
		break;
	case 10:
	case 11:
		if (has(PUSHES))
			do_push(o, c);
		break;
	case 12:
		do_extend(o, c, i);
		break;
	case 13:
		if (has(LISTS) && !sim_below(4))
			do_list(c, !sim_below(3));
		else if (has(LISTS) && !sim_below(4))
			do_walk(o, c, 0);
		break;
	case 14:
		if (!sim_below(4))
			do_info(c);
		break;
	case SLEEP:
		sim_sleep_until(sim_now() + sim_below(8 * TICK));
	}
	o->busy = false;
}

void owner_main(void *arg)
{
	struct owner *o = arg;
	u32 n, i;

	if (sim_below(2))
		do_config(&world.contexts[sim_below(world.nr_contexts)]);
	for (n = world.settings.each; n; n--)
		if (world.many && (n == world.settings.each || !sim_below(16)))
			do_everywhere(o);
		else
			do_something(o);
	o->busy = true;
	for (i = 0; i < world.nr_own; i++)
		if (sim_below(2))
			do_cancel(o, &world.contexts[i % world.nr_contexts], i);
	o->busy = false;
	world.owners_left--;
}
