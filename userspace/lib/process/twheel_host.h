/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The process as a host: what module/core/host.h says that a host has.
 *
 * Each context has a user, a quota and a wheel of its own. So the core's locks have nothing to
 * keep apart, and the mutex of the context is enough.
 */
#ifndef TWHEEL_PROCESS_HOST_H
#define TWHEEL_PROCESS_HOST_H

#include <linux/bitops.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "../backend.h"
#include "base.h"
#include "share.h"

#define TWHEEL_OPEN_GFP		GFP_KERNEL
#define TWHEEL_POOL_GFP		GFP_KERNEL

/**
 * struct twheel_quota - what the core takes for a user: one context
 * @base: its wheel
 * @first: no timer is to expire before this tick, and nearly always one is in it
 * @recheck: @first may be too early, as the timer that was due then has left the wheel
 */
struct twheel_quota {
	struct twheel_base	base;
	u64			first;
	bool			recheck;
};

/* A user has no limit, but several contexts may have one together: see host.c. */
struct twheel_account {
	struct twheel_quota	*quota;
};

static inline struct twheel_base *twheel_base_of(struct twheel_quota *quota,
						 enum twheel_clock clock, u16 cpu)
{
	return &quota->base;
}

static inline struct twheel_base *twheel_base_local(struct twheel_quota *quota,
						    enum twheel_clock clock)
{
	return twheel_base_of(quota, clock, 0);
}

static inline int twheel_base_prepare(struct twheel_quota *quota, enum twheel_clock clock)
{
	return 0;
}

static inline bool twheel_base_stays(const struct twheel_base *base)
{
	return true;
}

/*
 * A program is woken when a timer is due, and not for a wheel that only moves timers. So it is the
 * first tick that counts, which the wheel does not know.
 */
static inline void twheel_base_changed(struct twheel_base *base, u64 old, u64 new)
{
	struct twheel_quota *quota = container_of(base, struct twheel_quota, base);

	if (new < quota->first)
		quota->first = new;
	else if (old <= quota->first)
		quota->recheck = true;
}

/* Words are made by segments, in the context: see host.c. */
struct twheel_words { };

/* Who waits looks at the descriptor of the context: see host.c. */
struct twheel_waiters { };

static inline void twheel_waiters_init(struct twheel_waiters *waiters)
{
}

void twheel_waiters_wake(struct twheel_waiters *waiters);

/* Where the context of the present call counts: see share.h. */
extern __thread struct twheel_share_slot *twheel_counted EMB_TLS;

/*
 * Calls on a context count under its mutex, and nobody else does. twheel_stats() and other
 * processes read meanwhile.
 */
static inline void twheel_count_at(u32 index, u64 n)
{
	uint64_t *count = &twheel_counted->counts[index];

	__atomic_store_n(count, *count + n, __ATOMIC_RELAXED);
}

static inline void twheel_count_n(enum twheel_counter counter, unsigned long n)
{
	twheel_count_at(counter, n);
}

static inline void twheel_count(enum twheel_counter counter)
{
	twheel_count_at(counter, 1);
}

static inline void twheel_observe(enum twheel_histogram histogram, u64 value)
{
	u32 bucket = min_t(u32, fls64(value), TWHEEL_SHARE_BUCKETS - 1);

	twheel_count_at(TWHEEL_SHARE_COUNTERS + histogram * TWHEEL_SHARE_BUCKETS + bucket, 1);
}

/* Nobody traces. */

#define trace_twheel_arm_enabled()		false
#define trace_twheel_rearm_enabled()		false
#define trace_twheel_migrate_enabled()		false
#define trace_twheel_cancel_enabled()		false
#define trace_twheel_expire_enabled()		false
#define trace_twheel_arm(...)			((void)0)
#define trace_twheel_rearm(...)			((void)0)
#define trace_twheel_migrate(...)		((void)0)
#define trace_twheel_cancel(...)		((void)0)
#define trace_twheel_expire(...)		((void)0)

#endif /* TWHEEL_PROCESS_HOST_H */
