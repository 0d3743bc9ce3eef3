/* SPDX-License-Identifier: GPL-2.0-only */
/* What a seed chooses: the same each time. */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <linux/types.h>

extern u64 sim_rng[2];

static inline void sim_seed(u64 seed)
{
	sim_rng[0] = seed * 0x9E3779B97F4A7C15ULL + 1;
	sim_rng[1] = seed ^ 0xD1B54A32D192ED03ULL;
}

/* xoroshiro128+ */
static inline u64 sim_random(void)
{
	u64 a = sim_rng[0], b = sim_rng[1], sum = a + b;

	b ^= a;
	sim_rng[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
	sim_rng[1] = b << 37 | b >> 27;
	return sum;
}

static inline u32 sim_below(u32 n)
{
	return (u32)((sim_random() >> 32) * n >> 32);
}

#endif /* SIM_RANDOM_H */
