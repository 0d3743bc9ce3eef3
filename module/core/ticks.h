/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Times: the clocks that there are wheels for, nanoseconds, and ticks. */
#ifndef TWHEEL_TICKS_H
#define TWHEEL_TICKS_H

#include <linux/cache.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/types.h>

/**
 * enum twheel_clock - the clocks that there are wheels for
 * @TWHEEL_MONOTONIC: CLOCK_MONOTONIC
 * @TWHEEL_BOOTTIME: CLOCK_BOOTTIME
 * @TWHEEL_REALTIME: CLOCK_REALTIME, the one that can be set
 * @TWHEEL_NR_CLOCKS: how many
 */
enum twheel_clock {
	TWHEEL_MONOTONIC,
	TWHEEL_BOOTTIME,
	TWHEEL_REALTIME,
	TWHEEL_NR_CLOCKS,
};

/**
 * struct twheel_geometry - the shape of all wheels; constant once there is a wheel
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

/*
 * How far ahead the levels of a wheel reach, in ns: 73 years. A timer that is due later is looked
 * at each time that so much has gone by. One level more would reach all times, and a wheel of 64
 * slots would not fit in 16 KB.
 */
#define TWHEEL_REACH_NS	(KTIME_MAX / 4)

/**
 * twheel_ns_to_tick() - the tick of a deadline
 * @ns:		the deadline, in ns; at most KTIME_MAX
 *
 * Rounded up, so that a timer is never early.
 *
 * Context: any.
 * Return: the first tick that is not before @ns.
 */
static inline u64 twheel_ns_to_tick(u64 ns)
{
	/* The tick after that of the time before: the shift is one of signed numbers, for 0. */
	return (((s64)ns - 1) >> twheel_geometry.tick_shift) + 1;
}

/**
 * twheel_now_to_tick() - the tick of the present
 * @now:	the time, in ns
 *
 * Context: any.
 * Return: the last tick that is not after @now.
 */
static inline u64 twheel_now_to_tick(u64 now)
{
	return now >> twheel_geometry.tick_shift;
}

/**
 * twheel_clock_shift() - add to a time
 * @ns:		the time, in ns
 * @offset:	what to add, in ns; may be negative
 *
 * Context: any.
 * Return: the sum, but at least 0 and at most KTIME_MAX.
 */
static inline u64 twheel_clock_shift(u64 ns, s64 offset)
{
	s64 sum;

	if (check_add_overflow((s64)min_t(u64, ns, KTIME_MAX), offset, &sum))
		return KTIME_MAX;
	return max_t(s64, sum, 0);
}

/**
 * twheel_clock_unshift() - take an offset off a time
 * @ns:		the time, in ns; at most KTIME_MAX
 * @offset:	the offset, in ns, which is mostly 0; may be negative
 *
 * Context: any.
 * Return: the difference, but at least 0 and at most KTIME_MAX.
 */
static inline u64 twheel_clock_unshift(u64 ns, s64 offset)
{
	return offset ? twheel_clock_shift(ns, -offset) : ns;
}

/**
 * twheel_ns_until() - how long it is until a deadline
 * @deadline:	the deadline, in ns
 * @now:	the time on the same clock, in ns
 *
 * Context: any.
 * Return: the difference in ns, or 0 if @deadline has passed.
 */
static inline u64 twheel_ns_until(u64 deadline, u64 now)
{
	return deadline > now ? deadline - now : 0;
}

#endif /* TWHEEL_TICKS_H */
