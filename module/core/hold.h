/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Holding a timer: with the locks that guard it, wherever it is. */
#ifndef TWHEEL_HOLD_H
#define TWHEEL_HOLD_H

#include <linux/types.h>

#include "base.h"
#include "ctx.h"
#include "host.h"
#include "timer.h"

/*
 * While a timer is held, a store to a program's memory must not fault. The caller tries to store.
 * If the memory is not there, the caller lets go of the timer, faults the memory in, and tries
 * again: so often for one record. Once is enough, unless the memory is taken away again at once.
 */
#define TWHEEL_FAULT_TRIES	16

/**
 * struct twheel_hold - the locks that a call holds, for one timer after another
 * @ctx:	the context
 * @local:	the base where timers that are armed now go; NULL before the pool of @ctx is
 *		settled, when there are no timers
 * @base:	the base of the timer that is held, or @local; locked. NULL if no lock is held
 * @second:	NULL, or one more base, which is locked as well
 * @here:	the value of timer->where, without flags, of any timer pending on @base; ~0U if no
 *		lock is held
 * @stays:	timers on @base that are armed anew may stay there
 * @key:	the place of a key that no timer has, if its locks are held
 * @taken:	a free timer, for the next one that is made; or NULL
 * @ended:	timers that have ended and are to be freed at the end
 * @wake:	waiters of @ctx are to be woken at the end
 * @offset:	twheel_clock_offset() of the calling program, in ns
 * @now:	the time on the context's clock, in ns, since these bases were locked; 0 if
 *		nobody has asked for it yet
 *
 * Locks are kept when the next timer needs the same ones: most timers of a batch do.
 *
 * On the stack it is __uninitialized: many kernels zero stack variables (INIT_STACK_ALL_ZERO), and
 * what begins to hold timers fills it anyway.
 */
struct twheel_hold {
	struct twheel_ctx	*ctx;
	struct twheel_base	*local;
	struct twheel_base	*base;
	struct twheel_base	*second;
	u32			here;
	bool			stays;
	bool			wake;
	struct twheel_key_place	key;
	struct twheel_timer	*taken;
	struct twheel_timer	*ended;
	s64			offset;
	u64			now;
};

/**
 * twheel_hold_begin() - begin to hold timers of a context
 * @hold:	filled
 * @ctx:	the context
 *
 * Context: process. Returns with bottom halves off and under RCU, until twheel_hold_end().
 */
void twheel_hold_begin(struct twheel_hold *hold, struct twheel_ctx *ctx);

/**
 * twheel_hold_end() - release all locks, free what has ended, and wake waiters if @hold->wake
 * @hold:	as filled
 *
 * Context: after twheel_hold_begin(). Afterwards bottom halves are on, and RCU has ended.
 */
void twheel_hold_end(struct twheel_hold *hold);

/**
 * twheel_hold_lock() - take the lock of a pending timer that a handle or key names
 * @ctx:	the context, whose pool is settled
 * @handle:	a handle or a key; any number
 * @base:	set to the base of the timer, unless this returns NULL
 *
 * Context: bottom halves are off, under RCU. Unless this returns NULL the caller releases the lock
 * of @base.
 * Return: the timer, which that lock guards; or NULL if no pending timer was found at once.
 */
static __always_inline struct twheel_timer *twheel_hold_lock(struct twheel_ctx *ctx, u64 handle,
							     struct twheel_base **base)
{
	struct twheel_timer *timer = unlikely(ctx->pool.keyed) ?
				     twheel_keys_guess(&ctx->pool.keys, handle) :
				     twheel_chunk_timer(&ctx->pool.chunks, lower_32_bits(handle));
	u32 where;

	if (unlikely(!timer))
		return NULL;
	where = READ_ONCE(timer->where);
	if (unlikely(twheel_state_of(where) != TWHEEL_STATE_PENDING))
		return NULL;

	*base = twheel_base_of(ctx->pool.account.quota, ctx->clock, twheel_cpu_of(where));
	spin_lock(&(*base)->lock);
	if (likely(READ_ONCE(timer->where) == where &&
		   twheel_pool_is_named(&ctx->pool, timer, handle))) {
		/* For sparse, which cannot follow a lock that depends on a condition. */
		__release(&(*base)->lock);
		return timer;
	}
	spin_unlock(&(*base)->lock);
	return NULL;
}

/**
 * twheel_hold_go_on() - begin to hold timers, with the lock of a base held
 * @hold:	filled but for @hold->offset
 * @ctx:	the context, whose pool is settled
 * @base:	the base, of a timer that twheel_hold_lock() has found, or of this CPU
 *
 * As twheel_hold_begin() and twheel_hold_handle() or twheel_hold_local(), for a call with one
 * entry: in fewer instructions.
 *
 * Context: bottom halves are off, under RCU. The timer is held, and all is as after
 * twheel_hold_begin().
 */
void twheel_hold_go_on(struct twheel_hold *hold, struct twheel_ctx *ctx,
		       struct twheel_base *base);

/**
 * twheel_hold_index() - hold a timer that is pending or ready
 * @hold:	begun
 * @index:	of the timer; any number
 *
 * Context: after twheel_hold_begin(). Another timer that was held no longer is.
 * Return: the timer, whose locks are held until the next call; or NULL.
 */
struct twheel_timer *twheel_hold_index(struct twheel_hold *hold, u32 index);

/**
 * twheel_hold_look_ahead() - find the timers that entries of a batch may name
 * @hold:	begun
 * @entries:	structs that begin with a handle or key
 * @size:	bytes from one to the next
 * @n:		how many, up to %TWHEEL_HOLD_MAX
 * @hints:	filled with the timers, or NULL where none was found: for twheel_hold_handle()
 *		until twheel_hold_end()
 *
 * For a single entry there is no hint: twheel_hold_lock() has looked for its timer already, or
 * twheel_hold_handle() finds it as fast.
 *
 * Context: after twheel_hold_begin().
 */
void twheel_hold_look_ahead(const struct twheel_hold *hold, const void *entries, size_t size,
			    u32 n, struct twheel_timer **hints);

/* As twheel_hold_handle(), for all that is not most common. */
struct twheel_timer *twheel_hold_find(struct twheel_hold *hold, u64 handle,
				      struct twheel_timer *hint);

/*
 * Does @hint have @handle, and is it held and pending? In a batch nearly all timers need the same
 * locks. @ignored: bits of timer->where that may be set
 */
static __always_inline bool twheel_hold_has(const struct twheel_hold *hold, u64 handle,
					    const struct twheel_timer *hint, u32 ignored)
{
	return hint && (READ_ONCE(hint->where) & ~ignored) == hold->here &&
	       twheel_pool_is_named(&hold->ctx->pool, hint, handle);
}

/**
 * twheel_hold_handle() - hold the live timer that a handle names, or let none get it
 * @hold:	begun
 * @handle:	a handle or a key; any number
 * @hint:	what twheel_hold_look_ahead() has found for @handle, or NULL
 *
 * Context: as twheel_hold_index().
 * Return: as twheel_hold_index(). If timers have keys and there is none with @handle, the lock of
 * the key is held as well as that of @hold->local, so that none comes: until
 * twheel_hold_unlock_key().
 */
static inline struct twheel_timer *twheel_hold_handle(struct twheel_hold *hold, u64 handle,
						      struct twheel_timer *hint)
{
	return likely(twheel_hold_has(hold, handle, hint, TWHEEL_WHERE_FLAGS)) ? hint :
	       twheel_hold_find(hold, handle, hint);
}

/**
 * twheel_hold_unlock_key() - release the lock of a key, if it is held
 * @hold:	begun
 *
 * Context: after twheel_hold_begin().
 */
static inline void twheel_hold_unlock_key(struct twheel_hold *hold)
{
	if (unlikely(hold->key.lock))
		twheel_keys_unlock(&hold->key);
}

/**
 * twheel_hold_both() - hold a timer with the lock of @hold->local, too
 * @hold:	begun
 * @timer:	the timer that is held
 * @handle:	what named it
 *
 * The timer may not be held for a moment, in which others may do anything to it.
 *
 * Context: holds @timer.
 * Return: true if @handle still names the timer, and it is held.
 */
bool twheel_hold_both(struct twheel_hold *hold, struct twheel_timer *timer, u64 handle);

/* As twheel_hold_local(), while another lock is held or none. */
void twheel_hold_lock_local(struct twheel_hold *hold);

/**
 * twheel_hold_local() - take the lock that is needed to make a timer
 * @hold:	begun; the pool is settled
 *
 * Context: as twheel_hold_index(). Afterwards @hold->base is @hold->local.
 */
static inline void twheel_hold_local(struct twheel_hold *hold)
{
	if (hold->base != hold->local)
		twheel_hold_lock_local(hold);
}

/**
 * twheel_hold_dequeue() - take a timer out of its wheel
 * @hold:	begun
 * @timer:	the timer, which is held and pending
 *
 * The host turns the wheel when it would have, perhaps in vain.
 *
 * Context: after twheel_hold_begin().
 */
static inline void twheel_hold_dequeue(struct twheel_hold *hold, struct twheel_timer *timer)
{
	struct twheel_base *base = hold->base;

	lockdep_assert_held(&base->lock);
	twheel_wheel_dequeue(&base->wheel, &timer->node);
	twheel_base_changed(base, timer->node.expires, TWHEEL_NEVER);
}

/**
 * twheel_hold_now() - the present, for a call that holds a timer
 * @hold:	begun
 *
 * The clock is read once for all timers that the same locks guard. Since then no wheel that is
 * locked has turned further.
 *
 * Context: holds a timer, or after twheel_hold_local().
 * Return: the time on the context's clock, in ns.
 */
static inline u64 twheel_hold_now(struct twheel_hold *hold)
{
	if (!hold->now)
		hold->now = twheel_clock_now(hold->local->clock);
	return hold->now;
}

#endif /* TWHEEL_HOLD_H */
