// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random operations on wheels of all geometries, compared with the model. They are the same
 * each time, unless SEED and OPS (operations for each test) are set.
 */
#include <stdio.h>

#include "model.h"

static u64 env(const char *name, u64 otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

/**
 * struct shape - the limits of a run
 * @slots_log2_max:	log2 of the largest number of slots, which begins at 2
 * @n_max:		the largest number of nodes, which begins at 1
 * @check_every:	number of operations between checks of all invariants; 0: one
 *			that grows with the wheel
 * @length:		the largest number of operations on one wheel
 */
struct shape {
	u32	slots_log2_max;
	u32	n_max;
	u32	check_every;
	u32	length;
};

static void run(const struct shape *s, u64 ops)
{
	u64 seed = env("SEED", 20260101), done = 0, wheels = 0;

	ops = env("OPS", ops);
	printf("# SEED=%llu OPS=%llu\n", seed, ops);
	while (done < ops) {
		u64 r = rng_next(&seed), clk = rng_next(&seed);
		u32 slots = 4U << r % (s->slots_log2_max - 1);
		u32 n = 1 + (u32)(r >> 16) % s->n_max;
		u32 i, every = s->check_every;
		struct model m;

		if (!every)
			every = 1 + slots / 2 + n / 4;
		/* The clock begins at 0, low, anywhere, or near the end of time. */
		clk = clk >> (r >> 40) % 64;
		if (r >> 48 & 1)
			clk = 0;
		else if (!(r >> 49 & 7))
			clk = TICK_MAX / 2 + clk / 4;

		model_init(&m, slots, n, clk, every);
		for (i = 0; i < s->length && done < ops; i++) {
			done++;
			if (!model_step(&m, rng_next(&seed)))
				break;
		}
		model_end(&m);
		wheels++;
	}
	printf("# %llu wheels\n", wheels);
}

TEST(small_wheels_checked_after_every_step)
{
	run(&(struct shape){ 4, 24, 1, 2000 }, 4000000);
}

TEST(all_geometries)
{
	run(&(struct shape){ 12, 200, 0, 4000 }, 3000000);
}

TEST(many_nodes)
{
	run(&(struct shape){ 8, 20000, 0, 100000 }, 1000000);
}
