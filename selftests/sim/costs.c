// SPDX-License-Identifier: GPL-2.0-only
/*
 * What it costs to turn a wheel, where the module passes no point: the linker puts these in between
 * (--wrap).
 */
#include "costs.h"

u32 __wrap_twheel_wheel_take(struct twheel_wheel *w, u64 now, struct twheel_node **nodes, u32 max)
{
	u32 n = __real_twheel_wheel_take(w, now, nodes, max);

	sim_spend((u64)n * sim_config.costs.node);
	return n;
}

void __wrap_twheel_wheel_enqueue(struct twheel_wheel *w, struct twheel_node *node)
{
	__real_twheel_wheel_enqueue(w, node);
	sim_spend(sim_config.costs.enqueue);
}
