/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What is counted, and of what the distribution is kept. The host keeps it. */
#ifndef TWHEEL_STATS_H
#define TWHEEL_STATS_H

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

#endif /* TWHEEL_STATS_H */
