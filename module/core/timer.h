/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What a timer is made of, and its field that says where it is. */
#ifndef TWHEEL_TIMER_H
#define TWHEEL_TIMER_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/types.h>

#include <linux/twheel.h>

#include "debug.h"
#include "wheel.h"

/**
 * struct twheel_timer - one timer
 * @node:	while pending: its place in a wheel
 * @ready:	while ready: its place in the list of its context and CPU
 * @expired:	while ready: when it was expired, in ns
 * @ended:	after it has ended, and until it is free: the next timer that waits for that
 * @room:	makes a timer with pointers of 32 bits as large as any other
 * @deadline:	when it is to expire next or, while ready, when the first unread expiration
 *		was due, in ns
 * @user_data:	as the program chose it
 * @interval:	ns between expirations; 0 for one shot
 * @count:	expirations left, including unread ones; 0 for no end
 * @slack:	by how many ticks it may expire late
 * @generation:	upper half of its handle
 * @next:	if timers have keys, instead: the index of the next timer in the bucket of its
 *		key, or 0. Written under the lock of the keys there, read without a lock
 * @where:	&enum twheel_state, TWHEEL_STATE_NONE while it is free; while it is
 *		live, shifted by TWHEEL_CPU_SHIFT, the CPU of its base; and
 *		shifted by TWHEEL_FLAGS_SHIFT those of %TWHEEL_TIMER_FLAGS that it
 *		was armed with
 *
 * The lock of its base guards a timer that is live. @where says which base that is, and changes
 * only with that lock held and, if the timer moves, that of the other base. So it is read without a
 * lock, and read again with the lock held that it named. State and CPU are in one field so that no
 * CPU sees an old state with a new CPU. The lock of the base of its chunk's stock guards a timer
 * that is free. Most often that is the same one. If not, whoever has ended a timer frees it when
 * that lock can be taken, and until then nobody else uses it.
 *
 * A timer is a cache line, as there are millions of them.
 */
struct twheel_timer {
	union {
		struct twheel_node	node;
		struct {
			struct list_head	ready;
			u64			expired;
		};
		struct twheel_timer	*ended;
		u64			room[3];
	};
	u64	deadline;
	u64	user_data;
	u64	interval;
	u32	count;
	u32	slack;
	union {
		u32	generation;
		u32	next;
	};
	u32	where;
};

#define TWHEEL_CPU_SHIFT	8
#define TWHEEL_FLAGS_SHIFT	24
#define TWHEEL_WHERE_FLAGS	(~0U << TWHEEL_FLAGS_SHIFT)

/* The flags of an arming that are kept with the timer. */
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

/* The value of timer->where, without flags, of a timer that is pending on a base of @cpu */
static inline u32 twheel_where_pending(u16 cpu)
{
	return TWHEEL_STATE_PENDING | (u32)cpu << TWHEEL_CPU_SHIFT;
}

static inline u32 twheel_where_without_flags(u32 where)
{
	return where & ~TWHEEL_WHERE_FLAGS;
}

/* Change the state and the CPU in timer->where, and keep the flags. */
static inline void twheel_timer_set_where(struct twheel_timer *timer,
					  enum twheel_state state, u16 cpu)
{
	u32 flags = twheel_flags_of(timer->where);

	/* One that is free becomes pending in set_timer(), and none becomes free here. */
	twheel_assert(twheel_state_of(timer->where) != TWHEEL_STATE_NONE &&
		      state != TWHEEL_STATE_NONE);
	/* Whoever finds @cpu here finds the base of @cpu as well, which may be a new one. */
	smp_store_release(&timer->where, state | (u32)cpu << TWHEEL_CPU_SHIFT |
					 flags << TWHEEL_FLAGS_SHIFT);
}

static inline enum twheel_state twheel_timer_state(const struct twheel_timer *timer)
{
	return twheel_state_of(READ_ONCE(timer->where));
}

#endif /* TWHEEL_TIMER_H */
