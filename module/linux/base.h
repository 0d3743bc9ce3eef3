/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheel of one CPU on one clock, its lock, and the hrtimer that turns it. */
#ifndef TWHEEL_BASE_H
#define TWHEEL_BASE_H

#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "../core/wheel.h"
#include "clock.h"

struct twheel_ctx;

/**
 * struct twheel_geometry - the shape of all wheels; constant after init
 * @tick_shift:	log2 of the nanoseconds in a tick
 * @slots:	buckets a level
 * @levels:	levels
 */
struct twheel_geometry {
	u32	tick_shift;
	u32	slots;
	u32	levels;
};

extern struct twheel_geometry twheel_geometry __read_mostly;

/**
 * struct twheel_base - the wheel of one CPU on one clock
 * @lock:	guards all fields below, and each timer while it is in @wheel
 * @wheel:	the wheel
 * @programmed:	a lower bound of the tick that @hrtimer is set to, or is about to be set to;
 *		%TWHEEL_NEVER if it is not to fire. A kick reads it without @lock
 * @hrtimer:	turns the wheel
 * @away:	@cpu is offline, or about to be: another CPU turns the wheel
 * @kick:	makes the CPU that turns the wheel set @hrtimer
 * @kicked:	how many kicks are on their way, or running
 * @round:	the round in which the wheel was turned last; used by @hrtimer's callback
 *		only
 * @look_ns:	what a look at one timer takes on average, in ns; written by @hrtimer's
 *		callback only
 * @clock:	the clock; constant
 * @cpu:	the CPU; constant
 */
struct twheel_base {
	/* order: see base.c */
	spinlock_t		lock;
	struct twheel_wheel	wheel;
	u64			programmed;
	struct hrtimer		hrtimer;
	bool			away;
	call_single_data_t	kick;
	atomic_t		kicked;
	u32			round;
	u32			look_ns;
	enum twheel_clock	clock;
	u16			cpu;
};

extern struct twheel_base __percpu *twheel_bases[TWHEEL_NR_CLOCKS];

/**
 * twheel_base_of() - the base of a CPU on a clock
 * @clock:	the clock
 * @cpu:	any possible CPU
 *
 * Context: any.
 * Return: the base.
 */
static inline struct twheel_base *twheel_base_of(enum twheel_clock clock, u16 cpu)
{
	return per_cpu_ptr(twheel_bases[clock], cpu);
}

/**
 * twheel_cpu_isolated() - is a CPU to be left alone?
 * @cpu:	the CPU
 *
 * Context: any. On kernels that isolate CPUs at run time the answer may change.
 * Return: true if nohz_full=, isolcpus= or a cpuset says so.
 */
static inline bool twheel_cpu_isolated(unsigned int cpu)
{
	return !housekeeping_cpu(cpu, HK_TYPE_TIMER) ||
	       !housekeeping_cpu(cpu, HK_TYPE_DOMAIN);
}

/**
 * twheel_housekeeping_cpu() - a CPU that turns wheels for another one
 * @cpu:	any possible CPU, which is isolated or offline
 *
 * Takes O(CPUs that are not isolated).
 *
 * Context: any in which the task stays on its CPU.
 * Return: a CPU that is active and not isolated, of the same node if there is one there; the
 * CPUs of a node are spread over these by their numbers. Or this CPU if there is none.
 */
unsigned int twheel_housekeeping_cpu(unsigned int cpu);

/**
 * twheel_base_local() - the base for timers that are armed on this CPU
 * @clock:	the clock
 *
 * Context: bottom halves are off. The answer may change when CPUs come or go.
 * Return: the base of this CPU or, if this CPU is isolated, that of another one.
 */
static inline struct twheel_base *twheel_base_local(enum twheel_clock clock)
{
	unsigned int cpu = smp_processor_id();

	if (unlikely(twheel_cpu_isolated(cpu)))
		cpu = twheel_housekeeping_cpu(cpu);
	return twheel_base_of(clock, cpu);
}

/**
 * twheel_ns_to_tick() - the tick of a deadline
 * @ns:		the deadline, in ns
 *
 * Rounded up, so that a timer is never early.
 *
 * Context: any.
 * Return: the first tick that is not before @ns.
 */
static inline u64 twheel_ns_to_tick(u64 ns)
{
	u64 last = (1ULL << twheel_geometry.tick_shift) - 1;

	return (ns >> twheel_geometry.tick_shift) + !!(ns & last);
}

/**
 * twheel_base_enqueue() - put a node into the wheel, and set the hrtimer if need be
 * @base:	the base
 * @node:	the node; @node->expires is set
 * @now:	the time on the base's clock, in ns
 *
 * Context: the caller holds @base->lock.
 */
void twheel_base_enqueue(struct twheel_base *base, struct twheel_node *node,
			 u64 now);

/**
 * twheel_base_dequeue() - take a node out of the wheel, and leave the hrtimer as it is
 * @base:	the base
 * @node:	the node, which is in the wheel
 *
 * Context: the caller holds @base->lock.
 */
void twheel_base_dequeue(struct twheel_base *base, struct twheel_node *node);

/**
 * twheel_bases_look() - turn all wheels on CLOCK_REALTIME, after a step of that clock
 *
 * The run of each wheel then sets its hrtimer by the new time.
 *
 * Context: may sleep. For twheel_clock_init().
 */
void twheel_bases_look(void);

/* An expire batch: the timers that expiry looks at before it releases a base's lock */
#define TWHEEL_EXPIRE_BATCH	32

/**
 * struct twheel_run - a run of the function that turns a wheel
 * @time:	the time on the wheel's clock, in ns
 * @tick:	the last tick that is not after @time
 * @now:	the time on CLOCK_MONOTONIC, in ns
 * @expired:	timers made ready so far
 * @moved:	timers that came up and were put back so far
 * @nr_wake:	contexts that are to be woken at its end
 * @wake:	these contexts, each once. The run is under RCU, which keeps their memory
 */
struct twheel_run {
	u64			time;
	u64			tick;
	u64			now;
	u32			expired;
	u32			moved;
	u32			nr_wake;
	struct twheel_ctx	*wake[2 * TWHEEL_EXPIRE_BATCH];
};

/**
 * twheel_bases_init() - make the wheels of all possible CPUs on all clocks
 * @expire:	looks at up to %TWHEEL_EXPIRE_BATCH nodes that come up in a base's wheel by
 *		run->tick. Returns at how many; fewer if none is left. Is called in the soft
 *		interrupt, with base->lock held and under RCU, and may add as many contexts
 *		to run->wake
 * @end:	is called at the end of a run, in the soft interrupt and under RCU, without
 *		locks
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, or what cpuhp_setup_state_nocalls() returns.
 */
int twheel_bases_init(u32 (*expire)(struct twheel_base *base, struct twheel_run *run),
		      void (*end)(const struct twheel_run *run));

/**
 * twheel_bases_exit() - free all wheels, which are empty
 *
 * Context: may sleep.
 */
void twheel_bases_exit(void);

#endif /* TWHEEL_BASE_H */
