// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many timers the contexts of one user may hold.
 *
 * Counted are the timers, against the limit, and the memory that there is for
 * timers. That is the same as long as timers are made; but a chunk of memory is
 * kept while a single timer in it lives, and without the second count a program
 * could fill memory with chunks that are all but empty.
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

	WARN_ON_ONCE(atomic_long_read(&quota->timers) ||
		     atomic_long_read(&quota->slots));
	hash_del(&quota->entry);
	mutex_unlock(&twheel_quota_mutex);
	kfree(quota);
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

int twheel_quota_add_chunk(struct twheel_quota *quota, long n)
{
	unsigned long max = READ_ONCE(twheel_max_user_timers);
	long slots;

	/* Nothing could be made of it. */
	if ((unsigned long)atomic_long_read(&quota->timers) >= max)
		return -EDQUOT;

	slots = atomic_long_add_return(n, &quota->slots);

	/* Each context may have a chunk that is not full. */
	slots -= n * refcount_read(&quota->refs);
	if (slots > 0 && (unsigned long)slots > max) {
		atomic_long_sub(n, &quota->slots);
		return -EDQUOT;
	}
	return 0;
}

void twheel_quota_sub_chunk(struct twheel_quota *quota, long n)
{
	atomic_long_sub(n, &quota->slots);
}
