// SPDX-License-Identifier: GPL-2.0-only
/* What time it is for programs of the simulation, and how late timers may be in it. */
#include <linux/ktime.h>

#include "world.h"

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
	u64 late = sim_config.skew + sim_max_held();
	/* A batch whose keys collide passes up to five times as many points. */
	u32 freezes = sim_config.zeros && any_context(keyed) ? 300 : 60;

	if (world.fair)
		return late + fair_bound();
	/* All that comes up at once in an ordinary episode takes less time than a batch. */
	return late + 4 * sim_config.costs.kick +
	       (sim_config.freeze_chance ? freezes * sim_config.freeze_ns : 0);
}
