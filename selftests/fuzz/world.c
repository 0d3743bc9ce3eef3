// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contexts of a run.
 */
#include <stddef.h>

#include "world.h"

void world_reset(struct world *world, bool exact)
{
	world->exact = exact;
	world->nr = 0;
}

struct context *world_add(struct world *world)
{
	__u32 i = __atomic_fetch_add(&world->nr, 1, __ATOMIC_RELAXED);
	struct context *ctx;

	if (i >= WORLD_CONTEXTS)
		return NULL;
	ctx = &world->contexts[i];
	oracle_begin(ctx, world->known[i], WORLD_HANDLES);
	ctx->exact = world->exact;
	ctx->tick_ns = world->tick_ns;
	ctx->user_data = WORLD_MAGIC << 32 | (__u64)i << ORACLE_SERIAL_BITS;
	world->cursors[i] = 0;
	return ctx;
}

__u64 world_user_data(struct world *world, const struct context *ctx)
{
	__u32 serial = __atomic_add_fetch(&world->serial, 1, __ATOMIC_RELAXED);

	return ctx->user_data | serial % (1U << ORACLE_SERIAL_BITS);
}
