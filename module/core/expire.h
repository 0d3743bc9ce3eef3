/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The way out: what is due becomes ready, and what is ready is read. */
#ifndef TWHEEL_EXPIRE_H
#define TWHEEL_EXPIRE_H

#include <linux/types.h>

struct iov_iter;
struct twheel_base;
struct twheel_ctx;

/* An expire batch: the timers that expiry looks at before it releases a base's lock */
#define TWHEEL_EXPIRE_BATCH	32

/**
 * struct twheel_run - one or more expire batches of a wheel, one after another
 * @time:	the time on the wheel's clock, in ns
 * @expired:	timers made ready so far
 * @moved:	timers that came up and were put back so far
 * @nr_wake:	contexts that are to be woken at its end
 * @wake:	these contexts, each once. The run is under RCU, which keeps their memory
 */
struct twheel_run {
	u64			time;
	u32			expired;
	u32			moved;
	u32			nr_wake;
	struct twheel_ctx	*wake[2 * TWHEEL_EXPIRE_BATCH];
};

/**
 * twheel_expire() - look at one batch of the timers that come up in a wheel
 * @base:	the wheel's base
 * @run:	the run that this is part of, which has room for %TWHEEL_EXPIRE_BATCH contexts more;
 *		its counts, and the contexts to be woken at its end, are added to
 *
 * The timers whose turns come by @run->time are looked at: those that are due become ready, and
 * the others go back into the wheel. For the host.
 *
 * Context: soft interrupt, under RCU. The caller holds @base->lock.
 * Return: at how many timers it has looked; fewer than %TWHEEL_EXPIRE_BATCH if none is left.
 */
u32 twheel_expire(struct twheel_base *base, struct twheel_run *run);

/**
 * twheel_expire_wake() - wake the waiters of all contexts that a run has noted
 * @run:	the run
 *
 * For the host.
 *
 * Context: soft interrupt, under RCU, without locks.
 */
void twheel_expire_wake(const struct twheel_run *run);

/**
 * twheel_expire_deliver() - move some records to a reader
 * @ctx:	the context
 * @to:		the reader's memory
 *
 * A record that could not be stored whole stays ready.
 *
 * Context: process; in the task whose time namespace counts.
 * Return: the bytes stored; 0 if nothing is ready; or -EFAULT if the memory for the first
 * record has to be faulted in.
 */
ssize_t twheel_expire_deliver(struct twheel_ctx *ctx, struct iov_iter *to);

#endif /* TWHEEL_EXPIRE_H */
