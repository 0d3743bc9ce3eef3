// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the contract of each function of the wheel. What holds after each call, whatever was
 * called before, is for the model: see model.c. So are most of twheel_wheel_dequeue(), _forward()
 * and _rewind(), nodes that are overdue or postponed, calls while a collection is half done, and
 * that what is in one queue comes first in, first out.
 */
#include "common.h"

/* The most nodes that one call of collect() here expires, and the most that it looks at. */
#define ROOM_MAX	64
#define LOOKS_MAX	100000

/* A wheel that is small enough to follow: granularities 1, 2 and 4, range 16. */
static struct twheel_wheel *small_wheel(u64 clk)
{
	return wheel_new(4, 3, clk);
}

static void enqueue(struct twheel_wheel *w, struct twheel_node *node, u64 expires)
{
	node->expires = expires;
	twheel_wheel_enqueue(w, node);
	expect_sound(w);
}

static void dequeue(struct twheel_wheel *w, struct twheel_node *node)
{
	twheel_wheel_dequeue(w, node);
	expect_sound(w);
}

/* Returns how many rows have a bucket in work. */
static u32 nr_in_work(const struct twheel_wheel *w)
{
	u32 row, n = 0;

	for (row = 0; row < nr_rows(w); row++)
		n += !list_empty(&w->rows[row].visit);
	return n;
}

/* Turns to @now and expires all nodes that are due, up to ROOM_MAX. */
static u32 collect(struct twheel_wheel *w, u64 now, struct twheel_node **out)
{
	u32 i, n = 0, looks = 0;
	bool more;

	do {
		n += wheel_collect(w, now, out + n, ROOM_MAX - n, &more);
		looks += ROOM_MAX;
		expect(!more || n < ROOM_MAX, "more than %u nodes", ROOM_MAX);
		expect(!more || looks < LOOKS_MAX, "%u looks", looks);
	} while (more);
	expect(w->clk == now, "clk=%llu, not %llu", w->clk, now);
	expect_sound(w);
	for (i = 0; i < n; i++)
		expect(out[i]->expires <= w->clk, "%llu expired at %llu",
		       out[i]->expires, w->clk);
	return n;
}

/* Expects that @node, which is alone in @w, expires at @tick and not a tick earlier. */
static void expect_expiry(struct twheel_wheel *w, struct twheel_node *node, u64 tick)
{
	struct twheel_node *out[ROOM_MAX];

	expect(w->nr_nodes == 1, "%llu nodes", w->nr_nodes);
	expect(w->next_expiry <= tick, "next_expiry %llu, node %llu",
	       w->next_expiry, tick);
	if (tick - 1 > w->clk)
		expect(!collect(w, tick - 1, out), "%llu came at %llu", tick, w->clk);
	expect(collect(w, tick, out) == 1, "%llu did not come", tick);
	expect(out[0] == node, "another node");
	expect(!w->nr_nodes, "%llu nodes left", w->nr_nodes);
	expect(w->next_expiry == TWHEEL_NEVER, "next_expiry %llu", w->next_expiry);
}

TEST(init_makes_an_empty_wheel)
{
	u32 slots = 0, all = 0, levels;

	while (next_geometry(&slots, &all)) {
		for (levels = 1; levels <= all; levels++) {
			struct twheel_wheel *w = wheel_new(slots, levels, 12345);
			u32 bits = w->slot_bits, rows = nr_rows(w), row;
			size_t size = rows * sizeof(struct twheel_row) +
				      rows * slots * 2 * sizeof(void *) +
				      (rows * slots + 63) / 64 * 8;
			bool more = true;

			expect(w->slots == slots && slots == 1U << bits, "slots=%u bits=%u",
			       slots, bits);
			expect(granularity_bits(w, levels - 1) < 64, "levels=%u", levels);
			expect(w->levels == levels, "levels=%u of %u", w->levels, levels);
			expect(twheel_wheel_size(slots, levels) == size,
			       "%zu bytes for %ux%u, not %zu",
			       twheel_wheel_size(slots, levels), slots, levels, size);
			expect(w->clk == 12345, "clk=%llu", w->clk);
			expect(!w->nr_nodes && !nr_in_work(w), "not empty");
			expect(w->next_expiry == TWHEEL_NEVER, "next_expiry=%llu",
			       w->next_expiry);
			for (row = 0; row < rows; row++)
				expect(w->rows[row].turn == TWHEEL_NEVER, "row %u: %llu",
				       row, w->rows[row].turn);
			expect_sound(w);

			expect(!wheel_collect(w, 99999, NULL, 8, &more), "a node");
			expect(!more, "nothing can be more");
			expect(w->clk == 99999, "clk=%llu", w->clk);
			expect(w->next_expiry == TWHEEL_NEVER, "next_expiry=%llu",
			       w->next_expiry);
			wheel_free(w);
		}
	}
}

/*
 * There are just as many levels as it takes for the last one to tell all distances apart.
 */
TEST(levels_reach_the_range)
{
	u32 slots = 0, all = 0, k, i;

	while (next_geometry(&slots, &all)) {
		u32 bits = (u32)ilog2(slots) - 1;

		for (k = 0; k < 64; k++) {
			for (i = 0; i < 3; i++) {
				u64 range = (1ULL << k) - 1 + i;
				u32 levels = twheel_wheel_levels(slots, range);

				expect(levels && levels <= all, "%u levels of %u", levels, all);
				expect(range >> (levels - 1) * bits < slots,
				       "%u levels of %u slots for %llu", levels, slots, range);
				expect(levels == 1 || range >> (levels - 2) * bits >= slots,
				       "%u levels of %u slots for %llu", levels, slots, range);
			}
		}
		expect(twheel_wheel_levels(slots, 0) == 1, "for nothing");
		/* All of these levels can be used. */
		expect((all - 1) * bits < 64, "%u levels of %u slots", all, slots);
	}
}

/* With the levels that a range asks for, no bucket comes up for another round. */
TEST(levels_leave_no_rounds)
{
	struct twheel_node node = { 0 }, *out[ROOM_MAX];
	u32 slots = 0, all = 0, k, i;
	u64 seed = 12;

	while (next_geometry(&slots, &all)) {
		for (k = 2; k < 62; k++) {
			u64 range = (1ULL << k) - k % 3;
			u32 levels = twheel_wheel_levels(slots, range);

			for (i = 0; i < 20; i++) {
				struct twheel_wheel *w =
					wheel_new(slots, levels, rng_next(&seed) >> (2 + k % 40));
				u64 tick = w->clk + range - i % 2;

				nr_moves = 0;
				enqueue(w, &node, tick);
				expect(!collect(w, tick - 1, out), "early");
				expect(collect(w, tick, out) == 1, "late");
				expect(nr_moves < levels, "%llu moves, %ux%u, %llu", nr_moves,
				       slots, levels, range);
				wheel_free(w);
			}
		}
	}
}

/* The first and last bucket of each level, and the bitmaps, lie within the memory. */
TEST(memory_holds_all_buckets)
{
	u32 slots = 0, levels = 0;

	while (next_geometry(&slots, &levels)) {
		struct twheel_wheel *w = wheel_new(slots, levels, 0);
		u32 i, n = nr_buckets(w);
		struct twheel_node *nodes = calloc(n, sizeof(*nodes));
		struct twheel_node *out;
		u32 seen = 0;
		bool more = true;

		if (!nodes)
			abort();
		for (i = 0; i < n; i++) {
			u32 row = i / slots, shift = granularity_bits(w, level_of(w, row));
			u64 hand = i % slots ? i % slots : slots;

			/* The top level of a full wheel has only a few buckets. */
			if (shift && hand > U64_MAX >> shift)
				continue;
			nodes[i].expires = (hand << shift) + (row >= w->levels);
			twheel_wheel_enqueue(w, &nodes[i]);
		}
		expect_sound(w);
		while (more)
			if (wheel_collect(w, TICK_MAX, &out, 1, &more))
				seen++;
		for (i = 0; i < n; i++)
			seen -= !!nodes[i].expires;
		expect(!seen, "lost %d", -(int)seen);
		expect(!w->nr_nodes, "%llu left", w->nr_nodes);
		expect_sound(w);
		free(nodes);
		wheel_free(w);
	}
}

/* Returns the bucket of @node, which is alone in it. */
static u32 bucket_of(const struct twheel_wheel *w, const struct twheel_node *node)
{
	return (u32)(node->entry.prev - w->buckets);
}

/* The lowest level whose buckets stand for as many ticks as the distance, wherever hands are. */
TEST(enqueue_chooses_the_lowest_level)
{
	struct twheel_node node = { 0 };
	u32 slots = 0, levels = 0, level, far;

	while (next_low_geometry(&slots, &levels)) {
		struct twheel_wheel *w = wheel_new(slots, levels, 1000000);

		for (level = 0; level < w->levels; level++) {
			u64 reach = w->clk + ((u64)slots << granularity_bits(w, level));

			for (far = 0; far < 2 && range_bits(w) < 63; far++) {
				u32 want = far ? level + 1 : level, got;

				if (want == w->levels)
					want--;
				enqueue(w, &node, reach + far);
				got = level_of(w, bucket_of(w, &node) / slots);
				expect(got == want, "level %u, not %u, for %llu + %u",
				       got, want, reach, far);
				dequeue(w, &node);
			}
		}
		wheel_free(w);
	}
}

/*
 * A node that is due at the first tick of a bucket of its level waits there for its turn:
 * it is looked at once, and the wheel wakes up once for it. Other nodes move down.
 */
TEST(on_the_grid_nothing_moves)
{
	struct twheel_node node = { 0 }, *out[ROOM_MAX];
	u32 slots = 0, levels = 0, level, off;

	while (next_low_geometry(&slots, &levels)) {
		for (level = 1; level < levels; level++) {
			for (off = 0; off < 2; off++) {
				struct twheel_wheel *w = wheel_new(slots, levels, 77777);
				u32 bits, wakeups = 0;
				u64 tick;

				if (level >= w->levels || range_bits(w) > 62) {
					wheel_free(w);
					continue;
				}
				/* The distance is longer than the level below reaches. */
				bits = granularity_bits(w, level);
				tick = ((w->clk >> bits) + slots) << bits;
				enqueue(w, &node, tick + off);
				nr_moves = 0;
				do {
					wakeups++;
				} while (!collect(w, w->next_expiry, out));
				expect(w->clk == tick + off, "at %llu", w->clk);
				expect((wakeups > 1) == off && (nr_moves > 0) == off,
				       "%u wake-ups, %llu moves (%ux%u, level %u)",
				       wakeups, nr_moves, slots, levels, level);
				wheel_free(w);
			}
		}
	}
}

/* Enqueues nodes in the lead row of @level, and pushes them back far beyond its range. */
static void enqueue_to_be_moved(struct twheel_wheel *w, u32 level,
				struct twheel_node *nodes, u32 n, u64 expires)
{
	u32 i;

	for (i = 0; i < n; i++) {
		nodes[i].expires = expires;
		twheel_wheel_enqueue(w, &nodes[i]);
		expect(i || bucket_of(w, nodes) / w->slots == lead_row(w, level),
		       "not on level %u at %llu", level, w->clk);
		nodes[i].expires += 1 << 20;
	}
}

/*
 * Nodes that are due must not wait for the many that only move down, as long as the lead of
 * these lasts. While a large bucket of each upper level is worked off, a few nodes a call,
 * a node is due at every tick, and comes with the first call there.
 */
TEST(low_levels_come_first)
{
	/*
	 * Granularities are 8, 64 and 512. On each level the bucket that begins at 2048 is
	 * used.
	 */
	static const u64 until = 2048, turns[] = { 0, until - 4, until - 32, until - 256 };
	static struct twheel_node many[4][900];
	struct twheel_wheel *w = wheel_new(16, 4, 0);
	struct twheel_node probe, *out[4];
	bool more;
	u32 rest;
	u64 now;

	nr_moves = 0;
	enqueue_to_be_moved(w, 3, many[3], 900, until + 1);
	for (now = 1; now < until; now++) {
		u32 in_work = 0U + (now >= turns[1]) + (now >= turns[2]) + (now >= turns[3]);
		u64 before = nr_moves;

		enqueue(w, &probe, now);
		expect(wheel_collect(w, now, out, 4, &more) == 1 && out[0] == &probe,
		       "%llu waits", now);
		expect(w->clk == now, "clk=%llu, not %llu", w->clk, now);
		/* The rest of the room in this call is for nodes that move down. */
		expect(nr_moves - before == (in_work ? 3 : 0), "%llu moves at %llu",
		       nr_moves - before, now);
		expect(nr_in_work(w) == in_work && more == !!in_work,
		       "%u in work at %llu, not %u", nr_in_work(w), now, in_work);
		expect_sound(w);

		if (now == turns[3] - 1)
			enqueue_to_be_moved(w, 2, many[2], 900, until + 1);
		if (now == turns[2] - 1)
			enqueue_to_be_moved(w, 1, many[1], 900, until + 1);
	}

	/* At the end of the lead the nodes that move down come first. */
	enqueue(w, &probe, until);
	for (rest = 3 * ARRAY_SIZE(many[0]) - (u32)nr_moves; rest; rest--) {
		expect(w->clk == until - 1, "at %llu with %u left", w->clk, rest);
		expect(!wheel_collect(w, until + 100, out, 1, &more) && more,
		       "another came, with %u left", rest);
		expect_sound(w);
	}
	expect(twheel_wheel_take(w, until + 100, out, 4) == 1 && out[0] == &probe,
	       "another came");
	expect(w->clk == until, "at %llu", w->clk);
	wheel_free(w);
}

/* Among nodes that move down, those come first whose lead ends first. */
TEST(the_end_of_the_lead_says_what_comes_first)
{
	/* The buckets are in work together from 1956 on. */
	static const u64 begin[] = { 0, 1960, 1984, 2048 };
	static struct twheel_node many[4][20];
	struct twheel_wheel *w = wheel_new(16, 4, 0);
	struct twheel_node *out[1];
	u32 level, i;

	for (level = 3; level; level--) {
		enqueue_to_be_moved(w, level, many[level], 20, begin[level] + 1);
		something_due(w, level > 2 ? 1800 : level > 1 ? 1940 : 1956);
	}
	expect(nr_in_work(w) == 3 && w->clk == 1956, "%u at %llu", nr_in_work(w), w->clk);
	for (level = 1; level < 4; level++) {
		for (i = 0; i < 20; i++) {
			expect(twheel_wheel_take(w, 3000, out, 1) == 1, "none");
			expect(out[0] >= many[level] && out[0] < many[level] + 20,
			       "not of level %u", level);
			expect(w->clk == begin[level] - 1, "at %llu", w->clk);
			twheel_wheel_enqueue(w, out[0]);
			expect_sound(w);
		}
	}
	expect(!twheel_wheel_take(w, 3000, out, 1) && w->clk == 3000, "at %llu", w->clk);
	wheel_free(w);
}

/* If all nodes are due they come at once, on level 0 and, on its grid, on upper levels. */
TEST(collect_fills_its_room_exactly)
{
	static const u64 ticks[] = { 3, 8, 16 };
	struct twheel_node nodes[8], *out[ROOM_MAX];
	u32 size, i, k;
	bool more;

	for (k = 0; k < ARRAY_SIZE(ticks); k++) {
		for (size = 0; size <= 9; size++) {
			struct twheel_wheel *w = small_wheel(0);
			u32 n;

			for (i = 0; i < 8; i++)
				enqueue(w, &nodes[i], ticks[k]);
			n = wheel_collect(w, 30, out, size, &more);
			expect(n == (size < 8 ? size : 8), "%u into %u", n, size);
			expect(more == (size < 8), "size=%u more=%d", size, more);
			expect(w->nr_nodes == 8 - n, "%llu left", w->nr_nodes);
			/* The clock stays until the collection is complete. */
			expect(w->clk == (more ? ticks[k] : 30), "clk=%llu", w->clk);
			wheel_free(w);
		}
	}
}

/* A call without room returns no nodes: the clock goes on to where there is one. */
TEST(take_into_no_room)
{
	struct twheel_node node = { 0 };
	struct twheel_wheel *w = small_wheel(0);

	expect(!twheel_wheel_take(w, 2, NULL, 0) && w->clk == 2, "clk=%llu", w->clk);
	enqueue(w, &node, 5);
	expect(!twheel_wheel_take(w, 4, NULL, 0) && w->clk == 4, "clk=%llu", w->clk);
	expect(w->next_expiry == 5, "next_expiry=%llu", w->next_expiry);
	expect(!twheel_wheel_take(w, 9, NULL, 0) && w->clk == 5, "clk=%llu", w->clk);
	expect(w->next_expiry == 5 && w->nr_nodes == 1, "next_expiry=%llu", w->next_expiry);
	expect_sound(w);
	wheel_free(w);
}

/* A node that moves down does so at the turn of its bucket, once for each level. */
TEST(nodes_move_ahead_of_time)
{
	struct twheel_node nodes[3], *out[ROOM_MAX];
	struct twheel_wheel *w = wheel_new(8, 3, 0);
	u32 i;

	/* All nodes are on level 2, which has granularity 16 and lead 8. */
	for (i = 0; i < 3; i++)
		enqueue(w, &nodes[i], 40 + 20 * i);
	dequeue(w, &nodes[2]);
	nr_moves = 0;
	expect(!collect(w, 23, out), "came");
	expect(!nr_moves, "%llu", nr_moves);
	expect(!collect(w, 24, out), "came");
	expect(nr_moves == 1, "%llu", nr_moves);
	/* One node expires from level 1, the other moves down from there. */
	expect(collect(w, 40, out) == 1, "did not come");
	expect(nr_moves == 2, "%llu", nr_moves);
	expect(collect(w, 1000, out) == 1, "did not come");
	expect(nr_moves == 2, "%llu", nr_moves);
	wheel_free(w);
}

/*
 * After a collection or after turning back, next_expiry is the exact tick at which there is
 * something to look at. At all times it is a bound for all nodes.
 */
TEST(next_expiry_is_exact_after_turns)
{
	struct twheel_node nodes[24], *out[ROOM_MAX];
	u64 seed = 1;
	u32 round, i;

	for (round = 0; round < 10000; round++) {
		u32 slots = 4U << rng_next(&seed) % 7, all = all_levels(slots);
		/*
		 * With few levels there are rounds on the last one. The nodes are then not
		 * far away.
		 */
		u32 levels = round & 2 ? all : 1 + (u32)(rng_next(&seed) % 4);
		u32 bits = levels == all ? 62 : (levels - 1) * ((u32)ilog2(slots) - 1) + 6;
		struct twheel_wheel *w = wheel_new(slots, levels,
						   rng_next(&seed) >> (1 + rng_next(&seed) % 60));
		u32 n = 1 + (u32)(rng_next(&seed) % ARRAY_SIZE(nodes));
		u64 next;

		for (i = 0; i < n; i++) {
			nodes[i].expires = w->clk + 1 +
					   (rng_next(&seed) >> (64 - rng_next(&seed) % bits - 1));
			twheel_wheel_enqueue(w, &nodes[i]);
			expect(w->next_expiry <= nodes[i].expires,
			       "next_expiry=%llu", w->next_expiry);
		}
		for (i = 0; i < n; i++)
			if (!(rng_next(&seed) % 4))
				dequeue(w, &nodes[i]);
		collect(w, w->clk + rng_next(&seed) % (2 * slots), out);
		if (round % 2 && w->clk) {
			u64 back = levels == all ? w->clk : min_t(u64, w->clk, 1ULL << bits);

			twheel_wheel_rewind(w, w->clk - 1 - rng_next(&seed) % back);
			expect_sound(w);
		}
		next = w->next_expiry;
		expect((next == TWHEEL_NEVER) == !w->nr_nodes, "next_expiry=%llu", next);
		if (next != TWHEEL_NEVER) {
			expect(next > w->clk, "next_expiry=%llu", next);
			expect(!something_due(w, next - 1), "before %llu", next);
			expect(w->next_expiry == next, "it changed");
			expect(something_due(w, next), "nothing at %llu", next);
		}
		collect(w, levels == all ? TICK_MAX : w->clk + (2ULL << bits), out);
		wheel_free(w);
	}
}

/* A heartbeat: the node is pushed back again and again, and never leaves the wheel. */
TEST(postponed_for_ever)
{
	struct twheel_node node = { 0 }, *out[ROOM_MAX];
	u32 slots = 0, levels = 0;

	while (next_geometry(&slots, &levels)) {
		struct twheel_wheel *w = wheel_new(slots, levels, 0);
		u64 now, looks = 0;

		enqueue(w, &node, 1000);
		for (now = 0; now < 20000; now += 37) {
			node.expires = now + 1000;
			if (now < w->next_expiry)
				continue;
			expect(!collect(w, now, out), "at %llu", now);
			looks++;
		}
		/* Every 963 ticks or later its old tick comes, level by level. */
		expect(looks <= 21 * w->levels, "%llu looks, %ux%u", looks, slots,
		       levels);
		expect_expiry(w, &node, node.expires);
		wheel_free(w);
	}
}

/* Returns the tick with the most trailing zeros that the slack allows. */
static u64 roundest(u64 expires, u64 slack)
{
	u64 i, best = expires;

	for (i = 0; i <= slack && expires + i >= expires && expires + i <= TICK_MAX; i++) {
		u64 tick = expires + i;

		if (!tick)
			return tick;
		if (!best || __builtin_ctzll(tick) > __builtin_ctzll(best))
			best = tick;
	}
	return best;
}

static void expect_roundest(u64 expires, u64 slack)
{
	u64 tick = twheel_wheel_coalesce(expires, slack);

	expect(tick == roundest(expires, slack), "%llu + %llu: %llu, not %llu",
	       expires, slack, tick, roundest(expires, slack));
}

TEST(coalesce_finds_the_roundest_tick)
{
	u64 expires, slack, seed = 2;
	u32 k;

	for (expires = 0; expires < 300; expires++)
		for (slack = 0; slack < 300; slack++)
			expect_roundest(expires, slack);
	for (k = 1; k < 64; k++)
		for (expires = (1ULL << k) - 9; expires != (1ULL << k) + 9; expires++)
			for (slack = 0; slack < 20 && expires <= TICK_MAX; slack++)
				expect_roundest(expires, slack);
	for (expires = TICK_MAX - 300; expires <= TICK_MAX; expires++)
		for (slack = 0; slack < 310; slack++)
			expect_roundest(expires, slack);
	for (k = 0; k < 20000; k++)
		expect_roundest(rng_next(&seed) >> (rng_next(&seed) % 64),
				rng_next(&seed) % 200);
}

/* If slacks are too long to try every tick, check the property that defines the result. */
TEST(coalesce_with_huge_slack)
{
	u64 seed = 3;
	u32 i;

	for (i = 0; i < 200000; i++) {
		u64 expires = rng_next(&seed) >> (rng_next(&seed) % 64);
		u64 slack = rng_next(&seed) >> (rng_next(&seed) % 64);
		u64 last = expires + slack < expires ? TICK_MAX : expires + slack;
		u64 tick, unit;

		if (!expires || expires > TICK_MAX)
			continue;
		tick = twheel_wheel_coalesce(expires, slack);
		expect(tick >= expires && tick <= last, "%llu of %llu + %llu", tick,
		       expires, slack);
		/* There is no multiple of the next rounder unit in between. */
		unit = (tick & -tick) * 2;
		expect(!unit || last / unit == (expires - 1) / unit,
		       "%llu of %llu + %llu", tick, expires, slack);
	}
	expect(twheel_wheel_coalesce(1, U64_MAX) == 1ULL << 63, "not the half");
	expect(twheel_wheel_coalesce(TICK_MAX, U64_MAX) == TICK_MAX, "not the top");
	expect(!twheel_wheel_coalesce(0, U64_MAX), "not zero");
}

/**
 * struct ordered - a node, and what the test expects of it
 * @node:	the node, which is in the wheel while @queued
 * @queued:	it was enqueued, and neither dequeued nor expired since
 * @must:	the tick at which it has to come: its own, or the one at which the wheel
 *		stood if it was overdue when it was enqueued
 */
struct ordered {
	struct twheel_node	node;
	bool			queued;
	u64			must;
};

static void enqueue_ordered(struct twheel_wheel *w, struct ordered *item, u64 expires)
{
	item->queued = true;
	item->must = expires > w->clk ? expires : w->clk;
	item->node.expires = expires;
	twheel_wheel_enqueue(w, &item->node);
}

/* Returns up to 2^(@bits) ticks, with all magnitudes equally likely. */
static u64 distance(u64 *seed, u32 bits)
{
	return rng_next(seed) >> (63 - rng_next(seed) % bits);
}

/*
 * Adds @item on the way to @now or, one in four, overdue; or removes it, or pushes it back.
 */
static void disturb(struct twheel_wheel *w, struct ordered *item, u64 now, u32 bits, u64 *seed)
{
	u64 how = rng_next(seed) % 4, early = rng_next(seed) % 8;

	if (!item->queued && how) {
		enqueue_ordered(w, item, w->clk + rng_next(seed) % (now - w->clk + 1));
	} else if (!item->queued) {
		enqueue_ordered(w, item, w->clk - min_t(u64, w->clk, early));
	} else if (how == 1) {
		twheel_wheel_dequeue(w, &item->node);
		item->queued = false;
	} else if (how > 1) {
		item->node.expires += distance(seed, how == 2 ? bits : 2);
		if (item->must < item->node.expires)
			item->must = item->node.expires;
	}
}

/*
 * Jumps past @n nodes that are due at any tick of the next 2^(@bits), and takes them a few
 * at a time. Nodes on their way down are put back before the next call.
 */
static void expect_order(struct twheel_wheel *w, struct ordered *items, u32 n, u32 bits,
			 u32 disturbed, u64 *seed)
{
	u64 now = w->clk + (2ULL << bits), last = w->clk, left = 20 * n;
	struct twheel_node *out[4];
	u32 i, k;

	for (i = 0; i < n; i++)
		enqueue_ordered(w, &items[i], w->clk + 1 + distance(seed, bits));
	expect_sound(w);

	while ((k = twheel_wheel_take(w, now, out, 1 + (u32)(rng_next(seed) % 4)))) {
		u64 clk = w->clk;

		expect(clk >= last && clk <= now, "from %llu to %llu", last, clk);
		last = clk;
		while (k--) {
			struct ordered *item = container_of(out[k], struct ordered, node);

			expect(item->queued, "one that is not there");
			if (out[k]->expires > clk) {
				twheel_wheel_enqueue(w, out[k]);
				continue;
			}
			expect(item->must == clk, "%llu (%llu) came at %llu",
			       item->node.expires, item->must, clk);
			item->queued = false;
		}
		for (i = 0; i < disturbed && left; i++, left--)
			disturb(w, &items[rng_next(seed) % n], now, bits, seed);
		if (!(rng_next(seed) % (1 + w->slots / 8)))
			expect_sound(w);
	}
	expect(w->clk == now, "clk=%llu, not %llu", w->clk, now);
	for (i = 0; i < n; i++) {
		expect(!items[i].queued || items[i].must > now, "%llu left behind",
		       items[i].must);
		if (items[i].queued)
			twheel_wheel_dequeue(w, &items[i].node);
		items[i].queued = false;
	}
	expect(!w->nr_nodes, "%llu nodes", w->nr_nodes);
}

/* The same if nodes have to wait for some rounds. */
TEST(a_jump_over_rounds_takes_them_in_order)
{
	struct ordered items[50] = { 0 };
	u32 slots, levels, disturbed, i;
	u64 seed = 14;

	for (slots = 4; slots <= 16; slots *= 2) {
		for (levels = 1; levels <= 4; levels++) {
			for (disturbed = 0; disturbed < 3; disturbed++) {
				struct twheel_wheel *w =
					wheel_new(slots, levels, rng_next(&seed) >> 20);

				for (i = 0; i < 10; i++)
					expect_order(w, items, 50, range_bits(w) + i % 5,
						     disturbed, &seed);
				wheel_free(w);
			}
		}
	}
}

/*
 * Nodes that are pushed back a little whenever they come up do not come before those that
 * are due earlier. Even if the wheel is late they come up only once for each of their
 * ticks.
 */
TEST(what_is_put_back_comes_after_what_was_due_before)
{
	static const u32 steps[] = { 1, 2, 7, 31, 40, 70 };
	static struct twheel_node pests[100];
	struct twheel_node due[20], *out[8];
	u32 slots = 0, levels = 0, k, i, n;

	while (next_geometry(&slots, &levels)) {
		for (k = 0; k < ARRAY_SIZE(steps); k++) {
			struct twheel_wheel *w = wheel_new(slots, levels, 1000);
			u32 came = 0;
			u64 looks = 0;

			for (i = 0; i < ARRAY_SIZE(pests); i++)
				enqueue(w, &pests[i], 1001);
			for (i = 0; i < ARRAY_SIZE(due); i++)
				enqueue(w, &due[i], 1001 + i * (i + 3));
			while (came < ARRAY_SIZE(due)) {
				n = twheel_wheel_take(w, 1000000, out, ARRAY_SIZE(out));
				expect(n, "none came");
				for (i = 0; i < n; i++) {
					bool pest = out[i] >= pests &&
						    out[i] < pests + ARRAY_SIZE(pests);

					looks += pest;
					if (out[i]->expires > w->clk) {
						twheel_wheel_enqueue(w, out[i]);
					} else if (pest) {
						out[i]->expires = w->clk + steps[k];
						twheel_wheel_enqueue(w, out[i]);
					} else {
						expect(out[i] == &due[came], "not in order");
						expect(out[i]->expires == w->clk,
						       "%llu came at %llu", out[i]->expires,
						       w->clk);
						came++;
					}
				}
				if (n == 1)
					expect_sound(w);
			}
			/*
			 * They come up once for each step, or once for each level if it is
			 * a long one.
			 */
			n = (u32)(w->clk - 1000) / steps[k] + 1;
			expect(looks <= ARRAY_SIZE(pests) * n * (steps[k] < slots ? 1 : levels),
			       "%llu looks in %llu ticks", looks, w->clk - 1000);
			wheel_free(w);
		}
	}
}

/* A sound wheel, in which check() has to find what was broken. */
static struct twheel_node sound[4];

static struct twheel_wheel *sound_wheel(void)
{
	struct twheel_wheel *w = small_wheel(1);

	/* Two nodes are in one bucket of level 1, one is on level 2, and one on level 0. */
	enqueue(w, &sound[0], 9);
	enqueue(w, &sound[1], 9);
	enqueue(w, &sound[2], 40);
	enqueue(w, &sound[3], 3);
	return w;
}

/* The same with the bucket of level 1 in work, which has to be done by 8. */
static struct twheel_wheel *sound_wheel_at_work(void)
{
	struct twheel_wheel *w = sound_wheel();

	dequeue(w, &sound[3]);
	something_due(w, 7);
	return w;
}

#define BUCKET_3	3
/* On level 1, in the row that comes ahead of time. */
#define ROW_9		3
#define BUCKET_9	(ROW_9 * 4 + 0)
#define BUCKET_EMPTY	1

#define expect_found_in(wheel, corruption) do {					\
	struct twheel_wheel *w = wheel;						\
										\
	expect_sound(w);							\
	corruption;								\
	expect(twheel_wheel_check(w), "%s", "missed");				\
	wheel_free(w);								\
} while (0)

#define expect_found(corruption) expect_found_in(sound_wheel(), corruption)
#define expect_found_at_work(corruption) expect_found_in(sound_wheel_at_work(), corruption)

TEST(check_finds_wrong_pending_bits)
{
	expect_found(__clear_bit(BUCKET_3, w->pending));
	expect_found(__clear_bit(BUCKET_9, w->pending));
	expect_found(__set_bit(BUCKET_EMPTY, w->pending));
	expect_found(__set_bit(11, w->pending));
	/* Nodes in work have left their bucket. */
	expect_found_at_work(__set_bit(BUCKET_9, w->pending));
}

TEST(check_finds_wrong_turns)
{
	expect_found(w->rows[0].turn = 4);
	expect_found(w->rows[0].turn = TWHEEL_NEVER);
	expect_found(w->rows[ROW_9].turn = 8);
	/*
	 * A turn counts even if its row has no nodes, or none any more, as the clock still
	 * goes there.
	 */
	expect_found(w->rows[1].turn = 0);
	expect_found(twheel_wheel_dequeue(w, &sound[3]); w->clk = 3);
	/* While a bucket is in work the turns are checked as well. */
	expect_found_at_work(w->rows[0].turn = 7);
	expect_found_at_work(w->rows[ROW_9].turn = 6);
}

TEST(check_finds_wrong_counts)
{
	expect_found(w->nr_nodes++);
	expect_found(w->nr_nodes--);
	expect_found_at_work(w->nr_nodes++);
	expect_found_at_work(w->nr_nodes--);
}

TEST(check_finds_broken_queues)
{
	struct list_head stray = { NULL, NULL };

	expect_found(sound[0].entry.prev = &stray);
	expect_found(sound[1].entry.prev = &stray);
	/* One node is lost, and one is in two places. */
	expect_found(sound[1].entry.next = NULL);
	expect_found(w->buckets[BUCKET_9].prev = &sound[0].entry);
	expect_found(w->buckets[BUCKET_3].next = &sound[0].entry);
	expect_found_at_work(w->rows[ROW_9].visit.next->prev = &stray);
	expect_found_at_work(INIT_LIST_HEAD(&w->rows[ROW_9].visit));
	expect_found_at_work(w->rows[ROW_9].visit.prev = &sound[0].entry);
	expect_found_at_work(w->rows[0].visit.next = &sound[0].entry);
}

TEST(check_finds_nodes_behind_their_bucket)
{
	expect_found(sound[0].expires = 7);
	expect_found(sound[2].expires = 5);
	/* The clock has passed one bucket, then all of them. */
	expect_found(w->clk = 33);
	expect_found(w->clk = 50);
	/* The same for nodes in work. */
	expect_found_at_work(sound[0].expires = 7);
	expect_found_at_work(sound[1].expires = 0);
	expect_found_at_work(w->rows[ROW_9].due = 10);
}

TEST(check_finds_late_work)
{
	expect_found_at_work(w->rows[ROW_9].due = 6);
	expect_found_at_work(w->clk = 9);
	expect_found_in(sound_wheel(), something_due(w, 3); w->rows[0].due = 2);
}

TEST(check_finds_a_late_next_expiry)
{
	expect_found(w->next_expiry = 4);
	expect_found(w->next_expiry = TWHEEL_NEVER);
	/* With a bucket in work, but not too late for the other nodes. */
	expect_found_at_work(w->next_expiry = 8);
	expect_found(something_due(w, 3); w->next_expiry = 4);
}
