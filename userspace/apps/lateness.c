// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Percentiles of how late things were.
 */
#include <stdio.h>

#include "duration.h"
#include "lateness.h"

#define SUB_BUCKETS	(1U << LATENESS_SUB_BITS)

/*
 * Values below 2 * SUB_BUCKETS have a bucket each. Above, each power of two is
 * divided into SUB_BUCKETS.
 */
static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < SUB_BUCKETS)
		return (unsigned int)ns;
	shift = 63 - (unsigned int)__builtin_clzll(ns) - LATENESS_SUB_BITS;
	return ((shift + 1) << LATENESS_SUB_BITS) +
	       (unsigned int)(ns >> shift) - SUB_BUCKETS;
}

/* The largest value in a bucket. */
static uint64_t bucket_end(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < SUB_BUCKETS)
		return bucket;
	shift = (bucket >> LATENESS_SUB_BITS) - 1;
	return (((bucket % SUB_BUCKETS) + SUB_BUCKETS + 1ULL) << shift) - 1;
}

void lateness_add(struct lateness *late, uint64_t ns)
{
	late->count++;
	if (ns > late->max)
		late->max = ns;
	late->buckets[bucket_of(ns)]++;
}

uint64_t lateness_percentile(const struct lateness *late, unsigned int permille)
{
	uint64_t rank = late->count - late->count * (1000 - permille) / 1000;
	uint64_t seen = 0;
	unsigned int i;

	for (i = 0; i < LATENESS_BUCKETS && late->count; i++) {
		seen += late->buckets[i];
		if (seen >= rank && seen) {
			uint64_t end = bucket_end(i);

			return end < late->max ? end : late->max;
		}
	}
	return 0;
}

void lateness_print(const struct lateness *late)
{
	char p50[DURATION_SIZE];
	char p99[DURATION_SIZE];
	char p999[DURATION_SIZE];
	char max[DURATION_SIZE];

	if (!late->count) {
		puts("none");
		return;
	}
	printf("p50 %s, p99 %s, p99.9 %s, max %s\n",
	       duration_format(p50, lateness_percentile(late, 500)),
	       duration_format(p99, lateness_percentile(late, 990)),
	       duration_format(p999, lateness_percentile(late, 999)),
	       duration_format(max, late->max));
}
