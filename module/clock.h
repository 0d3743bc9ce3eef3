/* SPDX-License-Identifier: GPL-2.0-only */
/* The clocks: reading them, namespaces, and being told that one was set. */
#ifndef TWHEEL_CLOCK_H
#define TWHEEL_CLOCK_H

#include <linux/list.h>
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

/* What clock_gettime() calls them. */
extern const clockid_t twheel_clockids[TWHEEL_NR_CLOCKS];

/* The time in nanoseconds on @clock. */
u64 twheel_clock_now(enum twheel_clock clock);

/* The clock to sleep on until a time of @clock: one that is never set back. */
clockid_t twheel_clock_steady(enum twheel_clock clock);

/*
 * The time on that clock when it is @ns on @clock, unless that is set before. At most
 * KTIME_MAX. Any context in which clocks can be read.
 */
u64 twheel_clock_to_steady(enum twheel_clock clock, u64 ns);

/* What @clock is ahead, in ns, in the time namespace of the caller. */
s64 twheel_clock_offset(enum twheel_clock clock);

/* @ns, a point in time, moved by @offset: from 0 to KTIME_MAX. */
u64 twheel_clock_shift(u64 ns, s64 offset);

/* A point in time on @clock as the calling program sees it. */
static inline u64 twheel_clock_to_user(enum twheel_clock clock, u64 ns)
{
	return twheel_clock_shift(ns, twheel_clock_offset(clock));
}

/* A point in time that the calling program has stated. */
static inline u64 twheel_clock_from_user(enum twheel_clock clock, u64 ns)
{
	return twheel_clock_shift(ns, -twheel_clock_offset(clock));
}

/* How long it is from @now until @deadline: 0 if that has passed. */
static inline u64 twheel_ns_until(u64 deadline, u64 now)
{
	return deadline > now ? deadline - now : 0;
}

/* How often CLOCK_REALTIME was set, or jumped. Any context. */
u32 twheel_clock_steps(void);

/**
 * struct twheel_clock_watch - who wants to know when CLOCK_REALTIME is set
 * @entry:	in the list of all watches; under its mutex
 * @notify:	called some time after twheel_clock_steps() has changed. May sleep
 */
struct twheel_clock_watch {
	struct list_head	entry;
	void			(*notify)(struct twheel_clock_watch *watch);
};

/* Begin and end a watch. After its end @notify does not run. May sleep. */
void twheel_clock_watch(struct twheel_clock_watch *watch);
void twheel_clock_unwatch(struct twheel_clock_watch *watch);

/*
 * Begin to watch the clocks. After each step of CLOCK_REALTIME, and when a leap second
 * is announced, @look is called: what twheel_clock_to_steady() says has changed. It may
 * sleep, and nothing else holds it up. Not after twheel_clock_exit().
 */
int twheel_clock_init(void (*look)(void));
void twheel_clock_exit(void);

#endif /* TWHEEL_CLOCK_H */
