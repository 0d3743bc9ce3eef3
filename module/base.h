/* SPDX-License-Identifier: GPL-2.0-only */
/* One CPU's wheel on one clock, its lock, and the hrtimer that turns it. */
#ifndef TWHEEL_BASE_H
#define TWHEEL_BASE_H

#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "clock.h"
#include "wheel.h"

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
 * struct twheel_base - one CPU's wheel on one clock
 * @lock:	guards all below, and each timer while it is in @wheel
 * @wheel:	the wheel
 * @programmed:	the tick that @hrtimer is set to, will soon be, or an earlier one;
 *		%TWHEEL_NEVER when nothing is to come. Read without @lock by a kick.
 * @hrtimer:	turns the wheel
 * @away:	@cpu is offline, or about to be: another one turns the wheel
 * @kick:	has the CPU that turns the wheel set @hrtimer
 * @kicked:	@kick is on its way or running
 * @round:	the round of the CPU that turned the wheel last; for @hrtimer's function
 * @look_ns:	what a look at a timer takes on average, in ns; the same
 * @clock:	which clock; constant
 * @cpu:	which CPU; constant
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

static inline struct twheel_base *twheel_base_of(enum twheel_clock clock, u16 cpu)
{
	return per_cpu_ptr(twheel_bases[clock], cpu);
}

/* Is @cpu to be left alone, by nohz_full= or isolcpus=? */
static inline bool twheel_cpu_isolated(unsigned int cpu)
{
	return !housekeeping_cpu(cpu, HK_TYPE_TIMER) ||
	       !housekeeping_cpu(cpu, HK_TYPE_DOMAIN);
}

/* A CPU that is online and not isolated, if there is one. */
unsigned int twheel_housekeeping_cpu(void);

/*
 * The base for timers that are armed here: of this CPU, or if it is isolated of
 * another one. Call with bottom halves off. The next call may say otherwise, if
 * CPUs come or go.
 */
static inline struct twheel_base *twheel_base_local(enum twheel_clock clock)
{
	unsigned int cpu = smp_processor_id();

	if (unlikely(twheel_cpu_isolated(cpu)))
		cpu = twheel_housekeeping_cpu();
	return twheel_base_of(clock, cpu);
}

/* The first tick that is not before @ns: a timer is never early. */
static inline u64 twheel_ns_to_tick(u64 ns)
{
	u64 tick = ns >> twheel_geometry.tick_shift;

	return tick + ((tick << twheel_geometry.tick_shift) != ns);
}

/* Put @node, with its tick set, in @base's wheel. @now is the time in ns. */
void twheel_base_enqueue(struct twheel_base *base, struct twheel_node *node,
			 u64 now);

/* Take @node out of @base's wheel. The hrtimer is left as it is. */
void twheel_base_dequeue(struct twheel_base *base, struct twheel_node *node);

/* CLOCK_REALTIME was set: have its wheels look at it, and their hrtimers be set by it. */
void twheel_bases_look(void);

/* Timers that are looked at before a base's lock is let go of. */
#define TWHEEL_EXPIRE_BATCH	32

/**
 * struct twheel_run - a run of the function that turns a wheel
 * @time:	the time on the wheel's clock, in ns
 * @tick:	the last tick that is not after it
 * @now:	the time on CLOCK_MONOTONIC, in ns
 * @expired:	timers made ready so far
 * @moved:	timers that came up and were put back so far
 * @nr_wake:	contexts that are to be woken at its end
 * @wake:	they, each once. Filled under RCU, which keeps them, but not their timers
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

/*
 * Make and free the wheels of all possible CPUs. May sleep.
 *
 * @expire: looks at up to %TWHEEL_EXPIRE_BATCH nodes that come up in a base's wheel by
 *	run->tick, and returns at how many; fewer than %TWHEEL_EXPIRE_BATCH if none is left. It is
 *	called in the soft interrupt, with base->lock held and under RCU, and there is room
 *	for as many in run->wake.
 * @end: is called at the end of a run, in the soft interrupt and under RCU, without locks.
 */
int twheel_bases_init(u32 (*expire)(struct twheel_base *base, struct twheel_run *run),
		      void (*end)(const struct twheel_run *run));
void twheel_bases_exit(void);

#endif /* TWHEEL_BASE_H */
