/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A chunk: the memory of some timers.
 *
 * It has 4096 bytes, and is aligned to them: a header in the place of the first timer, and 63
 * timers behind it. If timers have keys it has 56 timers, and behind these their keys. So
 *
 *  - the address of a timer gives its chunk,
 *  - an index is made of the number of the chunk and the place in it,
 *  - the index of a timer gives, with one look-up, the timer and its key.
 */
#ifndef TWHEEL_CHUNK_H
#define TWHEEL_CHUNK_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "table.h"
#include "timer.h"

struct twheel_pool;
struct twheel_quota;
struct twheel_stock;

#define TWHEEL_CHUNK_SIZE	4096

/* The bits of an index that say the place. Place 0 is that of the header. */
#define TWHEEL_PLACE_BITS	6
#define TWHEEL_PLACES		BIT(TWHEEL_PLACE_BITS)

/* The timers of a chunk without keys, and of one with keys */
#define TWHEEL_CHUNK_TIMERS	(TWHEEL_PLACES - 1)
#define TWHEEL_KEYED_TIMERS	56

/* Chunks for which there is room in a block of the table of chunks */
#define TWHEEL_BLOCK_CHUNKS	32

/**
 * struct twheel_chunk - some timers
 * @pool:	the pool; constant
 * @quota:	where the chunk is counted; constant. Outlives the chunk
 * @free:	a bit for each place with a free timer; (h), and read without a lock by
 *		twheel_pool_next_index()
 * @index:	of the chunk in pool->chunks; constant
 * @stock:	to which it belongs: that of the CPU for which its free timers are. Changes under
 *		the locks of the bases of both CPUs, and is read without a lock
 * @keyed:	the timers have keys; constant
 * @generation:	without keys: that of the timer that was made last of those with this index; (h)
 * @words:	the words of the timers by place, or NULL; constant
 * @partial:	in @stock->chunks while @free is not zero; (h)
 * @rcu:	frees the chunk once it has left that list
 * @timers:	the timers by place; place 0 has none
 * @before:	what comes before @keys
 * @keys:	if @keyed, from %TWHEEL_KEYED_TIMERS + 1 on in their place: the keys, that of
 *		place 1 first. Written under the lock of the key, read without a lock
 *
 * The lock of @stock->base guards what is marked (h).
 */
struct twheel_chunk {
	union {
		struct {
			struct twheel_pool	*pool;
			struct twheel_quota	*quota;
			u64			free;
			struct twheel_stock	*stock;
			u32			index : 26;
			u32			keyed : 1;
			u32			generation;
			atomic64_t		*words;
			union {
				struct list_head	partial;
				struct rcu_head		rcu;
			};
		};
		struct twheel_timer	timers[TWHEEL_PLACES];
		struct {
			struct twheel_timer	before[TWHEEL_KEYED_TIMERS + 1];
			u64			keys[TWHEEL_KEYED_TIMERS];
		};
	};
};

static_assert(26 + TWHEEL_PLACE_BITS == 32);
static_assert(sizeof(struct twheel_timer) == 64);
static_assert(sizeof(struct twheel_chunk) == TWHEEL_CHUNK_SIZE);
static_assert(offsetofend(struct twheel_chunk, rcu) <= sizeof(struct twheel_timer));

static inline struct twheel_chunk *twheel_chunk_of(const struct twheel_timer *timer)
{
	return (void *)((unsigned long)timer & ~(TWHEEL_CHUNK_SIZE - 1UL));
}

static inline u32 twheel_place_of(const struct twheel_timer *timer)
{
	return (unsigned long)timer % TWHEEL_CHUNK_SIZE / sizeof(*timer);
}

static inline u32 twheel_index_of(const struct twheel_timer *timer)
{
	return twheel_chunk_of(timer)->index << TWHEEL_PLACE_BITS | twheel_place_of(timer);
}

/* Where the key of @timer is, which has one */
static inline u64 *twheel_key_of(const struct twheel_timer *timer)
{
	return twheel_chunk_of(timer)->keys + twheel_place_of(timer) - 1;
}

/* The word of @timer, which is in a pool with leases. Programs may change it at any time. */
static inline atomic64_t *twheel_word_of(const struct twheel_timer *timer)
{
	return &twheel_chunk_of(timer)->words[twheel_place_of(timer)];
}

/* Where the chunk with number @nr is stored in @chunks; or NULL without room for it. */
static inline void __rcu **twheel_chunk_slot(const struct twheel_table *chunks, u32 nr)
{
	return twheel_table_entry(chunks, nr, sizeof(void *), TWHEEL_BLOCK_CHUNKS);
}

/*
 * What is stored in a slot: the address of a chunk with this bit set; or without it, where there is
 * no chunk, the generation with which the next one goes on, one bit up. So no handle comes again
 * before all generations have: 2^32 with one index, and half as many if an address has 32 bits.
 */
#define TWHEEL_CHUNK_THERE	1UL

/* What is stored for number @nr. Under RCU, or the caller serialises all changes. */
static inline unsigned long twheel_chunk_entry(const struct twheel_table *chunks, u32 nr)
{
	void __rcu **slot = twheel_chunk_slot(chunks, nr);

	return slot ? (unsigned long)rcu_dereference_raw(*slot) : 0;
}

/* The chunk with number @nr, or NULL. As twheel_chunk_entry() */
static inline struct twheel_chunk *twheel_chunk_get(const struct twheel_table *chunks, u32 nr)
{
	unsigned long entry = twheel_chunk_entry(chunks, nr);

	return entry & TWHEEL_CHUNK_THERE ? (void *)(entry - TWHEEL_CHUNK_THERE) : NULL;
}

/**
 * twheel_chunk_timer() - find a timer by its index
 * @chunks:	the chunks of a pool
 * @index:	one that a timer of the pool has or had, or without keys any number
 *
 * The timer may be free, or become free unless it is locked. Its memory stays until the RCU
 * section ends.
 *
 * Context: under RCU or a spinlock.
 * Return: the timer, or NULL.
 */
static inline struct twheel_timer *twheel_chunk_timer(const struct twheel_table *chunks,
						      u32 index)
{
	unsigned long entry = twheel_chunk_entry(chunks, index >> TWHEEL_PLACE_BITS);
	u32 place = index % TWHEEL_PLACES;
	struct twheel_timer *timer;

	RCU_LOCKDEP_WARN(!rcu_read_lock_any_held(), "lookup without RCU");

	if (!(entry & TWHEEL_CHUNK_THERE) || !place)
		return NULL;
	timer = &((struct twheel_chunk *)(entry - TWHEEL_CHUNK_THERE))->timers[place];
	/* As in twheel_table_entry() */
	if (!timer)
		__builtin_unreachable();
	return timer;
}

#endif /* TWHEEL_CHUNK_H */
