// SPDX-License-Identifier: GPL-2.0-only
/* How long the buckets of a table of keys are, in a context of this process. */
#include "process.c"

#undef ARRAY_SIZE
#include "tap.h"

#define KEYS	4096U
#define SECRETS	200

static u32 in_bucket[KEYS];

/* The same numbers each time */
static u64 any(void)
{
	return (u64)random() << 40 ^ (u64)random() << 20 ^ (u64)random();
}

/*
 * How many others a look-up comes past, in thousandths and on average, if the keys from @first on
 * are @step apart and there are as many buckets as keys. By chance it is half of one.
 */
static u64 others_passed(u64 first, u64 step, const struct twheel_keys *keys)
{
	u64 passed = 0;
	u32 i;

	memset(in_bucket, 0, sizeof(in_bucket));
	for (i = 0; i < KEYS; i++)
		passed += in_bucket[twheel_keys_hash(keys, first + i * step) % KEYS]++;
	return passed * 1000 / KEYS;
}

/* Numbers of connections, addresses of objects, pairs of two numbers */
TEST(keys_at_equal_distances_are_spread)
{
	static const u64 steps[] = {
		1, 2, 64, 4096, 1 << 20, 1ULL << 32, (1ULL << 32) + 1, 1ULL << 52,
	};
	struct twheel_keys keys = { };
	u64 passed;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		for (j = 0; j < SECRETS; j++) {
			keys.factors[0] = any() | 1;
			keys.factors[1] = any() | 1;
			passed = others_passed(any() >> 20, steps[i], &keys);
			expect(passed < 1000, "step %#llx, secret %zu: %llu thousandths",
			       steps[i], j, passed);
		}
	}
}

/* How many timers the longest bucket has */
static u32 longest(const struct twheel_keys *keys)
{
	u32 most = 0, bucket, index, n;

	rcu_read_lock();
	for (bucket = 0; bucket < keys->nr; bucket++) {
		n = 0;
		for (index = *head_of(keys, bucket); index; n++)
			index = twheel_chunk_timer(keys->chunks, index)->next;
		most = max(most, n);
	}
	rcu_read_unlock();
	return most;
}

static int arm(struct twheel_emb *emb, u64 key)
{
	struct twheel_arm request = { .handle = key, .expires = 3600ULL * 1000000000 };
	int ret = twheel_emb_ioctl(emb, TWHEEL_IOC_ARM, &request);

	return ret ?: (int)request.old_state;
}

static int cancel(struct twheel_emb *emb, u64 key)
{
	struct twheel_cancel request = { .handle = key };

	return twheel_emb_ioctl(emb, TWHEEL_IOC_CANCEL, &request);
}

/* Somebody has found out which keys collide in the first hash, and has only such ones. */
TEST(keys_that_collide_are_found_in_short_buckets)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_KEYED };
	struct twheel_emb *emb;
	struct twheel_keys *keys;
	u64 key;

	expect(twheel_emb_new(&emb, O_CLOEXEC, false, NULL) >= 0, "no context");
	expect(!twheel_emb_ioctl(emb, TWHEEL_IOC_CONFIG, &config), "no keys");
	expect(arm(emb, 1) == TWHEEL_STATE_NONE && !cancel(emb, 1), "no timer");
	/* The table has its secrets, and is empty: with these the hash of a small key is 0. */
	keys = &emb->ctx->pool.keys;
	keys->factors[0] = 1;
	keys->factors[1] = 1;

	for (key = 0; key < KEYS; key++)
		expect(arm(emb, key) == TWHEEL_STATE_NONE, "key %llu was there", key);
	expect(longest(keys) < 32, "%u timers in a bucket", longest(keys));
	for (key = 0; key < KEYS; key++)
		expect(arm(emb, key) == TWHEEL_STATE_PENDING, "key %llu is not found", key);
	for (key = 0; key < KEYS; key += 2)
		expect(!cancel(emb, key), "key %llu is not cancelled", key);
	for (key = 0; key < KEYS; key++)
		expect(cancel(emb, key) == (key % 2 ? 0 : -ENOENT), "key %llu", key);
	expect(!longest(keys), "a timer was left");
	twheel_emb_destroy(emb, false);
}
