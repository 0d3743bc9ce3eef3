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
 * @mask:	which bits of a hash tell its bucket, unless that is @nr or more: then the highest
 *		one does not. Changes as @nr, before it
 * @wanted:	how many there should be; written by twheel_keys_reserve(), read without a lock
 * @factors:	of the first hash, odd; chosen with @locks
 * @secret:	of the second hash, chosen with @locks: so what somebody learns of one table, by
 *		the time that calls take, tells nothing of another
 * @was_full:	a bucket was full once, so a key may be in the bucket of its second hash. Set under
 *		the lock of the first hash of a key before that goes there, and never cleared
 * @splits:	serialises splitting buckets; nobody waits for it
 * @locks:	by the last bits of the hash, and the first heads; NULL until twheel_keys_reserve()
 *		makes them
 */
struct twheel_keys {
	const struct twheel_table	*chunks;
	struct twheel_table		heads;
	u32				nr;
	u32				mask;
	u32				wanted;
	u64				factors[2];
	hsiphash_key_t			secret;
	bool				was_full;
	/* order: see design.md */
	spinlock_t			splits;
	struct twheel_key_lock		*locks;
};

/**
 * struct twheel_key_place - where a key that no timer has is to be inserted
 * @head:	where the bucket begins
 * @lock:	the lock of the first hash of the key, which is held; or NULL if this is no place
 * @other:	the lock of its second hash, if that is held as well; or NULL
 */
struct twheel_key_place {
	u32		*head;
	/* order: see design.md */
	spinlock_t	*lock;
	/* order: see design.md */
	spinlock_t	*other;
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
 * twheel_keys_hash() - the first hash of a key
 * @keys:	the table, for which twheel_keys_reserve() has made room
 * @key:	the key
 *
 * Two multiplications spread keys at equal distances as well as any others. A program that measures
 * for long can learn which keys collide: see keys.c for what becomes of these.
 *
 * Context: any.
 * Return: the hash.
 */
static inline u32 twheel_keys_hash(const struct twheel_keys *keys, u64 key)
{
	key ^= key >> 32;
	key *= keys->factors[0];
	key ^= key >> 32;
	return key * keys->factors[1] >> 32;
}

/**
 * twheel_keys_insert() - give a timer a key
 * @keys:	the table
 * @timer:	the timer, which is free
 * @place:	as twheel_keys_find() has filled it
 * @key:	the key, which no timer has
 *
 * Context: the locks of @place are held.
 */
void twheel_keys_insert(struct twheel_keys *keys, struct twheel_timer *timer,
			const struct twheel_key_place *place, u64 key);

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
 * twheel_keys_find() - find the timer with a key, or let none get it
 * @keys:	the table
 * @key:	the key
 * @place:	filled, with locks that are held until twheel_keys_unlock(), if no timer has @key
 *
 * Context: bottom halves are off, under RCU, and no lock of @keys is held.
 * Return: the timer, without locks; or NULL if no timer has @key.
 */
struct twheel_timer *twheel_keys_find(struct twheel_keys *keys, u64 key,
				      struct twheel_key_place *place);

/**
 * twheel_keys_unlock() - release the locks of a place
 * @place:	as twheel_keys_find() has filled it: afterwards it is none
 */
static inline void twheel_keys_unlock(struct twheel_key_place *place)
{
	/* For sparse, which cannot follow a lock that depends on a condition. */
	if (unlikely(place->other)) {
		__acquire(place->other);
		spin_unlock(place->other);
	}
	__acquire(place->lock);
	spin_unlock(place->lock);
	place->lock = NULL;
}

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
 * @hints:	filled for each with a timer that has or had the key, or NULL if none was found:
 *		while others insert or remove keys, one may be missed
 *
 * Context: under RCU.
 */
void twheel_keys_look_ahead(const struct twheel_keys *keys, const void *entries, size_t size,
			    u32 n, struct twheel_timer **hints);

#endif /* TWHEEL_KEYS_H */
