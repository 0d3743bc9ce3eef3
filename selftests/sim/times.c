// SPDX-License-Identifier: GPL-2.0-only
/* What time it is for programs of the simulation, and how late timers may be in it. */
#include <linux/ktime.h>

#include "world.h"

/* All that comes up at once in an ordinary episode takes less than that. */
#define LATE_NS		100000U

static u64 ahead_of(const struct context *c, u64 now)
{
	switch (c->clock) {
	case CLOCK_REALTIME:	return (u64)sim_wall_offset(now);
	case CLOCK_BOOTTIME:	return (u64)sim_boot_offset + (u64)c->ahead;
	default:		return (u64)c->ahead;
	}
}

u64 time_of(const struct context *c)
{
	return sim_now() + ahead_of(c, sim_now());
}

u64 latest_time_of(const struct context *c)
{
	return sim_latest() + ahead_of(c, sim_latest());
}

u64 sim_time_of(const struct context *c, u64 time)
{
	return time - ahead_of(c, sim_now());
}

u64 most_late(void)
{
	if (world.fair)
		return sim_config.skew + sim_max_held() + fair_bound();
	return sim_config.skew + LATE_NS + 4 * sim_config.costs.kick +
	       (sim_config.freeze_chance ? 60 * sim_config.freeze_ns : 0);
}
