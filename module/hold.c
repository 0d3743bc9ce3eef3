// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holding a timer: with the locks that guard it, wherever it is.
 *
 * Locking rules: the lock of its base guards a timer that is pending, and the lock of its
 * context any other. timer->where says which of them it is. That word is read without a
 * lock, and once more with the lock that it named held; if it has changed, all starts over.
 * The lock of a base is always held, even if the timer is not pending: then it can be put
 * into the wheel of that base. See base.c for the order of the locks.
 */
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "base.h"
#include "ctx.h"
#include "hold.h"
#include "timer_types.h"

static void lock_bases(struct twheel_base *a, struct twheel_base *b)
	__acquires(&a->lock)
{
	if (b && b->cpu < a->cpu)
		swap(a, b);

	spin_lock(&a->lock);
	if (b && b != a) {
		spin_lock_nested(&b->lock, SINGLE_DEPTH_NESTING);
		__release(&b->lock);
	}
}

static void unlock_bases(struct twheel_base *a, struct twheel_base *b)
	__releases(&a->lock)
{
	if (b && b != a) {
		__acquire(&b->lock);
		spin_unlock(&b->lock);
	}
	spin_unlock(&a->lock);
}

void twheel_hold_lock_ctx(struct twheel_hold *hold)
{
	spin_lock(&hold->ctx->lock);
	hold->ctx_locked = true;
	/* For sparse, which cannot follow a lock that depends on a condition. */
	__release(&hold->ctx->lock);
}

static void unlock_timer(struct twheel_hold *hold)
	__releases(&hold->base->lock)
{
	if (hold->ctx_locked) {
		__acquire(&hold->ctx->lock);
		spin_unlock(&hold->ctx->lock);
	}
	unlock_bases(hold->base, hold->second);
}

/*
 * Take the locks that guard @timer and, unless it is NULL, the lock of @second.
 * hold->ctx and hold->local are set, and bottom halves are off.
 */
static void lock_timer(struct twheel_hold *hold, struct twheel_timer *timer,
		       struct twheel_base *second)
	__acquires(&hold->base->lock)
{
	hold->second = second;

	for (;;) {
		u32 where = READ_ONCE(timer->where);
		bool pending = twheel_state_of(where) == TWHEEL_STATE_PENDING;

		hold->ctx_locked = false;
		hold->base = hold->local;
		if (pending)
			hold->base = twheel_base_of(hold->local->clock,
						    twheel_cpu_of(where));
		lock_bases(hold->base, second);

		if (!pending)
			twheel_hold_lock_ctx(hold);
		if (pending ? READ_ONCE(timer->where) == where :
			      twheel_timer_state(timer) != TWHEEL_STATE_PENDING)
			return;

		unlock_timer(hold);
	}
}

/*
 * Hold @timer, unless it is NULL. Called with bottom halves off, so that hold->local stays
 * that of this CPU, and under RCU. If @timer is NULL, both end.
 */
static struct twheel_timer *hold_timer(struct twheel_hold *hold, struct twheel_ctx *ctx,
				       struct twheel_timer *timer)
	__releases(RCU)
{
	if (timer) {
		hold->ctx = ctx;
		hold->local = twheel_base_local(ctx->clock);
		lock_timer(hold, timer, NULL);
		/* For sparse, as above. */
		__release(&hold->base->lock);
		__release(RCU);
		return timer;
	}

	rcu_read_unlock();
	local_bh_enable();
	return NULL;
}

void twheel_hold_drop(struct twheel_hold *hold)
{
	__acquire(RCU);
	__acquire(&hold->base->lock);
	unlock_timer(hold);
	rcu_read_unlock();
	local_bh_enable();
}

struct twheel_timer *twheel_hold_index(struct twheel_hold *hold,
				       struct twheel_ctx *ctx, u32 index)
{
	local_bh_disable();
	rcu_read_lock();
	return hold_timer(hold, ctx, twheel_pool_lookup(&ctx->pool, index));
}

static bool is_live(const struct twheel_timer *timer, u64 handle)
{
	return twheel_timer_state(timer) != TWHEEL_STATE_NONE &&
	       twheel_pool_handle(timer) == handle;
}

struct twheel_timer *twheel_hold_handle(struct twheel_hold *hold,
					struct twheel_ctx *ctx, u64 handle)
{
	struct twheel_timer *timer;

	local_bh_disable();
	rcu_read_lock();
	timer = hold_timer(hold, ctx, twheel_pool_find(&ctx->pool, handle));
	if (timer && !is_live(timer, handle)) {
		twheel_hold_drop(hold);
		timer = NULL;
	}
	return timer;
}

bool twheel_hold_both(struct twheel_hold *hold, struct twheel_timer *timer, u64 handle)
{
	__acquire(&hold->base->lock);
	unlock_timer(hold);
	lock_timer(hold, timer, hold->local);
	__release(&hold->base->lock);
	return is_live(timer, handle);
}

bool twheel_hold_pending(struct twheel_hold *hold, struct twheel_timer *timer)
{
	if (twheel_timer_state(timer) != TWHEEL_STATE_PENDING)
		return false;

	local_bh_disable();
	rcu_read_lock();
	hold_timer(hold, twheel_ctx_of(timer), timer);
	if (twheel_timer_state(timer) == TWHEEL_STATE_PENDING)
		return true;

	twheel_hold_drop(hold);
	return false;
}
