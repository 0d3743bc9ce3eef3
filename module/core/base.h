/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A wheel and its lock. */
#ifndef TWHEEL_BASE_H
#define TWHEEL_BASE_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "ticks.h"
#include "wheel.h"

/**
 * struct twheel_base - a wheel and its lock
 * @lock:	guards all fields below, each timer that is in @wheel, and those that became ready
 *		here until their records are read
 * @nr_ready:	timers of all contexts that became ready here, and were not read since
 * @wheel:	the wheel
 * @programmed:	a lower bound of the tick at which the host will turn the wheel, or
 *		%TWHEEL_NEVER; written by the host
 * @clock:	the clock; constant
 * @cpu:	which of the wheels on that clock this is; constant
 */
struct twheel_base {
	/* order: see design.md */
	spinlock_t		lock;
	u32			nr_ready;
	struct twheel_wheel	wheel;
	u64			programmed;
	enum twheel_clock	clock;
	u16			cpu;
};

/**
 * twheel_base_init() - begin with an empty wheel
 * @base:	the base
 * @clock:	the clock
 * @cpu:	which of the wheels on that clock it is
 * @memory:	of twheel_wheel_size() bytes, zeroed
 */
void twheel_base_init(struct twheel_base *base, enum twheel_clock clock, u16 cpu,
		      void *memory);

/**
 * twheel_bases_lock() - take the locks of two bases, or of one
 * @a:		a base
 * @b:		another one on the same clock of the same user; or @a, or NULL
 *
 * Context: bottom halves are off.
 */
void twheel_bases_lock(struct twheel_base *a, struct twheel_base *b)
	__acquires(&a->lock);

/**
 * twheel_bases_unlock() - release them
 * @a:		as for twheel_bases_lock()
 * @b:		as for twheel_bases_lock()
 *
 * Context: as for twheel_bases_lock().
 */
void twheel_bases_unlock(struct twheel_base *a, struct twheel_base *b)
	__releases(&a->lock);

/**
 * twheel_base_forward() - let the clock of the wheel go on to the present, or back
 * @base:	the base
 * @now:	the time on the base's clock, in ns
 *
 * So far as no bucket comes up on the way. Nodes are enqueued after that.
 *
 * Context: the caller holds @base->lock.
 */
void twheel_base_forward(struct twheel_base *base, u64 now);

#endif /* TWHEEL_BASE_H */
