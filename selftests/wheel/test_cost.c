// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the operations cost, counted and not timed: nodes looked at, and basic
 * blocks executed in wheel.c, which is compiled for this with a call into
 * __sanitizer_cov_trace_pc() in each of them. The same on every machine.
 */
#include "common.h"

static u64 blocks;

/* What the compiler puts calls to is declared nowhere. */
void __sanitizer_cov_trace_pc(void)
{
	blocks++;
}

/* Blocks executed by @call. */
#define cost_of(call) ({ u64 cost_before = blocks; call; blocks - cost_before; })

static struct twheel_node *nodes_new(u32 n)
{
	struct twheel_node *nodes = calloc(n, sizeof(*nodes));

	if (!nodes)
		abort();
	return nodes;
}

#define DEAREST_OF	300000

/*
 * The dearest enqueue and dequeue in a wheel of up to @n nodes, far and near,
 * overdue and postponed: the same ones, but not all at once.
 */
static void dearest(u32 n, u64 *enqueue, u64 *dequeue)
{
	struct twheel_wheel *w = wheel_new(64, 4, 1000);
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
			cost = cost_of(twheel_wheel_dequeue(w, &nodes[i]));
			if (cost > *dequeue)
				*dequeue = cost;
		}
	}
	free(nodes);
	wheel_free(w);
}

static void enqueue_and_dequeue_cost_the_same_for_any_number(void)
{
	u64 few[2], many[2];

	dearest(3000, &few[0], &few[1]);
	dearest(DEAREST_OF, &many[0], &many[1]);
	expect(few[0] && few[1], "nothing is counted");
	expect(many[0] <= few[0], "enqueue: %llu, then %llu", few[0], many[0]);
	expect(many[1] <= few[1], "dequeue: %llu, then %llu", few[1], many[1]);
	/* A loop over four levels, and some straight lines. */
	expect(many[0] <= 48, "enqueue: %llu blocks", many[0]);
	expect(many[1] <= 10, "dequeue: %llu blocks", many[1]);
}

/* Collect one by one at @now. Returns the nodes looked at. */
static u64 looks(struct twheel_wheel *w, u64 now, u32 *expired)
{
	struct twheel_node *out;
	bool more = true;
	u64 n = 0;

	*expired = 0;
	while (more) {
		u64 before = w->nr_nodes;

		*expired += twheel_wheel_collect(w, now, &out, 1, &more);
		n++;
		if (!before)
			expect(!more, "more of nothing");
	}
	return n;
}

/*
 * A collection that nothing interrupts looks at each node once. A node that has
 * been looked at and is not due goes to a bucket of a lower level, all of which
 * are done by then; or, on the last level, back to its own, which is no longer
 * marked. One that was postponed in place may go to any bucket, also to one
 * that is still marked: then there is a second look, which puts it back into
 * that same bucket with the mark gone. There is no third.
 */
static void a_jump_looks_at_each_node_once(void)
{
	u32 slots = 0, levels = 0, i, n = 300, postponed;
	struct twheel_node *nodes = nodes_new(n);
	bool twice = false;
	u64 seed = 7;

	while (next_geometry(&slots, &levels)) {
		for (postponed = 0; postponed < 2; postponed++) {
			struct twheel_wheel *w = wheel_new(slots, levels, rng_next(&seed) >> 20);
			u64 now = w->clk + (1ULL << 50), due = 0, seen;
			u32 expired;

			for (i = 0; i < n; i++) {
				nodes[i].expires = w->clk + 1 +
						   (rng_next(&seed) >> (11 + i % 53));
				twheel_wheel_enqueue(w, &nodes[i]);
				if (postponed)
					nodes[i].expires += rng_next(&seed) >> (11 + i % 8);
				due += nodes[i].expires <= now;
			}
			seen = looks(w, now, &expired);
			expect(expired == due, "%u of %llu", expired, due);
			expect(seen <= n * (1 + postponed), "%llu looks at %u, %ux%u", seen,
			       n, slots, levels);
			if (seen > n)
				twice = true;
			expect_sound(w);
			wheel_free(w);
		}
	}
	expect(twice, "no node was looked at twice: the test is too tame");
	free(nodes);
}

/* Nor does a call look at more nodes than it was told to, due or not. */
static void a_call_looks_at_no_more_than_its_size(void)
{
	u32 i, n = 4000, size = 8, calls = 0;
	struct twheel_wheel *w = wheel_new(64, 4, 0);
	struct twheel_node *nodes = nodes_new(n), *out[8];
	bool more;

	for (i = 0; i < n; i++) {
		nodes[i].expires = 50;
		twheel_wheel_enqueue(w, &nodes[i]);
		nodes[i].expires += 5000;
	}
	do {
		u32 expired;
		u64 cost = cost_of(expired = twheel_wheel_collect(w, 50, out, size, &more));

		expect(!expired, "%u came early", expired);
		expect(cost <= 100 + 60 * size, "%llu blocks for %u looks", cost, size);
		calls++;
	} while (more);
	expect(calls == n / size, "%u calls for %u nodes", calls, n);
	free(nodes);
	wheel_free(w);
}

/*
 * A node in every bucket, and a jump: the cost is that of the buckets and the
 * nodes, by one measure for all geometries and distances.
 */
static void a_jump_costs_levels_x_slots_and_nodes(void)
{
	u32 slots = 0, levels = 0, i, k;

	while (next_geometry(&slots, &levels)) {
		struct twheel_wheel *w = wheel_new(slots, levels, 0);
		u32 n = nr_buckets(w);
		struct twheel_node *nodes = nodes_new(n);

		for (k = 0; k < 64; k += 7) {
			u64 now, cost, nr_nodes;
			u32 expired;

			w->clk = 0;
			w->next_expiry = TWHEEL_NEVER;
			for (i = 0; i < n; i++) {
				u32 row = i / slots;
				u32 shift = granularity_bits(w, level_of(w, row));
				u64 hand = i % slots + (row ? 1 : 0);

				nodes[i].expires = 0;
				if (shift && hand > U64_MAX >> shift)
					continue;
				nodes[i].expires = (hand << shift) + (row >= w->levels);
				twheel_wheel_enqueue(w, &nodes[i]);
			}
			nr_nodes = w->nr_nodes;
			now = 1ULL << k;
			cost = cost_of(looks(w, now, &expired));
			expect(expired, "nothing came by 2^%u", k);
			expect(cost <= 100 + 4 * n + (60 + 4 * levels) * nr_nodes,
			       "%llu blocks for %u buckets, %llu nodes (%ux%u, 2^%u)", cost, n,
			       nr_nodes, slots, levels, k);

			/* Empty, it costs no more than a look at the bitmaps. */
			for (i = 0; i < n; i++)
				if (!hlist_unhashed(&nodes[i].entry))
					twheel_wheel_dequeue(w, &nodes[i]);
			cost = cost_of(looks(w, TICK_MAX, &expired));
			expect(cost <= 100 + n + 30 * levels, "%llu blocks for no nodes", cost);
		}
		free(nodes);
		wheel_free(w);
	}
}

/*
 * A step back costs a look at the bitmaps, however long it is and however many
 * nodes there are.
 */
static void a_step_back_costs_no_more_if_it_is_longer(void)
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
 * Each step back makes a node's bucket come up sooner than it needs to, once:
 * the node moves up to the level that its distance now asks for, and from there
 * down as ever. So it moves once for each level more, whatever the steps.
 */
static void a_step_back_moves_a_node_once_a_level(void)
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
		for (i = 0; i < steps; i++) {
			/* All stay within range: no rounds on the last level. */
			u64 back = rng_next(&seed) >> (30 + rng_next(&seed) % 34);

			/* Some of the way to the next one, and some of the work. */
			twheel_wheel_collect(w, w->clk + rng_next(&seed) % (1ULL << 20),
					     out, i % 8, &more);
			twheel_wheel_rewind(w, w->clk - back);
		}
		most = n * (w->levels - 1) + steps * n * w->levels;
		while (w->nr_nodes) {
			twheel_wheel_collect(w, w->next_expiry, out, 8, &more);
			wakeups++;
			expect(wakeups <= most + n + 1, "%llu wake-ups", wakeups);
		}
		expect(w->nr_cascades <= most, "%llu moves of %u nodes, %u steps back",
		       w->nr_cascades, n, steps);
		wheel_free(w);
	}
	free(nodes);
}

/*
 * Timers with slack: 100,000 over 10 s, as the device has them. Each wake-up is
 * for some that expire, and few move on the way there.
 */
static void slack_saves_wakeups_and_moves(void)
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
		while (w->nr_nodes) {
			u64 before = w->nr_nodes;
			bool more = true;

			while (more)
				twheel_wheel_collect(w, w->next_expiry, out, 64, &more);
			wakeups[k]++;
			idle += w->nr_nodes == before;
		}
		expect(idle <= w->levels, "%llu wake-ups for nothing", idle);
		if (slacks[k])
			expect(w->nr_cascades < n / 10, "%llu moves", w->nr_cascades);
		else
			expect(w->nr_cascades > n, "%llu moves", w->nr_cascades);
		wheel_free(w);
	}
	/* A tick each; and one each of a grid that every window has a tick of. */
	expect(wakeups[0] > (10 * 1000000000ULL >> 20) - 10, "%llu", wakeups[0]);
	expect(wakeups[1] <= (11 * 1000000000ULL >> 20) / grid + 3, "%llu", wakeups[1]);
	free(nodes);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(enqueue_and_dequeue_cost_the_same_for_any_number),
		TAP_TEST(a_jump_looks_at_each_node_once),
		TAP_TEST(a_call_looks_at_no_more_than_its_size),
		TAP_TEST(a_jump_costs_levels_x_slots_and_nodes),
		TAP_TEST(slack_saves_wakeups_and_moves),
		TAP_TEST(a_step_back_costs_no_more_if_it_is_longer),
		TAP_TEST(a_step_back_moves_a_node_once_a_level),
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
