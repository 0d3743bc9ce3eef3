/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Each call with each fault: the first thing in it that can fail does, then the
 * second, and so on, until none is left.
 */
#ifndef TWHEEL_EACH_H
#define TWHEEL_EACH_H

#include "world.h"

/**
 * struct fault_case - a call that is made to fail
 * @name: for people
 * @clock: of the context; CLOCK_MONOTONIC, which is 1, if it is 0 without @real
 * @config: TWHEEL_CONFIG_* bits of the context
 * @real: the context's clock is CLOCK_REALTIME
 * @bare: there is no context to begin with
 * @rest: after the thing that fails each allocation fails, too
 * @pending: timers in it that never expire
 * @ready: timers in it that have expired; one of them is periodic
 * @begin: what else is to be done before, or NULL
 * @call: the call: 0 or more, or -errno
 * @after: takes into the world what a call with that outcome did, and checks what
 *	it gave back
 * @end: what is to be done in the end, or NULL
 * @want: what the call gives without faults if that is an error
 * @errors: what else it may fail with, when a fault fires
 */
struct fault_case {
	const char *name;
	__u32 clock;
	__u32 config;
	bool real;
	bool bare;
	bool rest;
	int pending;
	int ready;
	void (*begin)(struct world *w);
	long (*call)(struct world *w);
	void (*after)(struct world *w, long ret);
	void (*end)(struct world *w);
	long want;
	int errors[6];
};

/* A call of a case that is one expression of @w */
#define CALL(name, result) static long call_##name(struct world *w) { return result; }

/*
 * Run the cases, or those whose name begins with @only, a test each, and report the
 * figures. Does not return.
 */
void each_fault(const struct fault_case *cases, int n, const char *only);

#endif /* TWHEEL_EACH_H */
