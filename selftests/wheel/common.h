/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers for the tests of the wheel: random numbers, and wheels in memory of exactly the
 * size asked for, so that the address sanitizer notices an access beyond its ends.
 */
#ifndef TWHEEL_COMMON_H
#define TWHEEL_COMMON_H

#include <stdlib.h>

#include <linux/log2.h>
#include <linux/minmax.h>

#include "tap.h"
#include "wheel.h"

/* The last tick that can come. */
#define TICK_MAX	(TWHEEL_NEVER - 1)

#define LOW_LEVELS_MAX	8U

/* Returns how many levels of @slots buckets reach all ticks. */
static inline u32 all_levels(u32 slots)
{
	return twheel_wheel_levels(slots, TWHEEL_NEVER);
}

/* Goes through all numbers of slots, starting from 0 x 0. Returns false at the end. */
static inline bool next_geometry(u32 *slots, u32 *levels)
{
	*slots = *slots ? 2 * *slots : TWHEEL_SLOTS_MIN;
	if (*slots > TWHEEL_SLOTS_MAX)
		return false;
	*levels = all_levels(*slots);
	return true;
}

/* The same with few levels, most of which do not reach far. */
static inline bool next_low_geometry(u32 *slots, u32 *levels)
{
	if (*slots && ++*levels <= min(LOW_LEVELS_MAX, all_levels(*slots)))
		return true;
	*slots = *slots ? 2 * *slots : TWHEEL_SLOTS_MIN;
	*levels = 1;
	return *slots <= TWHEEL_SLOTS_MAX;
}

static inline struct twheel_wheel *wheel_new(u32 slots, u32 levels, u64 clk)
{
	struct twheel_wheel *w = malloc(sizeof(*w));
	void *memory = calloc(1, twheel_wheel_size(slots, levels));

	if (!w || !memory)
		abort();
	twheel_wheel_init(w, slots, levels, clk, memory);
	return w;
}

/* There is one row on level 0, and there are two on each other level. */
static inline u32 nr_rows(const struct twheel_wheel *w)
{
	return 2u * w->levels - 1;
}

static inline u32 nr_buckets(const struct twheel_wheel *w)
{
	return w->slots * nr_rows(w);
}

/*
 * lead_row() returns the row of @level that nodes move down from, level_of() the level of
 * @row.
 */
static inline u32 lead_row(const struct twheel_wheel *w, u32 level)
{
	return level ? w->levels - 1 + level : 0;
}

static inline u32 level_of(const struct twheel_wheel *w, u32 row)
{
	return row < w->levels ? row : row - w->levels + 1;
}

/*
 * granularity_bits() returns the base-2 logarithm of the ticks that a bucket of @level
 * spans, range_bits() that of the ticks that the whole last level spans.
 */
static inline u32 granularity_bits(const struct twheel_wheel *w, u32 level)
{
	return level * (w->slot_bits - 1);
}

static inline u32 range_bits(const struct twheel_wheel *w)
{
	return granularity_bits(w, w->levels - 1) + w->slot_bits;
}

static inline void wheel_free(struct twheel_wheel *w)
{
	free(w->rows);
	free(w);
}

static inline void expect_sound(const struct twheel_wheel *w)
{
	const char *why = twheel_wheel_check(w);

	expect(!why, "%s (slots=%u levels=%u clk=%llu)", why, w->slots,
	       w->levels, w->clk);
}

/* How often nodes that came up were put back, in all wheels. */
static u64 nr_moves;

/*
 * Looks at up to @size nodes that come up by @now: stores those that are due in @expired,
 * and puts the others back. Returns how many were stored. *@more tells whether there are
 * nodes left to look at.
 */
static inline u32 wheel_collect(struct twheel_wheel *w, u64 now,
				struct twheel_node **expired, u32 size, bool *more)
{
	struct twheel_node *nodes[64];
	u32 seen = 0, n = 0, taken, i;

	do {
		taken = twheel_wheel_take(w, now, nodes,
					  min_t(u32, size - seen, ARRAY_SIZE(nodes)));
		seen += taken;
		for (i = 0; i < taken; i++) {
			if (nodes[i]->expires <= w->clk) {
				expired[n++] = nodes[i];
				continue;
			}
			twheel_wheel_enqueue(w, nodes[i]);
			nr_moves++;
		}
	} while (taken && seen < size);

	if (taken)
		twheel_wheel_take(w, now, NULL, 0);
	*more = w->next_expiry <= w->clk;
	return n;
}

/*
 * Returns whether there are nodes to look at when the wheel stands at @now. Expires none.
 */
static inline bool something_due(struct twheel_wheel *w, u64 now)
{
	bool more;

	wheel_collect(w, now, NULL, 0, &more);
	return more;
}

/*
 * splitmix64. It reaches all values, and yields the same ones everywhere. Wrapping around
 * is intended.
 */
static inline u64 rng_next(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

#endif /* TWHEEL_COMMON_H */
