/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A wheel in the process: what its files share.
 *
 *	backend.c	what the library above sees
 *	calls.c		the requests of <linux/twheel.h>, in and out
 *	arm.c expire.c	one timer's way in and out
 *	info.c		what a program is told of its timers
 *	pool.c keys.c	the timers' memory, handles, words and keys
 *	fd.c		the timerfd, and waiting for it
 *	wheel.c		module/core/wheel.c
 *
 * Locking rules: one mutex guards all of a context. The functions here are called with it
 * held, unless they say otherwise. The program changes the words of leases without it.
 *
 * Lifetime rules: nobody calls anything on a context while it is freed. The memory of a
 * timer lives as long as the context.
 */
#ifndef TWHEEL_EMB_H
#define TWHEEL_EMB_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <time.h>

#include <linux/twheel.h>

#include "../backend.h"
#include "wheel.h"

/* The geometry that the module has by default. */
#define EMB_TICK_SHIFT		20
#define EMB_SLOTS		64

#define EMB_SEC_NS		1000000000ULL

/* The latest time, as in the kernel: what a sum that is too large becomes. */
#define EMB_TIME_MAX		((uint64_t)INT64_MAX)
/* The time to which a timerfd is set that is not to fire. */
#define EMB_TIME_NEVER		UINT64_MAX

/* So many timers that come up are looked at by a call that has other things to do. */
#define EMB_LOOKS		256

/* The flags of an arming that are kept with the timer. */
#define EMB_TIMER_FLAGS		(TWHEEL_ARM_FIXED_DELAY | TWHEEL_ARM_LEASE)

/**
 * struct emb_timer - one timer
 * @node: while pending: its place in the wheel
 * @ready: while ready: its place in the list of those
 * @expired: while ready: when it was expired
 * @next_free: while free: the index of the next one, or 0
 * @deadline: when it is to expire next or, while ready, when the first unread expiration
 *	was due
 * @user_data: as the program chose it
 * @interval: ns between expirations; 0 for one shot
 * @count: expirations left, including unread ones; 0 for no end
 * @slack: by how many ticks it may expire late
 * @generation: upper half of its handle
 * @state: &enum twheel_state, TWHEEL_STATE_NONE while it is free
 * @flags: those of %EMB_TIMER_FLAGS that it was armed with
 *
 * A timer is a cache line, as there are millions of them; of 32 bits some of it is not used.
 * All times are in ns on the clock of the context.
 */
struct emb_timer {
	union {
		struct twheel_node		node;
		struct {
			TAILQ_ENTRY(emb_timer)	ready;
			uint64_t		expired;
		};
		uint32_t			next_free;
	};
	uint64_t	deadline;
	uint64_t	user_data;
	uint64_t	interval;
	uint32_t	count;
	uint32_t	slack;
	uint32_t	generation;
	uint16_t	state;
	uint16_t	flags;
} __attribute__((aligned(64)));

/**
 * struct emb_key - the key of a timer
 * @value: the key
 * @next: the index of the next timer in its chain of the hash table, or 0
 */
struct emb_key {
	uint64_t	value;
	uint32_t	next;
};

/*
 * An index is the number of a chunk, and in so many bits the place in it. Place 0 is that of
 * the chunk's header. So an index is never 0.
 */
#define EMB_PLACE_BITS		10
#define EMB_PLACES		(1U << EMB_PLACE_BITS)

/**
 * struct emb_chunk - 1023 timers, aligned to its size
 * @nr: number of the chunk
 * @used: places from here on have had no timer yet, and are not initialised
 * @keys: the keys of the timers by place, or NULL
 * @words: the words of the timers by place, or NULL
 * @timers: the timers by place
 */
struct emb_chunk {
	union {
		struct {
			uint32_t	nr;
			uint32_t	used;
			struct emb_key	*keys;
			uint64_t	*words;
		};
		struct emb_timer	timers[EMB_PLACES];
	};
};

/**
 * struct emb_table - the hash table of keys
 * @heads: the index of the first timer of each chain, or 0
 * @bits: log2 of how many there are
 * @factor: what keys are multiplied by
 */
struct emb_table {
	uint32_t	*heads;
	unsigned int	bits;
	uint64_t	factor;
};

/**
 * struct emb_pool - the timers of a context
 * @chunks: all chunks
 * @nr_chunks: how many there are
 * @room: how many @chunks has room for
 * @free: the index of the first free timer that was used before, or 0
 * @nr_timers: timers that are pending or ready
 * @limit: the most of them
 * @generation: of the timer that was allocated last
 * @settled: there has been room for a timer, so that settings do not change any more
 * @table: all timers by key, in a context with keys
 * @segments: in a context with leases, the words by segment; NULL before the first
 */
struct emb_pool {
	struct emb_chunk	**chunks;
	uint32_t		nr_chunks;
	uint32_t		room;
	uint32_t		free;
	uint32_t		nr_timers;
	uint64_t		limit;
	uint32_t		generation;
	bool			settled;
	struct emb_table	table;
	uint64_t		**segments;
};

TAILQ_HEAD(emb_list, emb_timer);

/**
 * struct twheel_emb - an embedded context
 * @lock: guards all else, but for @fd, which is constant
 * @fd: the timerfd
 * @clock: its clock
 * @config: TWHEEL_CONFIG_* bits
 * @now: the time at which the present call looks at timers
 * @wheel: the timers that are pending
 * @memory: of the wheel's buckets
 * @first: no timer is to expire before this tick, and nearly always one is in it
 * @recheck: @first may be too early, as the timer that was due then has left the wheel
 * @ready: timers with an unread expiration, in the order in which they are read
 * @nr_ready: length of @ready
 * @stepped: the clock was set, and no reader has been told of it
 * @set_to: the time that the timerfd is set to; %EMB_TIME_NEVER if it is not to fire
 * @spent: the timerfd was read, and is no longer readable
 * @shown: the timerfd has become readable since it was last set or read
 * @news: something became ready in a call that does not read
 * @late: the next call of show() has to raise a new edge, as a timer was armed for the past
 * @waiting: threads that wait for the timerfd by reading it
 * @pool: the timers
 */
struct twheel_emb {
	pthread_mutex_t		lock;
	int			fd;
	clockid_t		clock;
	uint32_t		config;
	uint64_t		now;
	struct twheel_wheel	wheel;
	void			*memory;
	uint64_t		first;
	bool			recheck;
	struct emb_list		ready;
	uint32_t		nr_ready;
	bool			stepped;
	uint64_t		set_to;
	bool			spent;
	bool			shown;
	bool			news;
	bool			late;
	unsigned int		waiting;
	struct emb_pool		pool;
};

/* wheel.c */

/* The levels that it takes to reach the latest deadline, and the longest slack after it. */
uint32_t twheel_emb_levels(void);

/*
 * The tick of the first node of a wheel or, after @looks nodes, a lower bound of it. TWHEEL_NEVER
 * if there is none.
 */
uint64_t twheel_emb_first(const struct twheel_wheel *w, uint32_t looks);

/* pool.c */

/* How many timers a context may hold unless it asks for less. */
uint64_t twheel_emb_max_timers(void);

/* How many timers all contexts of this process hold. Any thread may call it. */
uint64_t twheel_emb_all_timers(void);

/* Let timers have keys and words as @config says. 0, or -ENOMEM and nothing has changed. */
int twheel_emb_pool_configure(struct emb_pool *pool, uint32_t config);

/* Free all timers, keys and words. */
void twheel_emb_pool_destroy(struct emb_pool *pool);

/*
 * Take a free timer, for @key if timers have keys. The result is 0, -ENOSPC or -ENOMEM. A
 * timer that has @key must not exist.
 */
int twheel_emb_alloc(struct emb_pool *pool, uint64_t key, struct emb_timer **timer);

/* Give back a timer, which is in no list and no wheel. */
void twheel_emb_free(struct emb_pool *pool, struct emb_timer *timer);

/* The live timer with a handle or, in a context with keys, a key. NULL if there is none. */
struct emb_timer *twheel_emb_find(const struct emb_pool *pool, uint64_t handle);

/* The timer at an index, which may be free; NULL if there is none yet. */
struct emb_timer *twheel_emb_at(const struct emb_pool *pool, uint32_t index);

/* An index after those of all timers that there are or were. */
uint32_t twheel_emb_end(const struct emb_pool *pool);

uint32_t twheel_emb_index(const struct emb_timer *timer);
uint64_t twheel_emb_handle(const struct emb_timer *timer);

/* The word of a timer, or NULL in a context without leases. */
uint64_t *twheel_emb_word(const struct emb_timer *timer);

/* The words of a segment, which are made if need be. 0, -ENOMEM, or -ENODEV without leases. */
int twheel_emb_words(struct emb_pool *pool, uint32_t segment, uint64_t **words);

/* keys.c: the hash table. Its chains lead through the timers of @pool. */
int twheel_emb_table_init(struct emb_table *table);
void twheel_emb_table_destroy(struct emb_table *table);
struct emb_timer *twheel_emb_table_find(const struct emb_pool *pool, uint64_t value);
void twheel_emb_table_add(struct emb_pool *pool, struct emb_timer *timer, uint64_t value);
void twheel_emb_table_remove(struct emb_pool *pool, struct emb_timer *timer);

static inline struct emb_chunk *emb_chunk_of(const struct emb_timer *timer)
{
	return (struct emb_chunk *)((uintptr_t)timer & ~(sizeof(struct emb_chunk) - 1));
}

static inline struct emb_key *emb_key_of(const struct emb_timer *timer)
{
	struct emb_chunk *chunk = emb_chunk_of(timer);

	return &chunk->keys[timer - chunk->timers];
}

/* arm.c */

/* Carry out an entry of TWHEEL_IOC_ARM_BATCH, and return its result. */
int twheel_emb_arm(struct twheel_emb *emb, struct twheel_arm *arm);

/* The same for TWHEEL_IOC_CANCEL_BATCH. */
int twheel_emb_cancel(struct twheel_emb *emb, struct twheel_cancel *cancel);

/* Cancel a live timer. Returns the deadline that it had. */
uint64_t twheel_emb_cancel_timer(struct twheel_emb *emb, struct emb_timer *timer);

/* Put a timer that is in no list and no wheel into the wheel. Its settings are stored. */
void twheel_emb_enqueue(struct twheel_emb *emb, struct emb_timer *timer);

/* In which tick a timer is to expire. */
uint64_t twheel_emb_tick(const struct emb_timer *timer);

/* expire.c */

/*
 * Put a timer that is in no list and no wheel behind those that are ready; it passes a bounded
 * number of them if it was due before.
 */
void twheel_emb_make_ready(struct twheel_emb *emb, struct emb_timer *timer);

/* Take a timer off the list of those that are ready. */
void twheel_emb_withdraw(struct twheel_emb *emb, struct emb_timer *timer);

/*
 * Make ready what is due at emb->now, looking at up to @looks timers. Returns whether there
 * may be more. All calls do this before they do anything else.
 */
bool twheel_emb_look(struct twheel_emb *emb, uint32_t looks);

/* Move up to @room records to @buf, including what is due and was not ready yet. */
size_t twheel_emb_deliver(struct twheel_emb *emb, struct twheel_event *buf, size_t room);

/* info.c */
int twheel_emb_get(struct twheel_emb *emb, struct twheel_timer_info *info);
int twheel_emb_list(struct twheel_emb *emb, struct twheel_list *list);
uint64_t twheel_emb_next_expiry(struct twheel_emb *emb);

/* fd.c */

/* Make a timerfd for @clock. Any thread may call it. A descriptor or -errno. */
int twheel_emb_fd_open(clockid_t clock, int flags);

/* Read the clock for the call that begins, and make ready what is due. */
void twheel_emb_begin(struct twheel_emb *emb);

/* The call ends: see to it that the descriptor is readable when it has to be. */
void twheel_emb_end_call(struct twheel_emb *emb);

/* Learn whether the clock was set. To be called in a context that is told of that. */
void twheel_emb_ask_for_steps(struct twheel_emb *emb);

/*
 * Wait until the timerfd fires, without the lock. 0; or -errno: -EAGAIN if it does not wait
 * and has not fired, -EINTR.
 */
int twheel_emb_wait(struct twheel_emb *emb);

/* calls.c; to be called without the lock */
int twheel_emb_ioctl(struct twheel_emb *emb, unsigned long request, void *arg);
ssize_t twheel_emb_read(struct twheel_emb *emb, void *buf, size_t size);

/* A new context, whose descriptor is open with @flags of timerfd_create(). 0 or -errno. */
int twheel_emb_new(struct twheel_emb **embp, int flags);

/* Free a context, and close its descriptor. */
void twheel_emb_destroy(struct twheel_emb *emb);

/* In a child, which has a copy of it. */
void twheel_emb_take_over(struct twheel_emb *emb);

static inline uint64_t emb_time(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * EMB_SEC_NS + (uint64_t)ts.tv_nsec;
}

/* The first tick that is not before @ns, so that a timer is never early. */
static inline uint64_t emb_ns_to_tick(uint64_t ns)
{
	return (ns >> EMB_TICK_SHIFT) + !!(ns & ((1ULL << EMB_TICK_SHIFT) - 1));
}

static inline uint64_t emb_until(uint64_t deadline, uint64_t now)
{
	return deadline > now ? deadline - now : 0;
}

/* The sum of two times, at most the latest time. */
static inline uint64_t emb_add(uint64_t a, uint64_t b)
{
	return a + b > EMB_TIME_MAX ? EMB_TIME_MAX : a + b;
}

#endif /* TWHEEL_EMB_H */
