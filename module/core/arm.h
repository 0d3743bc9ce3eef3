/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The way in: arming and re-arming a timer. */
#ifndef TWHEEL_ARM_H
#define TWHEEL_ARM_H

#include <linux/compiler.h>
#include <linux/prefetch.h>
#include <linux/types.h>

#include <linux/twheel.h>

#include "timer.h"

struct twheel_base;
struct twheel_ctx;
struct twheel_hold;

/**
 * twheel_arm_entries() - carry out entries of TWHEEL_IOC_ARM_BATCH
 * @ctx:	the context
 * @arms:	the entries, in order; their (out) fields are filled
 * @n:		how many
 *
 * Context: may sleep; in the task whose time namespace counts.
 */
void twheel_arm_entries(struct twheel_ctx *ctx, struct twheel_arm *arms, u32 n);

/**
 * twheel_timer_rearm() - re-arm a timer that is held
 * @hold:	of the timer
 * @timer:	the timer, which is live
 * @arm:	valid; its (out) fields @old_state, @old_remaining, @word and @tag are filled
 *
 * Context: holds @timer.
 * Return: 0; -ENOENT or -EEXIST if the condition of @arm is not met; or -EAGAIN if
 * twheel_hold_both() is needed first.
 */
int twheel_timer_rearm(struct twheel_hold *hold, struct twheel_timer *timer,
		       struct twheel_arm *arm);

/**
 * twheel_timer_postpone() - let a timer be due at another time, if it can stay where it is
 * @base:	the base of the timer
 * @timer:	the timer. All its settings but the deadline stay
 * @deadline:	the time on the context's clock, in ns
 * @here:	the value of timer->where, without flags, of timers that are pending on @base
 * @stays:	twheel_base_stays() of @base
 *
 * Context: holds @timer.
 * Return: true if so; false if nothing has changed and it takes twheel_timer_rearm(): if the timer
 * is ready, has a flag or slack, has to leave its CPU, or has been due later, as then it may be
 * due at once.
 */
bool twheel_timer_postpone(struct twheel_base *base, struct twheel_timer *timer, u64 deadline,
			   u32 here, bool stays);

/**
 * twheel_timer_end_lease() - let nobody extend a lease any more
 * @ctx:	the context
 * @timer:	the lease, which is locked and pending
 *
 * Context: any.
 * Return: the deadline that the timer had until then, in ns on the context's clock.
 */
u64 twheel_timer_end_lease(const struct twheel_ctx *ctx, const struct twheel_timer *timer);

/**
 * twheel_timer_fetch_neighbours() - fetch the memory that dequeueing a timer will change
 * @timer:	the timer, which need not be locked. Its neighbours may have changed by the time
 *		they are used; that does no harm
 *
 * Context: under RCU.
 */
static inline void twheel_timer_fetch_neighbours(const struct twheel_timer *timer)
{
	/* A wrong address is fetched in vain. */
	prefetchw(data_race(timer->node.entry.prev));
	/* As above. */
	prefetchw(data_race(timer->node.entry.next));
}

/**
 * twheel_timer_tick() - the tick in which a timer is to expire
 * @timer:	the timer
 *
 * Context: any. The caller has locked the timer.
 * Return: the first tick that is not before its deadline or, within its slack, a later one
 * that other timers are likely to share.
 */
u64 twheel_timer_tick(const struct twheel_timer *timer);

/**
 * twheel_timer_enqueue() - put a timer into the wheel of a base
 * @timer:	the timer, in no list and no wheel; its settings are stored, and its state
 *		says already that it is pending there
 * @base:	the base
 * @now:	the time on the base's clock, in ns
 *
 * Context: the caller holds @base->lock.
 */
void twheel_timer_enqueue(struct twheel_timer *timer, struct twheel_base *base, u64 now);

#endif /* TWHEEL_ARM_H */
