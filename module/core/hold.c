// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Holding a timer: with the locks that guard it, wherever it is.
 *
 * Locking rules: see timer.h for what guards a timer, design.md for the order.
 *
 * From twheel_hold_begin() to twheel_hold_end() locks are kept for one timer after another. If
 * the next timer needs other locks, all are released first, as there is an order to take them
 * in. A caller holds TWHEEL_HOLD_MAX timers at most in between, so no lock is held for long.
 */
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "base.h"
#include "ctx.h"
#include "debug.h"
#include "hold.h"
#include "host.h"
#include "timer.h"

/* Nobody holds the lock of a key for longer than for one timer. */
static void unlock_bases(struct twheel_hold *hold)
{
	twheel_assert(!hold->key.lock);
	if (hold->base) {
		/* For sparse, which cannot follow a lock that depends on a condition. */
		__acquire(&hold->base->lock);
		twheel_bases_unlock(hold->base, hold->second);
	}
}

/* @base, whose lock is held, is that of the timer that is held next. */
static __always_inline void set_here(struct twheel_hold *hold, struct twheel_base *base)
{
	hold->here = twheel_where_pending(base->cpu);
	hold->stays = twheel_base_stays(base);
}

/* Make @base, and @second unless it is NULL, the bases that are locked. */
static void hold_bases(struct twheel_hold *hold, struct twheel_base *base,
		       struct twheel_base *second)
{
	bool locked = hold->base == base || (hold->base && hold->second == base);

	if (!locked || (second && hold->base != second && hold->second != second)) {
		unlock_bases(hold);
		twheel_bases_lock(base, second);
		__release(&base->lock);
		hold->base = base;
		hold->second = second;
		/* A wheel that was not locked may have turned since. */
		hold->now = 0;
	} else {
		/* It was asked for, so that it is not hold->base. */
		swap(hold->base, hold->second);
	}
	set_here(hold, base);
}

/* Does a lock that is held for @hold->base guard a timer that is @where? */
static bool is_guarded(const struct twheel_hold *hold, u32 where)
{
	return hold->base && hold->base->cpu == twheel_cpu_of(where);
}

/*
 * Take the lock that guards @timer and, unless it is NULL, the lock of @second. Returns whether the
 * timer is live: if not, it is not held.
 */
static bool lock_timer(struct twheel_hold *hold, struct twheel_timer *timer,
		       struct twheel_base *second)
{
	for (;;) {
		u32 where = READ_ONCE(timer->where);

		if (twheel_state_of(where) == TWHEEL_STATE_NONE)
			return false;
		if (likely(is_guarded(hold, where)) &&
		    (!second || hold->base == second || hold->second == second)) {
			twheel_ctx_assert_held(hold->ctx, timer);
			return true;
		}
		hold_bases(hold, twheel_base_of(hold->ctx->pool.account.quota, hold->local->clock,
						twheel_cpu_of(where)), second);
	}
}

void twheel_hold_begin(struct twheel_hold *hold, struct twheel_ctx *ctx)
	__acquires(RCU_BH)
{
	rcu_read_lock_bh();
	*hold = (struct twheel_hold) { .ctx = ctx, .here = ~0U };
	/* With bottom halves off this stays the base of this CPU. */
	if (twheel_pool_settled(&ctx->pool)) {
		hold->local = twheel_base_local(ctx->pool.account.quota, ctx->clock);
		hold->offset = twheel_clock_offset(ctx->clock);
	}
}

void twheel_hold_go_on(struct twheel_hold *hold, struct twheel_ctx *ctx,
		       struct twheel_base *base)
{
	hold->ctx = ctx;
	hold->base = base;
	hold->local = twheel_base_local(ctx->pool.account.quota, ctx->clock);
	hold->second = NULL;
	hold->key.lock = NULL;
	hold->taken = NULL;
	hold->ended = NULL;
	hold->wake = false;
	hold->now = 0;
	set_here(hold, base);
}

void twheel_hold_end(struct twheel_hold *hold)
	__releases(RCU_BH)
{
	unlock_bases(hold);
	if (unlikely(hold->ended))
		twheel_pool_free_ended(&hold->ctx->pool, hold->ended);
	rcu_read_unlock_bh();

	if (hold->wake)
		twheel_waiters_wake(&hold->ctx->waiters);
}

struct twheel_timer *twheel_hold_index(struct twheel_hold *hold, u32 index)
{
	struct twheel_timer *timer = NULL;

	if (hold->local)
		timer = twheel_chunk_timer(&hold->ctx->pool.chunks, index);
	return timer && lock_timer(hold, timer, NULL) ? timer : NULL;
}

void twheel_hold_look_ahead(const struct twheel_hold *hold, const void *entries, size_t size,
			    u32 n, struct twheel_timer **hints)
{
	if (hold->local && n > 1)
		twheel_pool_look_ahead(&hold->ctx->pool, entries, size, n, hints);
	else
		while (n)
			hints[--n] = NULL;
}

/* Hold the timer with @key. If there is none the lock of @key is held, so that none is made. */
static struct twheel_timer *find_key(struct twheel_hold *hold, u64 key)
{
	struct twheel_pool *pool = &hold->ctx->pool;
	struct twheel_timer *timer;

	for (;;) {
		twheel_hold_local(hold);
		timer = twheel_keys_find(&pool->keys, key, &hold->key);
		if (!timer)
			return NULL;
		/* It may end before it is held. */
		if (lock_timer(hold, timer, NULL) && twheel_pool_is_named(pool, timer, key))
			return timer;
	}
}

struct twheel_timer *twheel_hold_find(struct twheel_hold *hold, u64 handle,
				      struct twheel_timer *hint)
{
	struct twheel_timer *timer = hint;

	if (!hold->local)
		return NULL;
	if (!timer && !hold->ctx->pool.keyed)
		timer = twheel_chunk_timer(&hold->ctx->pool.chunks, lower_32_bits(handle));
	if (timer && lock_timer(hold, timer, NULL) &&
	    twheel_pool_is_named(&hold->ctx->pool, timer, handle))
		return timer;
	return hold->ctx->pool.keyed ? find_key(hold, handle) : NULL;
}

bool twheel_hold_both(struct twheel_hold *hold, struct twheel_timer *timer, u64 handle)
{
	return lock_timer(hold, timer, hold->local) &&
	       twheel_pool_is_named(&hold->ctx->pool, timer, handle);
}

void twheel_hold_lock_local(struct twheel_hold *hold)
{
	hold_bases(hold, hold->local, NULL);
}
