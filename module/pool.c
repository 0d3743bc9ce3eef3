// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timers of one context: their memory, and how they are found.
 *
 * Timers live in chunks of 4096 bytes: a header in the place of the first timer, and 63
 * timers behind it. So the address of a timer gives its chunk and with that its pool,
 * and an index is made of the number of the chunk and the place in it. A chunk whose
 * timers are all free is freed, unless it is the only one with free timers.
 *
 * In a pool with keys each chunk has an array of them, one for each timer, and in a pool
 * with leases it has its part of a page of words.
 *
 * Locking rules: see base.c for the order. twheel_pool.grow comes before all spinlocks. The
 * lock of the hash table may be taken inside the context's lock: so bottom halves are off
 * wherever it is taken.
 *
 * Lifetime rules: a pool lives as long as its context. A chunk lives while one of its
 * timers is in use, and its memory for an RCU grace period more: a look-up takes no lock,
 * and may find a timer that is just being freed. That timer is then free, which is all
 * that the caller has to know. A look-up by key is the same: the node may get another key
 * meanwhile, which the caller sees once it has locked the timer.
 */
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/prefetch.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "keys.h"
#include "pool.h"
#include "quota.h"
#include "timer_types.h"
#include "words.h"

#define CHUNK_SIZE	4096
#define CHUNK_PLACES	BIT(TWHEEL_PLACE_BITS)
#define CHUNK_TIMERS	(CHUNK_PLACES - 1)
#define CHUNK_ALL_FREE	(~0ULL << 1)
#define CHUNK_LOOKS_MAX	1024	/* chunks that a walk looks at before it returns */
/* So that each index, and the end of all of them, fits 32 bits. */
#define CHUNK_MAX	(U32_MAX >> TWHEEL_PLACE_BITS)

/* Timers whose words are in one page. */
#define PAGE_TIMERS	(TWHEEL_PAGE_WORDS / CHUNK_PLACES * CHUNK_TIMERS)

/**
 * struct twheel_key_array - the keys of a chunk
 * @chunk:	the chunk; constant
 * @keys:	the keys by place; place 0 has none
 *
 * It is aligned to its size, so that the address of a key gives its place.
 */
struct twheel_key_array {
	union {
		struct twheel_chunk	*chunk;
		struct twheel_key	keys[CHUNK_PLACES];
	};
};

/**
 * struct twheel_chunk - 63 timers
 * @pool:	the pool; constant
 * @free:	a bit for each place with a free timer; changed under pool->lock, and read
 *		without a lock by twheel_pool_next_index()
 * @index:	of the chunk in pool->chunks; constant
 * @words:	the words of the timers by place, or NULL; constant
 * @keys:	the keys of the timers, or NULL; constant
 * @partial:	in pool->partial while @free is not zero; under pool->lock
 * @rcu:	frees the chunk once it has left that list
 * @timers:	the timers by place; place 0 has none
 */
struct twheel_chunk {
	union {
		struct {
			struct twheel_pool	*pool;
			u64			free;
			u32			index;
			atomic64_t		*words;
			struct twheel_key_array	*keys;
			union {
				struct list_head	partial;
				struct rcu_head		rcu;
			};
		};
		struct twheel_timer timers[CHUNK_PLACES];
	};
};

static_assert(sizeof(struct twheel_timer) == 64);
static_assert(sizeof(struct twheel_chunk) == CHUNK_SIZE);
static_assert(offsetofend(struct twheel_chunk, rcu) <= sizeof(struct twheel_timer));
static_assert(sizeof(struct twheel_key_array) == CHUNK_PLACES * 16);

static struct kmem_cache *twheel_chunk_cache;
static struct kmem_cache *twheel_keys_cache;

unsigned long twheel_max_fd_timers;

int twheel_pool_cache_init(void)
{
	twheel_chunk_cache = kmem_cache_create("twheel_chunk", CHUNK_SIZE,
					       CHUNK_SIZE, SLAB_ACCOUNT, NULL);
	if (!twheel_chunk_cache)
		return -ENOMEM;

	twheel_keys_cache = kmem_cache_create("twheel_keys",
					      sizeof(struct twheel_key_array),
					      sizeof(struct twheel_key_array),
					      SLAB_ACCOUNT, NULL);
	if (!twheel_keys_cache) {
		kmem_cache_destroy(twheel_chunk_cache);
		return -ENOMEM;
	}

	twheel_keys_init_secret();
	return 0;
}

void twheel_pool_cache_exit(void)
{
	/* free_chunk_rcu() and the caches are still needed until then. */
	rcu_barrier();
	kmem_cache_destroy(twheel_keys_cache);
	kmem_cache_destroy(twheel_chunk_cache);
}

static struct twheel_chunk *chunk_of(const struct twheel_timer *timer)
{
	return (void *)((unsigned long)timer & ~(CHUNK_SIZE - 1UL));
}

struct twheel_pool *twheel_pool_of(const struct twheel_timer *timer)
{
	return chunk_of(timer)->pool;
}

static u32 place_of(const struct twheel_timer *timer)
{
	return timer - chunk_of(timer)->timers;
}

u32 twheel_pool_index(const struct twheel_timer *timer)
{
	return chunk_of(timer)->index << TWHEEL_PLACE_BITS | place_of(timer);
}

static struct twheel_key *key_of(const struct twheel_timer *timer)
{
	return &chunk_of(timer)->keys->keys[place_of(timer)];
}

u64 twheel_pool_handle(const struct twheel_timer *timer)
{
	if (chunk_of(timer)->keys)
		return key_of(timer)->value;
	return (u64)timer->generation << 32 | twheel_pool_index(timer);
}

atomic64_t *twheel_pool_word(const struct twheel_timer *timer)
{
	atomic64_t *words = chunk_of(timer)->words;

	return words ? &words[place_of(timer)] : NULL;
}

static struct twheel_key_array *array_of(const struct twheel_key *key)
{
	return (void *)((unsigned long)key & ~(sizeof(struct twheel_key_array) - 1));
}

static struct twheel_timer *timer_of(const struct twheel_key *key)
{
	const struct twheel_key_array *keys = array_of(key);

	return &keys->chunk->timers[key - keys->keys];
}

struct twheel_timer *twheel_pool_find_key(struct twheel_pool *pool, u64 value)
{
	struct twheel_key *key = twheel_keys_find(&pool->keys, value);

	return key ? timer_of(key) : NULL;
}

static void look_ahead_keys(struct twheel_pool *pool, const void *entries, size_t size,
			    u32 n, struct twheel_timer **timers)
{
	struct twheel_key **keys = (struct twheel_key **)timers;
	u32 i;

	twheel_keys_find_all(&pool->keys, entries, size, n, keys);
	for (i = 0; i < n; i++)
		if (keys[i])
			prefetch(array_of(keys[i]));
	for (i = 0; i < n; i++) {
		timers[i] = keys[i] ? timer_of(keys[i]) : NULL;
		prefetchw(timers[i]);
	}
}

void twheel_pool_look_ahead(struct twheel_pool *pool, const void *entries, size_t size,
			    u32 n, struct twheel_timer **timers)
{
	u32 i;

	if (pool->keyed) {
		look_ahead_keys(pool, entries, size, n, timers);
		return;
	}
	for (i = 0; i < n; i++, entries += size) {
		timers[i] = twheel_pool_lookup(pool, lower_32_bits(*(const u64 *)entries));
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
		const struct twheel_chunk *chunk = twheel_table_get(&pool->chunks, i);
		u64 used;

		if (!chunk)
			continue;
		used = ~READ_ONCE(chunk->free) & CHUNK_ALL_FREE &
		       (~0ULL << (index & (CHUNK_PLACES - 1)));
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
		struct twheel_chunk *chunk = twheel_table_get(&pool->chunks, index);

		for (place = 1; chunk && place < CHUNK_PLACES; place++)
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

struct twheel_timer *twheel_pool_alloc(struct twheel_pool *pool, u64 key)
{
	struct twheel_chunk *chunk;
	struct twheel_timer *timer;
	int ret;

	lockdep_assert_held(pool->lock);

	if (pool->nr_timers >= twheel_pool_limit(pool))
		return ERR_PTR(-ENOSPC);

	chunk = list_first_entry_or_null(&pool->partial, struct twheel_chunk,
					 partial);
	if (!chunk || (pool->keyed && !twheel_keys_have_room(&pool->keys)))
		return ERR_PTR(-EAGAIN);

	ret = twheel_quota_add_timer(pool->quota);
	if (ret)
		return ERR_PTR(ret);

	timer = &chunk->timers[__ffs64(chunk->free)];
	if (chunk->keys) {
		ret = twheel_keys_insert(&pool->keys, key_of(timer), key);
		if (ret) {
			twheel_quota_sub_timers(pool->quota, 1);
			return ERR_PTR(ret);
		}
	}
	WRITE_ONCE(chunk->free, chunk->free & (chunk->free - 1));
	if (!chunk->free)
		list_del(&chunk->partial);

	pool->nr_timers++;
	timer->generation = ++pool->generation;
	return timer;
}

static void free_chunk(struct twheel_chunk *chunk)
{
	if (chunk->keys)
		kmem_cache_free(twheel_keys_cache, chunk->keys);
	kmem_cache_free(twheel_chunk_cache, chunk);
}

/* Make a chunk with its keys and words, and take an index for it; or an ERR_PTR(). */
static struct twheel_chunk *new_chunk(struct twheel_pool *pool)
{
	struct twheel_chunk *chunk;
	int ret = -ENOMEM, index;

	lockdep_assert_held(&pool->grow);

	chunk = kmem_cache_zalloc(twheel_chunk_cache, TWHEEL_POOL_GFP);
	if (!chunk)
		return ERR_PTR(ret);

	chunk->pool = pool;
	chunk->free = CHUNK_ALL_FREE;

	if (pool->keyed) {
		chunk->keys = kmem_cache_zalloc(twheel_keys_cache, TWHEEL_POOL_GFP);
		if (!chunk->keys)
			goto free;
		chunk->keys->chunk = chunk;
	}

	index = ida_alloc_max(&pool->indices, CHUNK_MAX - 1, TWHEEL_POOL_GFP);
	if (index < 0) {
		ret = index;
		goto free;
	}
	chunk->index = index;
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
	free_chunk(chunk);
	return ERR_PTR(ret);
}

int twheel_pool_grow(struct twheel_pool *pool)
{
	struct twheel_chunk *chunk;
	bool enough;
	int ret = 0;

	mutex_lock(&pool->grow);

	/* Another call may have made one while this one waited for the mutex. */
	spin_lock_bh(pool->lock);
	if (pool->nr_timers >= twheel_pool_limit(pool))
		ret = -ENOSPC;
	enough = !list_empty(&pool->partial);
	spin_unlock_bh(pool->lock);
	if (ret || enough)
		goto unlock;

	ret = twheel_quota_add_chunk(pool->quota, CHUNK_TIMERS);
	if (ret)
		goto unlock;

	chunk = new_chunk(pool);
	if (IS_ERR(chunk)) {
		ret = PTR_ERR(chunk);
		twheel_quota_sub_chunk(pool->quota, CHUNK_TIMERS);
		goto unlock;
	}
	twheel_table_set(&pool->chunks, chunk->index, chunk);

	/* Pairs with smp_load_acquire() in twheel_pool_settled(). */
	smp_store_release(&pool->settled, true);

	spin_lock_bh(pool->lock);
	if (chunk->index >= pool->end)
		WRITE_ONCE(pool->end, chunk->index + 1);
	list_add(&chunk->partial, &pool->partial);
	spin_unlock_bh(pool->lock);

unlock:
	mutex_unlock(&pool->grow);
	if (!ret && pool->keyed)
		ret = twheel_keys_await_room(&pool->keys);
	return ret;
}

static void free_chunk_rcu(struct rcu_head *rcu)
{
	free_chunk(container_of(rcu, struct twheel_chunk, rcu));
}

void twheel_pool_free(struct twheel_pool *pool, struct twheel_timer *timer)
{
	struct twheel_chunk *chunk = chunk_of(timer);

	lockdep_assert_held(pool->lock);

	WRITE_ONCE(timer->where, TWHEEL_STATE_NONE);
	if (chunk->keys)
		twheel_keys_remove(&pool->keys, key_of(timer));
	pool->nr_timers--;
	twheel_quota_sub_timers(pool->quota, 1);

	if (!chunk->free)
		list_add(&chunk->partial, &pool->partial);
	WRITE_ONCE(chunk->free, chunk->free | BIT_ULL(place_of(timer)));

	if (chunk->free != CHUNK_ALL_FREE || list_is_singular(&pool->partial))
		return;

	list_del(&chunk->partial);
	twheel_table_set(&pool->chunks, chunk->index, NULL);
	ida_free(&pool->indices, chunk->index);
	twheel_quota_sub_chunk(pool->quota, CHUNK_TIMERS);
	call_rcu(&chunk->rcu, free_chunk_rcu);
}

void twheel_pool_init(struct twheel_pool *pool, spinlock_t *lock,
		      struct twheel_quota *quota)
{
	pool->lock = lock;
	pool->quota = quota;
	INIT_LIST_HEAD(&pool->partial);
	twheel_table_init(&pool->chunks, quota, TWHEEL_TABLE_PAGE * CHUNK_TIMERS);
	ida_init(&pool->indices);
	twheel_words_init(&pool->words, quota, PAGE_TIMERS);
	mutex_init(&pool->grow);
}

int twheel_pool_configure(struct twheel_pool *pool, bool keyed, bool leases, u64 limit)
{
	int ret;

	lockdep_assert_held(&pool->grow);

	if (pool->settled)
		return -EBUSY;
	if (limit > READ_ONCE(twheel_max_fd_timers))
		return -EINVAL;

	if (keyed && !pool->keyed) {
		ret = twheel_keys_init(&pool->keys);
		if (ret)
			return ret;
	}
	if (pool->keyed && !keyed)
		rhashtable_destroy(&pool->keys);

	pool->keyed = keyed;
	pool->leases = leases;
	WRITE_ONCE(pool->limit, limit);
	return 0;
}

void twheel_pool_destroy(struct twheel_pool *pool)
{
	u32 index;

	/* First, as its worker may be moving keys to another table. */
	if (pool->keyed)
		rhashtable_destroy(&pool->keys);

	for (index = 0; index < pool->end; index++) {
		struct twheel_chunk *chunk = twheel_table_get(&pool->chunks, index);

		cond_resched();
		if (!chunk)
			continue;
		twheel_quota_sub_chunk(pool->quota, CHUNK_TIMERS);
		free_chunk(chunk);
	}
	twheel_table_destroy(&pool->chunks);
	ida_destroy(&pool->indices);

	twheel_words_destroy(&pool->words);

	twheel_quota_sub_timers(pool->quota, pool->nr_timers);
	twheel_quota_put(pool->quota);
	mutex_destroy(&pool->grow);
}
