/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How late timers were, and how late anything was: the probes.
 */
#ifndef TORTURE_LATE_H
#define TORTURE_LATE_H

#include "shared.h"

/*
 * What cannot be late by less is not looked at: on an emulated machine a CPU may
 * stand still for so long without a probe having been there to see it.
 */
#define LATE_ALWAYS	TW_SEC
/* Softirqs that have to wait for a thread wait for its turn, perhaps for several. */
#define LATE_FACTOR	4

/* All was late by @ns until @now, on CLOCK_MONOTONIC: a probe, or chaos, says so. */
void late_saw(__u64 now, __u64 ns);

/* The most that a timer that was due at @due may be late at @at. */
__u64 late_bound(__u64 due, __u64 at);

void late_count(__u64 *hist, __u64 ns);
/* In ns, an upper bound: of all that were counted, so many percent were not later. */
__u64 late_percentile(const __u64 *hist, int percent);

#endif /* TORTURE_LATE_H */
