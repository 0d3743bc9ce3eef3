// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one open of the device owns: timers' memory, ready list, waiters.
 *
 * Timers live in chunks of 4096 bytes: a header in the place of the first one,
 * and 63 timers behind it. So a timer's address gives its context, and its
 * index says chunk and place. A chunk whose timers are all free is given back
 * unless it is the only one with free timers.
 *
 * Locking rules: see base.c for the order. twheel_ctx.grow comes before all
 * spinlocks, twheel_quota_mutex is never held together with them. The
 * xarray's own lock is taken inside twheel_ctx.lock, and with bottom halves off
 * everywhere.
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
 * whoever looked it up needs to know.
 */
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "ctx.h"
#include "quota.h"
#include "timer.h"

#define CHUNK_SIZE	4096
#define CHUNK_SLOT_BITS	6
#define CHUNK_SLOTS	BIT(CHUNK_SLOT_BITS)
/* The header takes the place of slot 0. */
#define CHUNK_TIMERS	(CHUNK_SLOTS - 1)
#define CHUNK_ALL_FREE	(~0ULL << 1)
/* So that an index, and the end of all, fit 32 bits. */
#define CHUNK_MAX	(U32_MAX >> CHUNK_SLOT_BITS)

/**
 * struct twheel_chunk - 63 timers
 * @ctx:	whose they are; constant
 * @clock:	of @ctx; constant. Who looks up a timer has it from here, as only
 *		what is reached through the chunk is sure to be seen.
 * @free:	a bit for each slot with a free timer; under ctx->lock, read
 *		without by those who walk
 * @partial:	in ctx->partial while @free is not zero; under ctx->lock
 * @index:	in ctx->chunks; constant
 * @rcu:	frees the chunk
 * @slots:	the timers; slot 0 is not one
 */
struct twheel_chunk {
	union {
		struct {
			struct twheel_ctx	*ctx;
			u64			free;
			struct list_head	partial;
			u32			index;
			enum twheel_clock	clock;
			struct rcu_head		rcu;
		};
		struct twheel_timer slots[CHUNK_SLOTS];
	};
};

static_assert(sizeof(struct twheel_timer) == 64);
static_assert(sizeof(struct twheel_chunk) == CHUNK_SIZE);
static_assert(offsetofend(struct twheel_chunk, rcu) <= sizeof(struct twheel_timer));

/* Past the limit of its memory cgroup a program is told, and not killed. */
#define CHUNK_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static struct kmem_cache *twheel_chunk_cache;

unsigned long twheel_max_fd_timers;

int twheel_ctx_cache_init(void)
{
	twheel_chunk_cache = kmem_cache_create("twheel_chunk", CHUNK_SIZE,
					       CHUNK_SIZE, SLAB_ACCOUNT, NULL);
	return twheel_chunk_cache ? 0 : -ENOMEM;
}

void twheel_ctx_cache_exit(void)
{
	/* free_chunk_rcu() is code and memory that goes away. */
	rcu_barrier();
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

u32 twheel_ctx_index(const struct twheel_timer *timer)
{
	const struct twheel_chunk *chunk = chunk_of(timer);

	return chunk->index << CHUNK_SLOT_BITS | (u32)(timer - chunk->slots);
}

struct twheel_timer *twheel_ctx_lookup(struct twheel_ctx *ctx, u32 index)
{
	u32 slot = index & (CHUNK_SLOTS - 1);
	struct twheel_chunk *chunk;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "lookup without RCU");

	chunk = xa_load(&ctx->chunks, index >> CHUNK_SLOT_BITS);
	return chunk && slot ? &chunk->slots[slot] : NULL;
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

unsigned long twheel_ctx_limit(const struct twheel_ctx *ctx)
{
	unsigned long max = READ_ONCE(twheel_max_fd_timers);
	unsigned long limit = READ_ONCE(ctx->limit);

	return limit ? min(limit, max) : max;
}

struct twheel_timer *twheel_ctx_alloc(struct twheel_ctx *ctx)
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
	WRITE_ONCE(chunk->free, chunk->free & (chunk->free - 1));
	if (!chunk->free)
		list_del(&chunk->partial);

	ctx->nr_timers++;
	timer->generation = ++ctx->generation;
	return timer;
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

	ret = -ENOMEM;
	chunk = kmem_cache_zalloc(twheel_chunk_cache, CHUNK_GFP);
	if (!chunk)
		goto uncharge;

	chunk->ctx = ctx;
	chunk->clock = ctx->clock;
	chunk->free = CHUNK_ALL_FREE;
	ret = xa_alloc_bh(&ctx->chunks, &chunk->index, chunk,
			  XA_LIMIT(0, CHUNK_MAX - 1), CHUNK_GFP);
	if (ret)
		goto free;

	/* Pairs with smp_load_acquire() in twheel_ctx_settled(). */
	smp_store_release(&ctx->frozen, true);

	spin_lock_bh(&ctx->lock);
	if (chunk->index >= ctx->end)
		WRITE_ONCE(ctx->end, chunk->index + 1);
	list_add(&chunk->partial, &ctx->partial);
	spin_unlock_bh(&ctx->lock);

	mutex_unlock(&ctx->grow);
	return 0;

free:
	kmem_cache_free(twheel_chunk_cache, chunk);
uncharge:
	twheel_quota_sub_chunk(ctx->quota, CHUNK_TIMERS);
unlock:
	mutex_unlock(&ctx->grow);
	/* -EBUSY is what xa_alloc() says when all indices are taken. */
	return ret == -EBUSY ? -ENOSPC : ret;
}

static void free_chunk_rcu(struct rcu_head *rcu)
{
	kmem_cache_free(twheel_chunk_cache,
			container_of(rcu, struct twheel_chunk, rcu));
}

void twheel_ctx_free(struct twheel_ctx *ctx, struct twheel_timer *timer)
{
	struct twheel_chunk *chunk = chunk_of(timer);

	lockdep_assert_held(&ctx->lock);

	WRITE_ONCE(timer->where, TWHEEL_STATE_NONE);
	ctx->nr_timers--;
	twheel_quota_sub_timers(ctx->quota, 1);

	if (!chunk->free)
		list_add(&chunk->partial, &ctx->partial);
	WRITE_ONCE(chunk->free, chunk->free | BIT_ULL(timer - chunk->slots));

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

int twheel_ctx_config(struct twheel_ctx *ctx, enum twheel_clock clock,
		      u64 limit)
{
	int ret = 0;

	mutex_lock(&ctx->grow);
	if (ctx->frozen) {
		ret = -EBUSY;
	} else if (limit > READ_ONCE(twheel_max_fd_timers)) {
		ret = -EINVAL;
	} else {
		WRITE_ONCE(ctx->clock, clock);
		WRITE_ONCE(ctx->limit, limit);
	}
	mutex_unlock(&ctx->grow);
	return ret;
}

struct twheel_ctx *twheel_ctx_create(kuid_t uid)
{
	struct twheel_ctx *ctx;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);

	ctx->quota = twheel_quota_get(uid);
	if (!ctx->quota) {
		kfree(ctx);
		return ERR_PTR(-ENOMEM);
	}

	spin_lock_init(&ctx->lock);
	INIT_LIST_HEAD(&ctx->ready);
	INIT_LIST_HEAD(&ctx->partial);
	xa_init_flags(&ctx->chunks, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH |
				    XA_FLAGS_ACCOUNT);
	mutex_init(&ctx->grow);
	init_waitqueue_head(&ctx->read_wq);
	init_waitqueue_head(&ctx->poll_wq);
	return ctx;
}

void twheel_ctx_destroy(struct twheel_ctx *ctx)
{
	struct twheel_chunk *chunk;
	unsigned long index;
	u32 slot;

	/*
	 * Two rounds: as long as one timer is pending it may expire and be
	 * linked to others that are ready, so all must still be there.
	 */
	xa_for_each(&ctx->chunks, index, chunk) {
		for (slot = 1; slot < CHUNK_SLOTS; slot++)
			twheel_timer_discard(ctx, &chunk->slots[slot]);
		cond_resched();
	}

	/*
	 * None is pending any more, but the last to expire may have just been
	 * made ready, with the lock held to link it still.
	 */
	spin_lock_bh(&ctx->lock);
	spin_unlock_bh(&ctx->lock);

	xa_for_each(&ctx->chunks, index, chunk) {
		xa_erase_bh(&ctx->chunks, index);
		twheel_quota_sub_chunk(ctx->quota, CHUNK_TIMERS);
		kmem_cache_free(twheel_chunk_cache, chunk);
		cond_resched();
	}

	xa_destroy(&ctx->chunks);
	twheel_quota_sub_timers(ctx->quota, ctx->nr_timers);
	twheel_quota_put(ctx->quota);
	mutex_destroy(&ctx->grow);
	kfree_rcu(ctx, rcu);
}
