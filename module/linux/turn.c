// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who turns the wheels, and for how long: rounds, and the share of a CPU.
 *
 * Locking rules: see design.md for the order.
 *
 * Bounded work: the lock is held for one expire batch at a time. The callback runs for
 * TWHEEL_BATCHES_PER_RUN batches or TWHEEL_RUN_NS, whichever ends first. Then it wakes the
 * waiters of each context once, which takes long if there are very many of them.
 *
 * Share: Documentation/design.md says what a round is.
 *
 * Wall time: the hrtimer of a wheel on CLOCK_REALTIME is on CLOCK_MONOTONIC, and all such
 * wheels are looked at again when the clock was set. An hrtimer on CLOCK_REALTIME would not
 * need that, but has two faults. The hrtimer core reads the clock once and then expires
 * what is due, until nothing is. If the clock is set back meanwhile, all hrtimers that are
 * then set to a time before the one it has read expire at once, again and again, for as
 * long as the clock was set back by. And without high resolution the core does not look
 * when the clock is set.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/timekeeping.h>

#include "../core/expire.h"
#include "../core/host.h"
#include "clock.h"
#include "program.h"

#define TWHEEL_BATCHES_PER_RUN	32
#define TWHEEL_RUN_NS		NSEC_PER_MSEC
/* A run that took longer than this was most likely interrupted by a stop of the machine. */
#define TWHEEL_TOOK_MAX_NS	(500 * NSEC_PER_MSEC)

/**
 * struct twheel_round - when a CPU may turn wheels again
 * @nr:		the number of the round
 * @until:	when the next round may begin, in ns on CLOCK_MONOTONIC
 *
 * Used by the soft interrupt of its CPU only.
 */
struct twheel_round {
	u32	nr;
	u64	until;
};

static DEFINE_PER_CPU(struct twheel_round, twheel_round);

/*
 * In a DEBUG build, check the wheel: the more nodes there are the less often, as a check
 * looks at all of them. On average it looks at 1024 nodes a batch at most.
 */
static void check_wheel(const struct twheel_base *base)
{
#ifdef TWHEEL_DEBUG
	if (!(get_random_u32() % (1 + base->wheel.nr_nodes / 1024))) {
		const char *why = twheel_wheel_check(&base->wheel);

		WARN_ONCE(why, "twheel: the wheel of CPU %u: %s\n", base->cpu, why);
	}
#endif
}

/*
 * Look at one batch of timers. Returns whether there may be more. Noinline so that it can be
 * traced: it takes as long as base->lock is held.
 */
static noinline bool expire_batch(struct twheel_cpu_base *cbase, struct twheel_run *run)
{
	struct twheel_base *base = &cbase->base;
	u32 seen, moved = run->moved;

	spin_lock(&base->lock);
	run->time = twheel_clock_now(base->clock);
	seen = twheel_expire(base, run);
	check_wheel(base);
	if (seen < TWHEEL_EXPIRE_BATCH)
		twheel_base_program(base);
	spin_unlock(&base->lock);

	moved = run->moved - moved;
	if (moved) {
		twheel_count_n(TWHEEL_COUNT_CASCADED, moved);
		trace_twheel_cascade(base->cpu, base->clock, moved);
	}
	return seen == TWHEEL_EXPIRE_BATCH;
}

/* Set the hrtimer to the next turn, but not to before @pause ns have gone by. */
static void postpone(struct twheel_cpu_base *cbase, u64 pause)
{
	struct twheel_base *base = &cbase->base;
	u64 next, from;

	spin_lock(&base->lock);
	next = base->wheel.next_expiry;
	/* If the clock is set back after it was read here, twheel_program_now() mends that. */
	from = twheel_clock_now(base->clock) + pause;
	twheel_program(cbase, next, max(from, next << twheel_geometry.tick_shift));
	spin_unlock(&base->lock);
}

/*
 * How much CPU time the current task has had, in ns. It is needed on PREEMPT_RT, where that
 * is the soft interrupt's thread, which others may preempt.
 */
static u64 own_time(void)
{
	return IS_ENABLED(CONFIG_PREEMPT_RT) ? current->se.sum_exec_runtime : 0;
}

/* The CPU time of a run that began @wall ns ago, when own_time() was @own. */
static u64 run_took(u64 wall, u64 own)
{
	/* own_time() is updated when the task is switched, and with each tick. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		wall = min(wall, own_time() - own + TICK_NSEC);
	return min_t(u64, wall, TWHEEL_TOOK_MAX_NS);
}

static void count_run(u32 expired)
{
	twheel_count(TWHEEL_COUNT_INTERRUPTS);
	twheel_observe(TWHEEL_HIST_EXPIRED, expired);
}

enum hrtimer_restart twheel_turn(struct hrtimer *hrtimer)
{
	struct twheel_cpu_base *cbase = container_of(hrtimer, struct twheel_cpu_base, hrtimer);
	struct twheel_round *round = this_cpu_ptr(&twheel_round);
	u64 began = ktime_get_ns(), own = own_time(), end;
	struct twheel_run run = { };
	u32 batches = TWHEEL_BATCHES_PER_RUN;
	bool more;

	/* This CPU has become isolated: hand the hrtimer over now, as a pause would end here. */
	if (unlikely(twheel_cpu_isolated(smp_processor_id())) &&
	    twheel_housekeeping_cpu(smp_processor_id()) != smp_processor_id()) {
		count_run(0);
		twheel_program_elsewhere(cbase);
		return HRTIMER_NORESTART;
	}
	if (began >= round->until) {
		round->nr++;
		round->until = began;
	} else if (cbase->round == round->nr) {
		count_run(0);
		postpone(cbase, round->until - began);
		return HRTIMER_NORESTART;
	}
	cbase->round = round->nr;

	/* Keeps the contexts in run.wake, though not their timers, beyond the lock. */
	rcu_read_lock();
	do {
		more = expire_batch(cbase, &run);
	} while (more && --batches && ktime_get_ns() - began < TWHEEL_RUN_NS &&
		 run.nr_wake <= ARRAY_SIZE(run.wake) - TWHEEL_EXPIRE_BATCH);
	count_run(run.expired);
	twheel_expire_wake(&run);
	rcu_read_unlock();

	end = ktime_get_ns();
	round->until += end - began + run_took(end - began, own);
	if (more)
		postpone(cbase, round->until - end);
	return HRTIMER_NORESTART;
}
