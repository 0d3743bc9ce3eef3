/* SPDX-License-Identifier: GPL-2.0-only */
/* The clocks: how to read them, time namespaces, and steps of CLOCK_REALTIME. */
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

/* The clocks' numbers in clock_gettime(). */
extern const clockid_t twheel_clockids[TWHEEL_NR_CLOCKS];

/**
 * twheel_clock_now() - what time it is
 * @clock:	the clock
 *
 * Context: any in which clocks can be read.
 * Return: the time in ns, in no time namespace.
 */
u64 twheel_clock_now(enum twheel_clock clock);

/**
 * twheel_clock_steady() - a clock that goes like another one, but is never set
 * @clock:	the clock
 *
 * Context: any.
 * Return: the number of the clock for an hrtimer that waits for a time on @clock.
 */
clockid_t twheel_clock_steady(enum twheel_clock clock);

/**
 * twheel_clock_to_steady() - convert a time to the steady clock
 * @clock:	the clock
 * @ns:		a time on @clock, in ns
 *
 * The result holds as long as @clock is not set.
 *
 * Context: any in which clocks can be read.
 * Return: the time on twheel_clock_steady() at which it is @ns on @clock; at most KTIME_MAX.
 */
u64 twheel_clock_to_steady(enum twheel_clock clock, u64 ns);

/**
 * twheel_clock_offset() - by how much a clock is ahead in a time namespace
 * @clock:	the clock
 *
 * Context: in the task whose namespace counts.
 * Return: the offset in ns.
 */
s64 twheel_clock_offset(enum twheel_clock clock);

/**
 * twheel_clock_shift() - add to a time
 * @ns:		the time, in ns
 * @offset:	what to add, in ns; may be negative
 *
 * Context: any.
 * Return: the sum, but at least 0 and at most KTIME_MAX.
 */
u64 twheel_clock_shift(u64 ns, s64 offset);

/**
 * twheel_clock_to_user() - a time as the calling program sees it
 * @clock:	the clock
 * @ns:		a time on @clock, in ns, in no time namespace
 *
 * Context: in the task whose time namespace counts.
 * Return: the time in ns.
 */
static inline u64 twheel_clock_to_user(enum twheel_clock clock, u64 ns)
{
	return twheel_clock_shift(ns, twheel_clock_offset(clock));
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

/**
 * twheel_clock_steps() - how often CLOCK_REALTIME was set, or jumped
 *
 * Context: any.
 * Return: a count, which may wrap around.
 */
u32 twheel_clock_steps(void);

/**
 * struct twheel_clock_watch - a function to call when CLOCK_REALTIME was set
 * @entry:	in the list of all watches; under the mutex of the list
 * @notify:	called some time after twheel_clock_steps() has changed; may sleep
 */
struct twheel_clock_watch {
	struct list_head	entry;
	void			(*notify)(struct twheel_clock_watch *watch);
};

/**
 * twheel_clock_watch() - begin to watch for steps of CLOCK_REALTIME
 * @watch:	the watch; @watch->notify is set
 *
 * Context: may sleep.
 */
void twheel_clock_watch(struct twheel_clock_watch *watch);

/**
 * twheel_clock_unwatch() - end a watch
 * @watch:	the watch. Afterwards @watch->notify does not run any more
 *
 * Context: may sleep; not from a @notify function.
 */
void twheel_clock_unwatch(struct twheel_clock_watch *watch);

/**
 * twheel_clock_init() - begin to notice steps of CLOCK_REALTIME
 * @look:	called after each step of that clock and when a leap second is announced, since
 *		twheel_clock_to_steady() then gives other results. It may sleep, and no watch
 *		delays it
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int twheel_clock_init(void (*look)(void));

/**
 * twheel_clock_exit() - notice no more steps; no watch is left
 *
 * Context: may sleep. Afterwards the function @look does not run any more.
 */
void twheel_clock_exit(void);

#endif /* TWHEEL_CLOCK_H */
