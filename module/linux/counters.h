/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters and histograms of what each CPU does, for debugfs.c to show.
 *
 * To count is one instruction on memory of this CPU, so counting is always on. It works in
 * any context, with or without preemption: if the task moves to another CPU just after, the
 * count stays with the CPU that it was made on.
 */
#ifndef TWHEEL_COUNTERS_H
#define TWHEEL_COUNTERS_H

#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/percpu.h>

#include "../core/stats.h"

/* Bucket 0 is for the value 0, bucket k for [2^(k-1), 2^k). */
#define TWHEEL_HIST_BUCKETS	64

/**
 * struct twheel_stats - what one CPU has counted since the module was loaded
 * @counts:	by &enum twheel_counter; then of each &enum twheel_histogram the buckets
 *
 * Only that CPU writes it, and it is never set back: so no lock is needed.
 */
struct twheel_stats {
	unsigned long	counts[TWHEEL_NR_COUNTERS + TWHEEL_NR_HISTOGRAMS * TWHEEL_HIST_BUCKETS];
};

DECLARE_PER_CPU(struct twheel_stats, twheel_stats);

/* Count @n of @counter. */
static inline void twheel_count_n(enum twheel_counter counter, unsigned long n)
{
	this_cpu_add(twheel_stats.counts[counter], n);
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

	this_cpu_inc(twheel_stats.counts[TWHEEL_NR_COUNTERS +
					 histogram * TWHEEL_HIST_BUCKETS + bucket]);
}

#endif /* TWHEEL_COUNTERS_H */
