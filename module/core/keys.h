/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The hash table of the keys that programs give to timers. */
#ifndef TWHEEL_KEYS_H
#define TWHEEL_KEYS_H

#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "table.h"
#include "timer.h"

/* Keys whose hashes end in the same bits have a lock: so many there are. */
#define TWHEEL_KEY_LOCKS	64
/* Buckets of each lock whose heads are with it */
#define TWHEEL_KEY_HEADS	3

/* Entries of a batch that are looked up, and then carried out, before all locks are released */
#define TWHEEL_HOLD_MAX		32

/*
 * A hint is a timer that a handle or key may name. Or it is odd: then none was found, and it is
 * the hash of the key one bit up, or 0. On 32 bits that drops a bit that no bucket's number has.
 */
#define TWHEEL_NO_HINT		((struct twheel_timer *)1UL)

static inline bool twheel_hint_is_timer(const struct twheel_timer *hint)
{
	return !((unsigned long)hint & 1);
}

/**
 * struct twheel_key_lock - guards the buckets whose numbers end in the same bits
 * @lock:	the lock
 * @first:	the heads of the first of these buckets, so that few keys take no other memory
 *
 * Some share a cache line, so that a small table stays small.
 */
struct twheel_key_lock {
	/* order: see design.md */
	spinlock_t	lock;
	u32		first[TWHEEL_KEY_HEADS];
} __aligned(16);

/**
 * struct twheel_keys - the timers of a pool by key
 * @chunks:	the chunks that they live in; constant
 * @heads:	by bucket, but for the first ones, which are in @locks: the index of the first timer
 *		in it, or 0
 * @nr:		how many buckets there are: %TWHEEL_KEY_LOCKS or more. Changes under @splits and the
 *		lock of the bucket that is split; read without a lock
 * @wanted:	how many there should be; written by twheel_keys_reserve(), read without a lock
 * @secret:	of the hash, chosen with @locks: so nobody can choose keys that collide, and what
 *		somebody learns of one table, by the time that calls take, tells nothing of another
 * @splits:	serialises splitting buckets; nobody waits for it
 * @locks:	by the last bits of the hash, and the first heads; NULL until twheel_keys_reserve()
 *		makes them
 */
struct twheel_keys {
	const struct twheel_table	*chunks;
	struct twheel_table		heads;
	u32				nr;
	u32				wanted;
	hsiphash_key_t			secret;
	/* order: see design.md */
	spinlock_t			splits;
	struct twheel_key_lock		*locks;
};

/**
 * twheel_keys_init() - make an empty table
 * @keys:	the table, zeroed
 * @chunks:	the chunks that its timers will live in. Outlives @keys
 * @quota:	where its memory is to be counted. Outlives @keys
 */
void twheel_keys_init(struct twheel_keys *keys, const struct twheel_table *chunks,
		      struct twheel_quota *quota);

/**
 * twheel_keys_destroy() - free the memory of a table, not the timers
 * @keys:	the table, which nobody uses any more
 *
 * Context: may sleep.
 */
void twheel_keys_destroy(struct twheel_keys *keys);

/**
 * twheel_keys_reserve() - make room for more keys
 * @keys:	the table
 * @n:		how many there may be
 *
 * Context: may sleep. The caller serialises all calls for @keys.
 * Return: 0, -ENOMEM, -EDQUOT or -EINTR.
 */
int twheel_keys_reserve(struct twheel_keys *keys, u32 n);

/**
 * twheel_keys_hash() - the hash of a key
 * @keys:	the table
 * @key:	the key
 *
 * Context: any.
 * Return: the hash.
 */
u32 twheel_keys_hash(const struct twheel_keys *keys, u64 key);

/**
 * twheel_keys_lock_of() - the lock of all keys with a hash
 * @keys:	the table, for which twheel_keys_reserve() has made room
 * @hash:	the hash
 *
 * It guards the buckets of these keys, even if they are split.
 *
 * Return: the lock.
 */
static inline spinlock_t *twheel_keys_lock_of(const struct twheel_keys *keys, u32 hash)
{
	return &keys->locks[hash % TWHEEL_KEY_LOCKS].lock;
}

/**
 * twheel_keys_head() - where the bucket of a hash begins
 * @keys:	the table
 * @hash:	the hash
 *
 * Context: any. The answer stays right only while the lock of @hash is held.
 * Return: the index of the first timer, or 0; or without that lock perhaps NULL.
 */
u32 *twheel_keys_head(const struct twheel_keys *keys, u32 hash);

/**
 * twheel_keys_insert() - give a timer a key
 * @keys:	the table
 * @timer:	the timer, which is free
 * @head:	where the bucket of the key begins
 * @key:	the key, which no timer has
 *
 * Context: the caller holds the lock of the key's hash.
 */
void twheel_keys_insert(struct twheel_keys *keys, struct twheel_timer *timer, u32 *head, u64 key);

/**
 * twheel_keys_split() - split some buckets, if there are too few
 * @keys:	the table
 *
 * Context: bottom halves are off, and no lock of @keys is held.
 */
void twheel_keys_split(struct twheel_keys *keys);

/**
 * twheel_keys_remove() - take a timer out of a table
 * @keys:	the table
 * @timer:	the timer. A look-up may find it as long as its memory is not freed
 *
 * Context: bottom halves are off, and no lock of @keys is held.
 */
void twheel_keys_remove(struct twheel_keys *keys, struct twheel_timer *timer);

/**
 * twheel_keys_find() - find the timer with a key
 * @keys:	the table
 * @head:	where the bucket of @key begins
 * @key:	the key
 *
 * Context: the caller holds the lock of the hash of @key.
 * Return: the timer, or NULL if no timer has @key.
 */
struct twheel_timer *twheel_keys_find(const struct twheel_keys *keys, const u32 *head, u64 key);

/**
 * twheel_keys_guess() - find the timer with a key, without a lock
 * @keys:	the table
 * @key:	any number
 *
 * Context: under RCU.
 * Return: a timer that has or had @key, or NULL if none was found.
 */
struct twheel_timer *twheel_keys_guess(const struct twheel_keys *keys, u64 key);

/**
 * twheel_keys_look_ahead() - as twheel_pool_look_ahead(), which see, for keys
 * @keys:	the table
 * @entries:	structs that begin with a key
 * @size:	bytes from one to the next
 * @n:		how many, up to %TWHEEL_HOLD_MAX
 * @hints:	filled for each with a timer that has or had the key, or with the hash if none was
 *		found: while others insert or remove keys, one may be missed
 *
 * Context: under RCU.
 */
void twheel_keys_look_ahead(const struct twheel_keys *keys, const void *entries, size_t size,
			    u32 n, struct twheel_timer **hints);

#endif /* TWHEEL_KEYS_H */
