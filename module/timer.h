/* SPDX-License-Identifier: GPL-2.0-only */
/* One timer: its states, and what can be done to it. */
#ifndef TWHEEL_TIMER_H
#define TWHEEL_TIMER_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/uio.h>

#include <linux/twheel.h>

#include "base.h"
#include "ctx.h"

/**
 * struct twheel_timer - one timer
 * @node:	while pending: its place in a wheel
 * @ready:	while ready: its place in the context's list
 * @expired:	while ready: when it was expired, in ns
 * @deadline:	the next expiration or, while ready, the first unread one, in ns
 * @user_data:	the program's
 * @interval:	ns between expirations; 0 for one shot
 * @count:	expirations left, unread ones included; 0 for no end
 * @slack:	ticks that it may expire late
 * @generation:	upper half of its handle
 * @where:	&enum twheel_state, TWHEEL_STATE_NONE while it is free; while
 *		pending, shifted by TWHEEL_CPU_SHIFT, the CPU of its base; and
 *		shifted by TWHEEL_FLAGS_SHIFT those of %TWHEEL_TIMER_FLAGS that it
 *		was armed with
 *
 * A timer that is pending is guarded by the lock of its base, any other by that
 * of its context. @where tells which; it changes only under both the lock that
 * guards it before and the one that does after. So it is read without a lock,
 * and again with the lock held that it named. It is one word so that no CPU sees
 * the state of one time with the base of another.
 *
 * Fits a cache line; there are millions.
 */
struct twheel_timer {
	union {
		struct twheel_node	node;
		struct {
			struct list_head	ready;
			u64			expired;
		};
	};
	u64	deadline;
	u64	user_data;
	u64	interval;
	u32	count;
	u32	slack;
	u32	generation;
	u32	where;
};

#define TWHEEL_CPU_SHIFT	8
#define TWHEEL_FLAGS_SHIFT	24

/* What is to be known of a timer as long as it is armed. */
#define TWHEEL_TIMER_FLAGS	(TWHEEL_ARM_FIXED_DELAY | TWHEEL_ARM_LEASE)

static inline enum twheel_state twheel_state_of(u32 where)
{
	return where & (BIT(TWHEEL_CPU_SHIFT) - 1);
}

static inline u16 twheel_cpu_of(u32 where)
{
	return where >> TWHEEL_CPU_SHIFT;
}

static inline u32 twheel_flags_of(u32 where)
{
	return where >> TWHEEL_FLAGS_SHIFT;
}

static inline enum twheel_state twheel_timer_state(const struct twheel_timer *timer)
{
	return twheel_state_of(READ_ONCE(timer->where));
}

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

/* Timers that are looked at before a base's lock is let go of. */
#define TWHEEL_CHUNK	32

/**
 * struct twheel_run - a run of the function that turns a wheel
 * @time:	the time on the wheel's clock, in ns
 * @tick:	the last tick that is not after it
 * @now:	the time on CLOCK_MONOTONIC, in ns
 * @expired:	timers made ready so far
 * @moved:	timers that came up and were put back so far
 * @nr_wake:	contexts that are to be woken at its end
 * @wake:	they, each once. Filled under RCU, which keeps them, but not their timers
 */
struct twheel_run {
	u64			time;
	u64			tick;
	u64			now;
	u32			expired;
	u32			moved;
	u32			nr_wake;
	struct twheel_ctx	*wake[2 * TWHEEL_CHUNK];
};

/*
 * Look at up to %TWHEEL_CHUNK timers that come up in @base's wheel by run->tick: make
 * those that are over ready, and put the others back. Returns at how many; fewer than
 * %TWHEEL_CHUNK if none is left. Needs base->lock, and room for as many in run->wake.
 */
u32 twheel_timer_expire(struct twheel_base *base, struct twheel_run *run);

/*
 * Move some records to @to: the bytes stored, 0 if nothing is ready, -EFAULT if
 * the memory for the first has to be faulted in. A record that was not stored
 * whole stays ready.
 */
ssize_t twheel_timer_deliver(struct twheel_ctx *ctx, struct iov_iter *to);

/* Take @timer out of its wheel, if it is pending, for good. */
void twheel_timer_discard(struct twheel_ctx *ctx, struct twheel_timer *timer);

#endif /* TWHEEL_TIMER_H */
