// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The other way out: timers that end before they are read, one by one or all at once.
 *
 * Locking rules: see hold.c for what guards a timer, design.md for the order.
 */
#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "arm.h"
#include "base.h"
#include "cancel.h"
#include "ctx.h"
#include "debug.h"
#include "hold.h"
#include "host.h"
#include "timer.h"

/* twheel_hold_look_ahead() reads the handle at offset 0 of each entry. */
static_assert(!offsetof(struct twheel_cancel, handle));

/*
 * End @timer, which is held, pending or ready. Afterwards it may be another one already. @where:
 * timer->where, but for the CPU, which does not matter. Returns the deadline that it had.
 */
static __always_inline u64 end_held(struct twheel_hold *hold, struct twheel_timer *timer, u32 where)
{
	enum twheel_state state = twheel_state_of(where);
	struct twheel_ctx *ctx = hold->ctx;
	u64 deadline = timer->deadline;

	twheel_ctx_assert_held(ctx, timer);
	twheel_assert(state != TWHEEL_STATE_NONE && state == twheel_timer_state(timer));
	twheel_assert(twheel_flags_of(where) == twheel_flags_of(timer->where));

	if (state == TWHEEL_STATE_PENDING) {
		if (unlikely(twheel_is_lease(where)))
			deadline = twheel_timer_end_lease(ctx, timer);
		twheel_hold_dequeue(hold, timer);
	} else {
		twheel_ctx_withdraw(ctx, timer);
	}
	twheel_count(TWHEEL_COUNT_CANCELLED);
	if (trace_twheel_cancel_enabled())
		trace_twheel_cancel(ctx, twheel_pool_handle(timer), state);
	twheel_pool_end_timer(&ctx->pool, timer);
	twheel_pool_free(&ctx->pool, hold->base, timer, &hold->ended);
	return deadline;
}

u64 twheel_timer_cancel_held(struct twheel_hold *hold, struct twheel_timer *timer)
{
	return end_held(hold, timer, timer->where);
}

/* Say in @cancel that no timer has ended. Returns 0, or -EINVAL if @cancel asks for more. */
static int begin_cancel(struct twheel_cancel *cancel)
{
	cancel->old_state = TWHEEL_STATE_NONE;
	cancel->old_remaining = 0;
	return cancel->flags || cancel->reserved ? -EINVAL : 0;
}

/* End @timer, which is held and live, and say so in @cancel. @where: as for end_held() */
static __always_inline void cancel_held(struct twheel_hold *hold, struct twheel_timer *timer,
					u32 where, struct twheel_cancel *cancel)
{
	u64 deadline = end_held(hold, timer, where);

	cancel->old_state = twheel_state_of(where);
	if (twheel_state_of(where) == TWHEEL_STATE_PENDING)
		cancel->old_remaining = twheel_ns_until(deadline, twheel_hold_now(hold));
}

/* As cancel_entry(), after begin_cancel(), for all that is not most common */
static noinline int cancel_slow(struct twheel_hold *hold, struct twheel_cancel *cancel,
				struct twheel_timer *hint)
{
	struct twheel_timer *timer = twheel_hold_handle(hold, cancel->handle, hint);

	twheel_hold_unlock_key(hold);
	if (!timer)
		return -ENOENT;
	cancel_held(hold, timer, timer->where, cancel);
	return 0;
}

/* Carry out @cancel. @hint: as for twheel_hold_handle(). Returns the result. */
static __always_inline int cancel_entry(struct twheel_hold *hold, struct twheel_cancel *cancel,
					struct twheel_timer *hint)
{
	int ret = begin_cancel(cancel);

	if (ret)
		return ret;
	if (unlikely(!twheel_hold_has(hold, cancel->handle, hint, 0)))
		return cancel_slow(hold, cancel, hint);
	cancel_held(hold, hint, TWHEEL_STATE_PENDING, cancel);
	return 0;
}

/* Carry out the @n entries at @cancels. @timers has room for as many timers. */
static void cancel_some(struct twheel_ctx *ctx, struct twheel_cancel *cancels, u32 n,
			struct twheel_timer **timers)
{
	struct twheel_hold hold __uninitialized;
	u32 i;

	twheel_hold_begin(&hold, ctx);
	twheel_hold_look_ahead(&hold, cancels, sizeof(*cancels), n, timers);
	for (i = 0; i < n; i++)
		if (timers[i])
			twheel_timer_fetch_neighbours(timers[i]);
	for (i = 0; i < n; i++)
		cancels[i].result = cancel_entry(&hold, &cancels[i], timers[i]);
	twheel_hold_end(&hold);
}

/*
 * Carry out @cancel, if that ends a pending timer: without what is done for a batch. Returns
 * whether it was carried out.
 */
static bool cancel_alone(struct twheel_ctx *ctx, struct twheel_cancel *cancel)
{
	struct twheel_hold hold __uninitialized;
	struct twheel_timer *timer;
	struct twheel_base *base;

	if (begin_cancel(cancel) || !twheel_pool_settled(&ctx->pool))
		return false;
	rcu_read_lock_bh();
	timer = twheel_hold_lock(ctx, cancel->handle, &base);
	if (!timer) {
		rcu_read_unlock_bh();
		return false;
	}
	/* For sparse: twheel_hold_end() ends the section. */
	__release(RCU_BH);
	twheel_hold_go_on(&hold, ctx, base);
	cancel_held(&hold, timer, timer->where, cancel);
	cancel->result = 0;
	twheel_hold_end(&hold);
	return true;
}

/* As twheel_cancel_entries(), for what cancel_alone() is not for. */
static noinline void cancel_parts(struct twheel_ctx *ctx, struct twheel_cancel *cancels, u32 n)
{
	struct twheel_timer *timers[TWHEEL_HOLD_MAX] __uninitialized;
	u32 part;

	for (; n; cancels += part, n -= part) {
		part = min_t(u32, n, TWHEEL_HOLD_MAX);
		cancel_some(ctx, cancels, part, timers);
	}
}

void twheel_cancel_entries(struct twheel_ctx *ctx, struct twheel_cancel *cancels, u32 n)
{
	if (n != 1 || !cancel_alone(ctx, cancels))
		cancel_parts(ctx, cancels, n);
}

void twheel_timer_discard_all(struct twheel_ctx *ctx)
{
	u32 index, end = twheel_pool_end(&ctx->pool);
	struct twheel_hold hold __uninitialized;
	struct twheel_timer *timer;

	/*
	 * No timer may be freed before all of them are discarded: as long as one is
	 * pending it may expire, and be linked to others that are ready.
	 */
	for (index = 0;; index++) {
		rcu_read_lock();
		index = twheel_pool_next_index(&ctx->pool, index, end);
		rcu_read_unlock();
		if (index >= end)
			return;
		twheel_hold_begin(&hold, ctx);
		/* Expiry that has just made it ready has released the lock then. */
		timer = twheel_hold_index(&hold, index);
		if (timer) {
			if (twheel_timer_state(timer) == TWHEEL_STATE_PENDING)
				twheel_hold_dequeue(&hold, timer);
			else
				twheel_ctx_withdraw(ctx, timer);
		}
		twheel_hold_end(&hold);
		cond_resched();
	}
}
