// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one open of the device owns: timers' memory, ready list, waiters.
 *
 * Timers live in chunks of 4096 bytes: a header in the place of the first one,
 * and 63 timers behind it. So a timer's address gives its context, and its
 * index says chunk and place. A chunk whose timers are all free is given back
 * unless it is the only one with free timers.
 *
 * In a context with keys a chunk has an array of nodes, one a timer, that hold
 * the keys and link them to a hash table. In one with leases it has its part of a
 * page of words, which programs map; as there is no telling who has, these pages
 * live as long as the context.
 *
 * Locking rules: see base.c for the order. twheel_ctx.grow comes before all
 * spinlocks, twheel_quota_lock is never held together with them. The
 * xarray's own lock is taken inside twheel_ctx.lock, and with bottom halves off
 * everywhere; so are the hash table's.
 *
 * Lifetime rules
 *
 * A context lives from open to release. Its memory lives for an RCU grace
 * period more: expiry wakes those who wait after it has dropped its locks, by
 * when the context may be gone.
 *
 * A chunk lives while one of its timers is in use, and its memory for an RCU
 * grace period more: looking up a handle takes no lock, and may find a timer
 * that is just being freed. The timer is then free, and that is all that
 * whoever looked it up needs to know. The same goes for looking up a key: a node
 * may get another key meanwhile, which is seen once the timer is locked.
 */
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "ctx.h"
#include "quota.h"
#include "timer_types.h"

#define CHUNK_SIZE	4096
#define CHUNK_SLOT_BITS	6
#define CHUNK_SLOTS	BIT(CHUNK_SLOT_BITS)
/* The header takes the place of slot 0. */
#define CHUNK_TIMERS	(CHUNK_SLOTS - 1)
#define CHUNK_ALL_FREE	(~0ULL << 1)
/* So that an index, and the end of all, fit 32 bits. */
#define CHUNK_MAX	(U32_MAX >> CHUNK_SLOT_BITS)

/* Words in a page, and timers that have theirs there. */
#define PAGE_WORDS	(PAGE_SIZE / sizeof(u64))
#define PAGE_CHUNKS	(PAGE_WORDS / CHUNK_SLOTS)
#define PAGE_TIMERS	(PAGE_CHUNKS * CHUNK_TIMERS)

/**
 * struct twheel_key - a timer's key
 * @node:	in ctx->keys
 * @key:	the program's; constant while the timer is live, read without a
 *		lock by those who look up
 */
struct twheel_key {
	struct rhash_head	node;
	u64			key;
} __aligned(16);

/**
 * struct twheel_keys - the keys of a chunk
 * @chunk:	whose; constant
 * @keys:	of the timers by slot; slot 0 is not one
 *
 * Its alignment is its size, so that a key's address gives its slot.
 */
struct twheel_keys {
	union {
		struct twheel_chunk	*chunk;
		struct twheel_key	keys[CHUNK_SLOTS];
	};
};

/**
 * struct twheel_chunk - 63 timers
 * @ctx:	whose they are; constant
 * @clock:	of @ctx; constant. Who looks up a timer has it from here, as only
 *		what is reached through the chunk is sure to be seen.
 * @free:	a bit for each slot with a free timer; under ctx->lock, read
 *		without by those who walk
 * @partial:	in ctx->partial while @free is not zero; under ctx->lock
 * @index:	in ctx->chunks; constant
 * @words:	the timers' words by slot, or NULL; constant
 * @keys:	the timers' keys, or NULL; constant
 * @rcu:	frees the chunk, when it has left the list
 * @slots:	the timers; slot 0 is not one
 */
struct twheel_chunk {
	union {
		struct {
			struct twheel_ctx	*ctx;
			u64			free;
			u32			index;
			enum twheel_clock	clock;
			atomic64_t		*words;
			struct twheel_keys	*keys;
			union {
				struct list_head	partial;
				struct rcu_head		rcu;
			};
		};
		struct twheel_timer slots[CHUNK_SLOTS];
	};
};

static_assert(sizeof(struct twheel_timer) == 64);
static_assert(sizeof(struct twheel_chunk) == CHUNK_SIZE);
static_assert(offsetofend(struct twheel_chunk, rcu) <= sizeof(struct twheel_timer));
static_assert(sizeof(struct twheel_keys) == CHUNK_SLOTS * 16);

/* Past the limit of its memory cgroup a program is told, and not killed. */
#define CHUNK_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static struct kmem_cache *twheel_chunk_cache;
static struct kmem_cache *twheel_keys_cache;
static siphash_key_t twheel_hash_secret;

unsigned long twheel_max_fd_timers;

int twheel_ctx_cache_init(void)
{
	twheel_chunk_cache = kmem_cache_create("twheel_chunk", CHUNK_SIZE,
					       CHUNK_SIZE, SLAB_ACCOUNT, NULL);
	if (!twheel_chunk_cache)
		return -ENOMEM;

	twheel_keys_cache = kmem_cache_create("twheel_keys",
					      sizeof(struct twheel_keys),
					      sizeof(struct twheel_keys),
					      SLAB_ACCOUNT, NULL);
	if (!twheel_keys_cache) {
		kmem_cache_destroy(twheel_chunk_cache);
		return -ENOMEM;
	}

	get_random_bytes(&twheel_hash_secret, sizeof(twheel_hash_secret));
	return 0;
}

void twheel_ctx_cache_exit(void)
{
	/* free_chunk_rcu() is code and memory that goes away. */
	rcu_barrier();
	kmem_cache_destroy(twheel_keys_cache);
	kmem_cache_destroy(twheel_chunk_cache);
}

static struct twheel_chunk *chunk_of(const struct twheel_timer *timer)
{
	return (void *)((unsigned long)timer & ~(CHUNK_SIZE - 1UL));
}

struct twheel_ctx *twheel_ctx_of(const struct twheel_timer *timer)
{
	return chunk_of(timer)->ctx;
}

enum twheel_clock twheel_ctx_clock_of(const struct twheel_timer *timer)
{
	return chunk_of(timer)->clock;
}

static u32 slot_of(const struct twheel_timer *timer)
{
	return timer - chunk_of(timer)->slots;
}

u32 twheel_ctx_index(const struct twheel_timer *timer)
{
	return chunk_of(timer)->index << CHUNK_SLOT_BITS | slot_of(timer);
}

static struct twheel_key *key_of(const struct twheel_timer *timer)
{
	return &chunk_of(timer)->keys->keys[slot_of(timer)];
}

u64 twheel_ctx_handle(const struct twheel_timer *timer)
{
	if (chunk_of(timer)->keys)
		return key_of(timer)->key;
	return (u64)timer->generation << 32 | twheel_ctx_index(timer);
}

atomic64_t *twheel_ctx_word(const struct twheel_timer *timer)
{
	atomic64_t *words = chunk_of(timer)->words;

	return words ? &words[slot_of(timer)] : NULL;
}

/* With a secret, so that nobody can choose keys that collide. */
static u32 hash_key(const void *data, u32 len, u32 seed)
{
	return siphash_2u64(*(const u64 *)data, seed, &twheel_hash_secret);
}

static int compare_key(struct rhashtable_compare_arg *arg, const void *data)
{
	const struct twheel_key *key = data;

	return READ_ONCE(key->key) != *(const u64 *)arg->key;
}

static const struct rhashtable_params twheel_keys_params = {
	.head_offset		= offsetof(struct twheel_key, node),
	.key_offset		= offsetof(struct twheel_key, key),
	.key_len		= sizeof(u64),
	.hashfn			= hash_key,
	.obj_cmpfn		= compare_key,
	.nelem_hint		= 3,
	.automatic_shrinking	= true,
};

struct twheel_timer *twheel_ctx_lookup(struct twheel_ctx *ctx, u32 index)
{
	u32 slot = index & (CHUNK_SLOTS - 1);
	struct twheel_chunk *chunk;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "lookup without RCU");

	chunk = xa_load(&ctx->chunks, index >> CHUNK_SLOT_BITS);
	return chunk && slot ? &chunk->slots[slot] : NULL;
}

static struct twheel_timer *lookup_key(struct twheel_ctx *ctx, u64 value)
{
	struct twheel_keys *keys;
	struct twheel_key *key;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "lookup without RCU");

	key = rhashtable_lookup(&ctx->keys, &value, twheel_keys_params);
	if (!key)
		return NULL;
	keys = (void *)((unsigned long)key & ~(sizeof(*keys) - 1));
	return &keys->chunk->slots[key - keys->keys];
}

struct twheel_timer *twheel_ctx_find(struct twheel_ctx *ctx, u64 handle)
{
	/* Before, there is no timer, and perhaps no table. */
	if (!twheel_ctx_settled(ctx))
		return NULL;
	if (ctx->config & TWHEEL_CONFIG_KEYED)
		return lookup_key(ctx, handle);
	return twheel_ctx_lookup(ctx, lower_32_bits(handle));
}

u32 twheel_ctx_end(struct twheel_ctx *ctx)
{
	return READ_ONCE(ctx->end) << CHUNK_SLOT_BITS;
}

u32 twheel_ctx_next_index(struct twheel_ctx *ctx, u32 index, u32 end)
{
	unsigned long i = index >> CHUNK_SLOT_BITS;
	struct twheel_chunk *chunk;

	if (index >= end)
		return end;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "walk without RCU");

	chunk = xa_find(&ctx->chunks, &i, (end - 1) >> CHUNK_SLOT_BITS, XA_PRESENT);
	while (chunk) {
		u32 first = (u32)i << CHUNK_SLOT_BITS;
		u64 used = ~READ_ONCE(chunk->free) & CHUNK_ALL_FREE;

		if (index > first)
			used &= ~0ULL << (index - first);
		if (used)
			return min_t(u32, end, first + __ffs64(used));

		chunk = xa_find_after(&ctx->chunks, &i,
				      (end - 1) >> CHUNK_SLOT_BITS, XA_PRESENT);
	}
	return end;
}

void twheel_ctx_for_each(struct twheel_ctx *ctx,
			 void (*function)(struct twheel_ctx *ctx, struct twheel_timer *timer))
{
	struct twheel_chunk *chunk;
	unsigned long index;
	u32 slot;

	xa_for_each(&ctx->chunks, index, chunk) {
		for (slot = 1; slot < CHUNK_SLOTS; slot++)
			function(ctx, &chunk->slots[slot]);
		cond_resched();
	}
}

unsigned long twheel_ctx_limit(const struct twheel_ctx *ctx)
{
	unsigned long max = READ_ONCE(twheel_max_fd_timers);
	unsigned long limit = READ_ONCE(ctx->limit);

	return limit ? min(limit, max) : max;
}

/*
 * The table's worker makes it larger from three quarters on. If that lags behind
 * wait for it: a table that is full grows in the middle of an insertion, with
 * locks held.
 */
void twheel_ctx_await_room(struct twheel_ctx *ctx)
{
	const struct bucket_table *table;
	bool room;

	rcu_read_lock();
	table = rht_dereference_rcu(ctx->keys.tbl, &ctx->keys);
	/* While it moves to another one, which may be smaller, that is to have room. */
	while (rht_dereference_rcu(table->future_tbl, &ctx->keys))
		table = rht_dereference_rcu(table->future_tbl, &ctx->keys);
	room = atomic_read(&ctx->keys.nelems) < table->size - table->size / 8;
	rcu_read_unlock();

	if (!room)
		flush_work(&ctx->keys.run_work);
}

/* Name @timer @value, unless there is one of that name. */
static int insert_key(struct twheel_ctx *ctx, struct twheel_timer *timer,
		      u64 value)
{
	struct twheel_key *key = key_of(timer);
	int ret;

	/*
	 * First, as somebody may still look at this node, which was in use: it
	 * must not get the name of another. Nobody else inserts meanwhile.
	 */
	if (rhashtable_lookup_fast(&ctx->keys, &value, twheel_keys_params))
		return -EEXIST;

	WRITE_ONCE(key->key, value);
	ret = rhashtable_insert_fast(&ctx->keys, &key->node, twheel_keys_params);
	switch (ret) {
	case -EBUSY:
		/* The table is being changed: later. */
		return -EAGAIN;
	case -E2BIG:
		return -ENOMEM;
	default:
		return ret;
	}
}

struct twheel_timer *twheel_ctx_alloc(struct twheel_ctx *ctx, u64 key)
{
	struct twheel_chunk *chunk;
	struct twheel_timer *timer;
	int ret;

	lockdep_assert_held(&ctx->lock);

	if (ctx->nr_timers >= twheel_ctx_limit(ctx))
		return ERR_PTR(-ENOSPC);

	chunk = list_first_entry_or_null(&ctx->partial, struct twheel_chunk,
					 partial);
	if (!chunk)
		return ERR_PTR(-EAGAIN);

	ret = twheel_quota_add_timer(ctx->quota);
	if (ret)
		return ERR_PTR(ret);

	timer = &chunk->slots[__ffs64(chunk->free)];
	if (chunk->keys) {
		ret = insert_key(ctx, timer, key);
		if (ret) {
			twheel_quota_sub_timers(ctx->quota, 1);
			return ERR_PTR(ret);
		}
	}
	WRITE_ONCE(chunk->free, chunk->free & (chunk->free - 1));
	if (!chunk->free)
		list_del(&chunk->partial);

	ctx->nr_timers++;
	timer->generation = ++ctx->generation;
	return timer;
}

struct page *twheel_ctx_words(struct twheel_ctx *ctx, unsigned long index)
{
	return xa_load(&ctx->words, index);
}

/* The words of chunk @index, made if need be, or an ERR_PTR(). */
static atomic64_t *chunk_words(struct twheel_ctx *ctx, u32 index)
{
	unsigned long nr = index / PAGE_CHUNKS;
	struct page *page = twheel_ctx_words(ctx, nr);
	u64 *words;
	int ret;

	lockdep_assert_held(&ctx->grow);

	if (page)
		goto found;

	ret = twheel_quota_add_words(ctx->quota, PAGE_TIMERS);
	if (ret)
		return ERR_PTR(ret);

	ret = -ENOMEM;
	page = alloc_page(CHUNK_GFP | __GFP_ACCOUNT);
	if (!page)
		goto uncharge;

	memset64(page_address(page), TWHEEL_LEASE_EXPIRED, PAGE_WORDS);
	ret = xa_err(xa_store_bh(&ctx->words, nr, page, CHUNK_GFP));
	if (ret)
		goto free;
found:
	words = page_address(page);
	return (atomic64_t *)&words[(index % PAGE_CHUNKS) * CHUNK_SLOTS];

free:
	__free_page(page);
uncharge:
	twheel_quota_sub_words(ctx->quota, PAGE_TIMERS);
	return ERR_PTR(ret);
}

static void free_chunk(struct twheel_chunk *chunk)
{
	if (chunk->keys)
		kmem_cache_free(twheel_keys_cache, chunk->keys);
	kmem_cache_free(twheel_chunk_cache, chunk);
}

/* A chunk with all that belongs to it, or an ERR_PTR(). */
static struct twheel_chunk *new_chunk(struct twheel_ctx *ctx)
{
	struct twheel_chunk *chunk;
	int ret = -ENOMEM;

	chunk = kmem_cache_zalloc(twheel_chunk_cache, CHUNK_GFP);
	if (!chunk)
		return ERR_PTR(ret);

	chunk->ctx = ctx;
	chunk->clock = ctx->clock;
	chunk->free = CHUNK_ALL_FREE;

	if (ctx->config & TWHEEL_CONFIG_KEYED) {
		chunk->keys = kmem_cache_zalloc(twheel_keys_cache, CHUNK_GFP);
		if (!chunk->keys)
			goto free;
		chunk->keys->chunk = chunk;
	}

	/* Take an index. Nobody finds the chunk before it is stored there. */
	ret = xa_alloc_bh(&ctx->chunks, &chunk->index, NULL,
			  XA_LIMIT(0, CHUNK_MAX - 1), CHUNK_GFP);
	if (ret)
		goto free;

	if (ctx->config & TWHEEL_CONFIG_LEASE) {
		chunk->words = chunk_words(ctx, chunk->index);
		if (IS_ERR(chunk->words)) {
			ret = PTR_ERR(chunk->words);
			goto release;
		}
	}
	return chunk;

release:
	xa_erase_bh(&ctx->chunks, chunk->index);
free:
	free_chunk(chunk);
	/* -EBUSY is what xa_alloc() says when all indices are taken. */
	return ERR_PTR(ret == -EBUSY ? -ENOSPC : ret);
}

int twheel_ctx_grow(struct twheel_ctx *ctx)
{
	struct twheel_chunk *chunk;
	bool enough;
	int ret = 0;

	mutex_lock(&ctx->grow);

	/* Somebody else may have done it while this one waited. */
	spin_lock_bh(&ctx->lock);
	if (ctx->nr_timers >= twheel_ctx_limit(ctx))
		ret = -ENOSPC;
	enough = !list_empty(&ctx->partial);
	spin_unlock_bh(&ctx->lock);
	if (ret || enough)
		goto unlock;

	ret = twheel_quota_add_chunk(ctx->quota, CHUNK_TIMERS);
	if (ret)
		goto unlock;

	chunk = new_chunk(ctx);
	if (IS_ERR(chunk)) {
		ret = PTR_ERR(chunk);
		twheel_quota_sub_chunk(ctx->quota, CHUNK_TIMERS);
		goto unlock;
	}
	/* Needs no memory: its place is there. */
	xa_store_bh(&ctx->chunks, chunk->index, chunk, 0);

	/* Pairs with smp_load_acquire() in twheel_ctx_settled(). */
	smp_store_release(&ctx->frozen, true);

	spin_lock_bh(&ctx->lock);
	if (chunk->index >= ctx->end)
		WRITE_ONCE(ctx->end, chunk->index + 1);
	list_add(&chunk->partial, &ctx->partial);
	spin_unlock_bh(&ctx->lock);

unlock:
	mutex_unlock(&ctx->grow);
	return ret;
}

static void free_chunk_rcu(struct rcu_head *rcu)
{
	free_chunk(container_of(rcu, struct twheel_chunk, rcu));
}

void twheel_ctx_free(struct twheel_ctx *ctx, struct twheel_timer *timer)
{
	struct twheel_chunk *chunk = chunk_of(timer);

	lockdep_assert_held(&ctx->lock);

	WRITE_ONCE(timer->where, TWHEEL_STATE_NONE);
	if (chunk->keys)
		rhashtable_remove_fast(&ctx->keys, &key_of(timer)->node,
				       twheel_keys_params);
	ctx->nr_timers--;
	twheel_quota_sub_timers(ctx->quota, 1);

	if (!chunk->free)
		list_add(&chunk->partial, &ctx->partial);
	WRITE_ONCE(chunk->free, chunk->free | BIT_ULL(slot_of(timer)));

	if (chunk->free != CHUNK_ALL_FREE || list_is_singular(&ctx->partial))
		return;

	list_del(&chunk->partial);
	xa_erase_bh(&ctx->chunks, chunk->index);
	twheel_quota_sub_chunk(ctx->quota, CHUNK_TIMERS);
	call_rcu(&chunk->rcu, free_chunk_rcu);
}

void twheel_ctx_wake(struct twheel_ctx *ctx)
{
	wake_up_interruptible_poll(&ctx->poll_wq, EPOLLIN | EPOLLRDNORM);
	wake_up_interruptible(&ctx->read_wq);
}

bool twheel_ctx_take_step(struct twheel_ctx *ctx)
{
	bool stepped;
	u32 steps;

	if (!twheel_ctx_stepped(ctx))
		return false;

	/* What is compared is what is stored: no step may come in between. */
	spin_lock_bh(&ctx->lock);
	steps = twheel_clock_steps();
	stepped = ctx->steps != steps;
	WRITE_ONCE(ctx->steps, steps);
	spin_unlock_bh(&ctx->lock);
	return stepped;
}

static void wake_stepped(struct twheel_clock_watch *watch)
{
	twheel_ctx_wake(container_of(watch, struct twheel_ctx, watch));
}

/* Take what goes with @config, and give back what went with the old one. */
static int set_config(struct twheel_ctx *ctx, u32 config)
{
	u32 old = ctx->config;
	int ret;

	lockdep_assert_held(&ctx->grow);

	if (config & ~old & TWHEEL_CONFIG_KEYED) {
		ret = rhashtable_init(&ctx->keys, &twheel_keys_params);
		if (ret)
			return ret;
	}
	if (old & ~config & TWHEEL_CONFIG_KEYED)
		rhashtable_destroy(&ctx->keys);

	if (config & ~old & TWHEEL_CONFIG_CANCEL_ON_SET) {
		WRITE_ONCE(ctx->steps, twheel_clock_steps());
		twheel_clock_watch(&ctx->watch);
	}
	if (old & ~config & TWHEEL_CONFIG_CANCEL_ON_SET)
		twheel_clock_unwatch(&ctx->watch);

	WRITE_ONCE(ctx->config, config);
	/* Who waits already was told nothing of a step since the watch began. */
	if (twheel_ctx_stepped(ctx))
		twheel_ctx_wake(ctx);
	return 0;
}

int twheel_ctx_config(struct twheel_ctx *ctx, enum twheel_clock clock,
		      u32 config, u64 limit)
{
	int ret;

	mutex_lock(&ctx->grow);
	if (ctx->frozen)
		ret = -EBUSY;
	else if (limit > READ_ONCE(twheel_max_fd_timers))
		ret = -EINVAL;
	else
		ret = set_config(ctx, config);
	if (!ret) {
		WRITE_ONCE(ctx->clock, clock);
		WRITE_ONCE(ctx->limit, limit);
		ctx->word_offset = twheel_clock_offset(clock);
	}
	mutex_unlock(&ctx->grow);
	return ret;
}

struct twheel_ctx *twheel_ctx_create(const struct cred *cred)
{
	struct twheel_ctx *ctx;

	ctx = kzalloc(sizeof(*ctx), TWHEEL_OPEN_GFP);
	if (!ctx)
		return ERR_PTR(-ENOMEM);

	ctx->quota = twheel_quota_get(cred);
	if (!ctx->quota) {
		kfree(ctx);
		return ERR_PTR(-ENOMEM);
	}

	spin_lock_init(&ctx->lock);
	INIT_LIST_HEAD(&ctx->ready);
	INIT_LIST_HEAD(&ctx->partial);
	xa_init_flags(&ctx->chunks, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH |
				    XA_FLAGS_ACCOUNT);
	xa_init_flags(&ctx->words, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	ctx->watch.notify = wake_stepped;
	mutex_init(&ctx->grow);
	init_waitqueue_head(&ctx->read_wq);
	init_waitqueue_head(&ctx->poll_wq);
	return ctx;
}

void twheel_ctx_destroy(struct twheel_ctx *ctx)
{
	struct twheel_chunk *chunk;
	unsigned long index;
	struct page *page;

	if (ctx->config & TWHEEL_CONFIG_CANCEL_ON_SET)
		twheel_clock_unwatch(&ctx->watch);
	/* Its worker may be moving keys to another table. */
	if (ctx->config & TWHEEL_CONFIG_KEYED)
		rhashtable_destroy(&ctx->keys);

	xa_for_each(&ctx->chunks, index, chunk) {
		xa_erase_bh(&ctx->chunks, index);
		twheel_quota_sub_chunk(ctx->quota, CHUNK_TIMERS);
		free_chunk(chunk);
		cond_resched();
	}
	xa_destroy(&ctx->chunks);

	/* No mapping is left, as it would hold the file. */
	xa_for_each(&ctx->words, index, page) {
		/* One by one: xa_destroy() frees all nodes with interrupts off. */
		xa_erase_bh(&ctx->words, index);
		twheel_quota_sub_words(ctx->quota, PAGE_TIMERS);
		put_page(page);
		cond_resched();
	}
	xa_destroy(&ctx->words);

	twheel_quota_sub_timers(ctx->quota, ctx->nr_timers);
	twheel_quota_put(ctx->quota);
	mutex_destroy(&ctx->grow);
	kfree_rcu(ctx, rcu);
}
