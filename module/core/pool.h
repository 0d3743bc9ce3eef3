/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The timers of one context: their memory, and how they are found. */
#ifndef TWHEEL_POOL_H
#define TWHEEL_POOL_H

#include <linux/atomic.h>
#include <linux/idr.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "chunk.h"
#include "host.h"
#include "keys.h"
#include "table.h"
#include "timer.h"

/**
 * struct twheel_pool - the timers of one context
 * @lock:	guards what is marked (l), and each timer that is free
 * @account:	where the timers are counted that are pending or ready
 * @generation:	(l) generation of the timer that was allocated last
 * @limit:	(g) most timers, or 0 for twheel_max_fd_timers; read without a lock
 * @partial:	(l) chunks with free timers; those without any other come last
 * @has_empty:	(l) one of them has only free timers, and is kept for the next ones
 * @chunks:	all chunks by index; looked up under RCU. (g) Room for them is made and they are
 *		stored; they are removed under @lock
 * @indices:	which indices are taken
 * @end:	(l) 1 + the highest chunk index ever used; read without a lock
 * @settled:	(g) set when the first chunk is made: @keyed and @leases, and the settings
 *		of the context, are constant from then on
 * @keyed:	(g) timers have keys, which are in @keys
 * @leases:	(g) timers have words, which are in @words
 * @chunk_timers: (g) how many timers a chunk has
 * @places:	(g) a bit for the place of each of them
 * @keys:	if @keyed, all timers by key; looked up under RCU, changed under @lock. (g) Grows
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
	u32			chunk_timers;
	u64			places;
	unsigned long		limit;
	struct twheel_keys	keys;

	/* What arming and freeing change: on other cache lines, which go from CPU to CPU */
	struct twheel_account	account;
	/* order: see base.c */
	spinlock_t		lock;
	u32			generation;
	bool			has_empty;
	struct list_head	partial;
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
 * @pool:	the pool
 * @quota:	where its timers and its memory are to be counted. Outlives @pool
 */
void twheel_pool_init(struct twheel_pool *pool, struct twheel_quota *quota);

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
	/* Pairs with smp_store_release() in twheel_pool_grow(). */
	return smp_load_acquire(&pool->settled);
}

/**
 * twheel_pool_alloc() - take free timers
 * @pool:	the pool
 * @key:	the timer's key, if timers have keys: one for which twheel_pool_find_key() has
 *		found no timer since the caller took the lock
 * @timers:	filled with them
 * @n:		how many are wanted: 1 or more, and 1 if timers have keys
 *
 * Without keys each timer gets a new generation, so that old handles no longer name it.
 *
 * Context: the caller holds @pool->lock.
 * Return: how many there are: from 1 to @n; or the error -ENOSPC (limit of the pool), or -EAGAIN
 * if the pool has to grow first.
 */
int twheel_pool_alloc(struct twheel_pool *pool, u64 key, struct twheel_timer **timers, u32 n);

/**
 * twheel_pool_free() - give back timers
 * @pool:	the pool
 * @timers:	the timers, which are in no list and no wheel
 * @n:		how many
 *
 * Context: the caller holds @pool->lock.
 */
void twheel_pool_free(struct twheel_pool *pool, struct twheel_timer **timers, u32 n);

/**
 * twheel_pool_grow() - make room for a timer, unless there is some
 * @pool:	the pool, which is settled afterwards unless this fails
 *
 * Makes a chunk of free timers and room for keys, and reserves timers of the user's limit.
 *
 * Context: may sleep. The caller serialises all calls.
 * Return: 0, -ENOSPC, -ENOMEM or -EDQUOT; or -EINTR if the task was killed while it waited.
 */
int twheel_pool_grow(struct twheel_pool *pool);

/**
 * twheel_pool_lookup() - find a timer by its index
 * @pool:	the pool
 * @index:	any number
 *
 * The timer may be free, or become free unless it is locked. Its memory stays until the
 * RCU section ends.
 *
 * Context: under RCU.
 * Return: the timer, or NULL.
 */
static inline struct twheel_timer *twheel_pool_lookup(const struct twheel_pool *pool, u32 index)
{
	return twheel_chunk_timer(&pool->chunks, index);
}

/**
 * twheel_pool_find_key() - find a timer by its key
 * @pool:	the pool, which is settled; its timers have keys
 * @key:	any number
 *
 * Context: the caller holds @pool->lock.
 * Return: the timer, or NULL if no timer has @key.
 */
struct twheel_timer *twheel_pool_find_key(struct twheel_pool *pool, u64 key);

/**
 * twheel_pool_guess() - find the timer that a handle or key may name
 * @pool:	the pool, which is settled
 * @handle:	any number
 *
 * Context: under RCU.
 * Return: as twheel_pool_look_ahead() fills in for the only handle.
 */
static inline struct twheel_timer *twheel_pool_guess(const struct twheel_pool *pool, u64 handle)
{
	return unlikely(pool->keyed) ? twheel_keys_guess(&pool->keys, handle) :
	       twheel_pool_lookup(pool, lower_32_bits(handle));
}

/**
 * twheel_pool_look_ahead() - find timers for many handles, and have their memory fetched
 * @pool:	the pool, which is settled
 * @entries:	structs that begin with a handle or key
 * @size:	bytes from one to the next
 * @n:		how many
 * @timers:	filled for each with the timer that it may name, or with NULL. The caller has to
 *		lock the timer and then to ask twheel_pool_is_named(). With keys NULL does not
 *		mean that there is none: twheel_pool_find_key() tells
 *
 * The CPU waits for the memory of all of them at once, and not for one after another.
 *
 * Context: under RCU.
 */
void twheel_pool_look_ahead(struct twheel_pool *pool, const void *entries, size_t size,
			    u32 n, struct twheel_timer **timers);

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
 * twheel_pool_for_each() - call a function for each timer, whatever its state
 * @pool:	the pool, which nobody else uses
 * @function:	the function, which must not free the timer
 *
 * Context: may sleep.
 */
void twheel_pool_for_each(struct twheel_pool *pool,
			  void (*function)(struct twheel_timer *timer));

/**
 * twheel_pool_of() - the pool of a timer
 * @timer:	the timer
 *
 * Context: any.
 * Return: the pool.
 */
struct twheel_pool *twheel_pool_of(const struct twheel_timer *timer);

/**
 * twheel_pool_index() - the index of a timer in its pool
 * @timer:	the timer
 *
 * Context: any.
 * Return: the index, which is never 0.
 */
u32 twheel_pool_index(const struct twheel_timer *timer);

/**
 * twheel_pool_handle() - what names a timer while it is live
 * @timer:	the timer
 *
 * Context: any. The answer stays right only while the timer is locked.
 * Return: the key, if timers have keys, or else the handle.
 */
u64 twheel_pool_handle(const struct twheel_timer *timer);

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

/**
 * twheel_pool_word() - the word that a timer has for a lease
 * @timer:	the timer
 *
 * Context: any.
 * Return: the word, which programs may change at any time, or NULL.
 */
atomic64_t *twheel_pool_word(const struct twheel_timer *timer);

#endif /* TWHEEL_POOL_H */
