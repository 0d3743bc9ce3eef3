// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The hash table of the keys that programs give to timers.
 *
 * It grows by linear hashing (W. Litwin: Linear hashing: a new tool for file and table addressing,
 * VLDB 1980), as Documentation/design.md says.
 *
 * A key is in the bucket of its first hash, which is cheap; or if that bucket was full, in that of
 * its second hash, for which nobody can choose keys that collide. So where keys collide in the
 * first one, by chance or with intent, the second one spreads them, and no bucket is long.
 *
 * Locking rules: the last bits of a hash say which lock guards its bucket, however often that is
 * split. So under this lock it is the one that keys->nr says, however much that counts up meanwhile
 * for buckets of other locks. Whoever gives a key to a timer holds the lock of its first hash, and
 * if it is to be looked for with the second one, the lock of that, too. So only a look-up with
 * these locks tells that no timer has a key. What one without them finds may have left the table
 * since, which the caller sees once it has locked the timer.
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
/*
 * A bucket with so many timers is full: nearly all have fewer than three, and none by chance. While
 * many CPUs make timers faster than one of them splits buckets, it is up to four times as many.
 */
#define BUCKET_FULL	16
#define BUCKET_LAG_MAX	4U
/* Timers that a look-up without a lock follows */
#define STEPS_MAX	32

static u32 second_hash(const struct twheel_keys *keys, u64 key)
{
	return hsiphash_2u32(lower_32_bits(key), upper_32_bits(key), &keys->secret);
}

/* The lock of all buckets that keys with @hash may be in */
static spinlock_t *lock_of(const struct twheel_keys *keys, u32 hash)
{
	return &keys->locks[hash % TWHEEL_KEY_LOCKS].lock;
}

/* Where the head of @bucket is; or NULL without room for it. */
static u32 *head_of(const struct twheel_keys *keys, u32 bucket)
{
	if (bucket < FIRST_HEADS)
		return &keys->locks[bucket % TWHEEL_KEY_LOCKS].first[bucket / TWHEEL_KEY_LOCKS];
	return twheel_table_entry(&keys->heads, bucket - FIRST_HEADS, sizeof(u32), BLOCK_HEADS);
}

/*
 * Where the bucket of @hash begins. The answer stays right only while the lock of @hash is held;
 * without it, it may be NULL.
 */
static __always_inline u32 *bucket_of(const struct twheel_keys *keys, u32 hash)
{
	u32 mask = READ_ONCE(keys->mask), bucket = hash & mask;

	/* Those from keys->nr on are not split off yet. */
	return head_of(keys, bucket < READ_ONCE(keys->nr) ? bucket : bucket & (mask >> 1));
}

void twheel_keys_init(struct twheel_keys *keys, const struct twheel_table *chunks,
		      struct twheel_quota *quota)
{
	keys->chunks = chunks;
	keys->nr = TWHEEL_KEY_LOCKS;
	keys->mask = keys->nr - 1;
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
		get_random_bytes(keys->factors, sizeof(keys->factors));
		/* To multiply by an odd number loses nothing. */
		keys->factors[0] |= 1;
		keys->factors[1] |= 1;
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
	spinlock_t *lock = lock_of(keys, nr);
	u32 *from, *to;

	spin_lock(lock);
	from = head_of(keys, nr - half);
	to = head_of(keys, nr);
	while (to && (index = *from)) {
		struct twheel_timer *timer = twheel_chunk_timer(keys->chunks, index);
		u64 key = *twheel_key_of(timer);
		u32 hash = twheel_keys_hash(keys, key);

		/* If that has not brought it here, the second one has. */
		if (unlikely((hash & (half - 1)) != nr - half))
			hash = second_hash(keys, key);
		if ((hash & mask) != nr) {
			from = &timer->next;
			continue;
		}
		WRITE_ONCE(*from, timer->next);
		WRITE_ONCE(timer->next, *to);
		WRITE_ONCE(*to, index);
	}
	if (to) {
		WRITE_ONCE(keys->mask, mask);
		WRITE_ONCE(keys->nr, nr + 1);
	}
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

void twheel_keys_insert(struct twheel_keys *keys, struct twheel_timer *timer,
			const struct twheel_key_place *place, u64 key)
{
	lockdep_assert_held(place->lock);

	WRITE_ONCE(*twheel_key_of(timer), key);
	WRITE_ONCE(timer->next, *place->head);
	WRITE_ONCE(*place->head, twheel_index_of(timer));
}

/* What leads to the timer with @index in the bucket of @hash: what is 0 if it is not there. */
static u32 *find_link(const struct twheel_keys *keys, u32 hash, u32 index)
{
	u32 *link = bucket_of(keys, hash);

	lockdep_assert_held(lock_of(keys, hash));
	while (*link && *link != index)
		link = &twheel_chunk_timer(keys->chunks, *link)->next;
	return link;
}

void twheel_keys_remove(struct twheel_keys *keys, struct twheel_timer *timer)
{
	u64 key = *twheel_key_of(timer);
	u32 hash = twheel_keys_hash(keys, key), index = twheel_index_of(timer), *link;
	spinlock_t *lock = lock_of(keys, hash);

	spin_lock(lock);
	link = find_link(keys, hash, index);
	if (unlikely(!*link)) {
		spin_unlock(lock);
		hash = second_hash(keys, key);
		lock = lock_of(keys, hash);
		spin_lock(lock);
		link = find_link(keys, hash, index);
	}
	WRITE_ONCE(*link, timer->next);
	spin_unlock(lock);
}

/* Find @key from the timer with @index on, and count @steps down for each that has another one. */
static __always_inline struct twheel_timer *follow(const struct twheel_keys *keys, u32 index,
						   u64 key, u32 *steps)
{
	struct twheel_timer *timer;

	for (; index && *steps; index = READ_ONCE(timer->next), --*steps) {
		timer = twheel_chunk_timer(keys->chunks, index);
		/* Only without a lock: its chunk was freed. */
		if (!timer)
			return NULL;
		if (READ_ONCE(*twheel_key_of(timer)) == key)
			return timer;
	}
	return NULL;
}

static bool is_full(const struct twheel_keys *keys, u32 timers)
{
	return timers >= BUCKET_FULL &&
	       timers / BUCKET_FULL >= min(BUCKET_LAG_MAX,
					   READ_ONCE(keys->wanted) / READ_ONCE(keys->nr));
}

/* Take @lock and, unless it is NULL or the same one, @other. */
static void lock_place(struct twheel_key_place *place, spinlock_t *lock, spinlock_t *other)
{
	place->lock = lock;
	place->other = other == lock ? NULL : other;
	if (unlikely(place->other)) {
		spin_lock(min(lock, other));
		spin_lock_nested(max(lock, other), SINGLE_DEPTH_NESTING);
		/* For sparse, which cannot follow a lock that depends on a condition. */
		__release(lock);
		__release(other);
	} else {
		spin_lock(lock);
		__release(lock);
	}
}

struct twheel_timer *twheel_keys_find(struct twheel_keys *keys, u64 key,
				      struct twheel_key_place *place)
{
	u32 hash = twheel_keys_hash(keys, key), second = 0, steps, *head;
	struct twheel_timer *timer;
	bool both, full;

	for (;;) {
		both = READ_ONCE(keys->was_full);
		if (unlikely(both))
			second = second_hash(keys, key);
		lock_place(place, lock_of(keys, hash), both ? lock_of(keys, second) : NULL);

		steps = U32_MAX;
		place->head = bucket_of(keys, hash);
		timer = follow(keys, *place->head, key, &steps);
		full = is_full(keys, U32_MAX - steps);
		if (likely(timer || !(full || READ_ONCE(keys->was_full))))
			break;
		if (both) {
			lockdep_assert_held(lock_of(keys, second));
			head = bucket_of(keys, second);
			timer = follow(keys, *head, key, &steps);
			if (full)
				place->head = head;
			break;
		}
		WRITE_ONCE(keys->was_full, true);
		twheel_keys_unlock(place);
	}
	if (timer)
		twheel_keys_unlock(place);
	return timer;
}

struct twheel_timer *twheel_keys_guess(const struct twheel_keys *keys, u64 key)
{
	const u32 *head = bucket_of(keys, twheel_keys_hash(keys, key));
	u32 steps = STEPS_MAX;

	return head ? follow(keys, READ_ONCE(*head), key, &steps) : NULL;
}

/* Each step needs what the one before has found: so take it for all of them. */
void twheel_keys_look_ahead(const struct twheel_keys *keys, const void *entries, size_t size,
			    u32 n, struct twheel_timer **hints)
{
	const u32 *heads[TWHEEL_HOLD_MAX] __uninitialized;
	const u64 *firsts[TWHEEL_HOLD_MAX] __uninitialized;
	u32 i;

	twheel_assert(n <= TWHEEL_HOLD_MAX);
	for (i = 0; i < n; i++) {
		u64 key = *(const u64 *)(entries + i * size);

		heads[i] = bucket_of(keys, twheel_keys_hash(keys, key));
		prefetch(heads[i]);
	}
	for (i = 0; i < n; i++) {
		u32 index = heads[i] ? READ_ONCE(*heads[i]) : 0;

		hints[i] = twheel_chunk_timer(keys->chunks, index);
		if (!hints[i])
			continue;
		firsts[i] = twheel_key_of(hints[i]);
		prefetch(firsts[i]);
		prefetchw(hints[i]);
	}
	for (i = 0; i < n; i++, entries += size) {
		u64 key = *(const u64 *)entries;
		u32 steps = STEPS_MAX;

		if (likely(!hints[i] || READ_ONCE(*firsts[i]) == key))
			continue;
		hints[i] = follow(keys, READ_ONCE(hints[i]->next), key, &steps);
		prefetchw(hints[i]);
	}
}
