// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The timers of one context: their memory, and how they are found.
 *
 * Timers live in chunks, see chunk.h. A chunk whose timers are all free is freed, but one of
 * them is kept: a program that makes and ends a few timers again and again should not make and
 * free a chunk each time. In a pool with leases each chunk has its part of a page of words.
 *
 * Locking rules: see base.c for the order. Whoever owns the pool serialises making chunks, and
 * configuring, with a mutex that comes before all spinlocks: twheel_ctx.grow.
 *
 * Lifetime rules: a pool lives as long as its context. A chunk lives while one of its
 * timers is in use, and its memory for an RCU grace period more: a look-up takes no lock,
 * and may find a timer that is just being freed. That timer is then free, which is all
 * that the caller has to know. A look-up by key is the same: the timer may get another key
 * meanwhile, which the caller sees once it has locked the timer.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/prefetch.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "chunk.h"
#include "debug.h"
#include "host.h"
#include "keys.h"
#include "pool.h"
#include "timer.h"

#define CHUNK_LOOKS_MAX	1024	/* chunks that a walk looks at before it returns */
/* So that each index, and the end of all of them, fits 32 bits. */
#define CHUNK_MAX	(U32_MAX >> TWHEEL_PLACE_BITS)

static struct kmem_cache *twheel_chunk_cache;

int twheel_pool_cache_init(void)
{
	twheel_chunk_cache = kmem_cache_create("twheel_chunk", TWHEEL_CHUNK_SIZE,
					       TWHEEL_CHUNK_SIZE, SLAB_ACCOUNT, NULL);
	return twheel_chunk_cache ? 0 : -ENOMEM;
}

void twheel_pool_cache_exit(void)
{
	/* free_chunk() and the cache are still needed until then. */
	rcu_barrier();
	kmem_cache_destroy(twheel_chunk_cache);
}

struct twheel_pool *twheel_pool_of(const struct twheel_timer *timer)
{
	return twheel_chunk_of(timer)->pool;
}

u32 twheel_pool_index(const struct twheel_timer *timer)
{
	return twheel_index_of(timer);
}

u64 twheel_pool_handle(const struct twheel_timer *timer)
{
	if (twheel_chunk_of(timer)->keyed)
		return *twheel_key_of(timer);
	return (u64)timer->generation << 32 | twheel_pool_index(timer);
}

atomic64_t *twheel_pool_word(const struct twheel_timer *timer)
{
	atomic64_t *words = twheel_chunk_of(timer)->words;

	return words ? &words[twheel_place_of(timer)] : NULL;
}

struct twheel_timer *twheel_pool_find_key(struct twheel_pool *pool, u64 key)
{
	lockdep_assert_held(&pool->lock);

	return twheel_keys_find(&pool->keys, key);
}

void twheel_pool_look_ahead(struct twheel_pool *pool, const void *entries, size_t size,
			    u32 n, struct twheel_timer **timers)
{
	u32 i;

	if (pool->keyed) {
		twheel_keys_look_ahead(&pool->keys, entries, size, n, timers);
		return;
	}
	for (i = 0; i < n; i++, entries += size) {
		u64 handle = *(const u64 *)entries;

		/* Handle 0 asks for a new timer. */
		timers[i] = handle ? twheel_pool_lookup(pool, lower_32_bits(handle)) : NULL;
		/* That of NULL does nothing. */
		prefetchw(timers[i]);
	}
}

u32 twheel_pool_end(struct twheel_pool *pool)
{
	return READ_ONCE(pool->end) << TWHEEL_PLACE_BITS;
}

u32 twheel_pool_next_index(struct twheel_pool *pool, u32 index, u32 end)
{
	u32 i = index >> TWHEEL_PLACE_BITS, looks = CHUNK_LOOKS_MAX;
	u32 last = min(end, twheel_pool_end(pool));

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "walk without RCU");

	for (; index < last && looks; index = ++i << TWHEEL_PLACE_BITS, looks--) {
		const struct twheel_chunk *chunk = twheel_chunk_get(&pool->chunks, i);
		u64 used;

		if (!chunk)
			continue;
		used = ~READ_ONCE(chunk->free) & pool->places &
		       (~0ULL << index % TWHEEL_PLACES);
		if (used)
			return min_t(u32, end, (i << TWHEEL_PLACE_BITS) + __ffs64(used));
	}
	return index < last ? index : end;
}

void twheel_pool_for_each(struct twheel_pool *pool,
			  void (*function)(struct twheel_timer *timer))
{
	u32 index, place;

	for (index = 0; index < pool->end; index++) {
		struct twheel_chunk *chunk = twheel_chunk_get(&pool->chunks, index);

		for (place = 1; chunk && place <= pool->chunk_timers; place++)
			function(&chunk->timers[place]);
		cond_resched();
	}
}

unsigned long twheel_pool_limit(const struct twheel_pool *pool)
{
	unsigned long max = READ_ONCE(twheel_max_fd_timers);
	unsigned long limit = READ_ONCE(pool->limit);

	return limit ? min(limit, max) : max;
}

/* Is there room for the key of one more timer, if timers have keys? */
static bool has_key_room(const struct twheel_pool *pool)
{
	return !pool->keyed || twheel_keys_have_room(&pool->keys, pool->account.timers + 1);
}

int twheel_pool_alloc(struct twheel_pool *pool, u64 key, struct twheel_timer **timers, u32 n)
{
	unsigned long limit = twheel_pool_limit(pool);
	struct twheel_chunk *chunk;
	u32 taken;
	u64 free;

	lockdep_assert_held(&pool->lock);

	if (pool->account.timers >= limit)
		return -ENOSPC;

	chunk = list_first_entry_or_null(&pool->partial, struct twheel_chunk,
					 partial);
	if (!chunk || !has_key_room(pool))
		return -EAGAIN;

	if (n > 1)
		n = min3((u64)n, (u64)limit - pool->account.timers,
			 (u64)hweight64(chunk->free));
	taken = twheel_account_take(&pool->account, n);
	if (!taken)
		return -EAGAIN;

	free = chunk->free;
	twheel_assert(chunk->pool == pool && free && !(free & ~pool->places));
	if (free == pool->places)
		pool->has_empty = false;
	for (n = 0; n < taken; n++, free &= free - 1) {
		timers[n] = &chunk->timers[__ffs64(free)];
		twheel_assert(twheel_timer_state(timers[n]) == TWHEEL_STATE_NONE);
		if (!pool->keyed)
			timers[n]->generation = ++pool->generation;
	}
	WRITE_ONCE(chunk->free, free);
	if (!free)
		list_del(&chunk->partial);

	if (pool->keyed)
		twheel_keys_insert(&pool->keys, timers[0], key, pool->account.timers);
	return n;
}

/* Make a chunk with its words, and take an index for it; or an ERR_PTR(). */
static struct twheel_chunk *new_chunk(struct twheel_pool *pool)
{
	struct twheel_chunk *chunk;
	int ret, index;

	ret = twheel_quota_add_memory(pool->account.quota, TWHEEL_CHUNK_SIZE);
	if (ret)
		return ERR_PTR(ret);

	ret = -ENOMEM;
	chunk = kmem_cache_zalloc(twheel_chunk_cache, TWHEEL_POOL_GFP);
	if (!chunk)
		goto uncharge;

	chunk->pool = pool;
	chunk->quota = pool->account.quota;
	chunk->free = pool->places;
	chunk->keyed = pool->keyed;

	index = ida_alloc_max(&pool->indices, CHUNK_MAX - 1, TWHEEL_POOL_GFP);
	if (index < 0) {
		ret = index;
		goto free;
	}
	chunk->index = index;
	twheel_assert(!twheel_chunk_get(&pool->chunks, index));
	ret = twheel_table_reserve(&pool->chunks, index);
	if (ret)
		goto release;

	if (pool->leases) {
		chunk->words = twheel_words_get(&pool->words,
						(u64)chunk->index << TWHEEL_PLACE_BITS);
		if (IS_ERR(chunk->words)) {
			ret = PTR_ERR(chunk->words);
			goto release;
		}
	}
	return chunk;

release:
	ida_free(&pool->indices, index);
free:
	kmem_cache_free(twheel_chunk_cache, chunk);
uncharge:
	twheel_quota_sub_memory(pool->account.quota, TWHEEL_CHUNK_SIZE);
	return ERR_PTR(ret);
}

/* Store @chunk, or NULL, with number @nr, for which there is room. */
static void set_chunk(struct twheel_pool *pool, u32 nr, struct twheel_chunk *chunk)
{
	rcu_assign_pointer(*twheel_chunk_slot(&pool->chunks, nr), chunk);
}

int twheel_pool_grow(struct twheel_pool *pool)
{
	struct twheel_chunk *chunk;
	bool enough, key_room;
	int ret = 0;

	/* Another call may have made one while this one waited for its turn. */
	spin_lock_bh(&pool->lock);
	if (pool->account.timers >= twheel_pool_limit(pool))
		ret = -ENOSPC;
	enough = !list_empty(&pool->partial);
	key_room = has_key_room(pool);
	spin_unlock_bh(&pool->lock);
	if (!ret)
		ret = twheel_account_reserve(&pool->account);
	if (!ret && !key_room)
		ret = twheel_keys_reserve(&pool->keys);
	if (ret || enough)
		return ret;

	chunk = new_chunk(pool);
	if (IS_ERR(chunk))
		return PTR_ERR(chunk);
	set_chunk(pool, chunk->index, chunk);

	/* Pairs with smp_load_acquire() in twheel_pool_settled(). */
	smp_store_release(&pool->settled, true);

	spin_lock_bh(&pool->lock);
	if (chunk->index >= pool->end)
		WRITE_ONCE(pool->end, chunk->index + 1);
	list_add_tail(&chunk->partial, &pool->partial);
	pool->has_empty = true;
	spin_unlock_bh(&pool->lock);
	return 0;
}

static void free_chunk(struct rcu_head *rcu)
{
	struct twheel_chunk *chunk = container_of(rcu, struct twheel_chunk, rcu);
	struct twheel_quota *quota = chunk->quota;

	kmem_cache_free(twheel_chunk_cache, chunk);
	twheel_quota_memory_left(quota, TWHEEL_CHUNK_SIZE);
}

static void free_timer(struct twheel_pool *pool, struct twheel_timer *timer)
{
	struct twheel_chunk *chunk = twheel_chunk_of(timer);

	twheel_assert(chunk->pool == pool && !(chunk->free & BIT_ULL(twheel_place_of(timer))));
	WRITE_ONCE(timer->where, TWHEEL_STATE_NONE);
	if (pool->keyed)
		twheel_keys_remove(&pool->keys, timer);

	if (!chunk->free)
		list_add(&chunk->partial, &pool->partial);
	WRITE_ONCE(chunk->free, chunk->free | BIT_ULL(twheel_place_of(timer)));

	if (chunk->free != pool->places)
		return;
	if (!pool->has_empty) {
		pool->has_empty = true;
		list_move_tail(&chunk->partial, &pool->partial);
		return;
	}

	list_del(&chunk->partial);
	set_chunk(pool, chunk->index, NULL);
	ida_free(&pool->indices, chunk->index);
	twheel_quota_memory_leaves(chunk->quota, TWHEEL_CHUNK_SIZE);
	call_rcu(&chunk->rcu, free_chunk);
}

void twheel_pool_free(struct twheel_pool *pool, struct twheel_timer **timers, u32 n)
{
	u32 i;

	lockdep_assert_held(&pool->lock);

	for (i = 0; i < n; i++)
		free_timer(pool, timers[i]);
	twheel_account_give(&pool->account, n);
}

static void set_chunk_timers(struct twheel_pool *pool, u32 n)
{
	pool->chunk_timers = n;
	pool->places = GENMASK_ULL(n, 1);
}

void twheel_pool_init(struct twheel_pool *pool, struct twheel_quota *quota)
{
	spin_lock_init(&pool->lock);
	twheel_account_init(&pool->account, &pool->lock, quota);
	INIT_LIST_HEAD(&pool->partial);
	twheel_table_init(&pool->chunks, sizeof(void *), TWHEEL_FIRST_CHUNKS, &pool->lock,
			  quota);
	ida_init(&pool->indices);
	twheel_words_init(&pool->words, quota);
	twheel_keys_init(&pool->keys, &pool->chunks, &pool->lock, quota);
	set_chunk_timers(pool, TWHEEL_CHUNK_TIMERS);
}

int twheel_pool_configure(struct twheel_pool *pool, bool keyed, bool leases, u64 limit)
{
	if (pool->settled)
		return -EBUSY;
	if (limit > READ_ONCE(twheel_max_fd_timers))
		return -EINVAL;

	set_chunk_timers(pool, keyed ? TWHEEL_KEYED_TIMERS : TWHEEL_CHUNK_TIMERS);
	pool->keyed = keyed;
	if (keyed)
		twheel_keys_choose_secret(&pool->keys);
	pool->leases = leases;
	WRITE_ONCE(pool->limit, limit);
	return 0;
}

void twheel_pool_destroy(struct twheel_pool *pool)
{
	u32 index;

	for (index = 0; index < pool->end; index++) {
		struct twheel_chunk *chunk = twheel_chunk_get(&pool->chunks, index);

		cond_resched();
		if (!chunk)
			continue;
		kmem_cache_free(twheel_chunk_cache, chunk);
		twheel_quota_sub_memory(pool->account.quota, TWHEEL_CHUNK_SIZE);
	}
	twheel_table_destroy(&pool->chunks);
	twheel_keys_destroy(&pool->keys);
	ida_destroy(&pool->indices);

	twheel_words_destroy(&pool->words);

	twheel_account_close(&pool->account);
}
