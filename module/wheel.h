/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timer wheel: a pure data structure.
 *
 * No allocation, no clock, no lock: memory and time are parameters, and the
 * caller sees to it that one thread at a time uses a wheel. Compiles unchanged
 * in user space.
 */
#ifndef TWHEEL_WHEEL_H
#define TWHEEL_WHEEL_H

#include "wheel_types.h"

#define TWHEEL_SLOTS_MIN	4
#define TWHEEL_SLOTS_MAX	4096
#define TWHEEL_LEVELS_MIN	1
#define TWHEEL_LEVELS_MAX	8
/* Level 0 has one row of buckets, the others two. */
#define TWHEEL_ROWS_MAX		(2 * TWHEEL_LEVELS_MAX - 1)

/** define TWHEEL_NEVER - the tick that does not come */
#define TWHEEL_NEVER		U64_MAX

/**
 * struct twheel_node - what a wheel holds
 * @entry:	links the node into a bucket; for the wheel alone
 * @expires:	the tick at which it is to expire. Set it before
 *		twheel_wheel_enqueue(). While the node is in the wheel it may be
 *		moved to a later tick by just storing that here; to an earlier
 *		one only by dequeuing and enqueuing it.
 */
struct twheel_node {
	struct hlist_node	entry;
	u64			expires;
};

/**
 * struct twheel_wheel - hashed wheels in levels
 * @clk:	the tick up to which the wheel has turned. A node whose @expires
 *		is not after it is expired as soon as it is looked at.
 * @next_expiry: no bucket needs a look before this tick; a lower bound, exact
 *		when twheel_wheel_collect() has returned with nothing left.
 *		%TWHEEL_NEVER if the wheel was empty then.
 * @nr_nodes:	nodes in the wheel
 * @nr_cascades: how often a node was moved to another bucket, as it came up
 * @slots:	buckets a row, a power of two
 * @slot_bits:	log2 of @slots
 * @levels:	number of levels that can be reached with 64-bit ticks
 * @due_from:	for each row, no bucket of it before this one is due; its end
 *		when none is
 * @visit:	for each row, the bucket that is being worked off
 * @buckets:	lists, @slots a row: first the row of each level that comes on
 *		time, then those of level 1 and up that come ahead of time
 * @pending:	a bit for each bucket, set while it is not empty
 * @due:	a bit for each bucket whose turn came and that was not yet
 *		looked at
 */
struct twheel_wheel {
	u64			clk;
	u64			next_expiry;
	u64			nr_nodes;
	u64			nr_cascades;
	u32			slots;
	u8			slot_bits;
	u8			levels;
	u32			due_from[TWHEEL_ROWS_MAX];
	struct hlist_head	visit[TWHEEL_ROWS_MAX];
	struct hlist_head	*buckets;
	unsigned long		*pending;
	unsigned long		*due;
};

/* Bytes of memory that twheel_wheel_init() needs, aligned as a long. */
size_t twheel_wheel_size(u32 slots, u32 levels);

/* Set up an empty wheel that has turned up to @clk, in zeroed @memory. */
void twheel_wheel_init(struct twheel_wheel *w, u32 slots, u32 levels, u64 clk,
		       void *memory);

/* Add @node. O(levels). Lowers next_expiry if the node's bucket comes first. */
void twheel_wheel_enqueue(struct twheel_wheel *w, struct twheel_node *node);

/* Remove @node, which is in @w. O(1). Leaves next_expiry as it is. */
void twheel_wheel_dequeue(struct twheel_wheel *w, struct twheel_node *node);

/* Turn an idle wheel to @now, if no bucket comes up on the way. O(1). */
void twheel_wheel_forward(struct twheel_wheel *w, u64 now);

/*
 * Turn the wheel back to @now, before its clk. O(levels * slots / 64), whatever
 * the distance; each node may come up once more than it would have.
 */
void twheel_wheel_rewind(struct twheel_wheel *w, u64 now);

/*
 * Turn the wheel to @now, or back to it, and look at up to @size nodes that come
 * up: those due are removed and stored in @expired, the others go to the bucket
 * that fits them now. Returns how many were stored; *@more tells that there are
 * nodes left to look at, for another call.
 *
 * Over all calls that it takes: O(levels * slots + nodes that come up),
 * whatever the distance to @now.
 */
u32 twheel_wheel_collect(struct twheel_wheel *w, u64 now,
			 struct twheel_node **expired, u32 size, bool *more);

/* The roundest tick in [@expires, @expires + @slack]. */
u64 twheel_wheel_coalesce(u64 expires, u64 slack);

/* All invariants: NULL, or the one that does not hold. O(buckets + nodes). */
const char *twheel_wheel_check(const struct twheel_wheel *w);

#endif /* TWHEEL_WHEEL_H */
