// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The timers of one context: their memory, and how they are found.
 *
 * Timers live in chunks, see chunk.h, and each chunk in the stock of a CPU: Documentation/design.md
 * has that, and how exact limits are. If a CPU has no free timer it takes half of the chunks of
 * another one that has many: so what a program ends on one CPU is used on the next. Once the user
 * has half of the memory that there may be, or if there is none, it takes what any other CPU has.
 *
 * Locking rules: see design.md for the order. The lock of the base of its stock guards a chunk: its
 * timers that are free, and which they are. It moves with the locks of both stocks held, so with
 * either of them it is known whose it is. Whoever owns the pool serialises making chunks, and
 * configuring, with a mutex that comes before all spinlocks: twheel_ctx.grow.
 *
 * Lifetime rules: a pool lives as long as its context. A chunk lives while one of its timers is in
 * use, and its memory for an RCU grace period more: so a look-up without a lock may find a timer
 * that is free, or has another key, which the caller sees once it has locked the timer.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/prefetch.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "base.h"
#include "chunk.h"
#include "debug.h"
#include "host.h"
#include "keys.h"
#include "pool.h"
#include "timer.h"

#define CHUNK_LOOKS_MAX	1024	/* chunks that a walk looks at before it returns */
/* So that each index, and the end of all of them, fits 32 bits. */
#define CHUNK_MAX	(U32_MAX >> TWHEEL_PLACE_BITS)
/* So many timers does a CPU reserve at a time: as many as it has, between these. */
#define RESERVE_MIN	16
#define RESERVE_MAX	256
/* A CPU that has no more chunks with free timers than this keeps them for itself. */
#define STOCK_CHUNKS	8
/* For so many timers a CPU keeps an empty chunk: at least one, and no more than EMPTY_MAX */
#define EMPTY_SHARE	512
#define EMPTY_MAX	5
/* Chunks that go to another stock before the locks are released */
#define MOVE_MAX	16

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

void twheel_pool_look_ahead(struct twheel_pool *pool, const void *entries, size_t size,
			    u32 n, struct twheel_timer **hints)
{
	u32 i;

	if (pool->keyed) {
		twheel_keys_look_ahead(&pool->keys, entries, size, n, hints);
		return;
	}
	for (i = 0; i < n; i++, entries += size) {
		u32 index = lower_32_bits(*(const u64 *)entries);

		/* Handle 0, which asks for a new timer, has the index of none. */
		hints[i] = twheel_chunk_timer(&pool->chunks, index);
		/* That of no timer does nothing. */
		prefetchw(hints[i]);
	}
}

u32 twheel_pool_end(struct twheel_pool *pool)
{
	/* Until it is settled @pool->places may change: no walk is to take a key for a timer. */
	return twheel_pool_settled(pool) ? READ_ONCE(pool->end) << TWHEEL_PLACE_BITS : 0;
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

unsigned long twheel_pool_limit(const struct twheel_pool *pool)
{
	unsigned long max = READ_ONCE(twheel_max_fd_timers);
	unsigned long limit = READ_ONCE(pool->limit);

	return limit ? min(limit, max) : max;
}

static struct twheel_stock *stock_of(const struct twheel_pool *pool, u32 cpu)
{
	return per_cpu_ptr(pool->stocks, cpu);
}

u32 twheel_pool_timers(const struct twheel_pool *pool)
{
	u32 cpu, timers = 0;

	for_each_possible_cpu(cpu)
		timers += READ_ONCE(stock_of(pool, cpu)->used);
	/* What ends on one CPU and is made on another meanwhile may count twice. */
	return min_t(unsigned long, timers, atomic_long_read(&pool->reserved));
}

/* Add @chunk to @stock, whose lock is held, behind @prev. */
static void add_to_stock(struct twheel_stock *stock, struct twheel_chunk *chunk,
			 struct list_head *prev)
{
	list_add(&chunk->partial, prev);
	WRITE_ONCE(stock->nr_chunks, stock->nr_chunks + 1);
}

/* Take @chunk out of @stock, whose lock is held. */
static void take_from_stock(struct twheel_stock *stock, struct twheel_chunk *chunk)
{
	list_del(&chunk->partial);
	WRITE_ONCE(stock->nr_chunks, stock->nr_chunks - 1);
}

/* Has a limit changed since timers were reserved last? */
static bool limits_changed(const struct twheel_pool *pool)
{
	return READ_ONCE(pool->changes) != READ_ONCE(twheel_limit_changes);
}

/* As twheel_pool_alloc(), for a number that the compiler may know */
static __always_inline int alloc(struct twheel_pool *pool, const struct twheel_base *base,
				 struct twheel_timer **timers, u32 n)
{
	struct twheel_stock *stock = stock_of(pool, base->cpu);
	bool keyed = pool->keyed;
	u32 i = 0;

	lockdep_assert_held(&base->lock);

	if (unlikely(limits_changed(pool)))
		return -EAGAIN;
	n = min(n, stock->reserved - stock->used);
	while (i < n && !list_empty(&stock->chunks)) {
		struct twheel_chunk *chunk = list_first_entry(&stock->chunks, struct twheel_chunk,
							      partial);
		u32 generation = chunk->generation;
		u64 free = chunk->free;

		twheel_assert(chunk->pool == pool && chunk->stock == stock);
		twheel_assert(free && !(free & ~pool->places));
		if (free == pool->places)
			stock->nr_empty--;
		for (; i < n && free; free &= free - 1) {
			struct twheel_timer *timer = &chunk->timers[__ffs64(free)];

			twheel_assert(twheel_timer_state(timer) == TWHEEL_STATE_NONE);
			if (!keyed)
				timer->generation = ++generation;
			timers[i++] = timer;
		}
		chunk->generation = generation;
		WRITE_ONCE(chunk->free, free);
		if (!free)
			take_from_stock(stock, chunk);
	}
	WRITE_ONCE(stock->used, stock->used + i);
	return i ?: -EAGAIN;
}

int twheel_pool_alloc(struct twheel_pool *pool, const struct twheel_base *base,
		      struct twheel_timer **timers, u32 n)
{
	return n == 1 ? alloc(pool, base, timers, 1) : alloc(pool, base, timers, n);
}

/* Give back @n timers that were reserved, and are in no stock. */
static void release(struct twheel_pool *pool, u32 n)
{
	if (!n)
		return;
	twheel_assert(atomic_long_read(&pool->reserved) >= n);
	atomic_long_sub(n, &pool->reserved);
	twheel_account_release(&pool->account, n);
}

/*
 * Give back what is reserved in @stock, whose lock is held, and not used, but for @keep. It may
 * then have twice as many before it gives back more.
 */
static void give_back(struct twheel_pool *pool, struct twheel_stock *stock, u32 keep)
{
	u32 unused = stock->reserved - stock->used;

	if (unused > keep) {
		WRITE_ONCE(stock->reserved, stock->reserved - (unused - keep));
		release(pool, unused - keep);
	}
	WRITE_ONCE(stock->low, stock->reserved - min(stock->reserved, 2 * keep));
}

/*
 * Store @chunk, or what stands for none with that number, for which there is room. Nobody else does
 * as long as the number is taken.
 */
static void set_slot(struct twheel_pool *pool, const struct twheel_chunk *chunk,
		     unsigned long entry)
{
	rcu_assign_pointer(*twheel_chunk_slot(&pool->chunks, chunk->index), (void *)entry);
}

static void free_chunk(struct rcu_head *rcu)
{
	struct twheel_chunk *chunk = container_of(rcu, struct twheel_chunk, rcu);
	struct twheel_quota *quota = chunk->quota;

	kmem_cache_free(twheel_chunk_cache, chunk);
	twheel_quota_memory_left(quota, TWHEEL_CHUNK_SIZE);
}

/* Free the empty chunks of @stock, whose lock is held, but for @keep of them. */
static void drop_empty(struct twheel_pool *pool, struct twheel_stock *stock, u32 keep)
{
	while (stock->nr_empty > keep) {
		struct twheel_chunk *chunk = list_last_entry(&stock->chunks,
							     struct twheel_chunk, partial);

		twheel_assert(chunk->free == pool->places);
		stock->nr_empty--;
		take_from_stock(stock, chunk);
		set_slot(pool, chunk, (unsigned long)chunk->generation << 1);
		ida_free(&pool->indices, chunk->index);
		twheel_quota_memory_leaves(chunk->quota, TWHEEL_CHUNK_SIZE);
		call_rcu_hurry(&chunk->rcu, free_chunk);
	}
}

/* Until more is reserved, what ends is given back at once: others need it. */
void twheel_pool_reclaim(struct twheel_pool *pool)
{
	u32 cpu;

	for_each_possible_cpu(cpu) {
		struct twheel_stock *stock = stock_of(pool, cpu);
		/* It is NULL, or stays while this may be called: see twheel_pool_configure(). */
		struct twheel_base *base = READ_ONCE(stock->base);

		if (!base)
			continue;
		spin_lock_bh(&base->lock);
		give_back(pool, stock, 0);
		drop_empty(pool, stock, 0);
		spin_unlock_bh(&base->lock);
	}
}

/* How many timers more may @pool have? While it grows others make that no less. */
static unsigned long room_of(const struct twheel_pool *pool)
{
	unsigned long limit = twheel_pool_limit(pool);

	return limit - min_t(unsigned long, limit, atomic_long_read(&pool->reserved));
}

/* Reserve a timer. Returns 0 or an error. */
static int reserve(struct twheel_pool *pool)
{
	/* Pairs with the release of the host that changes a limit. */
	u32 changes = smp_load_acquire(&twheel_limit_changes);
	int ret;

	if (pool->changes != changes) {
		twheel_pool_reclaim(pool);
		WRITE_ONCE(pool->changes, changes);
	}
	if (!room_of(pool)) {
		twheel_pool_reclaim(pool);
		if (!room_of(pool))
			return -ENOSPC;
	}
	ret = twheel_account_reserve(&pool->account);
	if (!ret)
		atomic_long_add(1, &pool->reserved);
	return ret;
}

/*
 * Reserve up to @n more timers for a stock, whose lock is held, but only a share of what the limits
 * leave. Returns how many. Whoever reclaims finds them there: they are never on their way.
 */
static u32 reserve_more(struct twheel_pool *pool, u32 n)
{
	n = min_t(unsigned long, n, twheel_share(room_of(pool)));
	n = twheel_account_reserve_more(&pool->account, n);
	atomic_long_add(n, &pool->reserved);
	return n;
}

/* Free @chunk, which is new, and not published. */
static void discard_chunk(struct twheel_pool *pool, struct twheel_chunk *chunk)
{
	ida_free(&pool->indices, chunk->index);
	kmem_cache_free(twheel_chunk_cache, chunk);
	twheel_quota_sub_memory(pool->account.quota, TWHEEL_CHUNK_SIZE);
}

/* Make a chunk for @stock with its words, and take an index for it; or an ERR_PTR(). */
static struct twheel_chunk *new_chunk(struct twheel_pool *pool, struct twheel_stock *stock)
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
	chunk->stock = stock;
	chunk->keyed = pool->keyed;

	index = ida_alloc_max(&pool->indices, CHUNK_MAX - 1, TWHEEL_POOL_GFP);
	if (index < 0) {
		ret = index;
		goto free;
	}
	chunk->index = index;
	twheel_assert(!twheel_chunk_get(&pool->chunks, index));
	ret = twheel_table_reserve(&pool->chunks, index);
	if (!ret && pool->leases) {
		chunk->words = twheel_words_get(&pool->words,
						(u64)chunk->index << TWHEEL_PLACE_BITS);
		ret = PTR_ERR_OR_ZERO(chunk->words);
	}
	if (ret) {
		discard_chunk(pool, chunk);
		return ERR_PTR(ret);
	}
	chunk->generation = twheel_chunk_entry(&pool->chunks, index) >> 1;
	return chunk;

free:
	kmem_cache_free(twheel_chunk_cache, chunk);
uncharge:
	twheel_quota_sub_memory(pool->account.quota, TWHEEL_CHUNK_SIZE);
	return ERR_PTR(ret);
}

/* Add @chunk, which is new, to @stock, whose lock is held. */
static void publish(struct twheel_pool *pool, struct twheel_stock *stock,
		    struct twheel_chunk *chunk)
{
	set_slot(pool, chunk, (unsigned long)chunk | TWHEEL_CHUNK_THERE);
	if (chunk->index >= pool->end)
		WRITE_ONCE(pool->end, chunk->index + 1);
	/* Pairs with smp_load_acquire() in twheel_pool_settled(). */
	smp_store_release(&pool->settled, true);

	stock->nr_empty++;
	add_to_stock(stock, chunk, stock->chunks.prev);
}

/* Let @chunk, which belongs to @from, belong to @to. The locks of both are held. */
static void move_chunk(struct twheel_pool *pool, struct twheel_chunk *chunk,
		       struct twheel_stock *from, struct twheel_stock *to)
{
	u32 used = hweight64(pool->places & ~chunk->free);

	take_from_stock(from, chunk);
	WRITE_ONCE(from->used, from->used - used);
	WRITE_ONCE(from->reserved, from->reserved - used);
	WRITE_ONCE(from->low, from->low - min(from->low, used));
	if (!used)
		from->nr_empty--;

	/* Whoever finds the stock finds its base. */
	smp_store_release(&chunk->stock, to);
	WRITE_ONCE(to->reserved, to->reserved + used);
	WRITE_ONCE(to->low, to->low + used);
	WRITE_ONCE(to->used, to->used + used);
	if (!used)
		to->nr_empty++;
	add_to_stock(to, chunk, used ? &to->chunks : to->chunks.prev);
}

/*
 * Take half of the chunks with free timers that another CPU has for that of @to, if there are more
 * than @min. Returns whether there were some.
 */
static bool take_chunks(struct twheel_pool *pool, struct twheel_stock *to, u32 min)
{
	u32 cpu, n, moved = 0;

	for_each_possible_cpu(cpu) {
		struct twheel_stock *from = stock_of(pool, cpu);

		if (from == to || READ_ONCE(from->nr_chunks) <= min)
			continue;
		local_bh_disable();
		twheel_bases_lock(from->base, to->base);
		n = from->nr_chunks > min ? min_t(u32, (from->nr_chunks + 1) / 2, MOVE_MAX) : 0;
		for (; moved < n; moved++)
			move_chunk(pool, list_first_entry(&from->chunks, struct twheel_chunk,
							  partial), from, to);
		twheel_bases_unlock(from->base, to->base);
		local_bh_enable();
		if (moved)
			return true;
	}
	return false;
}

/*
 * Find free timers for @stock. Returns NULL if there are some; or a chunk, which is not published
 * yet; or an ERR_PTR(). With @sure a new chunk, which nobody else can take, rather than what is
 * there.
 */
static struct twheel_chunk *find_chunk(struct twheel_pool *pool, struct twheel_stock *stock,
				       bool sure)
{
	bool is_short = twheel_quota_is_short(pool->account.quota);
	struct twheel_chunk *chunk;

	if (!sure && (READ_ONCE(stock->nr_chunks) ||
		      take_chunks(pool, stock, is_short ? 1 : STOCK_CHUNKS)))
		return NULL;
	chunk = new_chunk(pool, stock);
	if (IS_ERR(chunk) && PTR_ERR(chunk) != -EINTR &&
	    (READ_ONCE(stock->nr_chunks) || take_chunks(pool, stock, 0)))
		return NULL;
	return chunk;
}

/*
 * As twheel_pool_grow(), or -EAGAIN if others have taken meanwhile what was found; hardly ever with
 * @sure.
 */
static int grow(struct twheel_pool *pool, struct twheel_base *base, struct twheel_timer **timer,
		bool sure)
{
	struct twheel_stock *stock = stock_of(pool, base->cpu);
	u32 used = READ_ONCE(stock->used), more = clamp_t(u32, used, RESERVE_MIN, RESERVE_MAX);
	u32 hand = sure || limits_changed(pool) || READ_ONCE(stock->reserved) <= used;
	struct twheel_chunk *chunk = NULL;
	bool sought;
	int ret = 0;

	/* Whoever reclaims, from the first reservation on, finds it: see the host. */
	if (stock->base != base)
		WRITE_ONCE(stock->base, base);
	if (hand)
		ret = reserve(pool);
	if (ret)
		return ret;
	if (pool->keyed)
		ret = twheel_keys_reserve(&pool->keys, atomic_long_read(&pool->reserved) + more);
	if (!ret) {
		chunk = find_chunk(pool, stock, sure);
		ret = PTR_ERR_OR_ZERO(chunk);
	}
	if (ret) {
		release(pool, hand);
		return ret;
	}

	spin_lock_bh(&base->lock);
	if (chunk && !stock->nr_chunks) {
		publish(pool, stock, chunk);
		chunk = NULL;
	}
	/* Nothing is reserved for later while another context looks for a timer that none needs. */
	sought = twheel_account_is_sought(&pool->account);
	if (stock->reserved == stock->used && !sought)
		hand += reserve_more(pool, more);
	WRITE_ONCE(stock->reserved, stock->reserved + hand);
	ret = twheel_pool_alloc(pool, base, timer, 1);
	give_back(pool, stock, sought ? 0 : RESERVE_MAX);
	spin_unlock_bh(&base->lock);
	if (chunk)
		discard_chunk(pool, chunk);
	return min(ret, 0);
}

int twheel_pool_grow(struct twheel_pool *pool, struct twheel_base *base,
		     struct twheel_timer **timer)
{
	int ret = grow(pool, base, timer, false);

	while (ret == -EAGAIN)
		ret = grow(pool, base, timer, true);
	return ret;
}

/* Give back @timer, which has ended, to the stock of its chunk, whose lock is held. */
static void free_timer(struct twheel_pool *pool, struct twheel_timer *timer)
{
	struct twheel_chunk *chunk = twheel_chunk_of(timer);
	struct twheel_stock *stock = chunk->stock;

	lockdep_assert_held(&stock->base->lock);
	twheel_assert(chunk->pool == pool && !(chunk->free & BIT_ULL(twheel_place_of(timer))));
	twheel_assert(twheel_timer_state(timer) == TWHEEL_STATE_NONE);

	if (!chunk->free)
		add_to_stock(stock, chunk, &stock->chunks);
	WRITE_ONCE(chunk->free, chunk->free | BIT_ULL(twheel_place_of(timer)));
	WRITE_ONCE(stock->used, stock->used - 1);
	if (stock->used < stock->low)
		give_back(pool, stock, stock->low == stock->reserved ? 0 : RESERVE_MAX);

	if (likely(chunk->free != pool->places))
		return;
	stock->nr_empty++;
	list_move_tail(&chunk->partial, &stock->chunks);
	drop_empty(pool, stock, twheel_quota_is_short(chunk->quota) ? 1 :
		   clamp_t(u32, stock->used / EMPTY_SHARE, 1, EMPTY_MAX));
}

void twheel_pool_free_slow(struct twheel_pool *pool, const struct twheel_base *base,
			   struct twheel_timer *timer, struct twheel_timer **ended)
{
	if (READ_ONCE(READ_ONCE(twheel_chunk_of(timer)->stock)->base) == base) {
		free_timer(pool, timer);
		return;
	}
	timer->ended = *ended;
	*ended = timer;
}

void twheel_pool_free_ended(struct twheel_pool *pool, struct twheel_timer *ended)
{
	while (ended) {
		struct twheel_timer *timer = ended;
		/* Pairs with smp_store_release() in move_chunk(). */
		struct twheel_base *base = smp_load_acquire(&twheel_chunk_of(timer)->stock)->base;

		/* If the chunk moves before the lock is held, the timer is the first one again. */
		ended = timer->ended;
		spin_lock(&base->lock);
		twheel_pool_free(pool, base, timer, &ended);
		spin_unlock(&base->lock);
	}
}

int twheel_pool_init(struct twheel_pool *pool, struct twheel_quota *quota)
{
	u32 cpu;

	pool->stocks = alloc_percpu_gfp(struct twheel_stock, TWHEEL_OPEN_GFP);
	if (!pool->stocks)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		INIT_LIST_HEAD(&stock_of(pool, cpu)->chunks);

	pool->account.quota = quota;
	/* Nothing is reserved within an earlier limit. */
	pool->changes = READ_ONCE(twheel_limit_changes);
	twheel_table_init(&pool->chunks, sizeof(void *), TWHEEL_BLOCK_CHUNKS, quota);
	ida_init(&pool->indices);
	twheel_words_init(&pool->words, quota);
	twheel_keys_init(&pool->keys, &pool->chunks, quota);
	pool->places = GENMASK_ULL(TWHEEL_CHUNK_TIMERS, 1);
	return 0;
}

int twheel_pool_configure(struct twheel_pool *pool, bool keyed, bool leases, u64 limit)
{
	u32 cpu;

	if (pool->settled)
		return -EBUSY;
	if (limit > READ_ONCE(twheel_max_fd_timers))
		return -EINVAL;

	/*
	 * The clock may change, and so the bases. Nobody reclaims once the account is closed, until
	 * it is opened with the bases of then. Nor is there anything to reclaim: a stock gets its
	 * first chunk and its first reservation together, and then the pool is settled.
	 */
	twheel_account_close(&pool->account);
	for_each_possible_cpu(cpu) {
		twheel_assert(!stock_of(pool, cpu)->reserved);
		WRITE_ONCE(stock_of(pool, cpu)->base, NULL);
	}
	pool->places = GENMASK_ULL(keyed ? TWHEEL_KEYED_TIMERS : TWHEEL_CHUNK_TIMERS, 1);
	pool->keyed = keyed;
	pool->leases = leases;
	WRITE_ONCE(pool->limit, limit);
	return 0;
}

void twheel_pool_destroy(struct twheel_pool *pool)
{
	u32 index, cpu;

	/* While they are counted others must find them. */
	for_each_possible_cpu(cpu) {
		struct twheel_stock *stock = stock_of(pool, cpu);

		if (!stock->base)
			continue;
		spin_lock_bh(&stock->base->lock);
		WRITE_ONCE(stock->used, 0);
		give_back(pool, stock, 0);
		spin_unlock_bh(&stock->base->lock);
	}
	twheel_account_close(&pool->account);
	twheel_assert(!atomic_long_read(&pool->reserved));

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

	free_percpu(pool->stocks);
}
