/* SPDX-License-Identifier: GPL-2.0-only */
/* The clocks: their numbers, and steps of CLOCK_REALTIME. To read them: core/host.h. */
#ifndef TWHEEL_CLOCK_H
#define TWHEEL_CLOCK_H

#include <linux/types.h>

#include "../core/ticks.h"

struct work_struct;

/* The clocks' numbers in clock_gettime(). */
extern const clockid_t twheel_clockids[TWHEEL_NR_CLOCKS];

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
 * twheel_clock_init() - begin to notice steps of CLOCK_REALTIME
 * @look:	called after each step of that clock, and when a leap second is announced or does
 *		not come, since twheel_clock_to_steady() then gives other results. It may sleep,
 *		and no watch delays it
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int twheel_clock_init(void (*look)(struct work_struct *work));

/**
 * twheel_clock_exit() - notice no more steps; no watch is left
 *
 * Context: may sleep. Afterwards the function @look does not run any more.
 */
void twheel_clock_exit(void);

#endif /* TWHEEL_CLOCK_H */
