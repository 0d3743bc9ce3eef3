/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A wheel in the process: module/core, and the process as its host.
 *
 *	backend.c	what the library above sees
 *	shards.c	several of them as one context
 *	calls.c		requests and reads; how a context begins and ends
 *	turn.c		a call begins, turns the wheel, and ends
 *	fd.c		the descriptor, and waiting for it
 *	first.c		module/core/wheel.c, and when its first timer is due
 *	host.c		what the core asks its host for
 *	share.c		what is counted, and who can read it
 *	twheel_host.h	the part of that which is inline
 *
 * Locking rules: one mutex guards all of a context, and all functions of the core that are called
 * on it. The functions here are called with it held, unless they say otherwise. The program changes
 * the words of leases without it. Whoever holds it is no point of cancellation.
 *
 * Lifetime rules: nobody calls anything on a context while it is freed. The memory of a
 * timer lives as long as the context.
 */
#ifndef TWHEEL_EMB_H
#define TWHEEL_EMB_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "../backend.h"
#include "calls.h"
#include "ctx.h"
#include "host.h"

/* The geometry that the module has by default. */
#define EMB_TICK_SHIFT		20
#define EMB_SLOTS		64

#define EMB_SEC_NS		1000000000ULL

/* The time to which a timerfd is set that is not to fire. */
#define EMB_TIME_NEVER		UINT64_MAX

/**
 * struct emb_arena - pages in one piece
 * @before: the arena that was made before this one, or NULL
 * @pages: the first page
 */
struct emb_arena {
	struct emb_arena	*before;
	void			*pages;
};

/**
 * struct emb_pages - memory in pages, which goes with the context
 * @free: the first page that was freed; each begins with the address of the next one
 * @next: the first page of @last that was never used
 * @left: how many there are
 * @total: pages of all arenas
 * @last: the last arena: each but the first few adds half to those before, if memory is not short
 */
struct emb_pages {
	void			*free;
	char			*next;
	size_t			left;
	size_t			total;
	struct emb_arena	*last;
};

/**
 * struct emb_tally - timers of some of the contexts in this process
 * @timers: how many they have, each counted at the end of a call
 *
 * On a cache line of its own: threads with a context each would wait for one that they share.
 */
struct emb_tally {
	uint64_t timers;
} __attribute__((aligned(64)));

#define EMB_TALLIES	64

/**
 * struct twheel_emb - an embedded context
 * @now: the time that the present call takes for the present; also read without @lock
 * @settled: the first tick when @timer was set last, if @event was not to be readable then; or 0.
 *	Also read without @lock
 * @lock: guards all else, but for the descriptors, which are constant. Not taken where there is no
 *	other thread
 * @locked: @lock was taken
 * @queue: whoever has to wait for @lock holds this meanwhile
 * @overdue: whoever holds @queue has waited for long, so nobody else comes first; atomic
 * @fd: what the program sees: an epoll of the two that follow, and of those that share it
 * @shares_fd: it is that of another context
 * @event: an eventfd, readable while something is ready
 * @timer: a timerfd, readable from the first deadline on
 * @user: what the core takes for the user of the context; has the wheel
 * @memory: of the wheel's buckets
 * @limit: of this and other contexts, or NULL
 * @ctx: the core's context
 * @since: when others had their turn last, or the call began; 0 before that has to be known
 * @caches: only reads, and calls that ask for it, read the clock
 * @stopped: @now does not follow a clock any more: see twheel_set_now(). Also read without @lock
 * @faked: programs are told another time than the kernel's, as under faketime. Constant once the
 *	context is configured, and also read without @lock then
 * @closing: the context is being freed, and nobody else waits for @lock
 * @tally: where its timers are counted; constant
 * @counted: how many timers it had at the end of the last call: as many are in @tally
 * @steps: how often the clock was set
 * @time_ns: the time namespace of the process that has made the context; 0 if it is not known
 * @set_to: the time that @timer is set to; %EMB_TIME_NEVER if it is not to fire
 * @spent: @timer was read, or is not set yet
 * @shown: @event is readable
 * @news: something became ready in a call that does not read
 * @waiting: threads that wait for @timer by reading it
 * @freed: what is to be freed before @lock is
 * @pages: the memory of timers
 * @segments: in a context with leases, the words by segment; NULL before the first
 * @own: what is counted, unless that is shared
 * @slot: where it is counted; constant, except in a child that takes the context over
 *
 * On cache lines of its own: threads with a wheel each would wait for what is next to it. @now and
 * @settled come first, as x86 of 32 bits can read them whole only if they are aligned.
 */
struct twheel_emb {
	uint64_t		now;
	uint64_t		settled;
	pthread_mutex_t		lock;
	bool			locked;
	pthread_mutex_t		queue;
	unsigned int		overdue;
	int			fd;
	bool			shares_fd;
	int			event;
	int			timer;
	struct twheel_quota	user;
	void			*memory;
	struct twheel_emb_limit	*limit;
	struct twheel_ctx	*ctx;
	uint64_t		since;
	bool			caches;
	bool			stopped;
	bool			faked;
	bool			closing;
	struct emb_tally	*tally;
	uint64_t		counted;
	uint32_t		steps;
	uint32_t		time_ns;
	uint64_t		set_to;
	bool			spent;
	bool			shown;
	bool			news;
	unsigned int		waiting;
	struct rcu_head		*freed;
	struct emb_pages	pages;
	uint64_t		**segments;
	struct twheel_share_slot own;
	struct twheel_share_slot *slot;
} __attribute__((__aligned__(64)));

/* first.c */

/*
 * The tick of the first node of a wheel or, after @looks nodes, a lower bound of it. TWHEEL_NEVER
 * if there is none.
 */
uint64_t twheel_emb_first(const struct twheel_wheel *w, uint32_t looks);

/* host.c */

/* Make what follows, in this thread, a call on @emb. */
void twheel_emb_enter(struct twheel_emb *emb);

/* Where the next context is to count its timers. */
struct emb_tally *twheel_emb_tally(void);

/* Free what waits for the end of a call. */
void twheel_emb_free_later(struct twheel_emb *emb);

/* Free the pages of all timers. */
void twheel_emb_free_pages(struct twheel_emb *emb);

/* The words of a segment, which are made if need be. 0, -ENOMEM, or -ENODEV without leases. */
int twheel_emb_words(struct twheel_emb *emb, uint32_t segment, uint64_t **words);

/* The clock of a context */
clockid_t twheel_emb_clock(const struct twheel_emb *emb);

/* share.c */

/* Find out where to count, and go on there from what was counted so far. Without the lock. */
void twheel_emb_share(struct twheel_emb *emb);

/* Count where no other process sees it. Without the lock. */
void twheel_emb_unshare(struct twheel_emb *emb);

/* Tell other processes what the context is. */
void twheel_emb_describe(struct twheel_emb *emb);

/* There are @n more timers. */
static inline void twheel_emb_count(const struct twheel_emb *emb, uint64_t n)
{
	uint64_t *timers = &emb->tally->timers;

	if (emb->locked)
		__atomic_fetch_add(timers, n, __ATOMIC_RELAXED);
	else
		__atomic_store_n(timers, *timers + n, __ATOMIC_RELAXED);
}

/* Tell them, and other contexts, what it has. */
static inline void twheel_emb_show(struct twheel_emb *emb)
{
	u64 pending, ready;

	twheel_ctx_count(emb->ctx, &pending, &ready);
	if (emb->counted != pending + ready) {
		twheel_emb_count(emb, pending + ready - emb->counted);
		emb->counted = pending + ready;
	}
	__atomic_store_n(&emb->slot->timers, pending + ready, __ATOMIC_RELAXED);
	__atomic_store_n(&emb->slot->ready, ready, __ATOMIC_RELAXED);
}

/* turn.c */

/* Take the lock, without it. */
void twheel_emb_lock(struct twheel_emb *emb);

/* Let @ns be the present. */
void twheel_emb_go_by(struct twheel_emb *emb, uint64_t ns);

/* Let the time on the clock be the present, unless the clock stands still. */
void twheel_emb_read_clock(struct twheel_emb *emb);

/* Read the clock, and make ready what is due, as far as that takes a bounded time. */
void twheel_emb_look(struct twheel_emb *emb);

/* As twheel_emb_look(), but read no clock that is cached. */
void twheel_emb_catch_up(struct twheel_emb *emb);

/* A call begins: take the lock, without it, and catch up. */
void twheel_emb_begin(struct twheel_emb *emb);

/* The call ends: see to it that the descriptor is readable when it has to be, and unlock. */
void twheel_emb_end_call(struct twheel_emb *emb);

/* If the call takes long, let others have their turn, who may change all that @lock guards. */
void twheel_emb_rest(struct twheel_emb *emb);

/*
 * Make ready what is due at emb->now, looking at up to @looks timers. Returns whether there
 * may be more.
 */
bool twheel_emb_turn(struct twheel_emb *emb, uint32_t looks);

/* fd.c */

/*
 * Open the descriptors: O_NONBLOCK and O_CLOEXEC may be in @flags. What the program sees is that of
 * @first, unless that is NULL. 0 or -errno.
 */
int twheel_emb_fd_open(struct twheel_emb *emb, int flags, const struct twheel_emb *first);

void twheel_emb_fd_close(struct twheel_emb *emb);

/* Let the timerfd go by another clock. 0; or -errno, and there is none any more. */
int twheel_emb_fd_clock(struct twheel_emb *emb, clockid_t clock);

/* Let the descriptor be readable now, or from the first deadline on. */
void twheel_emb_settle(struct twheel_emb *emb);

/* The time that the kernel tells, whatever the C library does. 0, or -1 if it cannot be asked. */
int twheel_emb_kernel_time(clockid_t clock, struct timespec *ts);

/* Learn whether the clock was set. To be called in a context that is told of that. */
void twheel_emb_ask_for_steps(struct twheel_emb *emb);

/*
 * Wait until there may be something to read, without the lock. 0; or -errno: -EAGAIN if the
 * descriptor, or @wait, says not to wait, -EINTR.
 */
int twheel_emb_wait(struct twheel_emb *emb, bool wait);

#endif /* TWHEEL_EMB_H */
