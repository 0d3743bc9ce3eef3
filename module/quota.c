// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many timers the contexts of one user may hold.
 *
 * Both the timers and the memory for timers are counted against the limit. The two counts
 * are about the same while timers are being made. But a chunk of memory is kept while a
 * single timer in it lives: without the second count a program could fill memory with
 * chunks that are nearly empty.
 *
 * Locking rules: twheel_quota_lock guards the table. No other lock is taken inside it or
 * outside it. It is a spinlock since all users need it to close the device: a task that
 * slept with it, as its memory cgroup has no memory left, would delay the others. Counting
 * is atomic and takes no lock.
 *
 * Lifetime rules: each context holds a reference from open to release. Dropping the last
 * one takes the entry out of the table, under the lock.
 */
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

#include "lease.h"
#include "quota.h"

static DEFINE_HASHTABLE(twheel_quotas, 6);
static DEFINE_SPINLOCK(twheel_quota_lock);

unsigned long twheel_max_user_timers;

static struct twheel_quota *find_quota(kuid_t uid)
{
	struct twheel_quota *quota;

	lockdep_assert_held(&twheel_quota_lock);

	hash_for_each_possible(twheel_quotas, quota, entry, __kuid_val(uid))
		if (uid_eq(quota->uid, uid))
			return quota;
	return NULL;
}

/*
 * Which user is charged for what @cred opens: the real user. In a user namespace it is the
 * one who made the namespace, as that one can be many users inside; unless it was root, who
 * makes namespaces for others.
 */
static kuid_t charged_uid(const struct cred *cred)
{
	const struct user_namespace *ns;
	kuid_t uid = cred->uid;

	for (ns = cred->user_ns; ns != &init_user_ns; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			uid = ns->owner;
	return uid;
}

static void free_quota(struct twheel_quota *quota)
{
	free_percpu(quota->looks);
	kfree(quota);
}

/* The quota of @uid, with one more reference. If there is none add @new, unless it is NULL. */
static struct twheel_quota *find_or_add(kuid_t uid, struct twheel_quota *new)
{
	struct twheel_quota *quota;

	spin_lock(&twheel_quota_lock);
	quota = find_quota(uid);
	if (quota) {
		refcount_inc(&quota->refs);
	} else if (new) {
		hash_add(twheel_quotas, &new->entry, __kuid_val(uid));
		quota = new;
	}
	spin_unlock(&twheel_quota_lock);
	return quota;
}

struct twheel_quota *twheel_quota_get(const struct cred *cred)
{
	kuid_t uid = charged_uid(cred);
	struct twheel_quota *quota, *new;

	quota = find_or_add(uid, NULL);
	if (quota)
		return quota;

	new = kzalloc(sizeof(*new), TWHEEL_OPEN_GFP);
	if (!new)
		return NULL;
	new->uid = uid;
	refcount_set(&new->refs, 1);
	new->looks = alloc_percpu_gfp(u64, TWHEEL_OPEN_GFP);
	if (!new->looks) {
		free_quota(new);
		return NULL;
	}

	quota = find_or_add(uid, new);
	if (quota != new)
		free_quota(new);
	return quota;
}

void twheel_quota_put(struct twheel_quota *quota)
{
	bool last;

	spin_lock(&twheel_quota_lock);
	last = refcount_dec_and_test(&quota->refs);
	if (last)
		hash_del(&quota->entry);
	spin_unlock(&twheel_quota_lock);
	if (!last)
		return;

	WARN_ON_ONCE(atomic_long_read(&quota->timers) ||
		     atomic_long_read(&quota->room) ||
		     atomic_long_read(&quota->words) ||
		     atomic_long_read(&quota->tables));
	free_quota(quota);
}

unsigned long twheel_quota_timers(const struct twheel_quota *quota)
{
	return atomic_long_read(&quota->timers);
}

int twheel_quota_add_timer(struct twheel_quota *quota)
{
	unsigned long max = READ_ONCE(twheel_max_user_timers);

	if ((unsigned long)atomic_long_inc_return(&quota->timers) > max) {
		atomic_long_dec(&quota->timers);
		return -EDQUOT;
	}
	return 0;
}

void twheel_quota_sub_timers(struct twheel_quota *quota, long n)
{
	atomic_long_sub(n, &quota->timers);
}

/* Add @n timers to @sum, the count of one kind of memory in @quota: 0 or -EDQUOT. */
static int count_memory(struct twheel_quota *quota, atomic_long_t *sum, long n)
{
	unsigned long max = READ_ONCE(twheel_max_user_timers);
	long total;

	/* No timer could be made in that memory. */
	if ((unsigned long)atomic_long_read(&quota->timers) >= max)
		return -EDQUOT;

	total = atomic_long_add_return(n, sum);

	/* Each context may have one chunk or page that is not full. */
	total -= n * refcount_read(&quota->refs);
	if (total > 0 && (unsigned long)total > max) {
		atomic_long_sub(n, sum);
		return -EDQUOT;
	}
	return 0;
}

int twheel_quota_add_chunk(struct twheel_quota *quota, long n)
{
	return count_memory(quota, &quota->room, n);
}

int twheel_quota_add_words(struct twheel_quota *quota, long n)
{
	return count_memory(quota, &quota->words, n);
}

int twheel_quota_add_table(struct twheel_quota *quota, long n)
{
	return count_memory(quota, &quota->tables, n);
}

void twheel_quota_sub_table(struct twheel_quota *quota, long n)
{
	atomic_long_sub(n, &quota->tables);
}

void twheel_quota_sub_chunk(struct twheel_quota *quota, long n)
{
	atomic_long_sub(n, &quota->room);
}

void twheel_quota_sub_words(struct twheel_quota *quota, long n)
{
	atomic_long_sub(n, &quota->words);
}

u64 twheel_quota_charge_look(struct twheel_quota *quota, u64 now, u64 cost)
{
	return twheel_lease_charge(this_cpu_ptr(quota->looks), now, cost);
}
