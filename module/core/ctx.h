/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What one open of the device is: settings, ready list, waiters, lifetime. */
#ifndef TWHEEL_CTX_H
#define TWHEEL_CTX_H

#include <linux/bitops.h>
#include <linux/container_of.h>
#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>

#include <linux/twheel.h>

#include "debug.h"
#include "host.h"
#include "lease.h"
#include "pool.h"

/**
 * struct twheel_ready - the timers of a context that have expired on one CPU
 * @timers:	timers with an unread expiration, in the order in which they are read
 * @nr:		how many
 *
 * The lock of the base of that CPU guards it.
 */
struct twheel_ready {
	struct list_head	timers;
	u32			nr;
};

/**
 * struct twheel_ctx - what one open of the device is
 * @clock:	the clock of all timers; under @grow until the pool is settled
 * @config:	TWHEEL_CONFIG_* bits; under @grow until the pool is settled
 * @steps:	the value of twheel_clock_steps() that a reader has been told of. Set under @grow
 *		with %TWHEEL_CONFIG_CANCEL_ON_SET; then twheel_ctx_take_step() changes it
 * @word_offset: by how many ns times in the words of leases are ahead of @clock; under
 *		@grow until the pool is settled
 * @pool:	the timers
 * @grow:	serialises making chunks with each other and with configuration
 * @ready:	by CPU, the timers with an unread expiration
 * @reader:	the CPU whose records are read next, so that each has its turn
 * @waiters:	those who wait for something to read; with %TWHEEL_CONFIG_CANCEL_ON_SET they are
 *		woken when the clock is set, too
 * @rcu:	frees the context once no expiry can use it any more
 * @ready_on:	a bit for each CPU, set while its @ready is not empty. Changed under the lock of
 *		the base of that CPU, read without a lock
 */
struct twheel_ctx {
	/* What every call reads comes first, and goes on in @pool: see there. */
	enum twheel_clock	clock;
	u32			config;
	u32			steps;
	s64			word_offset;
	struct twheel_pool	pool;
	/* before all spinlocks */
	struct mutex		grow;
	struct twheel_ready __percpu *ready;
	u32			reader;
	struct twheel_waiters	waiters;
	struct rcu_head		rcu;
	unsigned long		ready_on[];
};

/* So many records with later deadlines at most does one pass. At least an expire batch's */
#define TWHEEL_PASS_MAX		32

/**
 * twheel_ctx_of() - the context of a timer
 * @timer:	the timer
 *
 * Context: any.
 * Return: the context.
 */
static inline struct twheel_ctx *twheel_ctx_of(const struct twheel_timer *timer)
{
	return container_of(twheel_chunk_of(timer)->pool, struct twheel_ctx, pool);
}

/**
 * twheel_ctx_assert_held() - the caller holds the lock that guards a timer, and lockdep checks it
 * @ctx:	the context of @timer
 * @timer:	the timer, which is pending or ready
 */
static inline void twheel_ctx_assert_held(const struct twheel_ctx *ctx,
					  const struct twheel_timer *timer)
{
	u32 where;

	if (!TWHEEL_ASSERTS_LOCKS)
		return;
	/* Only what else it says may change: the caller says that it is live. */
	where = data_race(timer->where);
	twheel_assert(twheel_state_of(where) != TWHEEL_STATE_NONE);
	lockdep_assert_held(&twheel_base_of(ctx->pool.account.quota, ctx->clock,
					    twheel_cpu_of(where))->lock);
}

/**
 * twheel_ctx_prepare() - have timers that are armed next go to the best base
 * @ctx:	the context
 *
 * Context: may sleep.
 */
static inline void twheel_ctx_prepare(struct twheel_ctx *ctx)
{
	/*
	 * Until the pool is settled the clock may change. Another call may settle it next, so that
	 * this one arms without twheel_ctx_grow().
	 */
	twheel_base_prepare(ctx->pool.account.quota, READ_ONCE(ctx->clock));
}

/**
 * twheel_ctx_word_deadline() - the deadline of a lease
 * @ctx:	the context
 * @word:	what the word of the timer says
 * @deadline:	of the timer itself, in ns
 *
 * Context: any, once the pool of @ctx is settled.
 * Return: the time in @word, in ns on the context's clock; or @deadline if the lease is over.
 */
static inline u64 twheel_ctx_word_deadline(const struct twheel_ctx *ctx, u64 word,
					   u64 deadline)
{
	return word & TWHEEL_LEASE_EXPIRED ? deadline :
	       twheel_clock_shift(twheel_lease_deadline(word), -ctx->word_offset);
}

/**
 * twheel_ctx_create() - make a context
 * @quota:	of the user. The context takes over a reference of the caller, unless it fails
 *
 * Context: may sleep.
 * Return: the context, or an ERR_PTR().
 */
struct twheel_ctx *twheel_ctx_create(struct twheel_quota *quota);

/**
 * twheel_ctx_destroy() - free a context and all its timers
 * @ctx:	the context. None of its timers is pending, nor will one be
 *
 * Takes O(timers).
 *
 * Context: may sleep.
 */
void twheel_ctx_destroy(struct twheel_ctx *ctx);

/**
 * twheel_ctx_config() - change the settings, while there has been no timer yet
 * @ctx:	the context
 * @clock:	the clock of all timers
 * @config:	TWHEEL_CONFIG_* bits
 * @limit:	most timers, or 0 for the module's limit
 *
 * Context: may sleep; in the task whose time namespace counts.
 * Return: 0; or -EBUSY, -EINVAL or -ENOMEM, or -EINTR if the task was killed while it waited
 * for others that make chunks, and nothing has changed.
 */
int twheel_ctx_config(struct twheel_ctx *ctx, enum twheel_clock clock,
		      u32 config, u64 limit);

/**
 * twheel_ctx_grow() - take a free timer, and have more for this CPU
 * @ctx:	the context, whose pool is settled afterwards unless this fails
 * @timer:	set to the timer, unless this fails
 *
 * Context: may sleep.
 * Return: as twheel_pool_grow(); or -EINTR if the task was killed while it waited.
 */
int twheel_ctx_grow(struct twheel_ctx *ctx, struct twheel_timer **timer);

/**
 * twheel_ctx_next_ready() - on which CPU records wait to be read
 * @ctx:	the context
 * @cpu:	where to look first
 *
 * Context: any.
 * Return: the first CPU from @cpu on that has some, or nr_cpu_ids.
 */
static inline u32 twheel_ctx_next_ready(const struct twheel_ctx *ctx, u32 cpu)
{
	u32 word;

	for (word = cpu / BITS_PER_LONG; word < BITS_TO_LONGS(nr_cpu_ids); word++) {
		unsigned long bits = READ_ONCE(ctx->ready_on[word]);

		if (word == cpu / BITS_PER_LONG)
			bits &= ~0UL << cpu % BITS_PER_LONG;
		if (bits)
			return word * BITS_PER_LONG + __ffs(bits);
	}
	return nr_cpu_ids;
}

/**
 * twheel_ctx_is_ready() - does a record wait to be read?
 * @ctx:	the context
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool twheel_ctx_is_ready(const struct twheel_ctx *ctx)
{
	return twheel_ctx_next_ready(ctx, 0) < nr_cpu_ids;
}

/**
 * twheel_ctx_count() - how many timers there are
 * @ctx:	the context
 * @pending:	set to the number of pending timers
 * @ready:	set to the number of ready timers
 *
 * While timers come and go the numbers are not of one moment, but together they are never more than
 * the timers that there were.
 *
 * Context: takes the locks of bases, one at a time.
 */
void twheel_ctx_count(struct twheel_ctx *ctx, u64 *pending, u64 *ready);

/**
 * twheel_ctx_make_ready() - put a timer into the ready list of a CPU
 * @ctx:	the context
 * @base:	the base of that CPU, and of @timer
 * @timer:	the timer, which is in no list and no wheel
 * @now:	the time on the context's clock, in ns
 *
 * It goes to the end, but passes up to %TWHEEL_PASS_MAX timers with later deadlines there. So
 * what few timers there are is read by deadline, and what one expire batch adds to records that are
 * no later is sorted. Timers with equal deadlines stay in the order in which they came.
 *
 * Context: the caller holds the lock of @base. It wakes @ctx->waiters later, without it: from then
 * until it does so it is in a call on @ctx, or under RCU, which keeps the memory of @ctx.
 */
void twheel_ctx_make_ready(struct twheel_ctx *ctx, struct twheel_base *base,
			   struct twheel_timer *timer, u64 now);

/**
 * twheel_ctx_withdraw() - take a timer off the ready list of its CPU
 * @ctx:	the context
 * @timer:	the timer, which is ready
 *
 * Context: the caller holds the lock of its base, and changes the state of @timer before letting
 * go of it.
 */
void twheel_ctx_withdraw(struct twheel_ctx *ctx, struct twheel_timer *timer);

/**
 * twheel_ctx_withdraw_first() - take the first timers off the ready list of a CPU
 * @ctx:	the context
 * @base:	the base of that CPU
 * @rest:	the entry of the list after them: that of a timer, or the head
 * @n:		how many: 1 or more. They may be in a wheel by now
 *
 * Context: as twheel_ctx_withdraw().
 */
void twheel_ctx_withdraw_first(struct twheel_ctx *ctx, struct twheel_base *base,
			       struct list_head *rest, u32 n);

/**
 * twheel_ctx_stepped() - was the clock set, and has no reader been told of it yet?
 * @ctx:	the context
 *
 * Context: any.
 * Return: true if so; false without %TWHEEL_CONFIG_CANCEL_ON_SET.
 */
static inline bool twheel_ctx_stepped(const struct twheel_ctx *ctx)
{
	/* Pairs with smp_store_release() in ctx_set_config(). */
	return smp_load_acquire(&ctx->config) & TWHEEL_CONFIG_CANCEL_ON_SET &&
	       READ_ONCE(ctx->steps) != twheel_clock_steps();
}

/**
 * twheel_ctx_take_step() - is the calling reader to be told that the clock was set?
 * @ctx:	the context
 *
 * Context: process.
 * Return: true for one reader after each step, or after several.
 */
bool twheel_ctx_take_step(struct twheel_ctx *ctx);

#endif /* TWHEEL_CTX_H */
