/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timer wheel: a pure data structure.
 *
 * No allocation, no clock, no lock: memory and time are parameters, and the
 * caller sees to it that one thread at a time uses a wheel. The tests compile it
 * unchanged in user space: selftests/shim has the kernel headers that it needs there.
 */
#ifndef TWHEEL_WHEEL_H
#define TWHEEL_WHEEL_H

#include <linux/limits.h>
#include <linux/list.h>
#include <linux/types.h>

#define TWHEEL_SLOTS_MIN	4
#define TWHEEL_SLOTS_MAX	4096

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
 * struct twheel_row - a row of buckets
 * @visit:	nodes of the bucket in work
 * @due:	while there are any, the tick by which they all have to be taken
 * @turn:	no other bucket has its turn before this tick; %TWHEEL_NEVER if none has
 */
struct twheel_row {
	struct hlist_head	visit;
	u64			due;
	u64			turn;
};

/**
 * struct twheel_wheel - hashed wheels in levels
 * @clk:	the tick up to which the wheel has turned: all nodes with an earlier
 *		@expires were taken. It is behind the present while there are
 *		more to be taken.
 * @next_expiry: nothing is to be taken before this tick; a lower bound, exact when
 *		twheel_wheel_take() has returned 0 (but for a node at the very end of
 *		what its level reaches), and after @clk then. %TWHEEL_NEVER if the
 *		wheel was empty.
 * @nr_nodes:	nodes in the wheel
 * @slots:	buckets a row, a power of two
 * @slot_bits:	log2 of @slots
 * @levels:	number of levels that can be reached with 64-bit ticks
 * @rows:	of each level the row that comes on time, then of level 1 and up
 *		the row that comes ahead of time
 * @buckets:	lists, @slots a row
 * @pending:	a bit for each bucket, set while it is not empty
 */
struct twheel_wheel {
	u64			clk;
	u64			next_expiry;
	u64			nr_nodes;
	u32			slots;
	u8			slot_bits;
	u8			levels;
	struct twheel_row	*rows;
	struct hlist_head	*buckets;
	unsigned long		*pending;
};

/* Levels of @slots buckets that reach @range ticks ahead. */
u32 twheel_wheel_levels(u32 slots, u64 range);

/* Bytes of memory that twheel_wheel_init() needs, aligned as a long. */
size_t twheel_wheel_size(u32 slots, u32 levels);

/*
 * Set up an empty wheel that has turned up to @clk, in zeroed @memory. Nodes may be
 * further away than @levels reach, but then a jump costs more: see wheel.c.
 */
void twheel_wheel_init(struct twheel_wheel *w, u32 slots, u32 levels, u64 clk,
		       void *memory);

/*
 * Add @node. O(levels). Lowers next_expiry if the node's bucket comes first. One
 * whose tick is not after clk is taken by the next call that takes any.
 */
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
 * Turn the wheel on towards @now, or back to it, until nodes come up; remove up to
 * @size of them and store them in @nodes. Returns how many; 0 when none is left up
 * to @now, and clk is @now.
 *
 * A node that is stored with @expires not after clk is due. The others came up
 * ahead of time, or were moved to a later tick: enqueue them again before the next
 * call. Then nodes are due in the order of @expires over all calls, but for those
 * that were enqueued when their tick had passed, and until the wheel is turned back.
 * Within a tick there is no order.
 *
 * Over all calls that it takes: O(levels * slots + nodes that come up), whatever
 * the distance to @now. A node comes up once a level at most, and once more each
 * time that it was moved to a later tick or the wheel was turned back.
 */
u32 twheel_wheel_take(struct twheel_wheel *w, u64 now, struct twheel_node **nodes,
		      u32 size);

/* The roundest tick in [@expires, @expires + @slack]. */
u64 twheel_wheel_coalesce(u64 expires, u64 slack);

/*
 * All invariants: NULL, or the one that does not hold. O(buckets + nodes), and so for
 * tests, and for a module that is built to be tested: make modules DEBUG=1.
 */
#ifdef TWHEEL_DEBUG
const char *twheel_wheel_check(const struct twheel_wheel *w);
#endif

#endif /* TWHEEL_WHEEL_H */
