/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The timer wheel: a pure data structure.
 *
 * No allocation, no clock, no lock: memory and time are parameters, and the
 * caller sees to it that one thread at a time uses a wheel. The tests compile it
 * unchanged in user space: userspace/shim has the kernel headers that it needs there.
 */
#ifndef TWHEEL_WHEEL_H
#define TWHEEL_WHEEL_H

#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/types.h>

#include "debug.h"

#define TWHEEL_SLOTS_MIN	4
#define TWHEEL_SLOTS_MAX	4096

/** define TWHEEL_NEVER - the tick that does not come */
#define TWHEEL_NEVER		U64_MAX

/**
 * struct twheel_node - what a wheel holds
 * @entry:	links the node into a bucket; for the wheel alone. Outside the wheel it is
 *		undefined
 * @expires:	the tick at which it is to expire. Set before twheel_wheel_enqueue(). While
 *		the node is in the wheel, storing a later tick here moves it there. To move
 *		it to an earlier tick, dequeue and enqueue it
 */
struct twheel_node {
	struct list_head	entry;
	u64			expires;
};

/**
 * struct twheel_row - a row of buckets
 * @visit:	nodes of the bucket in work, a queue
 * @due:	while @visit is not empty, the tick by which all of them have to be taken
 * @turn:	no bucket has its turn before this tick; %TWHEEL_NEVER only if all are empty
 */
struct twheel_row {
	struct list_head	visit;
	u64			due;
	u64			turn;
};

/**
 * struct twheel_wheel - hashed wheels in levels
 * @clk:	the tick up to which the wheel has turned: all nodes with an earlier
 *		@expires were taken. It is behind the present while there are more to be
 *		taken
 * @next_expiry: no node comes up before this tick: a lower bound. When twheel_wheel_take()
 *		has returned 0 it is after @clk, and exact but for a node at the very end
 *		of what its level reaches; %TWHEEL_NEVER if the wheel is empty
 * @nr_nodes:	nodes in the wheel
 * @slots:	buckets a row, a power of two
 * @slot_bits:	log2 of @slots
 * @levels:	number of levels that can be reached with 64-bit ticks
 * @level_of:	by the bits, from 0 to 64, of one tick less than a distance: the lowest level that
 *		reaches so far, or @levels if none does
 * @rows:	of each level the row that comes on time, then of level 1 and up
 *		the row that comes ahead of time
 * @buckets:	queues, @slots a row; after @rows in memory
 * @pending:	a bit for each bucket, set while it is not empty
 */
struct twheel_wheel {
	u64			clk;
	u64			next_expiry;
	u64			nr_nodes;
	u32			slots;
	u8			slot_bits;
	u8			levels;
	u8			level_of[65];
	struct twheel_row	*rows;
	struct list_head	*buckets;
	unsigned long		*pending;
};

/**
 * twheel_wheel_levels() - how many levels it takes to reach far enough
 * @slots:	buckets a level, a power of two
 * @range:	ticks
 *
 * Return: levels of @slots buckets that reach @range ticks ahead.
 */
u32 twheel_wheel_levels(u32 slots, u64 range);

/**
 * twheel_wheel_size() - how much memory a wheel needs
 * @slots:	buckets a level
 * @levels:	levels
 *
 * Return: bytes for twheel_wheel_init(), aligned like a long.
 */
size_t twheel_wheel_size(u32 slots, u32 levels);

/**
 * twheel_wheel_init() - set up an empty wheel
 * @w:		the wheel
 * @slots:	buckets a level, a power of two
 * @levels:	levels, no more than twheel_wheel_levels() says for all ticks. Nodes may be further
 *		ahead than these reach, but then a jump costs more: see wheel.c
 * @clk:	the tick up to which it has turned
 * @memory:	zeroed, of twheel_wheel_size() bytes
 */
void twheel_wheel_init(struct twheel_wheel *w, u32 slots, u32 levels, u64 clk,
		       void *memory);

/**
 * twheel_wheel_enqueue() - add a node
 * @w:		the wheel
 * @node:	the node; @node->expires is set. If that is not after @w->clk it is in work at
 *		once, as the last one: no node that is due later comes before it
 *
 * Takes O(1). Lowers @w->next_expiry if the bucket of @node comes first.
 */
void twheel_wheel_enqueue(struct twheel_wheel *w, struct twheel_node *node);

/**
 * twheel_wheel_dequeue() - remove a node
 * @w:		the wheel
 * @node:	the node, which is in @w
 *
 * Takes O(1). Leaves @w->next_expiry as it is.
 */
static inline void twheel_wheel_dequeue(struct twheel_wheel *w, struct twheel_node *node)
{
	struct list_head *next = node->entry.next, *prev = node->entry.prev;

	twheel_assert(w->nr_nodes && next->prev == &node->entry && prev->next == &node->entry);

	/*
	 * The neighbour on both sides of the only node is the head of its queue, whose address
	 * tells which bucket that is; or that it is in work, as the rows come before the buckets.
	 */
	if (next == prev && next >= w->buckets)
		__clear_bit((unsigned long)(next - w->buckets), w->pending);
	__list_del(prev, next);
	w->nr_nodes--;
}

/**
 * twheel_wheel_forward() - turn an idle wheel, unless a bucket comes up on the way
 * @w:		the wheel
 * @now:	the tick to turn it to
 *
 * Takes O(1).
 */
static inline void twheel_wheel_forward(struct twheel_wheel *w, u64 now)
{
	if (now > w->clk && now < w->next_expiry)
		w->clk = now;
}

/**
 * twheel_wheel_rewind() - turn a wheel back
 * @w:		the wheel
 * @now:	the tick to turn it to, before @w->clk
 *
 * Takes O(levels * slots / 64), whatever the distance. Each node may come up once more
 * than it would have.
 */
void twheel_wheel_rewind(struct twheel_wheel *w, u64 now);

/**
 * twheel_wheel_take() - turn a wheel until nodes come up, and remove them
 * @w:		the wheel
 * @now:	the tick to turn it to at most; it is turned back if that is before @w->clk
 * @nodes:	where to store the nodes
 * @size:	how many of them at most
 *
 * A node that is stored is due if its @expires is not after @w->clk. The others came up
 * ahead of time, or were moved to a later tick: the caller enqueues them again before the
 * next call. Then nodes are due in the order of @expires over all calls, but for nodes that
 * were enqueued when their tick had passed, and until the wheel is turned back.
 *
 * Each bucket is a queue. So if the caller enqueues nodes in the order in which it got them,
 * those of one tick are due in the order in which they were enqueued first, as far as they
 * went the same way: see wheel.c.
 *
 * All calls together take O(levels * slots + nodes that come up), whatever the distance to
 * @now. A node comes up at most once a level, and once more each time that it was moved to
 * a later tick or the wheel was turned back.
 *
 * Return: how many nodes were stored; 0 if none is left up to @now, and @w->clk is @now.
 */
u32 twheel_wheel_take(struct twheel_wheel *w, u64 now, struct twheel_node **nodes,
		      u32 size);

/**
 * twheel_wheel_coalesce() - choose a tick that others are likely to choose, too
 * @expires:	the first tick that is allowed
 * @slack:	how many ticks later the last one is
 *
 * Return: the allowed tick with the most zero bits at its end.
 */
u64 twheel_wheel_coalesce(u64 expires, u64 slack);

#ifdef TWHEEL_DEBUG
/**
 * twheel_wheel_check() - check all invariants of a wheel
 * @w:		the wheel
 *
 * Takes O(buckets + nodes): for tests, and for a module that is built to be tested, by
 * make modules DEBUG=1.
 *
 * Return: NULL, or the invariant that does not hold.
 */
const char *twheel_wheel_check(const struct twheel_wheel *w);
#endif

#endif /* TWHEEL_WHEEL_H */
