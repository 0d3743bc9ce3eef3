/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The other way out: cancelling a timer. */
#ifndef TWHEEL_CANCEL_H
#define TWHEEL_CANCEL_H

#include <linux/types.h>

#include <linux/twheel.h>

struct twheel_ctx;
struct twheel_hold;
struct twheel_timer;

/**
 * twheel_cancel_entries() - carry out entries of TWHEEL_IOC_CANCEL_BATCH
 * @ctx:	the context
 * @cancels:	the entries, in order; their (out) fields are filled
 * @n:		how many
 *
 * Context: process.
 */
void twheel_cancel_entries(struct twheel_ctx *ctx, struct twheel_cancel *cancels, u32 n);

/**
 * twheel_timer_cancel_held() - cancel a timer that is held
 * @hold:	of the timer
 * @timer:	the timer, which is pending or ready; free afterwards
 *
 * Context: holds @timer.
 * Return: the deadline that it had, in ns on the context's clock.
 */
u64 twheel_timer_cancel_held(struct twheel_hold *hold, struct twheel_timer *timer);

/**
 * twheel_timer_discard_all() - take all timers of a context out of their wheels, for good
 * @ctx:	the context, which nobody else uses any more
 *
 * Afterwards no expiry comes to @ctx any more. Takes O(timers).
 *
 * Context: may sleep.
 */
void twheel_timer_discard_all(struct twheel_ctx *ctx);

#endif /* TWHEEL_CANCEL_H */
