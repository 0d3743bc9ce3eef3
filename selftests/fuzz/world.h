/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contexts of a run, and what was wrong with them.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include "../oracle/oracle.h"

#define WORLD_CONTEXTS	16
#define WORLD_HANDLES	256
#define WORLD_MAGIC	0x7ee10000ULL

/**
 * struct world - all contexts of a run
 * @exact: one thread does it all, one call after another
 * @nr: contexts so far
 * @serial: of the last arming
 * @violations: what was wrong; the first is @first
 * @first: see @violations
 * @tick_ns: length of a tick
 * @contexts: the contexts
 * @cursors: of each, what the last list left
 * @known: of each, its handles
 *
 * Shared with children of the run, at the same address.
 */
struct world {
	bool exact;
	__u32 nr;
	__u32 serial;
	__u32 violations;
	char first[256];
	__u64 tick_ns;
	struct context contexts[WORLD_CONTEXTS];
	__u64 cursors[WORLD_CONTEXTS];
	struct known known[WORLD_CONTEXTS][WORLD_HANDLES];
};

void world_reset(struct world *world, bool exact);

/* A new context, or NULL if there is no place for another. */
struct context *world_add(struct world *world);

/* The user_data of a timer in @ctx: no other arming has it. */
__u64 world_user_data(struct world *world, const struct context *ctx);

#endif /* FUZZ_WORLD_H */
