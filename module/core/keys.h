/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The hash table of the keys that programs give to timers. */
#ifndef TWHEEL_KEYS_H
#define TWHEEL_KEYS_H

#include <linux/siphash.h>
#include <linux/types.h>

#include "table.h"
#include "timer.h"

/**
 * struct twheel_keys - the timers of a pool by key
 * @chunks:	the chunks that they live in; constant
 * @heads:	by bucket: the index of the first timer in it, or 0
 * @nr:		how many buckets there are; read without a lock
 * @secret:	of the hash; constant once there is a timer
 */
struct twheel_keys {
	const struct twheel_table	*chunks;
	struct twheel_table		heads;
	u32				nr;
	hsiphash_key_t			secret;
};

/**
 * twheel_keys_choose_secret() - choose the secret of a table
 * @keys:	the table, which is empty
 *
 * With it nobody can choose keys that collide. Each table has its own: what somebody learns of
 * one, by the time that calls take, tells nothing of another.
 *
 * Context: any.
 */
void twheel_keys_choose_secret(struct twheel_keys *keys);

/**
 * twheel_keys_init() - make an empty table
 * @keys:	the table, zeroed
 * @chunks:	the chunks that its timers will live in. Outlives @keys
 * @lock:	the spinlock of the caller that serialises insertions and removals
 * @quota:	where its memory is to be counted. Outlives @keys
 */
void twheel_keys_init(struct twheel_keys *keys, const struct twheel_table *chunks,
		      spinlock_t *lock, struct twheel_quota *quota);

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
 *
 * Context: may sleep. The caller serialises all calls for @keys.
 * Return: 0, -ENOMEM, -EDQUOT or -EINTR.
 */
int twheel_keys_reserve(struct twheel_keys *keys);

/**
 * twheel_keys_have_room() - can a table grow as it should with one more key?
 * @keys:	the table
 * @n:		how many timers there will be with it
 *
 * Context: the caller serialises insertions. No call of twheel_keys_reserve() takes the answer
 * true back.
 * Return: true if so.
 */
bool twheel_keys_have_room(const struct twheel_keys *keys, u32 n);

/**
 * twheel_keys_insert() - give a timer a key
 * @keys:	the table
 * @timer:	the timer, which is free
 * @key:	the key, which no timer has
 * @n:		how many timers there are with this one
 *
 * Context: under a spinlock of the caller, which serialises insertions and removals.
 */
void twheel_keys_insert(struct twheel_keys *keys, struct twheel_timer *timer, u64 key, u32 n);

/**
 * twheel_keys_remove() - take a timer out of a table
 * @keys:	the table
 * @timer:	the timer. A look-up may find it as long as its memory is not freed
 *
 * Context: under a spinlock of the caller, which serialises insertions and removals.
 */
void twheel_keys_remove(struct twheel_keys *keys, struct twheel_timer *timer);

/**
 * twheel_keys_find() - find the timer with a key
 * @keys:	the table
 * @key:	the key
 *
 * Context: under the spinlock that serialises insertions and removals.
 * Return: the timer, or NULL if no timer has @key.
 */
struct twheel_timer *twheel_keys_find(const struct twheel_keys *keys, u64 key);

/**
 * twheel_keys_guess() - find the timer with a key, without a lock
 * @keys:	the table
 * @key:	any number
 *
 * Context: under RCU.
 * Return: as twheel_keys_look_ahead() fills in for the only key.
 */
struct twheel_timer *twheel_keys_guess(const struct twheel_keys *keys, u64 key);

/**
 * twheel_keys_look_ahead() - find the timers with many keys, without a lock
 * @keys:	the table
 * @entries:	structs that begin with a key
 * @size:	bytes from one to the next
 * @n:		how many
 * @timers:	filled for each with a timer that has or had the key, or with NULL if none was
 *		found
 *
 * While others insert or remove keys a look-up may miss one: twheel_keys_find() tells whether
 * there is none. The CPU waits for the memory of all of them at once.
 *
 * Context: under RCU.
 */
void twheel_keys_look_ahead(const struct twheel_keys *keys, const void *entries, size_t size,
			    u32 n, struct twheel_timer **timers);

#endif /* TWHEEL_KEYS_H */
