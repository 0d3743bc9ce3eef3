/* SPDX-License-Identifier: GPL-2.0-only */
/* What a timer is made of, and the word that says where it is. */
#ifndef TWHEEL_TIMER_TYPES_H
#define TWHEEL_TIMER_TYPES_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/types.h>

#include <linux/twheel.h>

#include "wheel.h"

/**
 * struct twheel_timer - one timer
 * @node:	while pending: its place in a wheel
 * @ready:	while ready: its place in the context's list
 * @expired:	while ready: when it was expired, in ns
 * @deadline:	the next expiration or, while ready, the first unread one, in ns
 * @user_data:	the program's
 * @interval:	ns between expirations; 0 for one shot
 * @count:	expirations left, unread ones included; 0 for no end
 * @slack:	ticks that it may expire late
 * @generation:	upper half of its handle
 * @where:	&enum twheel_state, TWHEEL_STATE_NONE while it is free; while
 *		pending, shifted by TWHEEL_CPU_SHIFT, the CPU of its base; and
 *		shifted by TWHEEL_FLAGS_SHIFT those of %TWHEEL_TIMER_FLAGS that it
 *		was armed with
 *
 * A timer that is pending is guarded by the lock of its base, any other by that
 * of its context. @where tells which; it changes only under both the lock that
 * guards it before and the one that does after. So it is read without a lock,
 * and again with the lock held that it named. It is one word so that no CPU sees
 * the state of one time with the base of another.
 *
 * Fits a cache line; there are millions.
 */
struct twheel_timer {
	union {
		struct twheel_node	node;
		struct {
			struct list_head	ready;
			u64			expired;
		};
	};
	u64	deadline;
	u64	user_data;
	u64	interval;
	u32	count;
	u32	slack;
	u32	generation;
	u32	where;
};

#define TWHEEL_CPU_SHIFT	8
#define TWHEEL_FLAGS_SHIFT	24

/* What is to be known of a timer as long as it is armed. */
#define TWHEEL_TIMER_FLAGS	(TWHEEL_ARM_FIXED_DELAY | TWHEEL_ARM_LEASE)

static inline enum twheel_state twheel_state_of(u32 where)
{
	return where & (BIT(TWHEEL_CPU_SHIFT) - 1);
}

static inline u16 twheel_cpu_of(u32 where)
{
	return where >> TWHEEL_CPU_SHIFT;
}

static inline u32 twheel_flags_of(u32 where)
{
	return where >> TWHEEL_FLAGS_SHIFT;
}

static inline bool twheel_is_lease(u32 where)
{
	return twheel_flags_of(where) & TWHEEL_ARM_LEASE;
}

/* Change what timer->where says, but for the flags. */
static inline void twheel_timer_set_where(struct twheel_timer *timer,
					  enum twheel_state state, u16 cpu)
{
	u32 flags = twheel_flags_of(timer->where);

	WRITE_ONCE(timer->where, state | (u32)cpu << TWHEEL_CPU_SHIFT |
				 flags << TWHEEL_FLAGS_SHIFT);
}

static inline enum twheel_state twheel_timer_state(const struct twheel_timer *timer)
{
	return twheel_state_of(READ_ONCE(timer->where));
}

#endif /* TWHEEL_TIMER_TYPES_H */
