/* SPDX-License-Identifier: GPL-2.0-only */
/* How long a wheel's lock is held by the code that turns it, by the function tracer. */
#ifndef TWHEEL_HOLDS_H
#define TWHEEL_HOLDS_H

#include <stdbool.h>

#include <linux/types.h>

/**
 * struct holds - the times that the lock was held
 * @nr: how many
 * @median: in ns
 * @p99: all but one in a hundred are shorter
 * @longest: of all; it includes any time for which the CPU itself was stopped
 */
struct holds {
	__u64 nr;
	__u64 median;
	__u64 p99;
	__u64 longest;
};

/* Start measuring on @cpu. False if this kernel has no such tracer. */
bool holds_begin(int cpu);

/* Stop, and give the figures: all 0 if there were no holds, or if they did not fit. */
struct holds holds_end(void);

#endif /* TWHEEL_HOLDS_H */
