// SPDX-License-Identifier: GPL-2.0-only
/*
 * The other way out: timers that end before they are read, one by one or all at once.
 *
 * Locking rules: see hold.c for what guards a timer, base.c for the order.
 */
#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>

#include "base.h"
#include "ctx.h"
#include "hold.h"
#include "stats.h"
#include "timer.h"
#include "timer_types.h"
#include "trace.h"

/* As twheel_hold_look_ahead() wants it */
static_assert(!offsetof(struct twheel_cancel, handle));

u64 twheel_timer_cancel_held(struct twheel_hold *hold, struct twheel_timer *timer)
{
	enum twheel_state state = twheel_timer_state(timer);
	struct twheel_ctx *ctx = hold->ctx;
	u64 deadline = timer->deadline;

	if (state == TWHEEL_STATE_PENDING) {
		deadline = twheel_timer_set_word(ctx, timer, TWHEEL_LEASE_EXPIRED);
		twheel_base_dequeue(hold->base, &timer->node);
		twheel_hold_lock_ctx(hold);
	} else {
		twheel_ctx_withdraw(ctx, timer);
	}
	twheel_count(TWHEEL_COUNT_CANCELLED);
	if (trace_twheel_cancel_enabled())
		trace_twheel_cancel(ctx, twheel_pool_handle(timer), state);
	twheel_pool_free(&ctx->pool, timer);
	return deadline;
}

static int cancel_one(struct twheel_hold *hold, struct twheel_cancel *cancel,
		      struct twheel_timer *hint)
{
	struct twheel_timer *timer;
	u64 deadline;

	cancel->old_state = TWHEEL_STATE_NONE;
	cancel->old_remaining = 0;
	if (cancel->flags || cancel->reserved)
		return -EINVAL;

	timer = twheel_hold_handle(hold, cancel->handle, hint);
	if (!timer)
		return -ENOENT;

	cancel->old_state = twheel_timer_state(timer);
	deadline = twheel_timer_cancel_held(hold, timer);
	if (cancel->old_state == TWHEEL_STATE_PENDING)
		cancel->old_remaining = twheel_ns_until(deadline, twheel_hold_now(hold));
	return 0;
}

/* Carry out the @n entries at @cancels, with room for as many timers at @hints. */
static void cancel_some(struct twheel_ctx *ctx, struct twheel_cancel *cancels, u32 n,
			struct twheel_timer **hints)
{
	struct twheel_hold hold;
	u32 i;

	twheel_hold_begin(&hold, ctx);
	twheel_hold_look_ahead(&hold, cancels, sizeof(*cancels), n, hints);
	for (i = 0; i < n; i++)
		if (hints[i])
			twheel_timer_fetch_neighbours(hints[i]);
	for (i = 0; i < n; i++)
		cancels[i].result = cancel_one(&hold, &cancels[i], hints[i]);
	twheel_hold_end(&hold);
}

void twheel_timer_cancel(struct twheel_ctx *ctx, struct twheel_cancel *cancels, u32 n)
{
	u32 part;

	for (; n; cancels += part, n -= part) {
		part = min_t(u32, n, TWHEEL_HOLD_MAX);
		if (part == 1) {
			struct twheel_timer *hint;

			cancel_some(ctx, cancels, 1, &hint);
		} else {
			struct twheel_timer *hints[TWHEEL_HOLD_MAX];

			cancel_some(ctx, cancels, part, hints);
		}
	}
}

/* Take @timer out of its wheel for good, if it is pending. */
static void discard(struct twheel_timer *timer)
{
	struct twheel_hold hold;

	twheel_hold_begin(&hold, twheel_ctx_of(timer));
	if (twheel_hold_pending(&hold, timer)) {
		twheel_base_dequeue(hold.base, &timer->node);
		twheel_hold_lock_ctx(&hold);
		WRITE_ONCE(timer->where, TWHEEL_STATE_NONE);
	}
	twheel_hold_end(&hold);
}

void twheel_timer_discard_all(struct twheel_ctx *ctx)
{
	/*
	 * No timer may be freed before all of them are discarded: as long as one is
	 * pending it may expire, and be linked to others that are ready.
	 */
	twheel_pool_for_each(&ctx->pool, discard);

	/*
	 * The timer that expired last is no longer pending, but its expiry may still
	 * hold the lock and be linking it.
	 */
	spin_lock_bh(&ctx->lock);
	spin_unlock_bh(&ctx->lock);
}
