/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A wheel, and a plain array that knows what the wheel has to do. Every operation is made
 * from 64 bits, so both random words and a fuzzer's bytes can drive it.
 */
#ifndef TWHEEL_MODEL_H
#define TWHEEL_MODEL_H

#include "common.h"

/**
 * struct model_item - a node, and what the model expects of it
 * @node:	the node, which is in the wheel while @queued
 * @queued:	it was enqueued, and neither dequeued nor expired since
 * @expires:	the tick before which it must not expire
 * @must:	the tick at which it has to expire: @expires, or the tick at which the wheel
 *		stood if it was overdue when it was enqueued
 * @queue:	the bucket to which it was enqueued, or the number of buckets if it was overdue
 * @nr:		how many nodes were enqueued before, wherever
 */
struct model_item {
	struct twheel_node	node;
	bool			queued;
	u64			expires;
	u64			must;
	u32			queue;
	u64			nr;
};

/**
 * struct model - a wheel and its oracle
 * @w:		the wheel
 * @items:	all nodes
 * @n:		the number of nodes
 * @nr_queued:	how many of them are in the wheel
 * @nr:		how many times a node was enqueued
 * @last:	of each bucket, and of what was overdue, the @nr of the node that was taken
 *		last: each is a queue
 * @clk:	the expected clock of the wheel
 * @partial:	a collection is half done
 * @exact:	next_expiry must be exact, as nothing was dequeued since the last
 *		whole collection or turn back
 * @check_every: number of operations between checks of all invariants
 * @steps:	number of operations so far
 */
struct model {
	struct twheel_wheel	*w;
	struct model_item	*items;
	u32			n;
	u32			nr_queued;
	u64			nr;
	u64			*last;
	u64			clk;
	bool			partial;
	bool			exact;
	u32			check_every;
	u64			steps;
};

/* Makes an empty wheel, and @n nodes outside it. */
void model_init(struct model *m, u32 slots, u32 n, u64 clk, u32 check_every);

/*
 * Applies the operation @op to both sides, and expects them to agree. Returns false when
 * the clock is so near its end that a new wheel is needed.
 */
bool model_step(struct model *m, u64 op);

/* Expects all remaining nodes to come, and frees everything. */
void model_end(struct model *m);

#endif /* TWHEEL_MODEL_H */
