/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be done to a timer: the way in, and the way out. */
#ifndef TWHEEL_TIMER_H
#define TWHEEL_TIMER_H

#include <linux/types.h>

#include <linux/twheel.h>

struct iov_iter;
struct twheel_base;
struct twheel_ctx;
struct twheel_run;

/* Carry out one entry: fills its (out) fields, @result last. May sleep. */
void twheel_timer_arm(struct twheel_ctx *ctx, struct twheel_arm *arm);
void twheel_timer_cancel(struct twheel_ctx *ctx, struct twheel_cancel *cancel);

/* Describe the timer that info->handle names: 0 or -ENOENT. */
int twheel_timer_get(struct twheel_ctx *ctx, struct twheel_timer_info *info);

/*
 * Store a description of timer @index at @to if it is pending and then, with
 * @drain, cancel it. 1 if it was stored, 0 if it was not pending, -EFAULT if
 * the memory has to be faulted in first.
 */
int twheel_timer_list(struct twheel_ctx *ctx, u32 index, bool drain,
		      struct twheel_timer_info __user *to);

/*
 * The earliest deadline of a pending timer, as the calling program sees it, or
 * %TWHEEL_NO_EXPIRY. May sleep.
 */
u64 twheel_timer_next_expiry(struct twheel_ctx *ctx);

/*
 * Look at up to %TWHEEL_CHUNK timers that come up in @base's wheel by run->tick: make
 * those that are over ready, and put the others back. For twheel_bases_init().
 */
u32 twheel_timer_expire(struct twheel_base *base, struct twheel_run *run);

/* Wake all those that it has noted in run->wake. For twheel_bases_init(). */
void twheel_timer_wake(const struct twheel_run *run);

/*
 * Move some records to @to: the bytes stored, 0 if nothing is ready, -EFAULT if
 * the memory for the first has to be faulted in. A record that was not stored
 * whole stays ready.
 */
ssize_t twheel_timer_deliver(struct twheel_ctx *ctx, struct iov_iter *to);

/*
 * Take all timers of @ctx out of their wheels, for good: after that nothing comes to
 * it from there. Nobody else may use it any more. May sleep. O(timers).
 */
void twheel_timer_discard_all(struct twheel_ctx *ctx);

#endif /* TWHEEL_TIMER_H */
