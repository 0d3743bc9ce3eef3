/* SPDX-License-Identifier: GPL-2.0-only */
/* How many timers the contexts of one user may hold, and how much memory. */
#ifndef TWHEEL_QUOTA_H
#define TWHEEL_QUOTA_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "wheels.h"

struct cred;

/*
 * For timers, keys and words: at the limit of its memory cgroup a program gets an error,
 * and is not killed.
 */
#define TWHEEL_POOL_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * The memory of a user's contexts: so many bytes for each timer of the limit, and a few pages
 * so that a low limit can be reached. A timer with key and word takes 91 bytes.
 */
#define TWHEEL_TIMER_BYTES	96
#define TWHEEL_USER_BYTES	(16 * PAGE_SIZE)

/**
 * struct twheel_quota - what one user's contexts hold together
 * @entry:	in the table of users; under the table's lock
 * @uid:	the user who is charged
 * @refs:	contexts that count here, and pieces of memory that wait to be freed
 * @timers:	timers that the contexts have reserved: never more than the limit was
 * @releases:	how often some of these were given back
 * @in_vain:	that when all that is not used was taken back, and there was no timer all the same;
 *		-1 before. Written under @mutex, read without a lock
 * @memory:	bytes that the contexts take
 * @leaving:	those of them that are freed after an RCU grace period
 * @left:	woken when such memory was freed
 * @mutex:	guards @accounts and @reclaims
 * @accounts:	of all contexts that have reserved timers
 * @reclaims:	what they have and do not use is taken back, and nobody keeps any. Read without a
 *		lock
 * @retry:	before this time on CLOCK_MONOTONIC, in ns, @reclaim is not queued again. Read and
 *		written without a lock
 * @reclaim:	takes back what contexts have and do not use. It holds a reference
 * @wheels:	the user's wheels
 * @free:	frees the quota
 */
struct twheel_quota {
	struct hlist_node	entry;
	kuid_t			uid;
	refcount_t		refs;
	atomic_long_t		timers;
	atomic_long_t		releases;
	long			in_vain;
	atomic_long_t		memory;
	atomic_long_t		leaving;
	wait_queue_head_t	left;
	/* inside twheel_ctx.grow, outside all spinlocks */
	struct mutex		mutex;
	struct list_head	accounts;
	bool			reclaims;
	u64			retry;
	struct work_struct	reclaim;
	struct twheel_wheels	wheels;
	struct work_struct	free;
};

/**
 * struct twheel_account - one context, where its user's timers are counted
 * @quota:	of the user; constant
 * @open:	timers were reserved; read and changed by the context alone
 * @entry:	in @quota->accounts while @open; changed under @quota->mutex
 */
struct twheel_account {
	struct twheel_quota	*quota;
	bool			open;
	struct list_head	entry;
};

/**
 * twheel_quota_init() - be ready for users
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int twheel_quota_init(void);

/**
 * twheel_quota_exit() - wait until nothing is left of all users, none of whom has a context
 *
 * Context: may sleep.
 */
void twheel_quota_exit(void);

/**
 * twheel_quota_get() - the quota that counts what a program opens
 * @cred:	of the program
 *
 * Context: may sleep.
 * Return: the quota, with a reference for the caller, or NULL without memory.
 */
struct twheel_quota *twheel_quota_get(const struct cred *cred);

/* See core/host.h */
static inline struct twheel_base *twheel_base_of(struct twheel_quota *quota,
						 enum twheel_clock clock, u16 cpu)
{
	return &twheel_wheels_of(&quota->wheels, clock, cpu)->base;
}

/* See core/host.h */
static inline struct twheel_base *twheel_base_local(struct twheel_quota *quota,
						    enum twheel_clock clock)
{
	struct twheel_cpu_base *cbase = twheel_wheels_of(&quota->wheels, clock,
							 twheel_wheels_cpu());
	struct twheel_cpu_wheels *here;

	if (likely(cbase))
		return &cbase->base;
	/*
	 * The CPU came only now, or was just isolated, or there was no memory: the next call makes
	 * the wheel.
	 */
	here = this_cpu_ptr(quota->wheels.on);
	if (ktime_get_ns() >= READ_ONCE(here->retry))
		WRITE_ONCE(here->ready[clock], false);
	return &READ_ONCE(quota->wheels.first[clock])->base;
}

/* See core/host.h */
static inline int twheel_base_prepare(struct twheel_quota *quota, enum twheel_clock clock)
{
	/* If the task goes to another CPU meanwhile that is as if it had done so afterwards. */
	const struct twheel_cpu_wheels *here = per_cpu_ptr(quota->wheels.on,
							   raw_smp_processor_id());

	/* Pairs with smp_store_release() in twheel_wheels_make(): @first is set, too. */
	if (likely(smp_load_acquire(&here->ready[clock])))
		return 0;
	return twheel_wheels_make(&quota->wheels, clock);
}

#endif /* TWHEEL_QUOTA_H */
