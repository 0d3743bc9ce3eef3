// SPDX-License-Identifier: GPL-2.0-only
/* The oracle's second part: what may be told of an arming, when, and how often; and the end. */
#include <linux/minmax.h>

#include "oracle.h"

/* May arming @a be told now, by a read that began at @read_began? */
static bool may_be_told(const struct arming *a, bool last, u64 read_began)
{
	switch (a->end) {
	case IN_FLIGHT:
	case LIVE:
	case OVER:
	case UNSURE:
		return true;
	case CANCELLED:
	case REPLACED:
		/* A round may have been read before that. */
		return a->interval && !last && read_began < a->ended;
	case FAILED:
		/* The call was undone, after a read had begun that has taken the record. */
		return read_began < a->ended;
	case DELIVERED:
		/* Rounds that two tasks have read may be told the other way round. */
		return a->interval && !last && !world.in_order;
	default:
		return false;
	}
}

static void check_deadline(const struct context *c, const struct arming *a,
			   const struct twheel_event *e)
{
	u32 nr = (u32)e->user_data;

	if (!a->interval || (world.in_order && !a->seen && !a->grid_lost)) {
		expect(e->deadline >= a->low, a->low == a->high ? CANCEL_IS_FINAL : NEVER_EARLY,
		       "arming %u is told for %llu, and was armed for %llu", nr, e->deadline,
		       a->low);
		expect(e->deadline <= a->high, CANCEL_IS_FINAL,
		       "arming %u is told for %llu, and was armed for %llu", nr, e->deadline,
		       a->high);
	} else if (world.in_order && !a->grid_lost && a->flags & TWHEEL_ARM_FIXED_DELAY) {
		expect((e->deadline >= a->next || was_set(c, a)) && e->expirations == 1,
		       EXACTLY_ONCE, "a round of %u is told for %llu, due %llu", nr, e->deadline,
		       a->next);
	} else if (world.in_order && !a->grid_lost) {
		expect(e->deadline == a->next, EXACTLY_ONCE,
		       "a round of %u is told for %llu, due %llu", nr, e->deadline, a->next);
	} else if (!was_set(c, a)) {
		expect(e->deadline >= a->low, NEVER_EARLY,
		       "a round of %u is told for %llu, and the first one was due at %llu", nr,
		       e->deadline, a->low);
	}
}

static void check_late(const struct context *c, const struct arming *a,
		       const struct twheel_event *e)
{
	u64 due = max_t(u64, e->deadline, a->from);

	if (!world.exact || is_wild(c, a) || a->shared)
		return;
	/* Until a step it was not due, nor was its wheel turned before the work items were done. */
	if (c->clock == CLOCK_REALTIME) {
		if (sim_steps_pending)
			return;
		due = max(due, was_set(c, a) ? sim_latest_step : sim_last_step);
	}
	/* A wheel in the process is turned by calls. */
	if (world.process && !c->attending)
		return;
	if (world.process)
		due = max(due, c->attended);
	due += a->slack + TICK;
	if (world.fair && e->expired > due)
		counts.late = max(counts.late, e->expired - due);
	expect(e->expired <= due + most_late(), world.fair ? FAIR : LATE_BY_A_TICK,
	       "arming %llu was due at %llu and armed by %llu, and expires at %llu",
	       e->user_data, e->deadline, a->from, e->expired);
}

/* A task that stays on its CPU has armed this one and others, and one task reads them all. */
static void check_order(struct context *c, const struct arming *a, const struct twheel_event *e)
{
	u64 tick = (e->deadline - (u64)c->ahead + TICK - 1) / TICK;

	if (!world.in_order || a->loose || a->interval || a->slack || a->end != LIVE)
		return;
	/* They are in several wheels. */
	if (world.threads && keyed(c))
		return;
	expect(tick >= c->last_tick[a->owner], IN_ORDER,
	       "arming %llu of tick %llu is told after one of tick %llu", e->user_data, tick,
	       c->last_tick[a->owner]);
	c->last_tick[a->owner] = tick;
}

static void check_count(const struct context *c, struct arming *a, const struct twheel_event *e,
			bool last)
{
	u64 latest = c->clock == CLOCK_REALTIME ? max(latest_time_of(c), sim_furthest_wall()) :
						  latest_time_of(c);

	a->seen += e->expirations;
	a->next = a->flags & TWHEEL_ARM_FIXED_DELAY ? e->expired + a->interval :
		  e->deadline + e->expirations * a->interval;
	a->told = e->deadline;
	expect(e->expirations, EXACTLY_ONCE, "a record counts nothing");
	expect(a->interval || (last && e->expirations == 1), EXACTLY_ONCE,
	       "a record of a timer that expires once counts %llu%s", e->expirations,
	       last ? "" : " and is not the last one");
	expect(e->expirations == 1 ||
	       e->deadline + (e->expirations - 1) * a->interval <= latest, NEVER_EARLY,
	       "arming %llu, due at %llu, has expired %llu times by %llu", e->user_data,
	       e->deadline, e->expirations, latest);
	expect(!a->interval || a->seen <= a->count, EXACTLY_ONCE,
	       "arming %llu was to expire %llu times, and has %llu times", e->user_data,
	       a->count, a->seen);
}

void oracle_record(struct context *c, const struct twheel_event *e, u64 read_began)
{
	bool last = e->flags & TWHEEL_EVENT_LAST;
	struct arming *a;

	expect(!(e->user_data & NEVER_TOLD), NEVER_EARLY, "a timer an hour ahead has expired");
	expect(e->expired >= e->deadline, NEVER_EARLY,
	       "arming %llu, due at %llu, has expired at %llu", e->user_data, e->deadline,
	       e->expired);
	expect(e->expired <= time_of(c) ||
	       (c->clock == CLOCK_REALTIME && e->expired <= sim_furthest_wall()), NEVER_EARLY,
	       "arming %llu is told at %llu to have expired at %llu", e->user_data, time_of(c),
	       e->expired);
	/* Made by a push with a key */
	if (!e->user_data)
		return;
	counts.records++;
	expect(e->user_data <= world.nr_armings, CONTAINED, "nobody has armed %llu", e->user_data);
	a = arming_of((u32)e->user_data - 1);
	a->taken = true;
	sim_trace("context %u: record of %llu: due %llu, expired %llu, counts %llu%s", c->nr,
		  e->user_data, e->deadline, e->expired, e->expirations, last ? ", last" : "");
	expect(a->ctx == c->nr, CONTAINED, "arming %llu is told in another context",
	       e->user_data);
	expect(e->expired <= latest_time_of(c) || was_set(c, a), NEVER_EARLY,
	       "arming %llu is told at %llu to have expired at %llu", e->user_data, time_of(c),
	       e->expired);
	expect(may_be_told(a, last, read_began),
	       a->end == DELIVERED ? EXACTLY_ONCE : CANCEL_IS_FINAL,
	       "arming %llu is told, and its end is %u", e->user_data, a->end);
	check_deadline(c, a, e);
	check_late(c, a, e);
	check_order(c, a, e);
	check_count(c, a, e, last);
	/* With a fixed delay the rest begins anew with each read, which may come late. */
	if (!last && a->count > a->seen)
		world.latest = max(world.latest, sim_now() +
				   (a->count - a->seen + 1) * a->interval + 4 * TICK);
	if (last && a->shared)
		c->shared_live--;
	if (last && a->end != UNSURE)
		a->end = DELIVERED;
}

void oracle_info(struct context *c, const struct twheel_info *info, bool at_rest)
{
	expect(!c->config.limit || info->pending + info->ready <= c->config.limit, CONTAINED,
	       "a context holds %llu timers of %llu", info->pending + info->ready,
	       c->config.limit);
	expect(info->user_timers <= info->user_limit, CONTAINED, "a user holds %llu timers of %llu",
	       info->user_timers, info->user_limit);
	if (!at_rest)
		return;
	expect(!info->ready, EXACTLY_ONCE, "%llu records are ready, and a read has found none",
	       info->ready);
	expect(!info->pending || c->hostile, EXACTLY_ONCE,
	       "%llu timers are pending long after all were due", info->pending);
	expect(!owes_step(c), EXACTLY_ONCE, "nobody was told of the last step of the clock");
	expect(!c->shared_live || sim_stats.efaults || c->hostile, EXACTLY_ONCE,
	       "of the shared timers %lld were armed and have not ended", c->shared_live);
}

void oracle_end(void)
{
	u32 nr;

	for (nr = 0; nr < world.nr_armings; nr++) {
		const struct arming *a = arming_of(nr);
		bool wild = is_wild(&world.contexts[a->ctx], a);

		expect(a->end != IN_FLIGHT, SIM_ITSELF, "arming %u has not returned", nr + 1);
		expect(!a->owes || a->taken || arming_of(a->replaced_by)->taken, EXACTLY_ONCE,
		       "arming %u was live when a re-arm ended with EFAULT, and was never told",
		       nr + 1);
		expect(a->end != OVER && (a->shared || wild || a->end != LIVE), EXACTLY_ONCE,
		       "arming %u was never told", nr + 1);
		expect(a->end != DELIVERED || !a->interval || a->seen == a->count, EXACTLY_ONCE,
		       "arming %u was to expire %llu times, and has %llu times", nr + 1,
		       a->count, a->seen);
	}
}
