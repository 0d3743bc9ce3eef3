// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many timers the contexts of one user may hold.
 *
 * Locking rules: twheel_quota_mutex guards the table; the outermost lock, held
 * only at open and release. Counting is atomic and takes no lock.
 *
 * Lifetime rules: each context holds a reference from open to release. The last
 * one to go takes the entry out of the table, under the mutex.
 */
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "quota.h"

static DEFINE_HASHTABLE(twheel_quotas, 6);
static DEFINE_MUTEX(twheel_quota_mutex);

unsigned long twheel_max_user_timers;

static struct twheel_quota *find_quota(kuid_t uid)
{
	struct twheel_quota *quota;

	lockdep_assert_held(&twheel_quota_mutex);

	hash_for_each_possible(twheel_quotas, quota, entry, __kuid_val(uid))
		if (uid_eq(quota->uid, uid))
			return quota;
	return NULL;
}

struct twheel_quota *twheel_quota_get(kuid_t uid)
{
	struct twheel_quota *quota;

	mutex_lock(&twheel_quota_mutex);

	quota = find_quota(uid);
	if (quota) {
		refcount_inc(&quota->refs);
		goto unlock;
	}

	quota = kzalloc(sizeof(*quota), GFP_KERNEL_ACCOUNT);
	if (!quota)
		goto unlock;

	quota->uid = uid;
	refcount_set(&quota->refs, 1);
	hash_add(twheel_quotas, &quota->entry, __kuid_val(uid));

unlock:
	mutex_unlock(&twheel_quota_mutex);
	return quota;
}

void twheel_quota_put(struct twheel_quota *quota)
{
	if (!refcount_dec_and_mutex_lock(&quota->refs, &twheel_quota_mutex))
		return;

	WARN_ON_ONCE(atomic_long_read(&quota->used));
	hash_del(&quota->entry);
	mutex_unlock(&twheel_quota_mutex);
	kfree(quota);
}

int twheel_quota_charge(struct twheel_quota *quota, long n)
{
	unsigned long max = READ_ONCE(twheel_max_user_timers);

	if ((unsigned long)atomic_long_add_return(n, &quota->used) > max) {
		atomic_long_sub(n, &quota->used);
		return -EDQUOT;
	}
	return 0;
}

void twheel_quota_uncharge(struct twheel_quota *quota, long n)
{
	atomic_long_sub(n, &quota->used);
}
