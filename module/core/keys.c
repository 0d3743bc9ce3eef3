// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The hash table of the keys that programs give to timers.
 *
 * It grows by linear hashing (W. Litwin: Linear hashing: a new tool for file and table addressing,
 * VLDB 1980), as Documentation/design.md says.
 *
 * Locking rules: the last bits of a hash say which lock guards all keys with such hashes, however
 * often their buckets are split. So under its lock a key is in the bucket that keys->nr says,
 * however much that counts up meanwhile for buckets of other locks. Only a look-up with the lock
 * tells that no timer has a key. What one without it finds may have left the table since, which the
 * caller sees once it has locked the timer.
 *
 * The kernel's rhashtable would do the same with 16 bytes more for each timer and two cache
 * misses more for each look-up; and it is not charged to a memory cgroup.
 */
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "chunk.h"
#include "debug.h"
#include "keys.h"

/* Heads that are with their locks: enough for the timers of a chunk */
#define FIRST_HEADS	(TWHEEL_KEY_LOCKS * TWHEEL_KEY_HEADS)
/* Heads in a block of their table */
#define BLOCK_HEADS	1024
#define BUCKETS_PER_KEY	2
#define BUCKETS_MAX	BIT(31)
/* Buckets that an insertion splits at most. Memory may have been short before. */
#define SPLITS_MAX	4
/* Timers that a look-up without a lock follows: nearly all buckets have fewer than three. */
#define STEPS_MAX	32

u32 twheel_keys_hash(const struct twheel_keys *keys, u64 key)
{
	return hsiphash_2u32(lower_32_bits(key), upper_32_bits(key), &keys->secret);
}

/* Where the head of @bucket is; or NULL without room for it. */
static u32 *head_of(const struct twheel_keys *keys, u32 bucket)
{
	if (bucket < FIRST_HEADS)
		return &keys->locks[bucket % TWHEEL_KEY_LOCKS].first[bucket / TWHEEL_KEY_LOCKS];
	return twheel_table_entry(&keys->heads, bucket - FIRST_HEADS, sizeof(u32), BLOCK_HEADS);
}

u32 *twheel_keys_head(const struct twheel_keys *keys, u32 hash)
{
	u32 nr = READ_ONCE(keys->nr), mask = roundup_pow_of_two(nr) - 1;
	u32 bucket = hash & mask;

	/* Those from @nr on are not split off yet. */
	return head_of(keys, bucket < nr ? bucket : bucket & (mask >> 1));
}

void twheel_keys_init(struct twheel_keys *keys, const struct twheel_table *chunks,
		      struct twheel_quota *quota)
{
	keys->chunks = chunks;
	keys->nr = TWHEEL_KEY_LOCKS;
	spin_lock_init(&keys->splits);
	twheel_table_init(&keys->heads, sizeof(u32), BLOCK_HEADS, quota);
}

void twheel_keys_destroy(struct twheel_keys *keys)
{
	kvfree(keys->locks);
	twheel_table_destroy(&keys->heads);
}

int twheel_keys_reserve(struct twheel_keys *keys, u32 n)
{
	/* How many buckets there should be for @n timers */
	u32 i, heads = clamp_t(u64, (u64)n * BUCKETS_PER_KEY, TWHEEL_KEY_LOCKS, BUCKETS_MAX);
	struct twheel_key_lock *locks;
	int ret;

	if (!keys->locks) {
		locks = twheel_table_alloc(&keys->heads, TWHEEL_KEY_LOCKS * sizeof(*locks));
		if (IS_ERR(locks))
			return PTR_ERR(locks);
		for (i = 0; i < TWHEEL_KEY_LOCKS; i++)
			spin_lock_init(&locks[i].lock);
		get_random_bytes(&keys->secret, sizeof(keys->secret));
		keys->locks = locks;
	}
	ret = heads > FIRST_HEADS ?
	      twheel_table_reserve(&keys->heads, heads - FIRST_HEADS - 1) : 0;
	if (!ret)
		WRITE_ONCE(keys->wanted, heads);
	return ret;
}

/* Split one more bucket, if there is room for its head. The caller holds keys->splits. */
static bool split(struct twheel_keys *keys)
{
	u32 nr = keys->nr, half = rounddown_pow_of_two(nr), mask = 2 * half - 1, index;
	spinlock_t *lock = twheel_keys_lock_of(keys, nr);
	u32 *from, *to;

	spin_lock(lock);
	from = head_of(keys, nr - half);
	to = head_of(keys, nr);
	while (to && (index = *from)) {
		struct twheel_timer *timer = twheel_chunk_timer(keys->chunks, index);

		if ((twheel_keys_hash(keys, *twheel_key_of(timer)) & mask) != nr) {
			from = &timer->next;
			continue;
		}
		WRITE_ONCE(*from, timer->next);
		WRITE_ONCE(timer->next, *to);
		WRITE_ONCE(*to, index);
	}
	if (to)
		WRITE_ONCE(keys->nr, nr + 1);
	spin_unlock(lock);
	return to;
}

void twheel_keys_split(struct twheel_keys *keys)
{
	u32 splits = SPLITS_MAX;

	if (READ_ONCE(keys->nr) >= READ_ONCE(keys->wanted) || !spin_trylock(&keys->splits))
		return;
	while (keys->nr < READ_ONCE(keys->wanted) && splits-- && split(keys))
		;
	spin_unlock(&keys->splits);
}

void twheel_keys_insert(struct twheel_keys *keys, struct twheel_timer *timer, u32 *head, u64 key)
{
	twheel_assert(head == twheel_keys_head(keys, twheel_keys_hash(keys, key)));
	twheel_assert(!twheel_keys_find(keys, head, key));

	WRITE_ONCE(*twheel_key_of(timer), key);
	WRITE_ONCE(timer->next, *head);
	WRITE_ONCE(*head, twheel_index_of(timer));
}

void twheel_keys_remove(struct twheel_keys *keys, struct twheel_timer *timer)
{
	u32 hash = twheel_keys_hash(keys, *twheel_key_of(timer));
	spinlock_t *lock = twheel_keys_lock_of(keys, hash);
	u32 index = twheel_index_of(timer), *link;

	spin_lock(lock);
	link = twheel_keys_head(keys, hash);
	while (*link != index)
		link = &twheel_chunk_timer(keys->chunks, *link)->next;
	WRITE_ONCE(*link, timer->next);
	spin_unlock(lock);
}

/* Find @key among @steps timers from @index on. */
static struct twheel_timer *follow(const struct twheel_keys *keys, u32 index, u64 key, u32 steps)
{
	struct twheel_timer *timer;

	for (; index && steps; index = READ_ONCE(timer->next), steps--) {
		timer = twheel_chunk_timer(keys->chunks, index);
		/* Only without a lock: its chunk was freed. */
		if (!timer)
			return NULL;
		if (READ_ONCE(*twheel_key_of(timer)) == key)
			return timer;
	}
	return NULL;
}

struct twheel_timer *twheel_keys_find(const struct twheel_keys *keys, const u32 *head, u64 key)
{
	if (TWHEEL_ASSERTS_LOCKS)
		lockdep_assert_held(twheel_keys_lock_of(keys, twheel_keys_hash(keys, key)));
	return follow(keys, *head, key, U32_MAX);
}

struct twheel_timer *twheel_keys_guess(const struct twheel_keys *keys, u64 key)
{
	const u32 *head = twheel_keys_head(keys, twheel_keys_hash(keys, key));

	return head ? follow(keys, READ_ONCE(*head), key, STEPS_MAX) : NULL;
}

/* Each step needs what the one before has found: so take it for all of them. */
void twheel_keys_look_ahead(const struct twheel_keys *keys, const void *entries, size_t size,
			    u32 n, struct twheel_timer **hints)
{
	const u32 *heads[TWHEEL_HOLD_MAX] __uninitialized;
	u32 hashes[TWHEEL_HOLD_MAX] __uninitialized;
	u32 i;

	twheel_assert(n <= TWHEEL_HOLD_MAX);
	for (i = 0; i < n; i++) {
		hashes[i] = twheel_keys_hash(keys, *(const u64 *)(entries + i * size));
		heads[i] = twheel_keys_head(keys, hashes[i]);
		prefetch(heads[i]);
	}
	for (i = 0; i < n; i++) {
		u32 index = heads[i] ? READ_ONCE(*heads[i]) : 0;

		hints[i] = twheel_chunk_timer(keys->chunks, index);
		if (!hints[i])
			continue;
		prefetch(twheel_key_of(hints[i]));
		prefetchw(hints[i]);
	}
	for (i = 0; i < n; i++) {
		u64 key = *(const u64 *)(entries + i * size);
		struct twheel_timer *timer = hints[i];

		if (timer && READ_ONCE(*twheel_key_of(timer)) != key) {
			timer = follow(keys, READ_ONCE(timer->next), key, STEPS_MAX);
			prefetchw(timer);
		}
		hints[i] = timer ?: (void *)((unsigned long)hashes[i] << 1 | 1);
	}
}
