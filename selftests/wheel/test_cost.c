// SPDX-License-Identifier: GPL-2.0-only
/*
 * The costs of the operations, counted and not timed, so that they are the same on every
 * machine: nodes looked at, and basic blocks executed in wheel.c. That file is compiled, like
 * dequeue_cost.c, with a call to __sanitizer_cov_trace_pc() in each basic block.
 */
#include "common.h"
#include "dequeue_cost.h"

static u64 blocks;

/* The compiler calls this function, but no header declares it. */
void __sanitizer_cov_trace_pc(void)
{
	blocks++;
}

/* The number of basic blocks that @call executes. */
#define cost_of(call) ({ u64 cost_before = blocks; call; blocks - cost_before; })

static struct twheel_node *nodes_new(u32 n)
{
	struct twheel_node *nodes = calloc(n, sizeof(*nodes));

	if (!nodes)
		abort();
	return nodes;
}

#define DEAREST_OF	300000
/* The geometry of the device: 64 slots, and levels for 2^41 ticks. */
#define LEVELS		8

/*
 * Finds the most expensive enqueue and dequeue in a wheel of up to @n nodes, near and far,
 * overdue and postponed. The nodes are always the same, but not all in the wheel at once.
 */
static void dearest(u32 n, u64 *enqueue, u64 *dequeue)
{
	struct twheel_wheel *w = wheel_new(64, LEVELS, 1000);
	struct twheel_node *nodes = nodes_new(n);
	u64 seed = 6, cost;
	u32 i, done;

	*enqueue = 0;
	*dequeue = 0;
	for (done = 0; done < DEAREST_OF; done += n) {
		for (i = 0; i < n; i++) {
			u64 ahead = rng_next(&seed) >> (20 + (done + i) % 44);

			nodes[i].expires = w->clk + ahead;
			cost = cost_of(twheel_wheel_enqueue(w, &nodes[i]));
			if (cost > *enqueue)
				*enqueue = cost;
		}
		for (i = 0; i < n; i++) {
			cost = cost_of(dequeue_counted(w, &nodes[i]));
			if (cost > *dequeue)
				*dequeue = cost;
		}
	}
	free(nodes);
	wheel_free(w);
}

TEST(enqueue_and_dequeue_cost_the_same_for_any_number)
{
	u64 few[2], many[2];

	dearest(3000, &few[0], &few[1]);
	dearest(DEAREST_OF, &many[0], &many[1]);
	expect(few[0] && few[1], "nothing is counted");
	expect(many[0] <= few[0], "enqueue: %llu, then %llu", few[0], many[0]);
	expect(many[1] <= few[1], "dequeue: %llu, then %llu", few[1], many[1]);
	/* A loop over the levels, and some code without loops. */
	expect(many[0] <= 24 + 8 * LEVELS, "enqueue: %llu blocks", many[0]);
	expect(many[1] <= 10, "dequeue: %llu blocks", many[1]);
}

/**
 * struct counted - a node that counts how often it has come up
 * @node:	in the wheel, or not
 * @placed:	its tick when it was enqueued where it is
 * @looks:	how often it has come up
 * @most:	how often it may come up
 */
struct counted {
	struct twheel_node	node;
	u64			placed;
	u32			looks;
	u32			most;
};

static struct counted *items_new(u32 n)
{
	struct counted *items = calloc(n, sizeof(*items));

	if (!items)
		abort();
	return items;
}

static void place(struct twheel_wheel *w, struct counted *item);

/*
 * Takes nodes one by one up to @now, and puts back those that are not due. Returns how many
 * came up. Stores in *@dearest, unless it is NULL, the most that a call has cost.
 */
static u64 looks(struct twheel_wheel *w, u64 now, u32 *expired, u64 *dearest)
{
	struct twheel_node *out;
	u64 n = 0, cost;
	u32 taken;

	*expired = 0;
	for (;;) {
		struct counted *item;

		cost = cost_of(taken = twheel_wheel_take(w, now, &out, 1));
		if (dearest && cost > *dearest)
			*dearest = cost;
		if (!taken)
			return n;
		n++;
		item = container_of(out, struct counted, node);
		item->looks++;
		expect(item->looks <= item->most, "%llu came up %u times", out->expires,
		       item->looks);
		if (out->expires <= w->clk)
			(*expired)++;
		else if (out->expires == item->placed)
			twheel_wheel_enqueue(w, out);
		else
			place(w, item);
	}
}

/* Enqueues @item, and notes how often it may come up from there: once for each level. */
static void place(struct twheel_wheel *w, struct counted *item)
{
	const struct list_head *bucket;

	twheel_wheel_enqueue(w, &item->node);
	/* The node is the last one in its bucket. */
	bucket = item->node.entry.next;
	item->placed = item->node.expires;
	item->most = item->looks + 1 + level_of(w, (u32)(bucket - w->buckets) / w->slots);
}

/*
 * On its way down a node comes up once for each level. A node that was postponed in place
 * comes up where it was, and then starts again at the level that it moves to.
 */
TEST(a_jump_looks_at_each_node_once_a_level)
{
	u32 slots = 0, levels = 0, i, n = 300, postponed, most_looks = 0;
	struct counted *items = items_new(n);
	u64 seed = 7;

	while (next_geometry(&slots, &levels)) {
		for (postponed = 0; postponed < 2; postponed++) {
			struct twheel_wheel *w = wheel_new(slots, levels, rng_next(&seed) >> 20);
			u64 now = w->clk + (1ULL << 50), due = 0;
			u32 expired;

			for (i = 0; i < n; i++) {
				items[i].looks = 0;
				items[i].node.expires = w->clk + 1 +
							(rng_next(&seed) >> (11 + i % 53));
				place(w, &items[i]);
				if (postponed)
					items[i].node.expires += rng_next(&seed) >> (11 + i % 8);
				due += items[i].node.expires <= now;
			}
			looks(w, now, &expired, NULL);
			expect(expired == due, "%u of %llu", expired, due);
			for (i = 0; i < n; i++)
				if (items[i].looks > most_looks)
					most_looks = items[i].looks;
			expect_sound(w);
			wheel_free(w);
		}
	}
	expect(most_looks > 10, "none went down many levels: the test is too tame");
	free(items);
}

/* Nodes that have to wait for several rounds are looked at once for each round, and no more. */
TEST(a_jump_over_rounds_looks_at_each_node_once_a_round)
{
	u32 levels, i, n = 50, expired;
	struct counted *items = items_new(n);
	u64 seed = 8, rounds = 1000, seen;

	for (levels = 1; levels <= 4; levels++) {
		struct twheel_wheel *w = wheel_new(4, levels, 0);
		u64 now = rounds << range_bits(w);

		for (i = 0; i < n; i++) {
			items[i].looks = 0;
			items[i].most = (u32)(2 * rounds + levels);
			items[i].placed = 1 + now / 2 + rng_next(&seed) % now;
			items[i].node.expires = items[i].placed;
			twheel_wheel_enqueue(w, &items[i].node);
		}
		seen = looks(w, now / 2, &expired, NULL);
		expect(!expired && seen >= n * (rounds / 2 - 1) && seen <= n * rounds,
		       "%llu looks", seen);
		looks(w, 2 * now, &expired, NULL);
		expect(expired == n, "%u came", expired);
		wheel_free(w);
	}
	free(items);
}

/*
 * A call takes no more nodes than it was told to, and costs no more than it does for these.
 */
TEST(a_call_takes_no_more_than_its_size)
{
	struct twheel_wheel *w = wheel_new(64, LEVELS, 0);
	u32 i, n = 4000, size, taken;
	struct twheel_node *nodes = nodes_new(n), *out[8];
	u64 cost;

	for (i = 0; i < n; i++) {
		nodes[i].expires = 50;
		twheel_wheel_enqueue(w, &nodes[i]);
	}
	for (size = 0; n; size = (size + 1) % 9) {
		cost = cost_of(taken = twheel_wheel_take(w, 50, out, size));
		expect(taken == min_t(u32, size, n), "%u of %u", taken, size);
		expect(cost <= 100 + 10 * LEVELS + 6 * size, "%llu blocks for %u nodes",
		       cost, size);
		n -= taken;
	}
	free(nodes);
	wheel_free(w);
}

/* For each row that comes up: a look at all rows, and at its own bitmap. */
static u64 cost_of_all_rows(const struct twheel_wheel *w)
{
	u64 rows = nr_rows(w);

	return 100 + 5 * rows * rows + (50 + w->slots / 16) * rows;
}

/*
 * A call does not take longer, either, if more of the wheel comes up at once, or if the
 * nodes are gone. Here all rows come up, each at a tick of its own.
 */
TEST(a_call_costs_no_more_than_all_rows)
{
	u32 slots = 0, levels = 0, row, left;

	while (next_geometry(&slots, &levels)) {
		/*
		 * No nodes are left in the wheel, or only those that come on time, or all.
		 */
		for (left = 0; left < 3; left++) {
			struct twheel_wheel *w = wheel_new(slots, levels, 0);
			u32 rows = nr_rows(w), expired;
			struct counted *items = items_new(rows);
			u64 dearest = 0;

			for (row = rows; row--;) {
				u32 bits = granularity_bits(w, level_of(w, row));

				items[row].node.expires = (slots * 3ULL / 4 << bits) +
							  (row >= w->levels);
				if (items[row].node.expires >> bits != slots * 3ULL / 4)
					continue;
				place(w, &items[row]);
				if (left < 2 && (!left || row >= w->levels))
					twheel_wheel_dequeue(w, &items[row].node);
			}
			looks(w, TICK_MAX, &expired, &dearest);
			expect(dearest <= cost_of_all_rows(w), "%llu blocks, %ux%u", dearest,
			       slots, levels);
			free(items);
			wheel_free(w);
		}
	}
}

/*
 * There is a node in every bucket, and the clock jumps: the cost is that of the buckets and
 * of the nodes, with the same factors for all geometries and distances.
 */
TEST(a_jump_costs_levels_x_slots_and_nodes)
{
	u32 slots = 0, levels = 0, i, k;

	while (next_geometry(&slots, &levels)) {
		struct twheel_wheel *w = wheel_new(slots, levels, 0);
		u32 n = nr_buckets(w);
		struct counted *items = items_new(n);

		for (k = 0; k < 64; k += 7) {
			u64 now, cost, seen, dearest = 0;
			u32 expired;

			twheel_wheel_rewind(w, 0);
			for (i = 0; i < n; i++) {
				struct counted *item = &items[i];
				u32 row = i / slots;
				u32 shift = granularity_bits(w, level_of(w, row));
				u64 hand = i % slots + (row ? 1 : 0);

				item->node.expires = 0;
				if (shift && hand > U64_MAX >> shift)
					continue;
				item->node.expires = (hand << shift) + (row >= w->levels);
				item->looks = 0;
				place(w, item);
			}
			now = 1ULL << k;
			cost = cost_of(seen = looks(w, now, &expired, &dearest));
			expect(expired, "nothing came by 2^%u", k);
			expect(cost <= 100 + 60 * levels + 2 * n +
			       (90 + 9 * levels + slots / 64) * seen,
			       "%llu blocks for %u buckets, %llu nodes (%ux%u, 2^%u)", cost, n,
			       seen, slots, levels, k);

			/*
			 * Without nodes only the remaining turns of the rows and the
			 * bitmaps cost something.
			 */
			for (i = 0; i < n; i++)
				if (items[i].node.expires > now)
					twheel_wheel_dequeue(w, &items[i].node);
			cost = cost_of(looks(w, TICK_MAX, &expired, NULL));
			expect(cost <= cost_of_all_rows(w), "%llu blocks for no nodes", cost);
		}
		free(items);
		wheel_free(w);
	}
}

/* A step back costs a look at the bitmaps, whatever its length and the number of nodes. */
TEST(a_step_back_costs_no_more_if_it_is_longer)
{
	u32 slots = 0, levels = 0, n, i, k;
	struct twheel_node *nodes = nodes_new(1000);
	u64 seed = 9;

	while (next_geometry(&slots, &levels)) {
		for (n = 0; n <= 1000; n = n ? n * 10 : 1) {
			struct twheel_wheel *w = wheel_new(slots, levels, 0);

			for (k = 0; k < 63; k += 3) {
				u64 cost, back = 1ULL << k;

				w->clk = (1ULL << 63) + rng_next(&seed) % back;
				w->next_expiry = TWHEEL_NEVER;
				for (i = 0; i < n; i++) {
					nodes[i].expires = w->clk + 1 +
						(rng_next(&seed) >> (2 + i % 62));
					twheel_wheel_enqueue(w, &nodes[i]);
				}
				cost = cost_of(twheel_wheel_rewind(w, w->clk - back));
				expect(cost <= 20 + (40 + slots / 16) * levels,
				       "%llu blocks, %u nodes (%ux%u, 2^%u)", cost, n,
				       slots, levels, k);
				for (i = 0; i < n; i++)
					twheel_wheel_dequeue(w, &nodes[i]);
			}
			wheel_free(w);
		}
	}
	free(nodes);
}

/*
 * Each step back makes the bucket of a node come up once before it needs to. The node then
 * moves up to the level for its new distance, and from there down as always. So the steps
 * together move it once for each higher level.
 */
TEST(a_step_back_moves_a_node_once_a_level)
{
	u32 n = 300, steps, i;
	struct twheel_node *nodes = nodes_new(n), *out[8];
	u64 seed = 10, last = 1ULL << 55;

	for (steps = 0; steps < 40; steps++) {
		struct twheel_wheel *w = wheel_new(64, 8, last);
		u64 most, wakeups = 0;
		bool more;

		for (i = 0; i < n; i++) {
			nodes[i].expires = last + 1 + (rng_next(&seed) >> (24 + i % 40));
			twheel_wheel_enqueue(w, &nodes[i]);
		}
		nr_moves = 0;
		for (i = 0; i < steps; i++) {
			/*
			 * All nodes stay within the range, so there are no rounds on the
			 * last level.
			 */
			u64 back = rng_next(&seed) >> (30 + rng_next(&seed) % 34);

			/*
			 * The clock goes part of the way to the next node, and part of the
			 * work is done.
			 */
			wheel_collect(w, w->clk + rng_next(&seed) % (1ULL << 20), out,
				      i % 8, &more);
			twheel_wheel_rewind(w, w->clk - back);
		}
		most = n * (w->levels - 1) + steps * n * w->levels;
		while (w->nr_nodes) {
			wheel_collect(w, w->next_expiry, out, 8, &more);
			wakeups++;
			expect(wakeups <= most + n + 1, "%llu wake-ups", wakeups);
		}
		expect(nr_moves <= most, "%llu moves of %u nodes, %u steps back",
		       nr_moves, n, steps);
		wheel_free(w);
	}
	free(nodes);
}

/*
 * Timers with slack: 100,000 over 10 s, as the device arms them. Each wake-up expires some
 * of them, and few move before.
 */
TEST(slack_saves_wakeups_and_moves)
{
	static const u64 slacks[] = { 0, 1000000000 >> 20 };
	u32 n = 100000, k, i;
	struct twheel_node *nodes = nodes_new(n), *out[64];
	u64 wakeups[2], idle, grid = 512, seed;

	for (k = 0; k < 2; k++) {
		struct twheel_wheel *w = wheel_new(64, 6, 123456789);

		seed = 11;
		for (i = 0; i < n; i++) {
			u64 first = w->clk + 1 + rng_next(&seed) % (10 * 1000000000ULL >> 20);

			nodes[i].expires = twheel_wheel_coalesce(first, slacks[k]);
			twheel_wheel_enqueue(w, &nodes[i]);
		}
		wakeups[k] = 0;
		idle = 0;
		nr_moves = 0;
		while (w->nr_nodes) {
			u64 before = w->nr_nodes;
			bool more = true;

			while (more)
				wheel_collect(w, w->next_expiry, out, 64, &more);
			wakeups[k]++;
			idle += w->nr_nodes == before;
		}
		expect(idle <= w->levels, "%llu wake-ups for nothing", idle);
		if (slacks[k])
			expect(nr_moves < n / 10, "%llu moves", nr_moves);
		else
			expect(nr_moves > n, "%llu moves", nr_moves);
		wheel_free(w);
	}
	/*
	 * Without slack there is a wake-up in each tick. With slack there is one in each
	 * tick of a grid that every window contains.
	 */
	expect(wakeups[0] > (10 * 1000000000ULL >> 20) - 10, "%llu", wakeups[0]);
	expect(wakeups[1] <= (11 * 1000000000ULL >> 20) / grid + 3, "%llu", wakeups[1]);
	free(nodes);
}

/* With 384 bytes for what the module has beside a wheel: a struct twheel_cpu_base has 320. */
TEST(a_wheel_of_the_device_fits_in_16_KB)
{
	size_t size = twheel_wheel_size(64, LEVELS);

	expect(twheel_wheel_levels(64, (((u64)1 << 61) - 1) >> 20) == LEVELS, "other levels");
	expect(size <= (16 << 10) - 384, "%zu bytes", size);
}
