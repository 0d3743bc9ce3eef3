// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes at any distance, in every geometry, expire at their exact tick, and the wheel wakes
 * up seldom before that.
 */
#include "common.h"

/* If there are few levels: the base-2 logarithm of the most rounds of the last level. */
#define ROUND_BITS_MAX	4

/* Goes through all numbers of slots, with few levels and with all. Returns false at the end. */
static bool next_shape(u32 *slots, u32 *levels)
{
	if (*slots && *levels < all_levels(*slots)) {
		*levels = *levels < LOW_LEVELS_MAX ? *levels + 1 : all_levels(*slots);
		return true;
	}
	*slots = *slots ? 2 * *slots : TWHEEL_SLOTS_MIN;
	*levels = 1;
	return *slots <= TWHEEL_SLOTS_MAX;
}

/* Returns a distance in (2^k / 2, 2^k], often a power of two or next to one. */
static u64 distance(u32 k, u64 *seed)
{
	u64 top = 1ULL << k, r = rng_next(seed);

	switch (r % 8) {
	case 0:
		return top;
	case 1:
		return top > 2 ? top - 1 : top;
	case 2:
		return top / 2 + 1;
	default:
		return top - (r >> 3) % (top - top / 2);
	}
}

/*
 * Wakes up at each next_expiry until @node has come. On each level but the last, a bucket
 * has its turn near enough to the node's tick for the next lower level to reach that, so
 * the node moves at least one level down each time. That makes @levels wake-ups at most,
 * and one more for each full round on the last level.
 */
static void drive_one(struct twheel_wheel *w, struct twheel_node *node)
{
	u64 d = node->expires - w->clk, wakeups = 0;
	u64 rounds = range_bits(w) < 64 ? d >> range_bits(w) : 0;
	struct twheel_node *out;
	bool more;

	for (;;) {
		u64 next = w->next_expiry;

		expect(next <= node->expires, "next_expiry=%llu node=%llu %ux%u",
		       next, node->expires, w->slots, w->levels);
		expect(next > w->clk, "next_expiry=%llu clk=%llu", next, w->clk);
		wakeups++;
		if (!wheel_collect(w, next, &out, 1, &more)) {
			expect(!more, "two looks at one node");
			continue;
		}
		expect(out == node, "another");
		expect(w->clk == node->expires, "%llu came at %llu", node->expires,
		       w->clk);
		break;
	}
	expect(wakeups <= w->levels + rounds, "%llu wake-ups, d=%llu %ux%u", wakeups,
	       d, w->slots, w->levels);
	expect(w->next_expiry == TWHEEL_NEVER, "next_expiry=%llu", w->next_expiry);
}

/* Drives one node after the other, up to 2^(@k_max) ticks away. */
static void drive_from_anywhere(struct twheel_wheel *w, u32 k_max, u64 *seed)
{
	u32 k, i;

	for (k = 0; k <= k_max; k++) {
		for (i = 0; i < 64; i++) {
			u64 d = distance(k, seed);
			struct twheel_node node;

			/* Start anywhere, on a round tick, or as late as possible. */
			w->clk = rng_next(seed) >> (1 + rng_next(seed) % 63);
			if (i % 4 == 1)
				w->clk &= ~0ULL << k;
			if (i % 4 == 2)
				w->clk = TICK_MAX - d;
			node.expires = w->clk + d;
			twheel_wheel_enqueue(w, &node);
			drive_one(w, &node);
		}
	}
	expect_sound(w);
}

TEST(one_node_at_any_distance)
{
	u32 slots = 0, levels = 0;
	u64 seed = 4;

	while (next_shape(&slots, &levels)) {
		struct twheel_wheel *w = wheel_new(slots, levels, 0);

		drive_from_anywhere(w, min_t(u32, range_bits(w) + ROUND_BITS_MAX, 62), &seed);
		wheel_free(w);
	}
}

static int by_expires(const void *a, const void *b)
{
	u64 x = ((const struct twheel_node *)a)->expires;
	u64 y = ((const struct twheel_node *)b)->expires;

	return (x > y) - (x < y);
}

/*
 * Drives many nodes at once, from wake-up to wake-up. @k_max: log2 of the longest distance.
 */
static void drive_many(struct twheel_wheel *w, u32 k_max, u64 *seed)
{
	struct twheel_node nodes[160], *out[ARRAY_SIZE(nodes)];
	u32 i, came = 0;
	u64 from = w->clk, wakeups = 0;
	u64 rounds = 1ULL << (k_max - min_t(u32, k_max, range_bits(w)));

	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		nodes[i].expires = w->clk + distance((u32)(rng_next(seed) % (k_max + 1)),
						     seed);
	qsort(nodes, ARRAY_SIZE(nodes), sizeof(*nodes), by_expires);
	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		twheel_wheel_enqueue(w, &nodes[i]);
	expect_sound(w);

	while (w->next_expiry != TWHEEL_NEVER) {
		bool more;
		u32 n = wheel_collect(w, w->next_expiry, out, ARRAY_SIZE(out), &more);

		wakeups++;
		expect(!more, "more than there are");
		for (i = 0; i < n; i++)
			expect(out[i]->expires == w->clk, "%llu came at %llu, %ux%u",
			       out[i]->expires, w->clk, w->slots, w->levels);
		came += n;
		expect(came == ARRAY_SIZE(nodes) || nodes[came].expires > w->clk,
		       "%llu did not come by %llu", nodes[came].expires, w->clk);
	}
	expect(came == ARRAY_SIZE(nodes), "%u came", came);
	expect(wakeups <= ARRAY_SIZE(nodes) * (w->levels + rounds),
	       "%llu wake-ups from %llu", wakeups, from);
	expect_sound(w);
}

TEST(many_nodes_at_any_distance)
{
	u32 slots = 0, levels = 0, i;
	u64 seed = 5;

	while (next_shape(&slots, &levels)) {
		struct twheel_wheel *w = wheel_new(slots, levels, 0);

		for (i = 0; i < 60; i++) {
			w->clk = rng_next(&seed) >> (2 + rng_next(&seed) % 60);
			drive_many(w, min_t(u32, 2 + i, range_bits(w) + i % ROUND_BITS_MAX), &seed);
		}
		wheel_free(w);
	}
}
