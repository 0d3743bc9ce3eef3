/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The timers of one context: their memory, and how they are found. */
#ifndef TWHEEL_POOL_H
#define TWHEEL_POOL_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/idr.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "base.h"
#include "chunk.h"
#include "host.h"
#include "keys.h"
#include "table.h"
#include "timer.h"

/**
 * struct twheel_stock - what a context has for one CPU: free timers, and how many it may make
 * @base:	the base of that CPU, whose lock guards this; NULL before timers are reserved, and
 *		constant once the pool is settled. (g), and read without a lock
 * @chunks:	chunks with free timers that belong here; those without any other come last
 * @nr_chunks:	how many; also read without the lock
 * @used:	timers in chunks that belong here, but for free ones; also read without the lock
 * @reserved:	how many these may be: @used at least. Also read without the lock
 * @low:	once @used is less than this, some of @reserved are given back: @reserved after a
 *		limit was reached. Also read without the lock
 * @nr_empty:	chunks that have only free timers, and are kept for the next ones
 *
 * An arm, which holds the lock of the base, needs no other to make a timer.
 */
struct twheel_stock {
	struct twheel_base	*base;
	struct list_head	chunks;
	u32			nr_chunks;
	u32			used;
	u32			reserved;
	u32			low;
	u32			nr_empty;
};

/**
 * struct twheel_pool - the timers of one context
 * @stocks:	by CPU
 * @account:	where the timers are counted that are reserved
 * @reserved:	how many of them: those of all @stocks, and those on their way there. (g) More are
 *		added; others only take from it
 * @changes:	(g) twheel_limit_changes when timers were reserved last; read without a lock
 * @limit:	(g) most timers, or 0 for twheel_max_fd_timers; read without a lock
 * @chunks:	all chunks by index; looked up under RCU. (g) Room for them is made
 * @indices:	which indices are taken
 * @end:	(g) 1 + the highest chunk index ever used; read without a lock
 * @settled:	(g) set when the first chunk is made: @keyed and @leases, and the settings
 *		of the context, are constant from then on
 * @keyed:	(g) timers have keys, which are in @keys
 * @leases:	(g) timers have words, which are in @words
 * @places:	(g) a bit for the place of each timer of a chunk
 * @keys:	if @keyed, all timers by key
 * @words:	(g) if @leases, the words of timers by index
 *
 * What is marked (g) happens or is written in twheel_pool_grow() and twheel_pool_configure(). The
 * context serialises these by its mutex, twheel_ctx.grow.
 */
struct twheel_pool {
	/* What look-ups read on all CPUs, and what hardly changes */
	struct twheel_table	chunks;
	bool			settled;
	bool			keyed;
	bool			leases;
	u32			changes;
	u64			places;
	unsigned long		limit;
	struct twheel_stock __percpu *stocks;
	struct twheel_account	account;
	struct twheel_keys	keys;

	/*
	 * What changes when chunks come and go, and when timers are reserved: on other cache lines,
	 * which go from CPU to CPU.
	 */
	atomic_long_t		reserved ____cacheline_aligned_in_smp;
	u32			end;
	struct ida		indices;
	struct twheel_words	words;
};

/**
 * twheel_pool_cache_init() - create the slab caches that all pools allocate from
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int twheel_pool_cache_init(void);

/**
 * twheel_pool_cache_exit() - destroy the slab caches
 *
 * No pool is left. Waits for chunks that are still to be freed after a grace period.
 *
 * Context: may sleep.
 */
void twheel_pool_cache_exit(void);

/**
 * twheel_pool_init() - make an empty pool
 * @pool:	the pool, zeroed
 * @quota:	where its timers and its memory are to be counted. Outlives @pool
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int twheel_pool_init(struct twheel_pool *pool, struct twheel_quota *quota);

/**
 * twheel_pool_destroy() - free all timers, keys and words
 * @pool:	the pool. None of its timers is pending, and nobody else uses it
 *
 * Takes O(timers).
 *
 * Context: may sleep.
 */
void twheel_pool_destroy(struct twheel_pool *pool);

/**
 * twheel_pool_configure() - say what kind of timers there will be, and how many
 * @pool:	the pool
 * @keyed:	whether timers have keys
 * @leases:	whether timers have words
 * @limit:	most timers, or 0 for twheel_max_fd_timers
 *
 * Context: may sleep. The caller serialises it with twheel_pool_grow().
 * Return: 0; or -EBUSY once the pool is settled, or -EINVAL for a limit above
 * twheel_max_fd_timers, and nothing has changed.
 */
int twheel_pool_configure(struct twheel_pool *pool, bool keyed, bool leases, u64 limit);

/**
 * twheel_pool_limit() - how many timers a pool may hold now
 * @pool:	the pool
 *
 * Context: any.
 * Return: the limit of the pool or that of the module, whichever is lower.
 */
unsigned long twheel_pool_limit(const struct twheel_pool *pool);

/**
 * twheel_pool_settled() - has a pool ever had memory for timers?
 * @pool:	the pool
 *
 * Context: any.
 * Return: true if so. Whatever @pool->settled makes constant can then be read without
 * a lock.
 */
static inline bool twheel_pool_settled(const struct twheel_pool *pool)
{
	/* Pairs with smp_store_release() in publish(). */
	return smp_load_acquire(&pool->settled);
}

/**
 * twheel_pool_timers() - how many timers a pool has
 * @pool:	the pool
 *
 * Takes O(CPUs). While timers come and go, and chunks go from CPU to CPU, the numbers of the CPUs
 * are not of one moment; together they are never more than the pool may hold.
 *
 * Context: any.
 * Return: timers that are pending or ready.
 */
u32 twheel_pool_timers(const struct twheel_pool *pool);

/**
 * twheel_pool_alloc() - take free timers
 * @pool:	the pool, which is settled
 * @base:	the base of the CPU for which they are
 * @timers:	filled with them
 * @n:		how many are wanted: 1 or more
 *
 * Without keys each timer gets a new generation, so that old handles no longer name it.
 *
 * Context: the caller holds @base->lock.
 * Return: how many there are: from 1 to @n; or -EAGAIN if the pool has to grow first.
 */
int twheel_pool_alloc(struct twheel_pool *pool, const struct twheel_base *base,
		      struct twheel_timer **timers, u32 n);

/**
 * twheel_pool_end_timer() - let nothing name a timer any more
 * @pool:	the pool
 * @timer:	the timer, which was live, and is in no list and no wheel. twheel_pool_free() comes
 *		next
 *
 * Context: the caller holds the lock of its base, and no lock of keys.
 */
static inline void twheel_pool_end_timer(struct twheel_pool *pool, struct twheel_timer *timer)
{
	/* Whoever finds the timer by its key finds that it is live. */
	if (unlikely(pool->keyed))
		twheel_keys_remove(&pool->keys, timer);
	WRITE_ONCE(timer->where, TWHEEL_STATE_NONE);
}

/* As twheel_pool_free(), for all that is not most common. */
void twheel_pool_free_slow(struct twheel_pool *pool, const struct twheel_base *base,
			   struct twheel_timer *timer, struct twheel_timer **ended);

/**
 * twheel_pool_free() - give back a timer, or note it for twheel_pool_free_ended()
 * @pool:	the pool
 * @base:	a base
 * @timer:	the timer, which has ended
 * @ended:	a list of timers that have ended and are not free; NULL if there is none
 *
 * Most timers are in the wheel of the CPU for which they were made. Others are added to @ended.
 *
 * Context: the caller holds @base->lock.
 */
static inline void twheel_pool_free(struct twheel_pool *pool, const struct twheel_base *base,
				    struct twheel_timer *timer, struct twheel_timer **ended)
{
	struct twheel_chunk *chunk = twheel_chunk_of(timer);
	/* Whose it is may change, but not if it is the stock of a base whose lock is held. */
	struct twheel_stock *stock = READ_ONCE(chunk->stock);
	u32 used = READ_ONCE(stock->used);
	u64 free;

	lockdep_assert_held(&base->lock);

	if (likely(READ_ONCE(stock->base) == base && chunk->free && used > stock->low)) {
		free = chunk->free | BIT_ULL(twheel_place_of(timer));
		if (likely(free != pool->places)) {
			WRITE_ONCE(chunk->free, free);
			WRITE_ONCE(stock->used, used - 1);
			return;
		}
	}
	twheel_pool_free_slow(pool, base, timer, ended);
}

/**
 * twheel_pool_free_ended() - give back timers whose memory is for other CPUs
 * @pool:	the pool
 * @ended:	the list of them
 *
 * Context: bottom halves are off, and no spinlock is held.
 */
void twheel_pool_free_ended(struct twheel_pool *pool, struct twheel_timer *ended);

/**
 * twheel_pool_grow() - take a free timer, and have more for a CPU
 * @pool:	the pool, which is settled afterwards unless this fails
 * @base:	the base of that CPU
 * @timer:	set to the timer, unless this fails
 *
 * Makes a chunk of free timers, or takes some that another CPU has and does not need; makes room
 * for keys; and reserves timers of the limits of the pool and of the user. While a limit is reached
 * others take what the caller does not use at once: so it gets its timer here.
 *
 * Context: may sleep. The caller serialises all calls.
 * Return: 0, -ENOSPC, -ENOMEM or -EDQUOT; or -EINTR if the task was killed while it waited.
 */
int twheel_pool_grow(struct twheel_pool *pool, struct twheel_base *base,
		     struct twheel_timer **timer);

/**
 * twheel_pool_reclaim() - take back what a pool has reserved and does not use
 * @pool:	the pool
 *
 * Timers go back to the user, and chunks without a timer are freed. For the host, too. Takes
 * O(CPUs).
 *
 * Context: process, without spinlocks.
 */
void twheel_pool_reclaim(struct twheel_pool *pool);

/**
 * twheel_pool_look_ahead() - find timers for many handles, and have their memory fetched
 * @pool:	the pool, which is settled
 * @entries:	structs that begin with a handle or key
 * @size:	bytes from one to the next
 * @n:		how many, up to %TWHEEL_HOLD_MAX
 * @hints:	filled for each with the timer that it may name, or NULL. The caller has to lock the
 *		timer and then to ask twheel_pool_is_named(). With keys there may be one where
 *		this is NULL: twheel_keys_find() tells
 *
 * The CPU waits for the memory of all of them at once, and not for one after another.
 *
 * Context: under RCU.
 */
void twheel_pool_look_ahead(struct twheel_pool *pool, const void *entries, size_t size,
			    u32 n, struct twheel_timer **hints);

/**
 * twheel_pool_end() - where to end a walk with twheel_pool_next_index()
 * @pool:	the pool
 *
 * Context: any.
 * Return: an index after those of all timers that there are or were.
 */
u32 twheel_pool_end(struct twheel_pool *pool);

/**
 * twheel_pool_next_index() - go on to the next timer that may be in use
 * @pool:	the pool
 * @index:	where to look first
 * @end:	where to end
 *
 * Context: under RCU.
 * Return: the index of the first timer from @index on that may be in use, or @end. After very many
 * timers that are not in use it is the index of one of these, from which the caller goes on.
 */
u32 twheel_pool_next_index(struct twheel_pool *pool, u32 index, u32 end);

/**
 * twheel_pool_handle() - what names a timer while it is live
 * @timer:	the timer
 *
 * Context: any. The answer stays right only while the timer is locked.
 * Return: the key, if timers have keys, or else the handle.
 */
static inline u64 twheel_pool_handle(const struct twheel_timer *timer)
{
	if (twheel_chunk_of(timer)->keyed)
		return *twheel_key_of(timer);
	return (u64)timer->generation << 32 | twheel_index_of(timer);
}

/**
 * twheel_pool_is_named() - does a handle or a key still name the timer found for it?
 * @pool:	the pool
 * @timer:	a timer that was found for @handle; locked
 * @handle:	the handle or key
 *
 * Context: any.
 * Return: true if so. The timer may be free.
 */
static inline bool twheel_pool_is_named(const struct twheel_pool *pool,
					const struct twheel_timer *timer, u64 handle)
{
	if (pool->keyed)
		return READ_ONCE(*twheel_key_of(timer)) == handle;
	/* It was found by its index, which is the lower half. */
	return timer->generation == upper_32_bits(handle);
}

#endif /* TWHEEL_POOL_H */
