// SPDX-License-Identifier: GPL-2.0-only
/*
 * One CPU's wheel on one clock, its lock, and the hrtimer that turns it.
 *
 * Locking rules
 *
 * Bottom halves are off wherever one of these is taken, since the hrtimer's
 * function runs in the soft interrupt:
 *
 *   1. twheel_base.lock, of one base or, to move a timer, of two: the one of
 *	the lower CPU number first
 *   2. twheel_ctx.lock
 *
 * Inside them come only locks of the kernel: the hrtimer's inside 1, the
 * slab's and the xarray's inside 2. Nothing is woken up inside either.
 *
 * Silence: the hrtimer is set only to the next bucket's turn. It is moved when
 * an earlier one comes up, and set anew by its own function; when a timer is
 * removed it stays, and may find nothing to do, as after a step of the clock.
 *
 * Bounded work: the lock is held for TWHEEL_CHUNK timers at a time, and the
 * function runs for TWHEEL_CHUNKS_PER_RUN of those, or TWHEEL_RUN_NS. Then it wakes
 * those who wait, each context once, which may take long: there may be very many.
 *
 * Share: the wheels that a CPU turns, on any clock and also those of other CPUs, take
 * half of its time at most, however many timers are due and whoever waits for them. They
 * run in rounds, and each at most once in a round; the next one begins when twice as
 * much time has gone by as all runs of the round took together. So one wheel does not
 * wait for another that has more to do.
 *
 * Wall time: the hrtimer of a wheel on CLOCK_REALTIME is on CLOCK_MONOTONIC, and all
 * such wheels are looked at again when the clock was set. One on CLOCK_REALTIME would
 * do that itself, but for two things. The hrtimer core works off what is due at the
 * time when it began, until nothing is: if the clock is set back meanwhile, all that
 * is set from then on to before that time is due at once, again and again, for as long
 * as it was set back. And without high resolution it does not look at all. (What is
 * due just after a leap second may come before it, if something else was due in the
 * last moment and the clock is read between that and the tick that puts it back.)
 *
 * Hotplug: a base belongs to a CPU, but any CPU may turn it. A CPU that goes
 * offline hands its hrtimers, and those it had from others, to a housekeeping
 * CPU, which from then on turns these wheels; so timers stay where they are, and
 * none is lost or late. (The hrtimer core would hand them to any CPU, also to an
 * isolated one.) A CPU that comes online takes its hrtimers home, unless one is
 * just running elsewhere; the next timer to come first there does then.
 *
 * Isolation: a CPU that is to be left alone has no timers; those armed there go
 * to the wheel of another, which is sent an interrupt (a kick) if they come
 * first, to set its hrtimer: one that is set from afar would expire here.
 * The kick takes no lock. It sets the hrtimer to what the base says, and looks
 * whether that is still so afterwards: whoever changed it meanwhile either sees
 * that the kick had begun, or finds it pending and can leave it to it.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/timekeeping.h>

#include "base.h"
#include "compat.h"
#include "stats.h"
#include "trace.h"

#define TWHEEL_CHUNKS_PER_RUN	32
#define TWHEEL_RUN_NS		NSEC_PER_MSEC
/* For most of a run that took longer the machine was likely stopped. */
#define TWHEEL_TOOK_MAX_NS	(500 * NSEC_PER_MSEC)
/* And a look at a timer that took longer was interrupted, or had to wait. */
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

struct twheel_geometry twheel_geometry __read_mostly;
struct twheel_base __percpu *twheel_bases[TWHEEL_NR_CLOCKS];
static enum cpuhp_state twheel_cpuhp_state;

/* What twheel_bases_init() was given. */
static u32 (*expire_nodes)(struct twheel_base *base, struct twheel_run *run) __ro_after_init;
static void (*end_run)(const struct twheel_run *run) __ro_after_init;

unsigned int twheel_housekeeping_cpu(void)
{
	unsigned int cpu;

	/* One that is going offline is no longer active. */
	for_each_cpu_and(cpu, housekeeping_cpumask(HK_TYPE_TIMER), cpu_active_mask)
		if (!twheel_cpu_isolated(cpu))
			return cpu;
	return smp_processor_id();
}

static u64 now_to_tick(u64 now)
{
	return now >> twheel_geometry.tick_shift;
}

/* From within its own function, too: so that needs not return RESTART. */
static void start(struct twheel_base *base, u64 ns)
{
	hrtimer_start(&base->hrtimer,
		      ns_to_ktime(twheel_clock_to_steady(base->clock, ns)),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
}

/* Runs on the CPU that is to turn the wheel, with interrupts off. */
static void kick(void *arg)
{
	struct twheel_base *base = arg;
	u64 tick;

	do {
		/* Pairs with the one in start_remote(). */
		smp_mb();
		tick = READ_ONCE(base->programmed);
		if (tick == TWHEEL_NEVER)
			break;
		start(base, tick << twheel_geometry.tick_shift);
	} while (READ_ONCE(base->programmed) != tick);

	/* Pairs with the acquire in wait_for_kicks(). */
	atomic_fetch_dec_release(&base->kicked);
}

/* False if @cpu is not there any more. */
static bool start_remote(struct twheel_base *base, unsigned int cpu)
{
	int ret;

	atomic_inc(&base->kicked);
	/* After base->programmed is set: a kick that is pending will see it. */
	smp_mb();
	ret = smp_call_function_single_async(cpu, &base->kick);
	if (ret)
		atomic_dec(&base->kicked);
	return !ret || ret == -EBUSY;
}

/* Does another CPU turn the wheel? A CPU may also be isolated while it runs. */
static bool is_away(const struct twheel_base *base)
{
	return base->away || twheel_cpu_isolated(base->cpu);
}

static void program(struct twheel_base *base, u64 tick, u64 ns)
{
	unsigned int cpu = is_away(base) ? twheel_housekeeping_cpu() : base->cpu;

	lockdep_assert_held(&base->lock);

	/* So that none is set, nor a kick sent, once the last context has gone. */
	if (!base->wheel.nr_nodes) {
		WRITE_ONCE(base->programmed, TWHEEL_NEVER);
		return;
	}
	WRITE_ONCE(base->programmed, tick);
	if (cpu == smp_processor_id() || !start_remote(base, cpu))
		start(base, ns);
}

static void program_next(struct twheel_base *base)
{
	u64 tick = base->wheel.next_expiry;

	program(base, tick, tick << twheel_geometry.tick_shift);
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
		program_next(base);
}

void twheel_base_dequeue(struct twheel_base *base, struct twheel_node *node)
{
	lockdep_assert_held(&base->lock);

	twheel_wheel_dequeue(&base->wheel, node);
}

/* Looks at @n timers took @ns: what does one take? On average, or one could mislead. */
static void count_look(struct twheel_base *base, u64 ns, u32 n)
{
	if (n)
		base->look_ns = (7 * base->look_ns +
				 min_t(u64, div_u64(ns, n), TWHEEL_LOOK_MAX_NS)) / 8;
}

#ifdef TWHEEL_DEBUG
/*
 * A check looks at all nodes of the wheel, and a wheel with a backlog turns very often: so
 * the more nodes there are, the rarer it is. On average it looks at 1024 a chunk at most.
 */
static void check_wheel(const struct twheel_base *base)
{
	const char *why;

	if (get_random_u32() % (1 + base->wheel.nr_nodes / 1024))
		return;
	why = twheel_wheel_check(&base->wheel);
	WARN_ONCE(why, "twheel: the wheel of CPU %u: %s\n", base->cpu, why);
}
#else
static void check_wheel(const struct twheel_base *base)
{
}
#endif

/*
 * Look at up to TWHEEL_CHUNK timers. Returns whether there may be more. Noinline so
 * that it can be traced: it is as long as @base->lock is held.
 */
static noinline bool expire_chunk(struct twheel_base *base, struct twheel_run *run)
{
	u32 seen, moved = run->moved;
	u64 begin = run->now;

	spin_lock(&base->lock);
	run->time = twheel_clock_now(base->clock);
	run->tick = now_to_tick(run->time);
	seen = expire_nodes(base, run);
	check_wheel(base);
	if (seen < TWHEEL_CHUNK) {
		WRITE_ONCE(base->programmed, TWHEEL_NEVER);
		if (base->wheel.next_expiry != TWHEEL_NEVER)
			program_next(base);
	}
	spin_unlock(&base->lock);

	moved = run->moved - moved;
	if (moved) {
		twheel_count_n(TWHEEL_COUNT_CASCADED, moved);
		trace_twheel_cascade(base->cpu, twheel_clockids[base->clock], moved);
	}
	run->now = ktime_get_ns();
	count_look(base, run->now - begin, seen);
	return seen == TWHEEL_CHUNK;
}

/* Have @base looked at when @pause ns have gone by, if it has to be looked at by then. */
static void postpone(struct twheel_base *base, u64 pause)
{
	u64 next, from;

	spin_lock(&base->lock);
	next = base->wheel.next_expiry;
	/* If the clock is set back after it was read here, twheel_bases_look() comes later. */
	from = twheel_clock_now(base->clock) + pause;
	program(base, next, max(from, min_t(u64, next, KTIME_MAX >> twheel_geometry.tick_shift)
				      << twheel_geometry.tick_shift));
	spin_unlock(&base->lock);
}

/*
 * What the task that runs has had of the CPU, in ns. On PREEMPT_RT that is the soft
 * interrupt, which others may preempt; else all the time that it takes is its own.
 */
static u64 own_time(void)
{
	return IS_ENABLED(CONFIG_PREEMPT_RT) ? current->se.sum_exec_runtime : 0;
}

/* How much of the CPU did a run take that began @wall ns ago, when own_time() was @own? */
static u64 run_took(u64 wall, u64 own)
{
	/* It is brought up to date when the task is switched, and with each tick. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		wall = min(wall, own_time() - own + TICK_NSEC);
	return min_t(u64, wall, TWHEEL_TOOK_MAX_NS);
}

static void reprogram(struct twheel_base *base)
{
	spin_lock_bh(&base->lock);
	program_next(base);
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
	u64 start = ktime_get_ns(), own = own_time(), end;
	struct twheel_run run = { .now = start };
	u32 chunks = TWHEEL_CHUNKS_PER_RUN;
	bool more;

	/* It was isolated since: without delay, or the hrtimer would stay where it runs. */
	if (unlikely(twheel_cpu_isolated(smp_processor_id())) &&
	    twheel_housekeeping_cpu() != smp_processor_id()) {
		count_run(0);
		reprogram(base);
		return HRTIMER_NORESTART;
	}
	if (start >= round->until) {
		round->nr++;
		round->until = start;
	} else if (base->round == round->nr) {
		count_run(0);
		postpone(base, round->until - start);
		return HRTIMER_NORESTART;
	}
	base->round = round->nr;

	/* Keeps the contexts, but not their timers, beyond the lock. */
	rcu_read_lock();
	do {
		more = expire_chunk(base, &run);
	} while (more && --chunks && run.now - start < TWHEEL_RUN_NS &&
		 run.nr_wake <= ARRAY_SIZE(run.wake) - TWHEEL_CHUNK);
	count_run(run.expired);
	end_run(&run);
	rcu_read_unlock();

	end = ktime_get_ns();
	round->until += end - start + run_took(end - start, own);
	if (more)
		postpone(base, round->until - end);
	return HRTIMER_NORESTART;
}

static void set_away(struct twheel_base *base, bool away)
{
	spin_lock_bh(&base->lock);
	base->away = away;
	spin_unlock_bh(&base->lock);
}

/* Those that set out before base->away was changed, and all others. */
static void wait_for_kicks(const struct twheel_base *base)
{
	while (atomic_read_acquire(&base->kicked))
		cpu_relax();
}

static int twheel_cpu_online(unsigned int cpu)
{
	enum twheel_clock clock;

	for (clock = 0; clock < TWHEEL_NR_CLOCKS; clock++) {
		struct twheel_base *base = twheel_base_of(clock, cpu);

		set_away(base, false);
		/* A late one would take the hrtimer back to where it was. */
		wait_for_kicks(base);
		reprogram(base);
	}
	return 0;
}

/*
 * Runs on @cpu, which is no longer active: nothing is programmed here any more
 * that is away. What was before is taken off, be it on its way or running.
 */
static int twheel_cpu_offline(unsigned int cpu)
{
	enum twheel_clock clock;
	int other;

	for (clock = 0; clock < TWHEEL_NR_CLOCKS; clock++) {
		set_away(twheel_base_of(clock, cpu), true);
		for_each_possible_cpu(other) {
			struct twheel_base *base = twheel_base_of(clock, other);

			if (!is_away(base))
				continue;
			wait_for_kicks(base);
			hrtimer_cancel(&base->hrtimer);
			reprogram(base);
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
		program(base, 0, 0);
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
	INIT_CSD(&base->kick, kick, base);
	twheel_wheel_init(&base->wheel, g->slots, g->levels,
			  now_to_tick(twheel_clock_now(clock)), memory);
	hrtimer_setup(&base->hrtimer, twheel_base_fire, twheel_clock_steady(clock),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
	return 0;
}

static void base_exit(struct twheel_base *base)
{
	/* Zeroed percpu memory that base_init() did not get to, or failed on. */
	if (!base->wheel.rows)
		return;

	wait_for_kicks(base);
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
	/* The last instructions of a kick are code that goes away. */
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
