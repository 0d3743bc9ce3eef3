/* SPDX-License-Identifier: GPL-2.0-only */
/* How many timers the contexts of one user may hold. */
#ifndef TWHEEL_QUOTA_H
#define TWHEEL_QUOTA_H

#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>

struct cred;

/*
 * For what an open needs. All devices of the misc class are opened under one lock:
 * a program at the limit of its memory cgroup reclaims once there, and is told.
 */
#define TWHEEL_OPEN_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/*
 * For timers, keys and words: at the limit of its memory cgroup a program gets an error,
 * and is not killed.
 */
#define TWHEEL_POOL_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * struct twheel_quota - what one user's contexts hold together
 * @entry:	in the table of users; under the table's lock
 * @uid:	the user who answers for them
 * @refs:	contexts that count here
 * @timers:	timers that are pending or ready
 * @slots:	timers that there is memory for
 * @words:	timers that there are words of leases for
 * @looks:	on each CPU when all looks in vain at leases there are worked off, in ns
 *		on CLOCK_MONOTONIC; used by the soft interrupt of that CPU only
 */
struct twheel_quota {
	struct hlist_node	entry;
	kuid_t			uid;
	refcount_t		refs;
	atomic_long_t		timers;
	atomic_long_t		slots;
	atomic_long_t		words;
	u64 __percpu		*looks;
};

/* The limit for each user: the module parameter max_user_timers. */
extern unsigned long twheel_max_user_timers;

/*
 * The quota where what @cred opens counts, with a reference, or NULL without
 * memory. May sleep.
 */
struct twheel_quota *twheel_quota_get(const struct cred *cred);

/* Drop a reference. */
void twheel_quota_put(struct twheel_quota *quota);

/* How many timers are counted. Any context. */
static inline unsigned long twheel_quota_timers(const struct twheel_quota *quota)
{
	return atomic_long_read(&quota->timers);
}

/* Count one more timer: 0, or -EDQUOT and nothing counted. Any context. */
int twheel_quota_add_timer(struct twheel_quota *quota);

/* Count @n timers less. Any context. */
void twheel_quota_sub_timers(struct twheel_quota *quota, long n);

/*
 * Count a chunk of @n timers, or a page of words for @n: 0, or -EDQUOT and
 * nothing counted. Any context.
 */
int twheel_quota_add_chunk(struct twheel_quota *quota, long n);
int twheel_quota_add_words(struct twheel_quota *quota, long n);

/* Count that many less. Any context. */
void twheel_quota_sub_chunk(struct twheel_quota *quota, long n);
void twheel_quota_sub_words(struct twheel_quota *quota, long n);

/*
 * A lease was looked at in vain, at @now on CLOCK_MONOTONIC, which took @cost: how long
 * has it to be left alone? See twheel_lease_charge(). All in ns. Call in the soft
 * interrupt that turns wheels.
 */
u64 twheel_quota_charge_look(struct twheel_quota *quota, u64 now, u64 cost);

#endif /* TWHEEL_QUOTA_H */
