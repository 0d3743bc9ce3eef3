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
 * takes no lock until the limit is near; then twheel_quota.lock, which comes inside all others
 * of the module.
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

#include "compat.h"
#include "lease.h"
#include "quota.h"

/* Timers that a CPU counts by itself, before it adds them to the count of all */
#define TWHEEL_QUOTA_BATCH	64

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
	percpu_counter_destroy(&quota->timers);
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
	spin_lock_init(&new->lock);
	new->looks = alloc_percpu_gfp(u64, TWHEEL_OPEN_GFP);
	if (!new->looks || percpu_counter_init(&new->timers, 0, TWHEEL_OPEN_GFP)) {
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
	enum twheel_memory kind;
	bool last;

	spin_lock(&twheel_quota_lock);
	last = refcount_dec_and_test(&quota->refs);
	if (last)
		hash_del(&quota->entry);
	spin_unlock(&twheel_quota_lock);
	if (!last)
		return;

	WARN_ON_ONCE(twheel_counter_sum(&quota->timers));
	for (kind = 0; kind < TWHEEL_MEMORY_KINDS; kind++)
		WARN_ON_ONCE(atomic_long_read(&quota->memory[kind]));
	free_quota(quota);
}

unsigned long twheel_quota_timers(struct twheel_quota *quota)
{
	s64 timers = twheel_counter_sum(&quota->timers);

	return max(timers, 0LL);
}

static void count_timers(struct twheel_quota *quota, long n)
{
	percpu_counter_add_batch(&quota->timers, n, TWHEEL_QUOTA_BATCH);
}

/*
 * Are there so many timers that with @n more the limit of @max has to be looked at closely? What
 * each CPU counts by itself, and is just counting, is not known here.
 */
static bool is_near(struct twheel_quota *quota, u32 n, unsigned long max)
{
	return percpu_counter_read_positive(&quota->timers) +
	       (TWHEEL_QUOTA_BATCH + (unsigned long)n) * nr_cpu_ids >= max;
}

int twheel_quota_add_timers(struct twheel_quota *quota, u32 n)
{
	unsigned long max = READ_ONCE(twheel_max_user_timers);
	int ret = 1;

	if (likely(!is_near(quota, n, max))) {
		count_timers(quota, n);
		return n;
	}

	/* For all timers of this user, as each one needs the count of all CPUs. */
	spin_lock(&quota->lock);
	if (twheel_quota_timers(quota) < max)
		count_timers(quota, 1);
	else
		ret = -EDQUOT;
	spin_unlock(&quota->lock);
	return ret;
}

void twheel_quota_sub_timers(struct twheel_quota *quota, long n)
{
	count_timers(quota, -n);
}

int twheel_quota_add_memory(struct twheel_quota *quota, enum twheel_memory kind, long n)
{
	unsigned long max = READ_ONCE(twheel_max_user_timers);
	long total;

	/* No timer could be made in that memory. */
	if (is_near(quota, 1, max) && twheel_quota_timers(quota) >= max)
		return -EDQUOT;

	total = atomic_long_add_return(n, &quota->memory[kind]);

	/* Each context may have one chunk or page that is not full. */
	total -= n * refcount_read(&quota->refs);
	if (total > 0 && (unsigned long)total > max) {
		twheel_quota_sub_memory(quota, kind, n);
		return -EDQUOT;
	}
	return 0;
}

void twheel_quota_sub_memory(struct twheel_quota *quota, enum twheel_memory kind, long n)
{
	atomic_long_sub(n, &quota->memory[kind]);
}

u64 twheel_quota_charge_look(struct twheel_quota *quota, u64 now, u64 cost)
{
	return twheel_lease_charge(this_cpu_ptr(quota->looks), now, cost);
}
