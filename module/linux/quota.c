// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many timers the contexts of one user may hold, and how much memory.
 *
 * Memory is counted by the byte: a context, its chunks of timers, its tables and its pages of
 * words. A chunk is kept while a single timer in it lives, so without that count a program could
 * fill memory with chunks that are nearly empty. Memory that is freed after an RCU grace period
 * counts until then.
 *
 * Locking rules: twheel_quota_lock guards the table of users. No other lock is taken inside it.
 * It is a spinlock since all users need it to open the device: a task that slept with it, as its
 * memory cgroup has no memory left, would delay the others. For the same reason an open takes no
 * twheel_quota.mutex, which is taken to reserve timers for the first time, when a limit is
 * reached, and at the last close. The locks of bases, one at a time, are taken inside it. An open
 * that finds no room leaves it to a work item to take back what is not used.
 *
 * Lifetime rules: each context holds a reference from open until its memory is freed, each
 * chunk that waits to be freed, and that work item. Dropping the last one takes the entry out of
 * the table, under the lock. Another work item then frees it and the user's wheels, which may
 * sleep.
 */
#include <linux/container_of.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

#include "../core/debug.h"
#include "../core/host.h"
#include "../core/pool.h"
#include "quota.h"

/* How long to wait at most for memory that is about to be freed. */
#define LEAVING_TIMEOUT	HZ

static DEFINE_HASHTABLE(twheel_quotas, 6);
static DEFINE_SPINLOCK(twheel_quota_lock);
/* Frees quotas, and takes back what their contexts do not use, as that may sleep. */
static struct workqueue_struct *twheel_quota_wq;

unsigned long twheel_max_user_timers;
unsigned long twheel_max_fd_timers;
u32 twheel_limit_changes;

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
	twheel_wheels_destroy(&quota->wheels);
	kfree(quota);
}

static void free_later(struct work_struct *work)
{
	free_quota(container_of(work, struct twheel_quota, free));
}

/* Take back what the user's contexts have and do not use. The mutex is held. */
static void reclaim(struct twheel_quota *quota)
{
	struct twheel_account *account;

	list_for_each_entry(account, &quota->accounts, entry) {
		twheel_pool_reclaim(container_of(account, struct twheel_pool, account));
		cond_resched();
	}
}

static void reclaim_later(struct work_struct *work)
{
	struct twheel_quota *quota = container_of(work, struct twheel_quota, reclaim);
	u64 begun = ktime_get_ns(), now;

	mutex_lock(&quota->mutex);
	reclaim(quota);
	mutex_unlock(&quota->mutex);
	/* Nobody is charged for the time, so that is a hundredth of a CPU for each user at most. */
	now = ktime_get_ns();
	WRITE_ONCE(quota->retry, now + NSEC_PER_SEC + 100 * (now - begun));
	twheel_quota_put(quota);
}

/* The quota of @uid, with one more reference. If there is none add @new, unless it is NULL. */
static struct twheel_quota *find_or_add(kuid_t uid, struct twheel_quota *new)
{
	struct twheel_quota *quota;

	spin_lock_bh(&twheel_quota_lock);
	quota = find_quota(uid);
	if (quota) {
		refcount_inc(&quota->refs);
	} else if (new) {
		hash_add(twheel_quotas, &new->entry, __kuid_val(uid));
		quota = new;
	}
	spin_unlock_bh(&twheel_quota_lock);
	return quota;
}

int twheel_quota_init(void)
{
	twheel_quota_wq = alloc_workqueue("twheel_users", WQ_UNBOUND, 0);
	return twheel_quota_wq ? 0 : -ENOMEM;
}

void twheel_quota_exit(void)
{
	/* What is freed after a grace period drops references. */
	rcu_barrier();
	destroy_workqueue(twheel_quota_wq);
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
	new->in_vain = -1;
	init_waitqueue_head(&new->left);
	mutex_init(&new->mutex);
	INIT_LIST_HEAD(&new->accounts);
	INIT_WORK(&new->free, free_later);
	INIT_WORK(&new->reclaim, reclaim_later);
	if (twheel_wheels_init(&new->wheels)) {
		kfree(new);
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

	/* Chunks of all users are freed on all CPUs: they are not to meet at the lock. */
	if (likely(refcount_dec_not_one(&quota->refs)))
		return;

	/* Chunks are freed in the soft interrupt. */
	spin_lock_bh(&twheel_quota_lock);
	last = refcount_dec_and_test(&quota->refs);
	if (last)
		hash_del(&quota->entry);
	spin_unlock_bh(&twheel_quota_lock);
	if (!last)
		return;

	twheel_assert(!atomic_long_read(&quota->timers) && !atomic_long_read(&quota->memory) &&
		      !atomic_long_read(&quota->leaving) && list_empty(&quota->accounts));
	queue_work(twheel_quota_wq, &quota->free);
}

/* Add @n to @count, unless it would be above @max. Returns whether it did. */
static bool add_unless_above(atomic_long_t *count, unsigned long n, unsigned long max)
{
	long old = atomic_long_read(count);

	do {
		if (old + n > max)
			return false;
	} while (!atomic_long_try_cmpxchg(count, &old, old + n));
	return true;
}

/* How many bytes a user may have now. */
static unsigned long max_memory(void)
{
	unsigned long timers = min_t(unsigned long, READ_ONCE(twheel_max_user_timers),
				     LONG_MAX / (2 * TWHEEL_TIMER_BYTES));

	return timers * TWHEEL_TIMER_BYTES + TWHEEL_USER_BYTES;
}

static bool count_memory(struct twheel_quota *quota, unsigned long bytes)
{
	return add_unless_above(&quota->memory, bytes, max_memory());
}

int twheel_quota_try_add_memory(struct twheel_quota *quota, unsigned long bytes)
{
	if (likely(count_memory(quota, bytes)))
		return 0;
	if (ktime_get_ns() < READ_ONCE(quota->retry))
		return -EDQUOT;
	/* It is set anew when the work ends, which begins after this. */
	WRITE_ONCE(quota->retry, TWHEEL_NEVER);
	refcount_inc(&quota->refs);
	if (!queue_work(twheel_quota_wq, &quota->reclaim))
		twheel_quota_put(quota);
	return -EDQUOT;
}

/* Is @bytes now counted, or is there nothing to wait for? *@ret tells which. */
static bool is_decided(struct twheel_quota *quota, unsigned long bytes, int *ret)
{
	/* Pairs with the release in twheel_quota_memory_left(): what has left does not count. */
	long leaving = atomic_long_read_acquire(&quota->leaving);

	*ret = count_memory(quota, bytes) ? 0 : -EDQUOT;
	return !*ret || !leaving;
}

int twheel_quota_add_memory(struct twheel_quota *quota, unsigned long bytes)
{
	int ret;

	if (likely(count_memory(quota, bytes)))
		return 0;
	if (mutex_lock_killable(&quota->mutex))
		return -EINTR;
	reclaim(quota);
	mutex_unlock(&quota->mutex);
	if (wait_event_killable_timeout(quota->left, is_decided(quota, bytes, &ret),
					LEAVING_TIMEOUT) < 0)
		return -EINTR;
	return ret;
}

void twheel_quota_sub_memory(struct twheel_quota *quota, unsigned long bytes)
{
	atomic_long_sub(bytes, &quota->memory);
}

void twheel_quota_memory_leaves(struct twheel_quota *quota, unsigned long bytes)
{
	refcount_inc(&quota->refs);
	atomic_long_add(bytes, &quota->leaving);
}

void twheel_quota_memory_left(struct twheel_quota *quota, unsigned long bytes)
{
	twheel_quota_sub_memory(quota, bytes);
	/* Pairs with the acquire in is_decided(). */
	atomic_long_sub_return_release(bytes, &quota->leaving);
	if (wq_has_sleeper(&quota->left))
		wake_up(&quota->left);
	twheel_quota_put(quota);
}

unsigned long twheel_quota_timers(struct twheel_quota *quota)
{
	struct twheel_cpu_base *cbase;
	unsigned long sum = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(cbase, &quota->wheels.all, of_user) {
		spin_lock_bh(&cbase->base.lock);
		sum += cbase->base.wheel.nr_nodes + cbase->base.nr_ready;
		spin_unlock_bh(&cbase->base.lock);
	}
	rcu_read_unlock();
	/* A timer that ended on one CPU while another one was looked at may count twice. */
	return min_t(unsigned long, sum, atomic_long_read(&quota->timers));
}

bool twheel_quota_is_short(struct twheel_quota *quota)
{
	return atomic_long_read(&quota->memory) > max_memory() / 2;
}

void twheel_account_close(struct twheel_account *account)
{
	if (!account->open)
		return;
	mutex_lock(&account->quota->mutex);
	list_del(&account->entry);
	mutex_unlock(&account->quota->mutex);
	account->open = false;
}

void twheel_account_release(struct twheel_account *account, u32 n)
{
	struct twheel_quota *quota = account->quota;

	atomic_long_sub(n, &quota->timers);
	/* Pairs with the acquire in twheel_account_reserve(): who has seen this sees that. */
	atomic_long_inc_return_release(&quota->releases);
}

/*
 * Was there no timer although all that is not used had been taken back, and was none given back
 * since? Then nobody keeps what ends, so there is nothing to be taken back.
 */
static bool is_in_vain(const struct twheel_quota *quota)
{
	return atomic_long_read(&quota->releases) == READ_ONCE(quota->in_vain);
}

/* Reserve a timer, if the limit leaves one. */
static bool reserve(struct twheel_quota *quota)
{
	return add_unless_above(&quota->timers, 1, READ_ONCE(twheel_max_user_timers));
}

int twheel_account_reserve(struct twheel_account *account)
{
	struct twheel_quota *quota = account->quota;
	long releases;
	bool got;

	if (likely(account->open)) {
		if (likely(reserve(quota)))
			return 0;
		if (is_in_vain(quota))
			return -EDQUOT;
	}

	if (mutex_lock_killable(&quota->mutex))
		return -EINTR;
	if (!account->open)
		list_add(&account->entry, &quota->accounts);
	account->open = true;
	got = reserve(quota);
	if (!got) {
		WRITE_ONCE(quota->reclaims, true);
		/*
		 * Whoever adds to a stock looks at this under the lock of a base, which is taken
		 * after this. A base that is not seen yet is used after add_unless_above(), which
		 * is a barrier, too.
		 */
		smp_mb();
		reclaim(quota);
		/* Pairs with the release in twheel_account_release(). */
		releases = atomic_long_read_acquire(&quota->releases);
		got = reserve(quota);
		if (!got)
			WRITE_ONCE(quota->in_vain, releases);
		/* Pairs with the acquire in twheel_account_is_sought(). */
		smp_store_release(&quota->reclaims, false);
	}
	mutex_unlock(&quota->mutex);
	return got ? 0 : -EDQUOT;
}

bool twheel_account_is_sought(const struct twheel_account *account)
{
	const struct twheel_quota *quota = account->quota;

	/* Pairs with the release in twheel_account_reserve(), which see. */
	return smp_load_acquire(&quota->reclaims) || is_in_vain(quota);
}

u32 twheel_account_reserve_more(struct twheel_account *account, u32 n)
{
	struct twheel_quota *quota = account->quota;
	unsigned long max = READ_ONCE(twheel_max_user_timers);
	unsigned long timers = atomic_long_read(&quota->timers);

	n = min_t(unsigned long, n, twheel_share(max - min(max, timers)));
	/* Others may have taken what was left; this one can do without. */
	return n && add_unless_above(&quota->timers, n, max) ? n : 0;
}
