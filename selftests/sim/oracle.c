// SPDX-License-Identifier: GPL-2.0-only
/*
 * The oracle: what may come of each call, and of each arming.
 *
 * It knows an arming by its user_data. An actor tells it before a call what is asked for, since the
 * timer may expire and be read before the call returns; and afterwards what came of it. A timer
 * that all owners share is only counted.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/minmax.h>

#include "oracle.h"

static u64 stamp;

u64 oracle_stamp(void)
{
	return ++stamp;
}

bool oracle_may_lack(long ret)
{
	switch (ret) {
	case -ENOMEM:	return sim_config.fail_chance;
	case -EINTR:	return sim_config.kill_chance;
	case -EFAULT:	return sim_stats.efaults;
	case -ENOSPC:
	case -EDQUOT:	return has(LIMITS);
	default:	return false;
	}
}

/* By when @a is over, on CLOCK_MONOTONIC, if it is armed for @deadline. */
static void note_latest(const struct context *c, const struct arming *a, u64 deadline)
{
	u64 end = sim_time_of(c, deadline) + a->slack + a->interval * (a->count + 1);

	world.latest = max(world.latest, end + 4 * TICK);
}

/* By when a call has returned, on the clock of @c as it was before a leap second that just began */
static u64 returned(const struct context *c)
{
	if (c->clock != CLOCK_REALTIME)
		return time_of(c);
	return max(time_of(c), sim_now() + (u64)sim_real_offset);
}

/* @a is due at @deadline, or a little before or after it if it is a lease. */
static void set_deadline(struct arming *a, u64 deadline)
{
	a->low = a->lease ? deadline & ~(UNIT - 1) : deadline;
	a->high = a->lease ? deadline + UNIT - 1 : deadline;
}

/* How often the clock was set, if it stays as it is until somebody sets it once more */
static u64 steps_so_far(void)
{
	if (world.nr_steps != world.steps_done || world.leaps || sim_next_leap != KTIME_MAX)
		return U64_MAX;
	return world.nr_steps;
}

u32 oracle_begins(struct context *c, u32 owner, bool shared, const struct twheel_arm *arm)
{
	u32 nr = world.nr_armings++;
	struct arming *a = arming_of(nr);

	expect(nr < MAX_ARMINGS, SIM_ITSELF, "an episode has too many armings");
	counts.armings++;
	*a = (struct arming) {
		.end		= IN_FLIGHT,
		.ctx		= (u8)c->nr,
		.owner		= (u8)owner,
		.shared		= shared,
		.lease		= arm->flags & TWHEEL_ARM_LEASE,
		.flags		= arm->flags,
		.from		= FAR_AHEAD,
		.slack		= arm->slack,
		.interval	= arm->interval,
		.count		= arm->count,
		.steps		= steps_so_far(),
	};
	a->loose = shared || is_wild(c, a);
	if (arm->flags & TWHEEL_ARM_ABS) {
		set_deadline(a, arm->expires);
	} else {
		set_deadline(a, time_of(c) + arm->expires);
		a->high = U64_MAX;
	}
	note_latest(c, a, a->low);
	/* Shared timers are pushed, and words of leases changed, by others. */
	if (shared || is_wild(c, a)) {
		a->low = 0;
		a->high = U64_MAX;
	}
	return nr;
}

void oracle_not_begun(u32 nr)
{
	expect(arming_of(nr)->end == IN_FLIGHT, EXACTLY_ONCE,
	       "arming %u was told, though the call that arms it was not carried out", nr + 1);
	arming_of(nr)->end = FAILED;
}

/* A call has armed @nr. */
static void is_armed(struct context *c, u32 nr, const struct twheel_arm *asked)
{
	struct arming *a = arming_of(nr);

	if (!(asked->flags & TWHEEL_ARM_ABS) && a->high == U64_MAX && a->low) {
		a->high = time_of(c) + asked->expires + (a->lease ? UNIT : 0);
		note_latest(c, a, a->high);
	}
	/* What has passed is told at once. */
	if (a->high <= time_of(c))
		a->loose = true;
	/* Late counts from the end of the call, which may have waited for locks. */
	a->from = returned(c);
	a->armed = oracle_stamp();
	if (a->end == IN_FLIGHT)
		a->end = LIVE;
}

/* A call has not found arming @nr: it was told, or is being told, or somebody has drained it. */
static void is_over(u32 nr)
{
	struct arming *a = arming_of(nr);

	if (a->end == UNSURE)
		return;
	expect(a->end == LIVE || a->end == DELIVERED || a->end == CANCELLED, EXACTLY_ONCE,
	       "arming %u is not found, and its end is %u", nr + 1, a->end);
	if (a->end == LIVE)
		a->end = OVER;
}

void oracle_owes(u32 old, u32 nr)
{
	arming_of(old)->owes = true;
	arming_of(old)->replaced_by = nr;
}

void oracle_gone(struct own *own)
{
	is_over(own->arming);
	own->live = false;
}

static void is_cancelled(u32 nr)
{
	struct arming *a = arming_of(nr);

	if (a->end == UNSURE)
		return;
	a->end = CANCELLED;
	a->ended = oracle_stamp();
}

/* The arming @nr of @own's timer has ended with @ret. */
static void arming_failed(struct context *c, struct own *own, u32 nr, long ret)
{
	const struct arming *a = arming_of(nr), *old = arming_of(own->arming);

	oracle_not_begun(nr);
	if (a->flags & TWHEEL_ARM_IF_PENDING && ret == -ENOENT) {
		/* It may be ready. But before its time it is pending. */
		expect(!own->live || old->end != LIVE || old->interval || old->lease ||
		       was_set(c, old) || c->draining || old->low <= latest_time_of(c),
		       EXACTLY_ONCE,
		       "arming %u is not pending before its time", own->arming + 1);
	} else if (a->flags & TWHEEL_ARM_IF_NONE && ret == -EEXIST) {
		expect(own->live && keyed(c) && old->end != REPLACED, CANCEL_IS_FINAL,
		       "there is a timer with key %#llx, and it is none of ours", own->handle);
	} else if (ret == -ENOENT) {
		expect(own->live && !keyed(c), CONTAINED, "a new timer cannot be armed: ENOENT");
		oracle_gone(own);
	} else {
		expect(oracle_may_lack(ret), CONTAINED, "arming fails with %ld", ret);
	}
}

/* A call has replaced arming @own->arming by @nr. */
static void is_replaced(struct own *own, u32 nr, const struct twheel_arm *arm)
{
	struct arming *old = arming_of(own->arming), *a = arming_of(nr);

	expect(!(a->flags & TWHEEL_ARM_IF_NONE), CANCEL_IS_FINAL,
	       "a timer that was there is re-armed, though only a new one was wanted");
	expect(!(a->flags & TWHEEL_ARM_IF_PENDING) || arm->old_state == TWHEEL_STATE_PENDING,
	       CANCEL_IS_FINAL, "a timer that had expired is re-armed, though it is not pending");
	expect(old->end == LIVE, EXACTLY_ONCE,
	       "arming %u is replaced, and its end is %u", own->arming + 1, old->end);
	/* It may be in the wheel of the CPU that has read a record of it. */
	if (old->interval || old->loose || (arm->old_state == TWHEEL_STATE_PENDING && a->slack))
		a->loose = true;
	old->end = REPLACED;
	old->ended = oracle_stamp();
}

void oracle_armed(struct context *c, struct own *own, u32 nr, const struct twheel_arm *asked,
		  const struct twheel_arm *arm, long ret)
{
	struct arming *a = arming_of(nr);

	expect(arm->result == ret, STABLE_INTERFACE, "a call returns %ld, and its entry says %d",
	       ret, arm->result);
	if (ret) {
		arming_failed(c, own, nr, ret);
		return;
	}
	if (own->live && arm->old_state != TWHEEL_STATE_NONE) {
		is_replaced(own, nr, arm);
	} else if (own->live) {
		expect(keyed(c), CONTAINED, "a handle names a timer that is gone");
		is_over(own->arming);
	} else {
		expect(arm->old_state == TWHEEL_STATE_NONE, CANCEL_IS_FINAL,
		       "a timer that has ended is re-armed");
	}
	expect(!(a->flags & TWHEEL_ARM_IF_PENDING) || arm->old_state == TWHEEL_STATE_PENDING,
	       CANCEL_IS_FINAL, "a timer is made, though only what is pending was to be re-armed");
	own->live = true;
	own->handle = arm->handle;
	own->arming = nr;
	own->word = arm->word;
	own->tag = arm->tag;
	is_armed(c, nr, asked);
}

void oracle_armed_shared(struct context *c, u32 nr, const struct twheel_arm *asked,
			 const struct twheel_arm *arm, long ret)
{
	if (ret == -EFAULT) {
		expect(oracle_may_lack(ret), CONTAINED, "arming fails with EFAULT");
		arming_of(nr)->end = UNSURE;
		return;
	}
	if (ret) {
		oracle_not_begun(nr);
		expect(ret == -ENOENT || ret == -EEXIST || oracle_may_lack(ret), CONTAINED,
		       "arming fails with %ld", ret);
		return;
	}
	if (arm->old_state == TWHEEL_STATE_NONE)
		c->shared_live++;
	is_armed(c, nr, asked);
}

void oracle_cancelled(struct context *c, struct own *own, const struct twheel_cancel *cancel,
		      long ret)
{
	const struct arming *a = arming_of(own->arming);

	if (ret == -ENOENT) {
		oracle_gone(own);
		return;
	}
	own->live = false;
	expect(!ret, CONTAINED, "a cancel fails with %ld", ret);
	expect(cancel->old_state != TWHEEL_STATE_NONE, CANCEL_IS_FINAL,
	       "a cancel has ended a timer, and says that there was none");
	expect(a->end == LIVE || a->end == UNSURE, EXACTLY_ONCE,
	       "arming %u is cancelled, and its end is %u", own->arming + 1, a->end);
	is_cancelled(own->arming);
}

void oracle_found(struct context *c, struct own *own, const struct twheel_timer_info *info,
		  long ret)
{
	const struct arming *a = arming_of(own->arming);

	if (ret == -EFAULT && oracle_may_lack(ret))
		return;
	if (ret) {
		expect(ret == -ENOENT, CONTAINED, "GET fails with %ld", ret);
		oracle_gone(own);
		return;
	}
	expect(info->user_data == own->arming + 1 && info->handle == own->handle, CONTAINED,
	       "handle %#llx names another timer: arming %llu", own->handle, info->user_data);
	expect(a->interval || (info->deadline >= a->low && info->deadline <= a->high), NEVER_EARLY,
	       "arming %u is due at %llu, not from %llu to %llu", own->arming + 1,
	       info->deadline, a->low, a->high);
}

void oracle_listed(struct context *c, const struct twheel_timer_info *info, bool drain, u64 began)
{
	u32 nr = (u32)info->user_data - 1;
	struct arming *a;

	expect(info->state == TWHEEL_STATE_PENDING, STABLE_INTERFACE,
	       "a list has a timer that is not pending");
	if (!info->user_data || info->user_data & NEVER_TOLD)
		return;
	expect(info->user_data <= world.nr_armings && arming_of(nr)->ctx == c->nr, CONTAINED,
	       "a list has a timer that nobody has armed there: %llu", info->user_data);
	a = arming_of(nr);
	if (!drain)
		return;
	a->taken = true;
	/* An extension that came in time is in what the drain tells. */
	expect(!a->lease || a->end != LIVE || is_wild(c, a) || sim_stats.efaults ||
	       info->deadline >= a->low, NEVER_EARLY,
	       "lease %llu is drained as due at %llu, and was extended to %llu",
	       info->user_data, info->deadline, a->low);
	if (a->shared)
		c->shared_live--;
	else
		expect(a->end == LIVE || a->end == IN_FLIGHT || a->end == OVER ||
		       a->end == UNSURE || (a->end == FAILED && began < a->ended), EXACTLY_ONCE,
		       "arming %llu is drained, and its end is %u", info->user_data, a->end);
	is_cancelled(nr);
}

/* Until the call returns the deadline may be the old one or the new one. @before: as it was */
void oracle_push_begins(struct context *c, struct own *own, const struct twheel_push *push,
			struct arming *before)
{
	struct arming *a = arming_of(own->arming);

	*before = *a;
	if (!own->live || is_wild(c, a))
		return;
	a->low = min(a->low, (u64)push->expires & ~(UNIT - 1));
	a->high = max(a->high, (u64)push->expires + UNIT);
	a->from = FAR_AHEAD;
	a->loose = true;
	a->grid_lost = true;
	note_latest(c, a, push->expires);
}

/* Has @a, which expires once, surely expired by @time? */
static bool is_long_past(const struct context *c, const struct arming *a, u64 time)
{
	if (!world.exact || world.restless || world.caches || was_set(c, a))
		return false;
	if (a->interval || a->lease)
		return false;
	return a->high < FAR_AHEAD && max(a->high, a->from) + a->slack + 3 * TICK +
	       most_late() < time;
}

void oracle_pushed(struct context *c, struct own *own, const struct twheel_push *push,
		   const struct arming *before, u64 began)
{
	struct arming *a = arming_of(own->arming);

	if (a->end == UNSURE || is_wild(c, a))
		return;
	expect(keyed(c) || !is_long_past(c, before, began), CANCEL_IS_FINAL,
	       "arming %u had expired long before it is pushed, and its record is withdrawn",
	       own->arming + 1);
	expect(a->end == LIVE || a->end == CANCELLED || a->end == DELIVERED || a->end == OVER,
	       CANCEL_IS_FINAL, "arming %u is pushed, and its end is %u", own->arming + 1,
	       a->end);
	a->from = returned(c);
	/* It may have been ready. */
	if (before->low <= latest_time_of(c))
		a->armed = oracle_stamp();
	if (a->interval)
		return;
	set_deadline(a, push->expires);
	/* The end may have come with the new deadline, during the call. */
	expect(a->end != DELIVERED || (a->told >= a->low && a->told <= a->high), CANCEL_IS_FINAL,
	       "arming %u was pushed to %llu, and is told with %llu", own->arming + 1,
	       push->expires, a->told);
}

void oracle_push_lost(struct context *c, const struct own *own, const struct twheel_push *push)
{
	/* These go on at a time of their own. */
	if (own->live && (arming_of(own->arming)->interval || arming_of(own->arming)->lease))
		return;
	expect((c->clock == CLOCK_REALTIME && world.steps) ||
	       (u64)push->expires <= latest_time_of(c), EXACTLY_ONCE,
	       "a push of key %#llx to %lld has left no timer", push->handle, push->expires);
}

void oracle_not_pushed(struct context *c, struct own *own, const struct arming *before, long ret)
{
	struct arming *a = arming_of(own->arming);

	if (!own->live || is_wild(c, a))
		return;
	a->low = before->low;
	a->high = before->high;
	a->from = before->from;
	if (ret != -ENOENT)
		return;
	expect(a->end != LIVE || a->interval || a->lease || was_set(c, a) || c->draining ||
	       a->low <= latest_time_of(c), EXACTLY_ONCE,
	       "arming %u cannot be pushed before its time", own->arming + 1);
}

void oracle_extended(struct context *c, struct own *own, u64 deadline)
{
	struct arming *a = arming_of(own->arming);

	expect(a->end == LIVE, CANCEL_IS_FINAL,
	       "lease %u is extended in time, and its end is %u", own->arming + 1, a->end);
	a->low = deadline;
	a->high = deadline;
	note_latest(c, a, deadline);
}

/*
 * A call for @own, with arming @nr unless that is U32_MAX, has ended with EFAULT. @undone: if it
 * has made a timer it has cancelled it again, unless that was told before.
 */
void oracle_unsure(struct own *own, u32 nr, bool undone)
{
	expect(sim_stats.efaults, CONTAINED, "a call fails with EFAULT");
	if (nr != U32_MAX && undone && arming_of(nr)->end == IN_FLIGHT) {
		arming_of(nr)->end = FAILED;
		arming_of(nr)->ended = oracle_stamp();
	} else if (nr != U32_MAX && !(undone && arming_of(nr)->end == DELIVERED)) {
		arming_of(nr)->end = UNSURE;
	}
	if (own->live)
		arming_of(own->arming)->end = UNSURE;
	own->live = false;
}
