/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that share a CPU with the timers: one that computes all the time, and one
 * that is to be woken every millisecond. For how long did they stand still?
 */
#ifndef TWHEEL_PROBE_H
#define TWHEEL_PROBE_H

#include <linux/types.h>

/**
 * struct probe_gaps - the longest that a thread had to wait, in ns
 * @spin: a thread that computes, for the CPU
 * @wake: a thread that is woken every millisecond, from one time to the next
 * @idle: one that computes on a CPU of its own: how long a CPU of this machine
 *	stands still by itself, as emulated ones do
 */
struct probe_gaps {
	__u64 spin;
	__u64 wake;
	__u64 idle;
};

/*
 * Starts the first two on @cpu and the last on @idle_cpu, and returns when they
 * are at work: 0 or -errno.
 */
int probe_begin(int cpu, int idle_cpu);

/* Stop them, and give the longest waits. */
struct probe_gaps probe_end(void);

#endif /* TWHEEL_PROBE_H */
