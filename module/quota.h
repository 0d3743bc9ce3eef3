/* SPDX-License-Identifier: GPL-2.0-only */
/* How many timers the contexts of one user may hold. */
#ifndef TWHEEL_QUOTA_H
#define TWHEEL_QUOTA_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>

/**
 * struct twheel_quota - what one user's contexts hold together
 * @entry:	in the table of users; under the table's mutex
 * @uid:	the user
 * @refs:	contexts that count here
 * @timers:	timers that are pending or ready
 * @slots:	timers that there is memory for
 */
struct twheel_quota {
	struct hlist_node	entry;
	kuid_t			uid;
	refcount_t		refs;
	atomic_long_t		timers;
	atomic_long_t		slots;
};

/* The limit for each user: the module parameter max_user_timers. */
extern unsigned long twheel_max_user_timers;

/* The quota of @uid with a reference, or NULL without memory. May sleep. */
struct twheel_quota *twheel_quota_get(kuid_t uid);

/* Drop a reference. May sleep. */
void twheel_quota_put(struct twheel_quota *quota);

/* Count one more timer: 0, or -EDQUOT and nothing counted. Any context. */
int twheel_quota_add_timer(struct twheel_quota *quota);

/* Count @n timers less. Any context. */
void twheel_quota_sub_timers(struct twheel_quota *quota, long n);

/* Count a chunk of @n timers: 0, or -EDQUOT and nothing counted. Any context. */
int twheel_quota_add_chunk(struct twheel_quota *quota, long n);

/* Count a chunk of @n timers less. Any context. */
void twheel_quota_sub_chunk(struct twheel_quota *quota, long n);

#endif /* TWHEEL_QUOTA_H */
