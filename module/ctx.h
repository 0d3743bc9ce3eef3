/* SPDX-License-Identifier: GPL-2.0-only */
/* What one open of the device owns: timers' memory, ready list, waiters. */
#ifndef TWHEEL_CTX_H
#define TWHEEL_CTX_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include <linux/twheel.h>

#include "clock.h"

struct cred;
struct twheel_quota;
struct twheel_timer;

/**
 * struct twheel_ctx - what one open of the device owns
 * @lock:	guards what is marked (l), and timers that are ready or free
 * @ready:	(l) timers with an unread expiration, in the order they expired
 * @nr_ready:	(l) length of @ready; read without the lock by those who poll
 * @nr_timers:	(l) timers that are pending or ready
 * @generation:	(l) generation of the timer that was last made
 * @limit:	(l) most timers, or 0 for twheel_max_fd_timers
 * @partial:	(l) chunks with free timers
 * @chunks:	all chunks by index; looked up under RCU, changed under its own
 *		lock
 * @end:	(l) no chunk has ever had this index or a higher one
 * @grow:	serialises making chunks, and configuring; taken before @lock
 * @frozen:	set under @grow when the first chunk is made: @clock, @config and
 *		@word_offset are constant from then on
 * @clock:	the clock of all timers; under @grow until @frozen
 * @config:	TWHEEL_CONFIG_* bits; under @grow until @frozen
 * @word_offset: what times in leases' words are ahead of @clock, in ns; under
 *		@grow until @frozen
 * @keys:	with %TWHEEL_CONFIG_KEYED all timers by key; looked up under RCU,
 *		changed with @lock held
 * @words:	with %TWHEEL_CONFIG_LEASE the pages of words by index; changed
 *		under @grow, and kept
 * @watch:	with %TWHEEL_CONFIG_CANCEL_ON_SET wakes those who wait
 * @steps:	(l) twheel_clock_steps() that a reader has been told of
 * @quota:	where the timers are counted; constant
 * @read_wq:	readers that wait; exclusively, as a record goes to one of them
 * @poll_wq:	poll, epoll, io_uring
 * @rcu:	frees the context when the last expiry has let go of it
 */
struct twheel_ctx {
	/* order: see base.c */
	spinlock_t		lock;
	struct list_head	ready;
	u32			nr_ready;
	u32			nr_timers;
	u32			generation;
	unsigned long		limit;
	struct list_head	partial;
	struct xarray		chunks;
	u32			end;
	/* before @lock */
	struct mutex		grow;
	bool			frozen;
	enum twheel_clock	clock;
	u32			config;
	s64			word_offset;
	struct rhashtable	keys;
	struct xarray		words;
	struct twheel_clock_watch watch;
	u32			steps;
	struct twheel_quota	*quota;
	wait_queue_head_t	read_wq;
	wait_queue_head_t	poll_wq;
	struct rcu_head		rcu;
};

/* The limit for each context: the module parameter max_fd_timers. */
extern unsigned long twheel_max_fd_timers;

/* A new context that counts where @cred does, or an ERR_PTR(). May sleep. */
struct twheel_ctx *twheel_ctx_create(const struct cred *cred);

/*
 * Free everything. None of its timers is pending, nor will one be. May sleep.
 * O(timers).
 */
void twheel_ctx_destroy(struct twheel_ctx *ctx);

/*
 * Set clock, TWHEEL_CONFIG_* bits and limit: 0, -EBUSY, -EINVAL or -ENOMEM. May
 * sleep.
 */
int twheel_ctx_config(struct twheel_ctx *ctx, enum twheel_clock clock,
		      u32 config, u64 limit);

/* How many timers @ctx may hold now. */
unsigned long twheel_ctx_limit(const struct twheel_ctx *ctx);

/*
 * Take a free timer, with a new generation or else @key, for arming. Needs
 * ctx->lock. -ENOSPC, -EDQUOT, -ENOMEM, -EEXIST if there is one with that key, or
 * -EAGAIN when twheel_ctx_grow() has to be called first.
 */
struct twheel_timer *twheel_ctx_alloc(struct twheel_ctx *ctx, u64 key);

/* With keys, before timers are made: wait till there is room. May sleep. */
void twheel_ctx_await_room(struct twheel_ctx *ctx);

/* Make a chunk of free timers: 0, -ENOMEM or -EDQUOT. May sleep. */
int twheel_ctx_grow(struct twheel_ctx *ctx);

/* Give back a timer that is in no list. Needs ctx->lock. */
void twheel_ctx_free(struct twheel_ctx *ctx, struct twheel_timer *timer);

/*
 * The timer with @index, or NULL. Call under RCU. It may be free, or become so
 * unless it is locked, and its memory goes away with the RCU section.
 */
struct twheel_timer *twheel_ctx_lookup(struct twheel_ctx *ctx, u32 index);

/* In the same way, the timer that @handle may name. It may name another. */
struct twheel_timer *twheel_ctx_find(struct twheel_ctx *ctx, u64 handle);

/* The index of @timer in its context: never 0. */
u32 twheel_ctx_index(const struct twheel_timer *timer);

/* What names @timer while it is live: a handle, or its key. */
u64 twheel_ctx_handle(const struct twheel_timer *timer);

/* The word that @timer has for a lease, or NULL. */
atomic64_t *twheel_ctx_word(const struct twheel_timer *timer);

/* The page of words with @index, or NULL. It lives as long as the context. */
struct page *twheel_ctx_words(struct twheel_ctx *ctx, unsigned long index);

/* The context of @timer, and its clock, which is constant once it has timers. */
struct twheel_ctx *twheel_ctx_of(const struct twheel_timer *timer);
enum twheel_clock twheel_ctx_clock_of(const struct twheel_timer *timer);

/* Has @ctx ever had a timer? If so ctx->clock can be read. */
static inline bool twheel_ctx_settled(const struct twheel_ctx *ctx)
{
	/* Pairs with smp_store_release() in twheel_ctx_grow(). */
	return smp_load_acquire(&ctx->frozen);
}

/*
 * The index of the first timer from @index on and before @end that may be in
 * use, or @end. Call under RCU.
 */
u32 twheel_ctx_next_index(struct twheel_ctx *ctx, u32 index, u32 end);

/* The index behind all timers, for walks by twheel_ctx_next_index(). */
u32 twheel_ctx_end(struct twheel_ctx *ctx);

/*
 * Call @function, which must not free it, for each timer of @ctx, whatever its state.
 * Nobody else may use @ctx. May sleep.
 */
void twheel_ctx_for_each(struct twheel_ctx *ctx,
			 void (*function)(struct twheel_ctx *ctx, struct twheel_timer *timer));

/* Tell those who wait that something is ready. Call without locks. */
void twheel_ctx_wake(struct twheel_ctx *ctx);

/* Was the clock set, and is a reader to be told? */
static inline bool twheel_ctx_stepped(const struct twheel_ctx *ctx)
{
	return READ_ONCE(ctx->config) & TWHEEL_CONFIG_CANCEL_ON_SET &&
	       READ_ONCE(ctx->steps) != twheel_clock_steps();
}

/* The same, for the reader that is told: it is true for one only. */
bool twheel_ctx_take_step(struct twheel_ctx *ctx);

/* The memory of all timers. */
int twheel_ctx_cache_init(void);
void twheel_ctx_cache_exit(void);

#endif /* TWHEEL_CTX_H */
