/* SPDX-License-Identifier: GPL-2.0-only */
/* How many timers the contexts of one user may hold. */
#ifndef TWHEEL_QUOTA_H
#define TWHEEL_QUOTA_H

#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>

struct cred;

/*
 * For what an open needs. All devices of the misc class are opened under one lock:
 * a program at the limit of its memory cgroup reclaims once there, and is told.
 */
#define TWHEEL_OPEN_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/**
 * struct twheel_quota - what one user's contexts hold together
 * @entry:	in the table of users; under the table's lock
 * @uid:	the user who answers for them
 * @refs:	contexts that count here
 * @timers:	timers that are pending or ready
 * @slots:	timers that there is memory for
 * @words:	timers that there are words of leases for
 */
struct twheel_quota {
	struct hlist_node	entry;
	kuid_t			uid;
	refcount_t		refs;
	atomic_long_t		timers;
	atomic_long_t		slots;
	atomic_long_t		words;
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

#endif /* TWHEEL_QUOTA_H */
