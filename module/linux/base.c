// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wheel of one CPU on one clock, its lock, and the hrtimer that turns it.
 *
 * Locking rules
 *
 * The locks of the module are taken in this order:
 *
 *   1. twheel_pool.grow, a mutex, and inside it twheel_watches_mutex or twheel_quota.mutex
 *   2. twheel_base.lock, of one base or, to move a timer, of two: that of the lower CPU
 *	number first
 *   3. twheel_ctx.lock
 *   4. locks of the kernel: the hrtimer's inside 2, those of the slab and the IDA inside 3
 *
 * Bottom halves are off wherever a spinlock is taken, since the hrtimer's callback runs in the
 * soft interrupt, and so does what frees memory. Nothing is woken up inside 2 or 3.
 * twheel_quota_lock (quota.c) and reset_lock (debugfs.c), a mutex, are each taken alone.
 *
 * Silence: the hrtimer is set only to the next bucket's turn. It is moved when an earlier
 * turn comes up, and set anew by its own callback. When a timer is removed it stays as it
 * is, and may find nothing to do.
 *
 * Bounded work: the lock is held for one expire batch at a time. The callback runs for
 * TWHEEL_BATCHES_PER_RUN batches or TWHEEL_RUN_NS, whichever ends first. Then it wakes the
 * waiters of each context once, which takes long if there are very many of them.
 *
 * Share: the wheels that a CPU turns, on all clocks and including those of other CPUs, take
 * half of its time at most. They run in rounds, each wheel at most once in a round: so none
 * waits for another that has more to do. The next round begins when twice as much time has
 * gone by as all runs of the round took together.
 *
 * Wall time: the hrtimer of a wheel on CLOCK_REALTIME is on CLOCK_MONOTONIC, and all such
 * wheels are looked at again when the clock was set. An hrtimer on CLOCK_REALTIME would not
 * need that, but has two faults. The hrtimer core reads the clock once and then expires
 * what is due, until nothing is. If the clock is set back meanwhile, all hrtimers that are
 * then set to a time before the one it has read expire at once, again and again, for as
 * long as the clock was set back by. And without high resolution the core does not look
 * when the clock is set.
 *
 * Hotplug: a base belongs to a CPU, but any CPU may turn its wheel. A CPU that goes offline
 * hands its hrtimers, and those that it had from other CPUs, to a housekeeping CPU, which
 * turns these wheels from then on. Timers stay in their wheels, and none is lost or late.
 * (The hrtimer core would do so later. At first it took any CPU, even an isolated one. Now,
 * and in 6.1.192 and 6.12.117, it takes one that nohz_full= leaves, which isolcpus= or a cpuset
 * may still isolate; and always the same.) A CPU that comes online takes its hrtimers back, or
 * later, if one is just running elsewhere.
 *
 * Isolation: an isolated CPU has no timers. Timers that are armed there go to the wheel of
 * another CPU, of the same node if possible; isolated CPUs are spread over these. If such a
 * timer comes first, that CPU is sent an interrupt, a kick, to set its hrtimer: an hrtimer that
 * is set from afar would expire on the CPU that set it. The kick takes no lock. It sets the
 * hrtimer to what the base says, and then checks that the base still says so. Code that changes
 * the base meanwhile either sends another kick, as this one has read the base already, or finds
 * it pending and relies on it.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/timekeeping.h>
#include <linux/topology.h>

#include "base.h"
#include "compat.h"
#include "stats.h"
#include "trace.h"

#define TWHEEL_BATCHES_PER_RUN	32
#define TWHEEL_RUN_NS		NSEC_PER_MSEC
/* A run that took longer than this was most likely interrupted by a stop of the machine. */
#define TWHEEL_TOOK_MAX_NS	(500 * NSEC_PER_MSEC)
/* A look at a timer that took longer than this was interrupted, or waited for a lock. */
#define TWHEEL_LOOK_MAX_NS	(2 * NSEC_PER_USEC)

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
/* How many possible CPUs of its node come before a CPU; constant after init */
static DEFINE_PER_CPU(unsigned int, twheel_before);

struct twheel_geometry twheel_geometry __read_mostly;
struct twheel_base __percpu *twheel_bases[TWHEEL_NR_CLOCKS];
static enum cpuhp_state twheel_cpuhp_state;

static u32 (*expire_nodes)(struct twheel_base *base, struct twheel_run *run) __ro_after_init;
static void (*end_run)(const struct twheel_run *run) __ro_after_init;

/* May @cpu turn wheels? One that is going offline is not active any more. */
static bool is_housekeeper(unsigned int cpu)
{
	return cpu_active(cpu) && !twheel_cpu_isolated(cpu);
}

/*
 * One of the CPUs in @mask that may turn wheels, for @cpu, which has @before others before it, of
 * its node or of all. nr_cpu_ids if there is none. The CPUs that may not turn wheels are counted,
 * and take those that may in turn. By their own numbers all even ones could have the same.
 */
static unsigned int pick_housekeeper(const struct cpumask *mask, unsigned int cpu,
				     unsigned int before)
{
	unsigned int other, nr = 0, picked = nr_cpu_ids;

	for_each_cpu_and(other, mask, housekeeping_cpumask(HK_TYPE_TIMER)) {
		if (!is_housekeeper(other))
			continue;
		nr++;
		before -= other < cpu;
	}
	if (!nr)
		return picked;
	before %= nr;
	/* The last one has to do if some have become isolated meanwhile. */
	for_each_cpu_and(other, mask, housekeeping_cpumask(HK_TYPE_TIMER)) {
		if (!is_housekeeper(other))
			continue;
		picked = other;
		if (!before--)
			break;
	}
	return picked;
}

unsigned int twheel_housekeeping_cpu(unsigned int cpu)
{
	int node = cpu_to_node(cpu);
	unsigned int picked = nr_cpu_ids;

	/* The kernel's own search for the closest CPU is not exported. */
	if (node != NUMA_NO_NODE)
		picked = pick_housekeeper(cpumask_of_node(node), cpu, per_cpu(twheel_before, cpu));
	if (picked >= nr_cpu_ids)
		picked = pick_housekeeper(cpu_active_mask, cpu, cpu);
	return picked < nr_cpu_ids ? picked : smp_processor_id();
}

/* Count for each possible CPU the others of its node that come before it. */
static void count_before(void)
{
	unsigned int cpu, other;

	for_each_possible_cpu(cpu) {
		per_cpu(twheel_before, cpu) = 0;
		for_each_possible_cpu(other)
			per_cpu(twheel_before, cpu) += other < cpu &&
						       cpu_to_node(other) == cpu_to_node(cpu);
	}
}

static u64 now_to_tick(u64 now)
{
	return now >> twheel_geometry.tick_shift;
}

/* Also called from the hrtimer's callback, which therefore always returns NORESTART. */
static void base_start(struct twheel_base *base, u64 ns)
{
	hrtimer_start(&base->hrtimer,
		      ns_to_ktime(twheel_clock_to_steady(base->clock, ns)),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
}

/* Runs on the CPU that is to turn the wheel, with interrupts off. */
static void base_kick(void *arg)
{
	struct twheel_base *base = arg;
	u64 tick;

	do {
		/* Pairs with smp_mb() in base_start_remote(). */
		smp_mb();
		tick = READ_ONCE(base->programmed);
		if (tick == TWHEEL_NEVER)
			break;
		base_start(base, tick << twheel_geometry.tick_shift);
	} while (READ_ONCE(base->programmed) != tick);

	/* Pairs with the acquire in base_wait_for_kicks(). */
	atomic_fetch_dec_release(&base->kicked);
}

/* Make @cpu set the hrtimer. False if that CPU has gone. */
static bool base_start_remote(struct twheel_base *base, unsigned int cpu)
{
	int ret;

	atomic_inc(&base->kicked);
	/* Pairs with smp_mb() in base_kick(): a kick that is pending sees base->programmed. */
	smp_mb();
	ret = smp_call_function_single_async(cpu, &base->kick);
	if (ret)
		atomic_dec(&base->kicked);
	return !ret || ret == -EBUSY;
}

/* Does another CPU turn the wheel? A CPU may become isolated while it is online. */
static bool base_is_away(const struct twheel_base *base)
{
	return base->away || twheel_cpu_isolated(base->cpu);
}

/* Set the hrtimer to @ns, where it is turned; base->programmed is to say @tick. */
static void base_program(struct twheel_base *base, u64 tick, u64 ns)
{
	unsigned int cpu = base_is_away(base) ? twheel_housekeeping_cpu(base->cpu) : base->cpu;

	lockdep_assert_held(&base->lock);

	/* No hrtimer is set and no kick is sent once the last context has gone. */
	if (!base->wheel.nr_nodes) {
		WRITE_ONCE(base->programmed, TWHEEL_NEVER);
		return;
	}
	WRITE_ONCE(base->programmed, tick);
	if (cpu == smp_processor_id() || !base_start_remote(base, cpu))
		base_start(base, ns);
}

static void base_program_next(struct twheel_base *base)
{
	u64 tick = base->wheel.next_expiry;

	base_program(base, tick, tick << twheel_geometry.tick_shift);
}

void twheel_base_enqueue(struct twheel_base *base, struct twheel_node *node,
			 u64 now)
{
	lockdep_assert_held(&base->lock);

	if (now_to_tick(now) < base->wheel.clk)
		twheel_wheel_rewind(&base->wheel, now_to_tick(now));
	else
		twheel_wheel_forward(&base->wheel, now_to_tick(now));
	twheel_wheel_enqueue(&base->wheel, node);
	if (base->wheel.next_expiry < base->programmed)
		base_program_next(base);
}

void twheel_base_dequeue(struct twheel_base *base, struct twheel_node *node)
{
	lockdep_assert_held(&base->lock);

	twheel_wheel_dequeue(&base->wheel, node);
}

/* Looks at @n timers took @ns: bring the average up to date. A single look would mislead. */
static void base_count_looks(struct twheel_base *base, u64 ns, u32 n)
{
	if (n)
		base->look_ns = (7 * base->look_ns +
				 min_t(u64, div_u64(ns, n), TWHEEL_LOOK_MAX_NS)) / 8;
}

/*
 * In a DEBUG build, check the wheel: the more nodes there are the less often, as a check
 * looks at all of them. On average it looks at 1024 nodes a batch at most. Returns the ns
 * that it took, which are not charged to users.
 */
static u64 base_check_wheel(const struct twheel_base *base)
{
#ifdef TWHEEL_DEBUG
	if (!(get_random_u32() % (1 + base->wheel.nr_nodes / 1024))) {
		u64 begin = ktime_get_ns();
		const char *why = twheel_wheel_check(&base->wheel);

		WARN_ONCE(why, "twheel: the wheel of CPU %u: %s\n", base->cpu, why);
		return ktime_get_ns() - begin;
	}
#endif
	return 0;
}

/*
 * Look at one batch of timers. Returns whether there may be more. Noinline so that it can be
 * traced: it takes as long as @base->lock is held.
 */
static noinline bool expire_batch(struct twheel_base *base, struct twheel_run *run)
{
	u32 seen, moved = run->moved;
	u64 begin = run->now;

	spin_lock(&base->lock);
	run->time = twheel_clock_now(base->clock);
	run->tick = now_to_tick(run->time);
	seen = expire_nodes(base, run);
	begin += base_check_wheel(base);
	if (seen < TWHEEL_EXPIRE_BATCH) {
		WRITE_ONCE(base->programmed, TWHEEL_NEVER);
		if (base->wheel.next_expiry != TWHEEL_NEVER)
			base_program_next(base);
	}
	spin_unlock(&base->lock);

	moved = run->moved - moved;
	if (moved) {
		twheel_count_n(TWHEEL_COUNT_CASCADED, moved);
		trace_twheel_cascade(base->cpu, twheel_clockids[base->clock], moved);
	}
	run->now = ktime_get_ns();
	base_count_looks(base, run->now - begin, seen);
	return seen == TWHEEL_EXPIRE_BATCH;
}

/* Set the hrtimer to the next turn, but not to before @pause ns have gone by. */
static void base_postpone(struct twheel_base *base, u64 pause)
{
	u64 next, from;

	spin_lock(&base->lock);
	next = base->wheel.next_expiry;
	/* If the clock is set back after it was read here, twheel_bases_look() mends that. */
	from = twheel_clock_now(base->clock) + pause;
	base_program(base, next,
		     max(from, min_t(u64, next, KTIME_MAX >> twheel_geometry.tick_shift)
			       << twheel_geometry.tick_shift));
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

static void base_reprogram(struct twheel_base *base)
{
	spin_lock_bh(&base->lock);
	base_program_next(base);
	spin_unlock_bh(&base->lock);
}

static void count_run(u32 expired)
{
	twheel_count(TWHEEL_COUNT_INTERRUPTS);
	twheel_observe(TWHEEL_HIST_EXPIRED, expired);
}

static enum hrtimer_restart twheel_base_fire(struct hrtimer *hrtimer)
{
	struct twheel_base *base = container_of(hrtimer, struct twheel_base,
						hrtimer);
	struct twheel_round *round = this_cpu_ptr(&twheel_round);
	u64 began = ktime_get_ns(), own = own_time(), end;
	struct twheel_run run = { .now = began };
	u32 batches = TWHEEL_BATCHES_PER_RUN;
	bool more;

	/* This CPU has become isolated: hand the hrtimer over now, as a pause would end here. */
	if (unlikely(twheel_cpu_isolated(smp_processor_id())) &&
	    twheel_housekeeping_cpu(smp_processor_id()) != smp_processor_id()) {
		count_run(0);
		base_reprogram(base);
		return HRTIMER_NORESTART;
	}
	if (began >= round->until) {
		round->nr++;
		round->until = began;
	} else if (base->round == round->nr) {
		count_run(0);
		base_postpone(base, round->until - began);
		return HRTIMER_NORESTART;
	}
	base->round = round->nr;

	/* Keeps the contexts in run.wake, though not their timers, beyond the lock. */
	rcu_read_lock();
	do {
		more = expire_batch(base, &run);
	} while (more && --batches && run.now - began < TWHEEL_RUN_NS &&
		 run.nr_wake <= ARRAY_SIZE(run.wake) - TWHEEL_EXPIRE_BATCH);
	count_run(run.expired);
	end_run(&run);
	rcu_read_unlock();

	end = ktime_get_ns();
	round->until += end - began + run_took(end - began, own);
	if (more)
		base_postpone(base, round->until - end);
	return HRTIMER_NORESTART;
}

static void base_set_away(struct twheel_base *base, bool away)
{
	spin_lock_bh(&base->lock);
	base->away = away;
	spin_unlock_bh(&base->lock);
}

/* Wait for every kick in flight, including those sent before base->away changed. */
static void base_wait_for_kicks(const struct twheel_base *base)
{
	while (atomic_read_acquire(&base->kicked))
		cpu_relax();
}

static int twheel_cpu_online(unsigned int cpu)
{
	enum twheel_clock clock;

	for (clock = 0; clock < TWHEEL_NR_CLOCKS; clock++) {
		struct twheel_base *base = twheel_base_of(clock, cpu);

		base_set_away(base, false);
		/* A late kick would take the hrtimer back to the other CPU. */
		base_wait_for_kicks(base);
		base_reprogram(base);
	}
	return 0;
}

/* Runs on @cpu, which is not active any more: no wheel is programmed here from now on. */
static int twheel_cpu_offline(unsigned int cpu)
{
	enum twheel_clock clock;
	int other;

	for (clock = 0; clock < TWHEEL_NR_CLOCKS; clock++) {
		base_set_away(twheel_base_of(clock, cpu), true);
		for_each_possible_cpu(other) {
			struct twheel_base *base = twheel_base_of(clock, other);

			/* Its hrtimer may be set here: set it elsewhere, after any kick. */
			if (!base_is_away(base))
				continue;
			base_wait_for_kicks(base);
			hrtimer_cancel(&base->hrtimer);
			base_reprogram(base);
		}
	}
	return 0;
}

void twheel_bases_look(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct twheel_base *base = twheel_base_of(TWHEEL_REALTIME, cpu);

		spin_lock_bh(&base->lock);
		base_program(base, 0, 0);
		spin_unlock_bh(&base->lock);
	}
}

static int base_init(struct twheel_base *base, enum twheel_clock clock, int cpu)
{
	const struct twheel_geometry *g = &twheel_geometry;
	void *memory;

	memory = kvzalloc_node(twheel_wheel_size(g->slots, g->levels),
			       GFP_KERNEL, cpu_to_node(cpu));
	if (!memory)
		return -ENOMEM;

	spin_lock_init(&base->lock);
	base->clock = clock;
	base->cpu = cpu;
	base->programmed = TWHEEL_NEVER;
	INIT_CSD(&base->kick, base_kick, base);
	twheel_wheel_init(&base->wheel, g->slots, g->levels,
			  now_to_tick(twheel_clock_now(clock)), memory);
	hrtimer_setup(&base->hrtimer, twheel_base_fire, twheel_clock_steady(clock),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
	return 0;
}

static void base_exit(struct twheel_base *base)
{
	/* base_init() has failed here, or was not called. */
	if (!base->wheel.rows)
		return;

	base_wait_for_kicks(base);
	hrtimer_cancel(&base->hrtimer);
	WARN_ON_ONCE(base->wheel.nr_nodes);
	kvfree(base->wheel.rows);
}

static void free_bases(void)
{
	enum twheel_clock clock;
	int cpu;

	for (clock = 0; clock < TWHEEL_NR_CLOCKS; clock++) {
		if (!twheel_bases[clock])
			continue;
		for_each_possible_cpu(cpu)
			base_exit(twheel_base_of(clock, cpu));
		free_percpu(twheel_bases[clock]);
	}
}

void twheel_bases_exit(void)
{
	cpuhp_remove_state_nocalls(twheel_cpuhp_state);
	free_bases();
	/* The last instructions of a kick must have run before this code is unloaded. */
	synchronize_rcu();
}

int twheel_bases_init(u32 (*expire)(struct twheel_base *base, struct twheel_run *run),
		      void (*end)(const struct twheel_run *run))
{
	enum twheel_clock clock;
	int cpu, ret;

	BUILD_BUG_ON(CONFIG_NR_CPUS > 0x10000);

	expire_nodes = expire;
	end_run = end;
	count_before();
	for (clock = 0; clock < TWHEEL_NR_CLOCKS; clock++) {
		ret = -ENOMEM;
		twheel_bases[clock] = alloc_percpu(struct twheel_base);
		if (!twheel_bases[clock])
			goto fail;
		for_each_possible_cpu(cpu) {
			ret = base_init(twheel_base_of(clock, cpu), clock, cpu);
			if (ret)
				goto fail;
		}
	}

	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "twheel:online",
					twheel_cpu_online, twheel_cpu_offline);
	if (ret < 0)
		goto fail;
	twheel_cpuhp_state = ret;
	return 0;

fail:
	free_bases();
	return ret;
}
