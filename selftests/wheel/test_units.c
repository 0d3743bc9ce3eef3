// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contract of each function of the wheel, one by one.
 */
#include "common.h"

/* The most nodes that one collect() here takes. */
#define ROOM_MAX	64

/* A wheel small enough to see through: granularities 1, 2, 4; range 16. */
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
	expect(hlist_unhashed(&node->entry), "still linked");
	expect_sound(w);
}

/* Buckets whose turn has come and that were not looked at yet. */
static u32 nr_due(const struct twheel_wheel *w)
{
	u32 index, n = 0;

	for (index = 0; index < nr_buckets(w); index++)
		n += test_bit(index, w->due);
	return n;
}

/* Turn to @now and expire all that is due; up to ROOM_MAX nodes. */
static u32 collect(struct twheel_wheel *w, u64 now, struct twheel_node **out)
{
	bool more = true;
	u32 i, n;

	n = twheel_wheel_collect(w, now, out, ROOM_MAX, &more);
	expect(!more, "more than %u nodes", ROOM_MAX);
	expect_sound(w);
	for (i = 0; i < n; i++) {
		expect(hlist_unhashed(&out[i]->entry), "expired, but linked");
		expect(out[i]->expires <= w->clk, "%llu expired at %llu",
		       out[i]->expires, w->clk);
	}
	return n;
}

/* @node, alone in @w, expires at @tick: not one before, and then. */
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

static void init_makes_an_empty_wheel(void)
{
	u32 slots = 0, levels = 0;

	while (next_geometry(&slots, &levels)) {
		struct twheel_wheel *w = wheel_new(slots, levels, 12345);
		u32 bits = w->slot_bits, n = nr_buckets(w);
		bool more = true;

		expect(w->slots == slots && slots == 1U << bits, "slots=%u bits=%u",
		       slots, bits);
		/* As many levels as asked for, or as 64-bit ticks can use. */
		expect(granularity_bits(w, w->levels - 1) < 64, "levels=%u", w->levels);
		expect(w->levels == levels || granularity_bits(w, w->levels) >= 64,
		       "levels=%u of %u", w->levels, levels);
		expect(twheel_wheel_size(slots, levels) ==
		       n * sizeof(void *) + 2 * ((n + 63) / 64) * 8,
		       "%zu bytes for %ux%u", twheel_wheel_size(slots, levels),
		       slots, levels);
		expect(w->clk == 12345, "clk=%llu", w->clk);
		expect(!w->nr_nodes && !nr_due(w), "not empty");
		expect(w->next_expiry == TWHEEL_NEVER, "next_expiry=%llu",
		       w->next_expiry);
		expect_sound(w);

		expect(!twheel_wheel_collect(w, 99999, NULL, 8, &more), "a node");
		expect(!more, "nothing can be more");
		expect(w->clk == 99999, "clk=%llu", w->clk);
		expect(w->next_expiry == TWHEEL_NEVER, "next_expiry=%llu",
		       w->next_expiry);
		wheel_free(w);
	}
}

/* The first and last bucket of each level and bitmap lie within the memory. */
static void memory_holds_all_buckets(void)
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

			/* The top level of a full wheel has few buckets. */
			if (shift && hand > U64_MAX >> shift)
				continue;
			nodes[i].expires = (hand << shift) + (row >= w->levels);
			twheel_wheel_enqueue(w, &nodes[i]);
		}
		expect_sound(w);
		while (more)
			if (twheel_wheel_collect(w, TICK_MAX, &out, 1, &more))
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

/*
 * The lowest level whose buckets reach that far, seen from the one that its hand
 * is at: upper hands are ahead of the clock by half a bucket.
 */
static void enqueue_chooses_the_lowest_level(void)
{
	struct twheel_node node = { 0 };
	u32 slots = 0, levels = 0, level, far;

	while (next_geometry(&slots, &levels)) {
		struct twheel_wheel *w = wheel_new(slots, levels, 1000000);

		for (level = 0; level < w->levels; level++) {
			u32 bits = granularity_bits(w, level);
			u64 lead = level ? 1ULL << (bits - 1) : 0;
			u64 reach = (((w->clk + lead) >> bits) + slots + 1) << bits;

			for (far = 0; far < 2 && range_bits(w) < 63; far++) {
				u32 want = far ? level + 1 : level, got;

				if (want == w->levels)
					want--;
				enqueue(w, &node, reach - 1 + far);
				got = (u32)((struct hlist_head *)node.entry.pprev -
					    w->buckets) / slots;
				got = level_of(w, got);
				expect(got == want, "level %u, not %u, for %llu - 1 + %u",
				       got, want, reach, far);
				dequeue(w, &node);
			}
		}
		wheel_free(w);
	}
}

/*
 * A node due at the first tick of a bucket of its level waits there for its turn:
 * it is looked at once, and the wheel wakes up once for it. Others move down.
 */
static void on_the_grid_nothing_moves(void)
{
	struct twheel_node node = { 0 }, *out[ROOM_MAX];
	u32 slots = 0, levels = 0, level, off;

	while (next_geometry(&slots, &levels)) {
		for (level = 1; level < levels; level++) {
			for (off = 0; off < 2; off++) {
				struct twheel_wheel *w = wheel_new(slots, levels, 77777);
				u32 bits, wakeups = 0;
				u64 tick;

				if (level >= w->levels || range_bits(w) > 62) {
					wheel_free(w);
					continue;
				}
				/* Further than the level below reaches. */
				bits = granularity_bits(w, level);
				tick = ((w->clk >> bits) + slots) << bits;
				enqueue(w, &node, tick + off);
				do {
					wakeups++;
				} while (!collect(w, w->next_expiry, out));
				expect(w->clk == tick + off, "at %llu", w->clk);
				expect((wakeups > 1) == off && (w->nr_cascades > 0) == off,
				       "%u wake-ups, %llu moves (%ux%u, level %u)",
				       wakeups, w->nr_cascades, slots, levels, level);
				wheel_free(w);
			}
		}
	}
}

static void enqueue_at_every_distance(void)
{
	struct twheel_node node = { 0 };
	u64 clk, d;

	for (clk = 0; clk < 70; clk++) {
		for (d = 1; d < 300; d++) {
			struct twheel_wheel *w = small_wheel(clk);

			enqueue(w, &node, clk + d);
			expect_expiry(w, &node, clk + d);
			wheel_free(w);
		}
	}
}

static void dequeue_at_every_distance(void)
{
	struct twheel_node node = { 0 }, *out[ROOM_MAX];
	u64 clk, d;

	for (clk = 0; clk < 70; clk++) {
		for (d = 0; d < 300; d++) {
			struct twheel_wheel *w = small_wheel(clk);
			u64 next;

			enqueue(w, &node, clk + d);
			next = w->next_expiry;
			dequeue(w, &node);
			expect(!w->nr_nodes, "%llu nodes", w->nr_nodes);
			expect(w->next_expiry == next, "next_expiry changed");
			expect(!something_due(w, clk + 1000), "d=%llu", d);
			expect(!collect(w, clk + 2000, out), "d=%llu", d);
			expect(w->next_expiry == TWHEEL_NEVER, "%llu", w->next_expiry);
			wheel_free(w);
		}
	}
}

/* First, middle, last and combinations out of one bucket of four. */
static void dequeue_any_of_a_bucket(void)
{
	u64 distances[] = { 1, 3, 4, 17, 63, 64, 200 };
	struct twheel_node nodes[4], *out[ROOM_MAX];
	u32 d, set, i;

	for (d = 0; d < ARRAY_SIZE(distances); d++) {
		for (set = 0; set < 16; set++) {
			struct twheel_wheel *w = small_wheel(5);
			u32 n, left = 0;

			for (i = 0; i < 4; i++)
				enqueue(w, &nodes[i], 5 + distances[d]);
			for (i = 0; i < 4; i++)
				if (set & 1 << i)
					dequeue(w, &nodes[i]);
			n = collect(w, 5 + distances[d], out);
			expect(n == 4 - (u32)__builtin_popcount(set), "%u of %x", n, set);
			while (n--)
				left |= 1U << (out[n] - nodes);
			expect(left == (~set & 15), "%x left of %x", left, set);
			wheel_free(w);
		}
	}
}

/*
 * What is due must not wait for the many that only move down: while a large
 * bucket of each upper level is worked off, a few nodes a call, a node is due at
 * every tick, and comes with the first call there.
 */
static void low_levels_come_first(void)
{
	static struct twheel_node many[3][200];
	struct twheel_wheel *w = wheel_new(4, 4, 0);
	struct twheel_node probe, *out[4];
	u32 level, i, n;
	bool more;
	u64 now;

	/* In a bucket of each upper level, whose turns have all come by 64. */
	for (level = 1; level < 4; level++)
		for (i = 0; i < 200; i++) {
			struct twheel_node *node = &many[level - 1][i];

			node->expires = (4ULL << granularity_bits(w, level)) + 1;
			twheel_wheel_enqueue(w, node);
			/* And are far from due then. */
			node->expires += 1 << 20;
		}
	twheel_wheel_collect(w, 64, NULL, 0, &more);

	for (now = 65; now < 100; now++) {
		enqueue(w, &probe, now);
		n = twheel_wheel_collect(w, now, out, 4, &more);
		expect(n && out[0] == &probe, "%llu waits", now);
		expect(more, "all was done by %llu", now);
		expect_sound(w);
	}
	wheel_free(w);
}

/* Out of buckets whose turn has come, none of them looked at. */
static void dequeue_from_due_buckets(void)
{
	static const u64 ticks[] = { 2, 9, 100 };
	struct twheel_node nodes[6], *out[ROOM_MAX];
	u32 set, i;

	for (set = 0; set < 64; set++) {
		struct twheel_wheel *w = small_wheel(0);
		u32 n, left = 0;

		/* Two in a bucket each at levels 0, 1 and beyond. */
		for (i = 0; i < 6; i++)
			enqueue(w, &nodes[i], ticks[i / 2]);
		expect(something_due(w, 101), "nothing");
		/* The first of them is the one in work. */
		expect(nr_due(w) == 2, "%u due", nr_due(w));
		expect_sound(w);
		for (i = 0; i < 6; i++)
			if (set & 1 << i)
				dequeue(w, &nodes[i]);
		n = collect(w, 101, out);
		while (n--)
			left |= 1U << (out[n] - nodes);
		expect(left == (~set & 63), "%x left of %x", left, set);
		expect(!nr_due(w), "%u due", nr_due(w));
		wheel_free(w);
	}
}

/* Out of the bucket that is being looked at. */
static void dequeue_from_the_bucket_in_work(void)
{
	struct twheel_node nodes[4], *out[ROOM_MAX];
	u32 set, i;

	for (set = 0; set < 16; set++) {
		struct twheel_wheel *w = small_wheel(0);
		u32 n, left = 0, gone;
		bool more;

		for (i = 0; i < 4; i++)
			enqueue(w, &nodes[i], 7);
		expect(twheel_wheel_collect(w, 7, out, 1, &more) == 1, "none");
		expect(more, "no more");
		expect(w->next_expiry <= 7, "next_expiry=%llu", w->next_expiry);
		expect_sound(w);
		gone = 1U << (out[0] - nodes);
		for (i = 0; i < 4; i++)
			if (set & ~gone & 1 << i)
				dequeue(w, &nodes[i]);
		n = collect(w, 7, out);
		while (n--)
			left |= 1U << (out[n] - nodes);
		expect(left == (~set & ~gone & 15), "%x left of %x", left, set);
		expect(!w->nr_nodes, "%llu nodes", w->nr_nodes);
		wheel_free(w);
	}
}

/* A dequeued bucket that fills again before the collection goes on. */
static void enqueue_during_a_collection(void)
{
	struct twheel_node nodes[2], node, *out[ROOM_MAX];
	u64 expires;
	u32 size;

	for (expires = 20; expires < 400; expires++) {
		for (size = 0; size < 2; size++) {
			struct twheel_wheel *w = small_wheel(0);
			u32 n, seen;
			bool more;

			enqueue(w, &nodes[0], 3);
			enqueue(w, &nodes[1], 33);
			n = twheel_wheel_collect(w, 40, out, size, &more);
			expect(more, "no more");
			enqueue(w, &node, expires);
			expect(w->next_expiry <= 40, "next_expiry=%llu",
			       w->next_expiry);
			seen = n + collect(w, 40, out);
			if (expires > 40) {
				expect(seen == 2, "%u came", seen);
				expect_expiry(w, &node, expires);
			} else {
				/* What is overdue may come now or at the next tick. */
				expect(seen + collect(w, 41, out) == 3, "lost");
			}
			wheel_free(w);
		}
	}
}

/* The clock may go on while a collection is half done. */
static void collections_overlap(void)
{
	struct twheel_node nodes[40], *out[ROOM_MAX];
	struct twheel_wheel *w = small_wheel(0);
	u32 i, n = 0;
	bool more;
	u64 now;

	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		enqueue(w, &nodes[i], 1 + 5 * i);
	for (now = 0; now < 150; now += 7) {
		u32 got = twheel_wheel_collect(w, now, out, 2, &more);

		expect_sound(w);
		expect(got <= 2, "%u in room for 2", got);
		while (got--) {
			expect(out[got]->expires <= now, "%llu at %llu",
			       out[got]->expires, now);
			n++;
		}
	}
	expect(more, "all done");
	n += collect(w, now, out);
	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		expect(hlist_unhashed(&nodes[i].entry) == (nodes[i].expires <= now),
		       "%llu at %llu", nodes[i].expires, now);
	n += collect(w, 1000, out);
	expect(n == ARRAY_SIZE(nodes), "%u came", n);
	wheel_free(w);
}

static void collect_fills_its_room_exactly(void)
{
	struct twheel_node nodes[8], *out[ROOM_MAX];
	u32 size, i;
	bool more;

	for (size = 0; size <= 9; size++) {
		struct twheel_wheel *w = small_wheel(0);
		u32 n;

		for (i = 0; i < 8; i++)
			enqueue(w, &nodes[i], 30);
		n = twheel_wheel_collect(w, 30, out, size, &more);
		expect(n == (size < 8 ? size : 8), "%u into %u", n, size);
		expect(more == (size < 8), "size=%u more=%d", size, more);
		expect(w->nr_nodes == 8 - n, "%llu left", w->nr_nodes);
		expect(w->clk == 30, "clk=%llu", w->clk);
		wheel_free(w);
	}
}

/* By either of the two ways there are. Nothing is due at @now. */
static void turn_back(struct twheel_wheel *w, u64 now, bool by_collect)
{
	struct twheel_node *out[ROOM_MAX];

	if (by_collect)
		expect(!collect(w, now, out), "came");
	else
		twheel_wheel_rewind(w, now);
	expect_sound(w);
	expect(w->clk == now, "clk=%llu, not %llu", w->clk, now);
}

static void rewind_at_every_distance(void)
{
	struct twheel_node node = { 0 };
	u64 d, back;
	int how;

	for (d = 1; d < 150; d++) {
		for (back = 1; back < 200; back++) {
			for (how = 0; how < 2; how++) {
				struct twheel_wheel *w = small_wheel(200);

				enqueue(w, &node, 200 + d);
				turn_back(w, 200 - back, how);
				expect_expiry(w, &node, 200 + d);
				wheel_free(w);
			}
		}
	}
}

/* To each power of two from the next, in every geometry, and home again. */
static void rewind_any_length(void)
{
	struct twheel_node node = { 0 }, *out;
	u32 slots = 0, levels = 0, k;
	bool more;

	while (next_geometry(&slots, &levels)) {
		for (k = 0; k < 63; k++) {
			u64 to = (1ULL << k) - 1, from = 2ULL << k;
			struct twheel_wheel *w = wheel_new(slots, levels, from);

			node.expires = from + 5;
			twheel_wheel_enqueue(w, &node);
			twheel_wheel_rewind(w, to);
			expect(w->clk == to, "clk=%llu", w->clk);
			expect(w->next_expiry >= to && w->next_expiry <= from + 5,
			       "next_expiry=%llu", w->next_expiry);
			expect(!twheel_wheel_collect(w, from + 4, &out, 1, &more) &&
			       !more, "2^%u early", k);
			expect(twheel_wheel_collect(w, from + 5, &out, 1, &more) == 1,
			       "2^%u late", k);
			wheel_free(w);
		}
	}
}

static void rewind_an_empty_wheel(void)
{
	struct twheel_wheel *w = small_wheel(100);
	struct twheel_node node = { 0 };

	turn_back(w, 50, false);
	expect(w->next_expiry == TWHEEL_NEVER, "next_expiry=%llu", w->next_expiry);
	turn_back(w, 0, true);
	expect(w->next_expiry == TWHEEL_NEVER, "next_expiry=%llu", w->next_expiry);
	enqueue(w, &node, 7);
	expect_expiry(w, &node, 7);
	wheel_free(w);
}

/* What is no longer due is not expired, wherever it waits to be looked at. */
static void rewind_while_due_or_in_work(void)
{
	struct twheel_node nodes[6], *out[ROOM_MAX];
	u32 size, i, how;

	for (size = 0; size < 6; size++) {
		for (how = 0; how < 2; how++) {
			struct twheel_wheel *w = small_wheel(0);
			bool more;
			u32 n;

			/* In buckets of two levels, the first of them in work. */
			for (i = 0; i < 6; i++)
				enqueue(w, &nodes[i], i < 3 ? 3 : 33);
			n = twheel_wheel_collect(w, 40, out, size, &more);
			expect(n == size && more, "%u of %u", n, size);
			turn_back(w, 2, how);
			n += collect(w, 3, out);
			expect(n == (size < 3 ? 3 : size), "%u by 3", n);
			expect(!collect(w, 32, out), "early");
			expect(n + collect(w, 33, out) == 6, "late");
			wheel_free(w);
		}
	}
}

/* Overdue once: after a turn back it has its tick ahead again, or not. */
static void rewind_over_what_was_overdue(void)
{
	struct twheel_node node = { 0 }, *out[ROOM_MAX];
	u64 late, back;

	for (late = 0; late < 70; late++) {
		for (back = 1; back < 100; back++) {
			struct twheel_wheel *w = small_wheel(100);
			u64 tick = 100 - late;

			enqueue(w, &node, tick);
			twheel_wheel_rewind(w, 100 - back);
			expect_sound(w);
			if (late < back)
				expect(!collect(w, tick - 1, out), "early");
			else
				tick = 100 - back + 1;
			expect(collect(w, tick, out) == 1, "%llu late, %llu back",
			       late, back);
			wheel_free(w);
		}
	}
}

/* A node that a turn puts into another bucket counts, and nothing else does. */
static void cascades_are_counted(void)
{
	struct twheel_node nodes[3], *out[ROOM_MAX];
	struct twheel_wheel *w = wheel_new(8, 3, 0);
	u32 i;

	/* All on level 2, whose granularity is 16 and lead 8. */
	for (i = 0; i < 3; i++)
		enqueue(w, &nodes[i], 40 + 20 * i);
	dequeue(w, &nodes[2]);
	expect(!collect(w, 23, out), "came");
	expect(!w->nr_cascades, "%llu", w->nr_cascades);
	expect(!collect(w, 24, out), "came");
	expect(w->nr_cascades == 1, "%llu", w->nr_cascades);
	/* One expires from level 1, the other moves down there. */
	expect(collect(w, 40, out) == 1, "did not come");
	expect(w->nr_cascades == 2, "%llu", w->nr_cascades);
	expect(collect(w, 1000, out) == 1, "did not come");
	expect(w->nr_cascades == 2, "%llu", w->nr_cascades);
	wheel_free(w);
}

static void forward_stops_before_next_expiry(void)
{
	struct twheel_node node = { 0 };
	u64 d, now;

	for (d = 1; d < 200; d++) {
		for (now = 0; now < 30 + d; now++) {
			struct twheel_wheel *w = small_wheel(20);
			u64 next;

			enqueue(w, &node, 20 + d);
			next = w->next_expiry;
			twheel_wheel_forward(w, now);
			expect_sound(w);
			expect(w->next_expiry == next, "next_expiry changed");
			expect(w->clk == (now > 20 && now < next ? now : 20),
			       "clk=%llu now=%llu next=%llu", w->clk, now, next);
			expect_expiry(w, &node, 20 + d);
			wheel_free(w);
		}
	}
}

static void forward_moves_an_empty_wheel(void)
{
	struct twheel_wheel *w = small_wheel(0);
	struct twheel_node node = { 0 }, *out;
	bool more;

	twheel_wheel_forward(w, 1ULL << 40);
	expect(w->clk == 1ULL << 40, "clk=%llu", w->clk);
	twheel_wheel_forward(w, 7);
	expect(w->clk == 1ULL << 40, "clk=%llu", w->clk);
	enqueue(w, &node, (1ULL << 40) + 21);
	expect_expiry(w, &node, (1ULL << 40) + 21);

	/* Not while a collection is half done. */
	enqueue(w, &node, w->clk + 1);
	expect(!twheel_wheel_collect(w, w->clk + 1, &out, 0, &more), "came");
	twheel_wheel_forward(w, w->clk + 100);
	expect(w->clk == (1ULL << 40) + 22, "clk=%llu", w->clk);
	wheel_free(w);
}

/*
 * After a collection or a turn back next_expiry is the very tick at which there
 * is something to look at; and a bound for all nodes at all times.
 */
static void next_expiry_is_exact_after_turns(void)
{
	struct twheel_node nodes[24], *out[ROOM_MAX];
	u64 seed = 1;
	u32 round, i;

	for (round = 0; round < 20000; round++) {
		u32 slots = 4U << rng_next(&seed) % 7;
		struct twheel_wheel *w = wheel_new(slots, 1 + (u32)(rng_next(&seed) % 4),
						   rng_next(&seed) >> (1 + rng_next(&seed) % 60));
		u32 n = 1 + (u32)(rng_next(&seed) % ARRAY_SIZE(nodes));
		u64 next;

		for (i = 0; i < n; i++) {
			u64 d = rng_next(&seed) >> (1 + rng_next(&seed) % 63);

			nodes[i].expires = w->clk + 1 + d % (1ULL << 40);
			twheel_wheel_enqueue(w, &nodes[i]);
			expect(w->next_expiry <= nodes[i].expires,
			       "next_expiry=%llu", w->next_expiry);
		}
		for (i = 0; i < n; i++)
			if (!(rng_next(&seed) % 4))
				dequeue(w, &nodes[i]);
		collect(w, w->clk + rng_next(&seed) % (2 * slots), out);
		/* Back to before the next tick's bucket, or the look is now. */
		if (round % 2 && w->clk && w->next_expiry > w->clk + 1) {
			twheel_wheel_rewind(w, rng_next(&seed) % w->clk);
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
		collect(w, TICK_MAX, out);
		wheel_free(w);
	}
}

static void overdue_expires_at_the_next_tick(void)
{
	struct twheel_node node = { 0 }, *out[ROOM_MAX];
	u64 clk, late;

	for (clk = 0; clk < 80; clk++) {
		for (late = 0; late <= clk; late++) {
			struct twheel_wheel *w = small_wheel(clk);

			enqueue(w, &node, clk - late);
			expect(w->next_expiry == clk + 1, "next_expiry=%llu",
			       w->next_expiry);
			twheel_wheel_forward(w, clk + 50);
			expect(w->clk == clk, "clk=%llu", w->clk);
			expect(collect(w, clk + 1, out) == 1, "%llu late", late);
			expect(out[0] == &node, "another");
			expect(node.expires == clk - late, "expires changed");
			wheel_free(w);
		}
	}
}

static void postponed_in_place_expires_at_its_new_tick(void)
{
	struct twheel_node node = { 0 };
	u64 d, more;

	for (d = 1; d < 150; d++) {
		for (more = 0; more < 300; more++) {
			struct twheel_wheel *w = small_wheel(11);

			enqueue(w, &node, 11 + d);
			node.expires += more;
			expect_sound(w);
			expect_expiry(w, &node, 11 + d + more);
			wheel_free(w);
		}
	}
}

static void postponed_while_due_or_in_work(void)
{
	struct twheel_node nodes[3], *out[ROOM_MAX];
	u64 later, i;
	u32 size;

	for (later = 1; later < 300; later++) {
		for (size = 0; size < 2; size++) {
			struct twheel_wheel *w = small_wheel(0);
			bool more;
			u32 n;

			for (i = 0; i < 3; i++)
				enqueue(w, &nodes[i], 10);
			n = twheel_wheel_collect(w, 10, out, size, &more);
			expect(n == size && more, "%u", n);
			for (i = 0; i < 3; i++)
				if (!n || out[0] != &nodes[i])
					nodes[i].expires = 10 + later;
			expect_sound(w);
			expect(!collect(w, 10, out), "came early");
			if (later > 1)
				expect(!collect(w, 10 + later - 1, out), "came early");
			expect(collect(w, 10 + later, out) == 3 - n, "did not come");
			wheel_free(w);
		}
	}
}

/* A heartbeat: pushed back again and again, and never out of the wheel. */
static void postponed_for_ever(void)
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
		/* Each 963 ticks or more its old one comes, level by level. */
		expect(looks <= 21 * w->levels || range_bits(w) < 10,
		       "%llu looks, %ux%u", looks, slots, levels);
		expect_expiry(w, &node, node.expires);
		wheel_free(w);
	}
}

static void jumps_of_any_length(void)
{
	struct twheel_node nodes[64], *out[ROOM_MAX];
	u32 slots = 0, levels = 0, k, i;

	while (next_geometry(&slots, &levels)) {
		struct twheel_wheel *w;
		struct twheel_node node = { 0 };

		for (k = 0; k < 64; k++) {
			u64 clk;

			/* To the tick itself, from just before and just behind 0. */
			for (clk = 0; clk < 3; clk++) {
				u64 at = (1ULL << k) + clk;

				w = wheel_new(slots, levels, clk);
				node.expires = at;
				twheel_wheel_enqueue(w, &node);
				expect(!twheel_wheel_collect(w, at - 1, out, 1,
							     &(bool){ false }),
				       "2^%u early", k);
				expect(twheel_wheel_collect(w, at, out, 1,
							    &(bool){ false }) == 1,
				       "2^%u late", k);
				wheel_free(w);
			}

			/* Over k nodes at once, and none of those ahead. */
			w = wheel_new(slots, levels, 0);
			for (i = 0; i < 64; i++) {
				nodes[i].expires = 1ULL << i;
				twheel_wheel_enqueue(w, &nodes[i]);
			}
			expect(collect(w, 1ULL << k, out) == k + 1, "2^%u", k);
			expect(collect(w, TICK_MAX, out) == 63 - k, "2^%u", k);
			wheel_free(w);
		}
	}
}

/* The end of time: TICK_MAX can still be waited for. */
static void ticks_near_the_top(void)
{
	struct twheel_node nodes[16], node = { 0 }, *out[ROOM_MAX];
	u32 slots = 0, levels = 0, i, k;

	while (next_geometry(&slots, &levels)) {
		struct twheel_wheel *w;

		for (k = 1; k < 64; k++) {
			u64 clk = TICK_MAX - ((1ULL << k) - 1);

			w = wheel_new(slots, levels, clk);
			enqueue(w, &node, TICK_MAX);
			expect_expiry(w, &node, TICK_MAX);
			wheel_free(w);

			w = wheel_new(slots, levels, clk - 20);
			for (i = 0; i < 16; i++)
				enqueue(w, &nodes[i], TICK_MAX - i);
			expect(w->next_expiry <= TICK_MAX - 15, "%llu", w->next_expiry);
			for (i = 16; i--;)
				expect(collect(w, TICK_MAX - i, out) == 1 &&
				       out[0] == &nodes[i], "%u before the top", i);
			wheel_free(w);
		}

		w = wheel_new(slots, levels, 0);
		enqueue(w, &node, TICK_MAX);
		expect_expiry(w, &node, TICK_MAX);
		wheel_free(w);
	}
}

/* The one of the lowest to the highest tick allowed with most trailing zeros. */
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

static void coalesce_finds_the_roundest_tick(void)
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

/* Slacks too long to try every tick: by the one property that defines it. */
static void coalesce_with_huge_slack(void)
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
		/* No multiple of the next rounder unit lies in between. */
		unit = (tick & -tick) * 2;
		expect(!unit || last / unit == (expires - 1) / unit,
		       "%llu of %llu + %llu", tick, expires, slack);
	}
	expect(twheel_wheel_coalesce(1, U64_MAX) == 1ULL << 63, "not the half");
	expect(twheel_wheel_coalesce(TICK_MAX, U64_MAX) == TICK_MAX, "not the top");
	expect(!twheel_wheel_coalesce(0, U64_MAX), "not zero");
}

/* What check() is to find. */
static struct twheel_node sound[4];

static struct twheel_wheel *sound_wheel(void)
{
	struct twheel_wheel *w = small_wheel(0);

	/* Two in one bucket of level 1, one at level 2, one at level 0. */
	enqueue(w, &sound[0], 9);
	enqueue(w, &sound[1], 9);
	enqueue(w, &sound[2], 40);
	enqueue(w, &sound[3], 3);
	return w;
}

#define BUCKET_3	3
/* Of level 1, in the row that comes ahead of time. */
#define BUCKET_9	(3 * 4 + 0)
#define BUCKET_EMPTY	1

#define expect_found(corruption) do {						\
	struct twheel_wheel *w = sound_wheel();					\
										\
	expect_sound(w);							\
	corruption;								\
	expect(twheel_wheel_check(w), "%s", "missed");				\
	wheel_free(w);								\
} while (0)

static void check_finds_wrong_pending_bits(void)
{
	expect_found(__clear_bit(BUCKET_3, w->pending));
	expect_found(__clear_bit(BUCKET_9, w->pending));
	expect_found(__set_bit(BUCKET_EMPTY, w->pending));
	expect_found(__set_bit(11, w->pending));
}

static void check_finds_wrong_due_bits(void)
{
	expect_found(__set_bit(BUCKET_EMPTY, w->due); w->due_from[0] = 0; w->next_expiry = 0);
	expect_found(__set_bit(BUCKET_3, w->due); w->next_expiry = 0);
	expect_found(__set_bit(BUCKET_3, w->due); w->due_from[0] = 0);
	expect_found(something_due(w, 20); __clear_bit(BUCKET_9, w->due));
}

static void check_finds_wrong_counts(void)
{
	expect_found(w->nr_nodes++);
	expect_found(w->nr_nodes--);
}

static void check_finds_broken_links(void)
{
	struct hlist_node *stray = NULL;

	expect_found(sound[0].entry.pprev = &stray);
	expect_found(sound[1].entry.pprev = &stray);
	/* A node that is lost, and one that is in two places. */
	expect_found(sound[1].entry.next = NULL);
	expect_found(w->buckets[BUCKET_3].first = &sound[0].entry);
	expect_found(something_due(w, 20); w->visit[0].first->pprev = &stray);
}

static void check_finds_nodes_behind_their_bucket(void)
{
	expect_found(sound[0].expires = 6);
	expect_found(sound[2].expires = 5);
	/* A bucket passed over, and all of them. */
	expect_found(w->clk = 33);
	expect_found(w->clk = 50);
}

static void check_finds_a_late_next_expiry(void)
{
	expect_found(w->next_expiry = 4);
	expect_found(w->next_expiry = TWHEEL_NEVER);
	/* With a bucket in work, and with one due, too; not late for the others. */
	expect_found(something_due(w, 3); w->next_expiry = 5);
	expect_found(something_due(w, 20); w->next_expiry = 25);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(init_makes_an_empty_wheel),
		TAP_TEST(memory_holds_all_buckets),
		TAP_TEST(enqueue_chooses_the_lowest_level),
		TAP_TEST(on_the_grid_nothing_moves),
		TAP_TEST(enqueue_at_every_distance),
		TAP_TEST(dequeue_at_every_distance),
		TAP_TEST(dequeue_any_of_a_bucket),
		TAP_TEST(low_levels_come_first),
		TAP_TEST(dequeue_from_due_buckets),
		TAP_TEST(dequeue_from_the_bucket_in_work),
		TAP_TEST(enqueue_during_a_collection),
		TAP_TEST(collections_overlap),
		TAP_TEST(collect_fills_its_room_exactly),
		TAP_TEST(rewind_at_every_distance),
		TAP_TEST(rewind_any_length),
		TAP_TEST(rewind_an_empty_wheel),
		TAP_TEST(rewind_while_due_or_in_work),
		TAP_TEST(rewind_over_what_was_overdue),
		TAP_TEST(cascades_are_counted),
		TAP_TEST(forward_stops_before_next_expiry),
		TAP_TEST(forward_moves_an_empty_wheel),
		TAP_TEST(next_expiry_is_exact_after_turns),
		TAP_TEST(overdue_expires_at_the_next_tick),
		TAP_TEST(postponed_in_place_expires_at_its_new_tick),
		TAP_TEST(postponed_while_due_or_in_work),
		TAP_TEST(postponed_for_ever),
		TAP_TEST(jumps_of_any_length),
		TAP_TEST(ticks_near_the_top),
		TAP_TEST(coalesce_finds_the_roundest_tick),
		TAP_TEST(coalesce_with_huge_slack),
		TAP_TEST(check_finds_wrong_pending_bits),
		TAP_TEST(check_finds_wrong_due_bits),
		TAP_TEST(check_finds_wrong_counts),
		TAP_TEST(check_finds_broken_links),
		TAP_TEST(check_finds_nodes_behind_their_bucket),
		TAP_TEST(check_finds_a_late_next_expiry),
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
