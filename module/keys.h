/* SPDX-License-Identifier: GPL-2.0-only */
/* The hash table of the keys that programs give to timers. */
#ifndef TWHEEL_KEYS_H
#define TWHEEL_KEYS_H

#include <linux/rhashtable-types.h>
#include <linux/types.h>

/**
 * struct twheel_key - the key of a timer
 * @node:	links it to the table
 * @value:	as the program chose it; constant while it is in the table. Look-ups read
 *		it without a lock
 */
struct twheel_key {
	struct rhash_head	node;
	u64			value;
} __aligned(16);

/**
 * twheel_keys_init_secret() - choose the secret of all tables
 *
 * With it nobody can choose keys that collide.
 */
void twheel_keys_init_secret(void);

/**
 * twheel_keys_init() - make an empty table, to be freed with rhashtable_destroy()
 * @table:	the table
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int twheel_keys_init(struct rhashtable *table);

/**
 * twheel_keys_find() - look up a key
 * @table:	the table
 * @value:	of the key
 *
 * The key may leave the table, and get another value, at any time. Its memory stays until
 * the RCU section ends.
 *
 * Context: under RCU.
 * Return: the key, or NULL.
 */
struct twheel_key *twheel_keys_find(struct rhashtable *table, u64 value);

/**
 * twheel_keys_find_all() - find many keys, so that the CPU waits for the memory of all at once
 * @table:	the table
 * @values:	structs that begin with a value
 * @size:	bytes from one to the next
 * @n:		how many
 * @keys:	filled as by twheel_keys_find() for each
 *
 * Context: under RCU.
 */
void twheel_keys_find_all(struct rhashtable *table, const void *values, size_t size, u32 n,
			  struct twheel_key **keys);

/**
 * twheel_keys_insert() - give a key a value, and insert it
 * @table:	the table
 * @key:	the key, which is in no table
 * @value:	its value
 *
 * Context: any. The caller serialises all insertions into @table.
 * Return: 0; or -EEXIST if the table has that value, -EAGAIN if the table is just being
 * replaced, or -ENOMEM, and the key is still in no table.
 */
int twheel_keys_insert(struct rhashtable *table, struct twheel_key *key, u64 value);

/**
 * twheel_keys_remove() - take a key out of a table
 * @table:	the table
 * @key:	the key
 *
 * Context: any.
 */
void twheel_keys_remove(struct rhashtable *table, struct twheel_key *key);

/**
 * twheel_keys_have_room() - has a table room for one more key?
 * @table:	the table
 *
 * Context: any. With insertions into @table serialised the answer stays right until the next
 * one, or until keys are removed.
 * Return: true if so.
 */
bool twheel_keys_have_room(struct rhashtable *table);

/**
 * twheel_keys_await_room() - wait until a table has room for one more key
 * @table:	the table
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM if there is no memory for a larger table.
 */
int twheel_keys_await_room(struct rhashtable *table);

#endif /* TWHEEL_KEYS_H */
