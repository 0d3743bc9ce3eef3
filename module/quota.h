/* SPDX-License-Identifier: GPL-2.0-only */
/* How many timers the contexts of one user may hold. */
#ifndef TWHEEL_QUOTA_H
#define TWHEEL_QUOTA_H

#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/percpu_counter.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
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
 * enum twheel_memory - kinds of memory, each measured in the timers that it is enough for
 * @TWHEEL_MEMORY_CHUNKS:	chunks of timers
 * @TWHEEL_MEMORY_WORDS:	pages of the words of leases
 * @TWHEEL_MEMORY_TABLES:	pages of the tables of chunks
 * @TWHEEL_MEMORY_KEYS:		pages of the hash tables of keys
 * @TWHEEL_MEMORY_KINDS:	how many kinds there are
 */
enum twheel_memory {
	TWHEEL_MEMORY_CHUNKS,
	TWHEEL_MEMORY_WORDS,
	TWHEEL_MEMORY_TABLES,
	TWHEEL_MEMORY_KEYS,
	TWHEEL_MEMORY_KINDS,
};

/**
 * struct twheel_quota - what one user's contexts hold together
 * @entry:	in the table of users; under the table's lock
 * @uid:	the user who is charged
 * @refs:	contexts that count here
 * @timers:	timers that are pending or ready. Each CPU counts some of them by itself
 * @lock:	serialises those who count a timer when there may be as many as are allowed
 * @memory:	for how many timers there is memory, by kind
 * @looks:	for each CPU, the time until which its looks at leases that were extended are
 *		paid for, in ns on CLOCK_MONOTONIC: see twheel_lease_charge(). Used by the
 *		soft interrupt of that CPU only
 */
struct twheel_quota {
	struct hlist_node	entry;
	kuid_t			uid;
	refcount_t		refs;
	struct percpu_counter	timers;
	/* inside twheel_ctx.lock; see quota.c */
	spinlock_t		lock;
	atomic_long_t		memory[TWHEEL_MEMORY_KINDS];
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
unsigned long twheel_quota_timers(struct twheel_quota *quota);

/**
 * twheel_quota_add_timers() - count more timers
 * @quota:	the quota
 * @n:		how many more: 1 or more
 *
 * Context: bottom halves are off.
 * Return: how many are counted: @n, or 1 if the limit is near; or -EDQUOT, and none is.
 */
int twheel_quota_add_timers(struct twheel_quota *quota, u32 n);

/**
 * twheel_quota_sub_timers() - count fewer timers
 * @quota:	the quota
 * @n:		how many fewer
 *
 * Context: any.
 */
void twheel_quota_sub_timers(struct twheel_quota *quota, long n);

/**
 * twheel_quota_add_memory() - count more memory
 * @quota:	the quota
 * @kind:	what it is for
 * @n:		how many timers it is enough for
 *
 * Context: any.
 * Return: 0, or -EDQUOT, and nothing is counted.
 */
int twheel_quota_add_memory(struct twheel_quota *quota, enum twheel_memory kind, long n);

/**
 * twheel_quota_sub_memory() - count memory no longer
 * @quota:	the quota
 * @kind:	what it was for
 * @n:		how many timers it was enough for
 *
 * Context: any.
 */
void twheel_quota_sub_memory(struct twheel_quota *quota, enum twheel_memory kind, long n);

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
