/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A wheel beside a plain array that says what it has to do. Every operation is
 * made from 64 bits, so a stream of random words or a fuzzer's bytes will do.
 */
#ifndef TWHEEL_MODEL_H
#define TWHEEL_MODEL_H

#include "common.h"

/**
 * struct model_item - a node, and what is expected of it
 * @node:	in the wheel while @queued
 * @queued:	enqueued, and neither dequeued nor expired since
 * @expires:	the tick before which it must not expire
 * @must:	the tick at which it has to: the same, or that at which the wheel
 *		stood if it was overdue when it was enqueued
 */
struct model_item {
	struct twheel_node	node;
	bool			queued;
	u64			expires;
	u64			must;
};

/**
 * struct model - a wheel and its oracle
 * @w:		the wheel
 * @items:	all nodes there are
 * @n:		how many
 * @nr_queued:	how many of them are in the wheel
 * @clk:	where the wheel's clock has to be
 * @partial:	a collection is half done
 * @exact:	next_expiry has to be exact: nothing was dequeued since the last
 *		whole collection or turn back
 * @check_every: all invariants are checked after so many operations
 * @steps:	operations so far
 */
struct model {
	struct twheel_wheel	*w;
	struct model_item	*items;
	u32			n;
	u32			nr_queued;
	u64			clk;
	bool			partial;
	bool			exact;
	u32			check_every;
	u64			steps;
};

/* An empty wheel and @n nodes outside it. */
void model_init(struct model *m, u32 slots, u32 n, u64 clk, u32 check_every);

/*
 * Do what @op says to both sides, and expect them to agree. False when the
 * clock has come so near its end that a new wheel is due.
 */
bool model_step(struct model *m, u64 op);

/* Expect all nodes left to come, and free everything. */
void model_end(struct model *m);

#endif /* TWHEEL_MODEL_H */
