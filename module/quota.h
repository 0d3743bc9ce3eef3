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
 * For what an open of the device needs. All devices of the misc class are opened under one
 * lock: so a program at the limit of its memory cgroup tries once to reclaim memory there,
 * and then gets an error.
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
 * @uid:	the user who is charged
 * @refs:	contexts that count here
 * @timers:	timers that are pending or ready
 * @room:	timers that there is memory for
 * @words:	timers that there are words of leases for
 * @tables:	timers that could be found by the tables of chunks
 * @looks:	for each CPU, the time until which its looks at leases that were extended are
 *		paid for, in ns on CLOCK_MONOTONIC: see twheel_lease_charge(). Used by the
 *		soft interrupt of that CPU only
 */
struct twheel_quota {
	struct hlist_node	entry;
	kuid_t			uid;
	refcount_t		refs;
	atomic_long_t		timers;
	atomic_long_t		room;
	atomic_long_t		words;
	atomic_long_t		tables;
	u64 __percpu		*looks;
};

/* The limit for each user: the module parameter max_user_timers. */
extern unsigned long twheel_max_user_timers;

/**
 * twheel_quota_get() - the quota that counts what a program opens
 * @cred:	of the program
 *
 * Context: may sleep.
 * Return: the quota, with a reference for the caller, or NULL without memory.
 */
struct twheel_quota *twheel_quota_get(const struct cred *cred);

/**
 * twheel_quota_put() - drop a reference
 * @quota:	the quota. Whatever the reference was for is no longer counted
 *
 * Context: process.
 */
void twheel_quota_put(struct twheel_quota *quota);

/**
 * twheel_quota_timers() - how many timers are counted
 * @quota:	the quota
 *
 * Context: any.
 * Return: timers that are pending or ready, in all contexts of the user.
 */
unsigned long twheel_quota_timers(const struct twheel_quota *quota);

/**
 * twheel_quota_add_timer() - count one more timer
 * @quota:	the quota
 *
 * Context: any.
 * Return: 0, or -EDQUOT, and nothing is counted.
 */
int twheel_quota_add_timer(struct twheel_quota *quota);

/**
 * twheel_quota_sub_timers() - count fewer timers
 * @quota:	the quota
 * @n:		how many fewer
 *
 * Context: any.
 */
void twheel_quota_sub_timers(struct twheel_quota *quota, long n);

/**
 * twheel_quota_add_chunk() - count the memory of one more chunk
 * @quota:	the quota
 * @n:		how many timers the chunk has room for
 *
 * Context: any.
 * Return: 0, or -EDQUOT, and nothing is counted.
 */
int twheel_quota_add_chunk(struct twheel_quota *quota, long n);

/**
 * twheel_quota_sub_chunk() - count the memory of a chunk no longer
 * @quota:	the quota
 * @n:		how many timers the chunk has room for
 *
 * Context: any.
 */
void twheel_quota_sub_chunk(struct twheel_quota *quota, long n);

/**
 * twheel_quota_add_words() - count the memory of one more page of words
 * @quota:	the quota
 * @n:		how many timers have their words there
 *
 * Context: any.
 * Return: 0, or -EDQUOT, and nothing is counted.
 */
int twheel_quota_add_words(struct twheel_quota *quota, long n);

/**
 * twheel_quota_sub_words() - count the memory of a page of words no longer
 * @quota:	the quota
 * @n:		how many timers have their words there
 *
 * Context: any.
 */
void twheel_quota_sub_words(struct twheel_quota *quota, long n);

/**
 * twheel_quota_add_table() - count the memory of one more page of a table of chunks
 * @quota:	the quota
 * @n:		how many timers could be found by that page
 *
 * Context: any.
 * Return: 0, or -EDQUOT, and nothing is counted.
 */
int twheel_quota_add_table(struct twheel_quota *quota, long n);

/**
 * twheel_quota_sub_table() - count the memory of a page of a table no longer
 * @quota:	the quota
 * @n:		how many timers could be found by that page
 *
 * Context: any.
 */
void twheel_quota_sub_table(struct twheel_quota *quota, long n);

/**
 * twheel_quota_charge_look() - charge the user for a look at a lease that was extended
 * @quota:	the quota
 * @now:	the time on CLOCK_MONOTONIC, in ns
 * @cost:	what the look took, in ns
 *
 * Context: the soft interrupt that turns wheels.
 * Return: for how many ns the lease is not to be looked at: see twheel_lease_charge().
 */
u64 twheel_quota_charge_look(struct twheel_quota *quota, u64 now, u64 cost);

#endif /* TWHEEL_QUOTA_H */
