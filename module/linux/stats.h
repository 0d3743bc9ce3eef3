/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters and histograms of what each CPU does, for debugfs.c to show.
 *
 * To count is one instruction on memory of this CPU, so counting is always on. It works in
 * any context, with or without preemption: if the task moves to another CPU just after, the
 * count stays with the CPU that it was made on.
 */
#ifndef TWHEEL_STATS_H
#define TWHEEL_STATS_H

#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/percpu.h>

/**
 * enum twheel_counter - what is counted, on the CPU that does it
 * @TWHEEL_COUNT_ARMED: new timers
 * @TWHEEL_COUNT_REARMED: live timers that were re-armed
 * @TWHEEL_COUNT_CANCELLED: timers that were cancelled or drained
 * @TWHEEL_COUNT_EXPIRED: timers made ready, by a wheel or because they were due
 *	already when they were armed
 * @TWHEEL_COUNT_READ: records delivered
 * @TWHEEL_COUNT_CASCADED: timers that a turn moved from one bucket to another
 * @TWHEEL_COUNT_MIGRATED: timers that a re-arm moved to another CPU's wheel
 * @TWHEEL_COUNT_INTERRUPTS: runs of the function that turns a wheel
 * @TWHEEL_NR_COUNTERS: how many
 */
enum twheel_counter {
	TWHEEL_COUNT_ARMED,
	TWHEEL_COUNT_REARMED,
	TWHEEL_COUNT_CANCELLED,
	TWHEEL_COUNT_EXPIRED,
	TWHEEL_COUNT_READ,
	TWHEEL_COUNT_CASCADED,
	TWHEEL_COUNT_MIGRATED,
	TWHEEL_COUNT_INTERRUPTS,
	TWHEEL_NR_COUNTERS,
};

/**
 * enum twheel_histogram - values of which the distribution is kept
 * @TWHEEL_HIST_LATENESS: nanoseconds from a timer's deadline to its expiry
 * @TWHEEL_HIST_EXPIRED: timers expired in one run of the function that turns a
 *	wheel
 * @TWHEEL_HIST_READ: records returned by one read()
 * @TWHEEL_NR_HISTOGRAMS: how many
 */
enum twheel_histogram {
	TWHEEL_HIST_LATENESS,
	TWHEEL_HIST_EXPIRED,
	TWHEEL_HIST_READ,
	TWHEEL_NR_HISTOGRAMS,
};

/* Bucket 0 is for the value 0, bucket k for [2^(k-1), 2^k). */
#define TWHEEL_HIST_BUCKETS	64

/**
 * struct twheel_stats - what one CPU has counted since the module was loaded
 * @counters:	by &enum twheel_counter
 * @histograms:	by &enum twheel_histogram, then by bucket
 *
 * Only that CPU writes it, and it is never set back: so no lock is needed.
 */
struct twheel_stats {
	unsigned long	counters[TWHEEL_NR_COUNTERS];
	unsigned long	histograms[TWHEEL_NR_HISTOGRAMS][TWHEEL_HIST_BUCKETS];
};

DECLARE_PER_CPU(struct twheel_stats, twheel_stats);

/* Count @n of @counter. */
static inline void twheel_count_n(enum twheel_counter counter, unsigned long n)
{
	this_cpu_add(twheel_stats.counters[counter], n);
}

/* Count one of @counter. */
static inline void twheel_count(enum twheel_counter counter)
{
	twheel_count_n(counter, 1);
}

/* Note @value in @histogram. */
static inline void twheel_observe(enum twheel_histogram histogram, u64 value)
{
	u32 bucket = min_t(u32, fls64(value), TWHEEL_HIST_BUCKETS - 1);

	this_cpu_inc(twheel_stats.histograms[histogram][bucket]);
}

#endif /* TWHEEL_STATS_H */
