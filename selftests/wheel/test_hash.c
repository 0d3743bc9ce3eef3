// SPDX-License-Identifier: GPL-2.0-only
/* How the stand-in for SipHash spreads the keys that programs choose: see userspace/shim. */
#include <string.h>

#include <linux/siphash.h>

#include "common.h"

#define KEYS	4096U
#define SECRETS	200

static u32 in_bucket[KEYS];

/*
 * How many others a look-up comes past, in thousandths and on average, if the keys from @first on
 * are @step apart and there are as many buckets as keys. By chance it is half of one.
 */
static u64 others_passed(u64 first, u64 step, const hsiphash_key_t *secret)
{
	u64 passed = 0;
	u32 i;

	memset(in_bucket, 0, sizeof(in_bucket));
	for (i = 0; i < KEYS; i++) {
		u64 key = first + i * step;

		passed += in_bucket[hsiphash_2u32((u32)key, (u32)(key >> 32), secret) % KEYS]++;
	}
	return passed * 1000 / KEYS;
}

/* Numbers of connections, addresses of objects, pairs of two numbers */
TEST(keys_at_equal_distances_are_spread)
{
	static const u64 steps[] = { 1, 2, 64, 4096, 1 << 20, 1ULL << 32, (1ULL << 32) + 1 };
	hsiphash_key_t secret;
	u64 seed = 1, passed;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		for (j = 0; j < SECRETS; j++) {
			secret.key[0] = rng_next(&seed);
			secret.key[1] = rng_next(&seed);
			passed = others_passed(rng_next(&seed) >> 20, steps[i], &secret);
			expect(passed < 1000, "step %#llx, secret %zu: %llu thousandths",
			       steps[i], j, passed);
		}
	}
}
