// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hash table of the keys that programs give to timers.
 *
 * Locking rules: look-ups are under RCU. The caller serialises insertions; the locks of
 * the table itself are taken inside the caller's.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/prefetch.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>
#include <linux/workqueue.h>

#include "keys.h"

/*
 * How often to wait for the worker to make room. Once is enough, unless there is no memory, or
 * other calls take the room of a small table at once.
 */
#define TWHEEL_ROOM_TRIES	16

static hsiphash_key_t twheel_keys_secret;

void twheel_keys_init_secret(void)
{
	get_random_bytes(&twheel_keys_secret, sizeof(twheel_keys_secret));
}

static u32 hash_key(const void *data, u32 len, u32 seed)
{
	u64 value = *(const u64 *)data;

	return hsiphash_3u32(lower_32_bits(value), upper_32_bits(value), seed,
			     &twheel_keys_secret);
}

static int compare_key(struct rhashtable_compare_arg *arg, const void *data)
{
	const struct twheel_key *key = data;

	return READ_ONCE(key->value) != *(const u64 *)arg->key;
}

static const struct rhashtable_params twheel_keys_params = {
	.head_offset		= offsetof(struct twheel_key, node),
	.key_offset		= offsetof(struct twheel_key, value),
	.key_len		= sizeof(u64),
	.hashfn			= hash_key,
	.obj_cmpfn		= compare_key,
	.nelem_hint		= 3,
	.automatic_shrinking	= true,
};

int twheel_keys_init(struct rhashtable *table)
{
	return rhashtable_init(table, &twheel_keys_params);
}

struct twheel_key *twheel_keys_find(struct rhashtable *table, u64 value)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "lookup without RCU");

	return rhashtable_lookup(table, &value, twheel_keys_params);
}

/* Each step needs what the one before has found: so take it for all of them. */
void twheel_keys_find_all(struct rhashtable *table, const void *values, size_t size, u32 n,
			  struct twheel_key **keys)
{
	struct bucket_table *buckets = rht_dereference_rcu(table->tbl, table);
	const void **found = (const void **)keys;
	u32 i;

	for (i = 0; i < n; i++) {
		found[i] = rht_bucket(buckets, rht_key_hashfn(table, buckets, values + i * size,
							      twheel_keys_params));
		prefetch(found[i]);
	}
	for (i = 0; i < n; i++)
		prefetch(rht_ptr_rcu(found[i]));
	for (i = 0; i < n; i++)
		keys[i] = twheel_keys_find(table, *(const u64 *)(values + i * size));
}

int twheel_keys_insert(struct rhashtable *table, struct twheel_key *key, u64 value)
{
	int ret;

	/*
	 * Look first: a reader may still hold @key, which was in use, and must not take
	 * it for the key that has this value. Nobody else inserts meanwhile.
	 */
	if (rhashtable_lookup_fast(table, &value, twheel_keys_params))
		return -EEXIST;

	WRITE_ONCE(key->value, value);
	ret = rhashtable_insert_fast(table, &key->node, twheel_keys_params);
	switch (ret) {
	case -EBUSY:
		/* The table is just being replaced. */
		return -EAGAIN;
	case -E2BIG:
		return -ENOMEM;
	default:
		return ret;
	}
}

void twheel_keys_remove(struct rhashtable *table, struct twheel_key *key)
{
	rhashtable_remove_fast(table, &key->node, twheel_keys_params);
}

/*
 * The worker of the table makes it larger once it is three quarters full. If the worker lags
 * behind there is no room: a full table would grow in the middle of an insertion, with locks
 * held.
 */
bool twheel_keys_have_room(struct rhashtable *table)
{
	const struct bucket_table *buckets;
	bool room;

	rcu_read_lock();
	buckets = rht_dereference_rcu(table->tbl, table);
	/* If it moves to other buckets, which may be fewer, those are to have room. */
	while (rht_dereference_rcu(buckets->future_tbl, table))
		buckets = rht_dereference_rcu(buckets->future_tbl, table);
	room = atomic_read(&table->nelems) < buckets->size - buckets->size / 8;
	rcu_read_unlock();
	return room;
}

int twheel_keys_await_room(struct rhashtable *table)
{
	unsigned int tries = TWHEEL_ROOM_TRIES;

	/*
	 * Insertions queue the worker, but not those into a table that is just replaced by a
	 * smaller one.
	 */
	while (!twheel_keys_have_room(table)) {
		if (!tries-- || fatal_signal_pending(current))
			return -ENOMEM;
		schedule_work(&table->run_work);
		flush_work(&table->run_work);
	}
	return 0;
}
