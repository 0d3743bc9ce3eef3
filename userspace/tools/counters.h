/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The module's counters and histograms, from debugfs.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool.h"

/* In the order of the file's columns. */
enum counter {
	COUNTER_ARMED,
	COUNTER_REARMED,
	COUNTER_CANCELLED,
	COUNTER_EXPIRED,
	COUNTER_READ,
	COUNTER_CASCADED,
	COUNTER_MIGRATED,
	COUNTER_INTERRUPTS,
	COUNTERS,
};

enum histogram {
	HISTOGRAM_LATENESS,
	HISTOGRAM_EXPIRED,
	HISTOGRAM_READ,
	HISTOGRAMS,
};

#define BUCKETS	64

extern const char *const counter_names[COUNTERS];
extern const char *const histogram_names[HISTOGRAMS];

/**
 * struct cpu_counters - what one CPU has counted
 * @cpu: its number
 * @counts: by &enum counter
 * @buckets: by &enum histogram. Bucket 0 is for the value 0, bucket k for
 *	[2^(k-1), 2^k).
 */
struct cpu_counters {
	uint32_t	cpu;
	uint64_t	counts[COUNTERS];
	uint64_t	buckets[HISTOGRAMS][BUCKETS];
};

/**
 * struct counters - what all CPUs have counted
 * @cpus: an array, one for each possible CPU
 * @n: its length
 */
struct counters {
	struct cpu_counters	*cpus;
	size_t			n;
};

/**
 * counters_read() - read the present counters
 * @counters: filled in; to be freed by counters_free() after a success
 *
 * Return: 0 or -errno, for counters_complain(): -EPROTO when the files are not in the
 * form that this program knows.
 */
int counters_read(struct counters *counters);
void counters_free(struct counters *counters);

/**
 * counters_reset() - have all counters count from 0 again
 *
 * Return: 0 or -errno, for counters_complain().
 */
int counters_reset(void);

/**
 * counters_complain() - say why the counters cannot be read or reset
 * @verb: the verb that wanted them
 * @err: negative errno
 *
 * Return: %TOOL_FAILED.
 */
enum tool_exit counters_complain(const char *verb, int err);

/**
 * counters_since() - what was counted between two readings
 * @now: the later reading
 * @then: the earlier one
 * @delta: filled in; to be freed by counters_free()
 *
 * A number that is lower than before was reset in between, and counts from the reset.
 *
 * Return: 0 or -ENOMEM.
 */
int counters_since(const struct counters *now, const struct counters *then,
		   struct counters *delta);

/**
 * counters_sum() - add up all CPUs
 * @counters: the counters of all CPUs
 * @sum: filled in, except for its cpu
 */
void counters_sum(const struct counters *counters, struct cpu_counters *sum);

/**
 * counters_any() - has this CPU counted anything?
 * @cpu: its counters
 */
bool counters_any(const struct cpu_counters *cpu);

/**
 * bucket_of() - the bucket that a quantile lies in
 * @buckets: a histogram
 * @percent: which quantile: 50 for the median, 100 for the maximum
 *
 * Return: the bucket, or -1 when the histogram is empty.
 */
int bucket_of(const uint64_t buckets[BUCKETS], unsigned int percent);

/**
 * bucket_limit() - the largest value that a bucket counts
 * @bucket: 0 to 63
 */
uint64_t bucket_limit(int bucket);

#endif /* COUNTERS_H */
