// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The hash table of the keys that programs give to timers.
 *
 * A bucket is a list of timers, linked by their indices: so a link takes four bytes, and the
 * head of a bucket too. There are two buckets for each timer that the pool has had at once.
 *
 * The table grows by linear hashing (W. Litwin: Linear hashing: a new tool for file and table
 * addressing, VLDB 1980): buckets are split one at a time, in the order of their numbers, as
 * timers are added. So no insertion takes longer than others, and no memory is moved.
 *
 * Locking rules: the caller serialises all changes. A look-up without that lock may follow a
 * timer that is just moved to another bucket, and miss those behind it. So only a look-up with
 * the lock tells that no timer has a key. What a look-up without it finds may have left the
 * table since, which the caller sees once it has locked the timer.
 *
 * The kernel's rhashtable would do the same with 16 bytes more for each timer and two cache
 * misses more for each look-up; and it is not charged to a memory cgroup.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/random.h>

#include "chunk.h"
#include "debug.h"
#include "keys.h"

/* Buckets to begin with: enough for the timers of a chunk */
#define FIRST_HEADS	120
#define BUCKETS_PER_KEY	2
#define BUCKETS_MAX	BIT(31)
/* Buckets that an insertion splits at most. Memory may have been short before. */
#define SPLITS_MAX	4
/* Timers that a look-up without a lock follows: nearly all buckets have fewer than three. */
#define STEPS_MAX	32

void twheel_keys_choose_secret(struct twheel_keys *keys)
{
	get_random_bytes(&keys->secret, sizeof(keys->secret));
}

static u32 hash_key(const struct twheel_keys *keys, u64 key)
{
	return hsiphash_2u32(lower_32_bits(key), upper_32_bits(key), &keys->secret);
}

/* Where the head of @bucket is; or NULL without room for it. */
static u32 *head_of(const struct twheel_keys *keys, u32 bucket)
{
	return twheel_table_entry(&keys->heads, bucket, sizeof(u32));
}

/* Where the head of the bucket for @key is */
static u32 *head_for(const struct twheel_keys *keys, u64 key)
{
	u32 nr = READ_ONCE(keys->nr), mask = roundup_pow_of_two(nr) - 1;
	u32 bucket = hash_key(keys, key) & mask;

	/* Those from @nr on are not split off yet. */
	return head_of(keys, bucket < nr ? bucket : bucket & (mask >> 1));
}

void twheel_keys_init(struct twheel_keys *keys, const struct twheel_table *chunks,
		      spinlock_t *lock, struct twheel_quota *quota)
{
	keys->chunks = chunks;
	keys->nr = 1;
	twheel_table_init(&keys->heads, sizeof(u32), FIRST_HEADS, lock, quota);
}

void twheel_keys_destroy(struct twheel_keys *keys)
{
	twheel_table_destroy(&keys->heads);
}

int twheel_keys_reserve(struct twheel_keys *keys)
{
	/* Others may be splitting buckets, but not beyond what there is room for. */
	return twheel_table_reserve(&keys->heads, READ_ONCE(keys->nr));
}

/* How many buckets there should be for @n timers */
static u32 wanted(u32 n)
{
	return min_t(u64, (u64)n * BUCKETS_PER_KEY, BUCKETS_MAX);
}

bool twheel_keys_have_room(const struct twheel_keys *keys, u32 n)
{
	return keys->nr >= wanted(n) || head_of(keys, keys->nr);
}

/* Split one more bucket, if there is room for its head. */
static bool split(struct twheel_keys *keys)
{
	u32 nr = keys->nr, half = rounddown_pow_of_two(nr), mask = 2 * half - 1, index;
	u32 *from = head_of(keys, nr - half), *to = head_of(keys, nr);

	if (!to)
		return false;

	while ((index = *from)) {
		struct twheel_timer *timer = twheel_chunk_timer(keys->chunks, index);

		if ((hash_key(keys, *twheel_key_of(timer)) & mask) != nr) {
			from = &timer->next;
			continue;
		}
		WRITE_ONCE(*from, timer->next);
		WRITE_ONCE(timer->next, *to);
		WRITE_ONCE(*to, index);
	}
	WRITE_ONCE(keys->nr, nr + 1);
	return true;
}

void twheel_keys_insert(struct twheel_keys *keys, struct twheel_timer *timer, u64 key, u32 n)
{
	u32 *head = head_for(keys, key), splits = SPLITS_MAX;

	twheel_assert(!twheel_keys_find(keys, key));
	WRITE_ONCE(*twheel_key_of(timer), key);
	WRITE_ONCE(timer->next, *head);
	WRITE_ONCE(*head, twheel_index_of(timer));

	while (keys->nr < wanted(n) && splits-- && split(keys))
		;
}

void twheel_keys_remove(struct twheel_keys *keys, struct twheel_timer *timer)
{
	u32 *link = head_for(keys, *twheel_key_of(timer));
	struct twheel_timer *other;

	while ((other = twheel_chunk_timer(keys->chunks, *link)) != timer)
		link = &other->next;
	WRITE_ONCE(*link, timer->next);
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

struct twheel_timer *twheel_keys_find(const struct twheel_keys *keys, u64 key)
{
	const u32 *head = head_for(keys, key);

	return head ? follow(keys, *head, key, U32_MAX) : NULL;
}

struct twheel_timer *twheel_keys_guess(const struct twheel_keys *keys, u64 key)
{
	const u32 *head = head_for(keys, key);

	return head ? follow(keys, READ_ONCE(*head), key, STEPS_MAX) : NULL;
}

/* Each step needs what the one before has found: so take it for all of them. */
void twheel_keys_look_ahead(const struct twheel_keys *keys, const void *entries, size_t size,
			    u32 n, struct twheel_timer **timers)
{
	/*
	 * timers[i] has room for a head until the second loop stores the timer there. An array of
	 * its own would be on the stack, which many kernels clear. The kernel is compiled with
	 * -fno-strict-aliasing, so the same memory may hold pointers of either type.
	 */
	const u32 **heads = (const u32 **)timers;
	u32 i;

	for (i = 0; i < n; i++) {
		heads[i] = head_for(keys, *(const u64 *)(entries + i * size));
		prefetch(heads[i]);
	}
	for (i = 0; i < n; i++) {
		u32 index = heads[i] ? READ_ONCE(*heads[i]) : 0;

		timers[i] = twheel_chunk_timer(keys->chunks, index);
		if (!timers[i])
			continue;
		prefetch(twheel_key_of(timers[i]));
		prefetchw(timers[i]);
	}
	for (i = 0; i < n; i++) {
		u64 key = *(const u64 *)(entries + i * size);

		if (!timers[i] || READ_ONCE(*twheel_key_of(timers[i])) == key)
			continue;
		timers[i] = follow(keys, READ_ONCE(timers[i]->next), key, STEPS_MAX);
		prefetchw(timers[i]);
	}
}
