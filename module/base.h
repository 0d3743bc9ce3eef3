/* SPDX-License-Identifier: GPL-2.0-only */
/* One CPU's wheel on one clock, its lock, and the hrtimer that turns it. */
#ifndef TWHEEL_BASE_H
#define TWHEEL_BASE_H

#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include "wheel.h"

/**
 * enum twheel_clock - the clocks that there are wheels for
 * @TWHEEL_CLOCK_MONOTONIC: CLOCK_MONOTONIC
 * @TWHEEL_CLOCK_BOOTTIME: CLOCK_BOOTTIME
 * @TWHEEL_NR_CLOCKS: how many
 */
enum twheel_clock {
	TWHEEL_CLOCK_MONOTONIC,
	TWHEEL_CLOCK_BOOTTIME,
	TWHEEL_NR_CLOCKS,
};

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
 * @programmed:	the tick that @hrtimer is set to, or an earlier one;
 *		%TWHEEL_NEVER when it is not set
 * @hrtimer:	turns the wheel
 * @clock:	which clock; constant
 * @cpu:	which CPU; constant
 */
struct twheel_base {
	/* order: see base.c */
	spinlock_t		lock;
	struct twheel_wheel	wheel;
	u64			programmed;
	struct hrtimer		hrtimer;
	enum twheel_clock	clock;
	u16			cpu;
};

extern struct twheel_base __percpu *twheel_bases[TWHEEL_NR_CLOCKS];

/* What programs call them. */
extern const clockid_t twheel_clockids[TWHEEL_NR_CLOCKS];

/* The base of this CPU. Call with bottom halves off, so as to stay here. */
static inline struct twheel_base *twheel_base_local(enum twheel_clock clock)
{
	return this_cpu_ptr(twheel_bases[clock]);
}

static inline struct twheel_base *twheel_base_of(enum twheel_clock clock, u16 cpu)
{
	return per_cpu_ptr(twheel_bases[clock], cpu);
}

/* The first tick that is not before @ns: a timer is never early. */
static inline u64 twheel_ns_to_tick(u64 ns)
{
	u64 tick = ns >> twheel_geometry.tick_shift;

	return tick + ((tick << twheel_geometry.tick_shift) != ns);
}

/* The time in nanoseconds on @clock. */
u64 twheel_clock_now(enum twheel_clock clock);

/* Put @node, with its tick set, in @base's wheel. @now is the time in ns. */
void twheel_base_enqueue(struct twheel_base *base, struct twheel_node *node,
			 u64 now);

/* Take @node out of @base's wheel. The hrtimer is left as it is. */
void twheel_base_dequeue(struct twheel_base *base, struct twheel_node *node);

/* Make and free the wheels of all possible CPUs. May sleep. */
int twheel_bases_init(void);
void twheel_bases_exit(void);

#endif /* TWHEEL_BASE_H */
