/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Percentiles of how late things were.
 */
#ifndef LATENESS_H
#define LATENESS_H

#include <stdint.h>

/* Buckets are as fine as 1/32 of their values, which is the error of a percentile. */
#define LATENESS_SUB_BITS	5
#define LATENESS_BUCKETS	((65 - LATENESS_SUB_BITS) << LATENESS_SUB_BITS)

/**
 * struct lateness - a histogram of durations
 * @count: how many were added
 * @max: the longest, exact
 * @buckets: how many fell into each bucket
 */
struct lateness {
	uint64_t	count;
	uint64_t	max;
	uint64_t	buckets[LATENESS_BUCKETS];
};

/**
 * lateness_add() - count a duration
 * @late: the histogram, all zero before the first duration
 * @ns: the duration
 */
void lateness_add(struct lateness *late, uint64_t ns);

/**
 * lateness_percentile() - the duration that a share of all did not exceed
 * @late: the histogram
 * @permille: the share in thousandths
 *
 * Return: nanoseconds, which may be up to 1/32 too many but never more than the longest
 * duration; 0 when nothing was counted.
 */
uint64_t lateness_percentile(const struct lateness *late, unsigned int permille);

/**
 * lateness_print() - print p50, p99, p99.9 and the longest in one line
 * @late: the histogram
 */
void lateness_print(const struct lateness *late);

#endif /* LATENESS_H */
