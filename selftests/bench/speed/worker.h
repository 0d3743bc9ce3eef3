/* SPDX-License-Identifier: GPL-2.0-only */
/* What operations.c and measure.c share. */
#ifndef SPEED_WORKER_H
#define SPEED_WORKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "speed.h"

/** enum fill - the timers of a job: none, all pending far ahead, or some and some */
enum fill { EMPTY, FULL, MIXED };

/**
 * struct worker - a thread that measures
 * @job: what it has to do
 * @thread: of the C library
 * @fill: what there is at the moment
 * @ns: of the present operation
 * @ops: how many there were
 * @why: NULL, or why there is no figure
 * @spent: ns that it took to find that out
 * @reason: room for @why
 * @cannot: there is no room or time for all timers, so there will be no figures any more
 * @base: the earliest of the deadlines that timers are armed with
 * @ahead: `later` has come this far after @base, ns
 * @passes: how often the timers were moved, for a new salt each time
 * @pos: the next one to be moved, an index of the job's order or, in OP_ORDER, of that of
 *	the deadlines
 * @arm_ns: what arming one has taken
 */
struct worker {
	struct job	job;
	pthread_t	thread;
	enum fill	fill;
	uint64_t	ns;
	uint64_t	ops;
	uint64_t	spent;
	const char	*why;
	char		reason[96];
	bool		cannot;
	uint64_t	base;
	uint64_t	ahead;
	uint64_t	passes;
	uint32_t	pos;
	uint64_t	arm_ns;
};

/**
 * struct common - what the threads share
 * @barrier: all of them
 * @enough: the first thread that has enough ends an operation for all: so they are at it
 *	together all the time that is measured
 * @reaped: in a shared context any thread may get any record
 * @reaped_sum: of their numbers
 * @clock_cost: ns that reading the clock takes, which is taken off
 */
struct common {
	pthread_barrier_t	barrier;
	atomic_bool		enough;
	atomic_ullong		reaped;
	atomic_ullong		reaped_sum;
	uint64_t		clock_cost;
};

extern struct common common;

/* What is measured by: the time, or the CPU time of this thread */
uint64_t speed_now(const struct plan *plan);

void operate(struct worker *w, enum speed_op op);
void check(const struct worker *w, enum speed_op op, int ret);

#endif /* SPEED_WORKER_H */
