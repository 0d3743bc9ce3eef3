/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The one way out of this folder: what a host gives to the timers.
 *
 * A host is where the wheels turn: the kernel, which is in module/linux, or something that stands
 * for it. It has what is declared here; <twheel_host.h>, which is found by the include path, has
 * its structures and what of this is inline there. All else that this folder uses is the kernel's
 * own API, which another host gives as well, by headers of the same names.
 *
 * A host may assume that
 *
 *  - it is called with the locks that are named here, and no others of this folder,
 *  - whoever calls the functions of this folder waits for nobody with a spinlock held,
 *  - bottom halves are off from twheel_hold_begin() to twheel_hold_end().
 */
#ifndef TWHEEL_HOST_H
#define TWHEEL_HOST_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/types.h>

#include "stats.h"
#include "ticks.h"

struct twheel_account;
struct twheel_base;
struct twheel_quota;
struct twheel_waiters;
struct twheel_words;

/*
 * Clocks
 */

/**
 * twheel_clock_now() - what time it is
 * @clock:	the clock
 *
 * Context: any, with any locks.
 * Return: the time in ns, in no time namespace.
 */
u64 twheel_clock_now(enum twheel_clock clock);

/**
 * twheel_clock_offset() - by how much a clock is ahead for the program that calls
 * @clock:	the clock
 *
 * Context: in the task whose time namespace counts.
 * Return: the offset in ns.
 */
s64 twheel_clock_offset(enum twheel_clock clock);

/**
 * twheel_clock_to_user() - a time as the calling program sees it
 * @clock:	the clock
 * @ns:		a time on @clock, in ns, in no time namespace
 *
 * Context: in the task whose time namespace counts.
 * Return: the time in ns.
 */
static inline u64 twheel_clock_to_user(enum twheel_clock clock, u64 ns)
{
	return twheel_clock_shift(ns, twheel_clock_offset(clock));
}

/**
 * twheel_clock_steps() - how often CLOCK_REALTIME was set, or jumped
 *
 * Context: any.
 * Return: a count, which may wrap around.
 */
u32 twheel_clock_steps(void);

/**
 * twheel_clock_watch() - from now on wake those who wait when CLOCK_REALTIME was set
 * @waiters:	who are woken some time after twheel_clock_steps() has changed from what it is now
 *
 * Context: any task.
 */
void twheel_clock_watch(struct twheel_waiters *waiters);

/**
 * twheel_clock_unwatch() - do so no longer
 * @waiters:	as of twheel_clock_watch(). They may be woken for an RCU grace period more
 *
 * Context: any task.
 */
void twheel_clock_unwatch(struct twheel_waiters *waiters);

/*
 * Wheels. The host makes them with twheel_base_init(), and turns them with twheel_expire().
 */

/**
 * twheel_base_program() - see to it that a wheel is turned in time
 * @base:	the base. The next turn of its wheel now comes before @base->programmed
 *
 * Context: the caller holds @base->lock, and may hold that of a key.
 */
void twheel_base_program(struct twheel_base *base);

/*
 * <twheel_host.h> also has
 *
 *	struct twheel_base *twheel_base_of(struct twheel_quota *quota, enum twheel_clock clock,
 *					   u16 cpu)
 *		The base whose base->cpu is @cpu, of the user of @quota: there is one if a timer is
 *		or was pending on it. Context: any.
 *
 *	int twheel_base_prepare(struct twheel_quota *quota, enum twheel_clock clock)
 *		Have a base made for timers that are armed now. Returns 0; or -ENOMEM, and timers
 *		on @clock cannot be armed. If it has returned 0 before, calls may go on whatever it
 *		returns: it is called so that timers go to the best base. Context: may sleep.
 *
 *	struct twheel_base *twheel_base_local(struct twheel_quota *quota,
 *					      enum twheel_clock clock)
 *		The base for timers that are armed now, once twheel_base_prepare() has returned 0
 *		for @clock. Context: bottom halves are off; the answer
 *		stays the same until they are on again.
 *
 *	bool twheel_base_stays(const struct twheel_base *base)
 *		May timers that the calling program arms anew stay there? Otherwise they move to the
 *		local one. Context: the caller holds @base->lock.
 *
 *	void twheel_base_changed(struct twheel_base *base, u64 old, u64 new)
 *		A node of the wheel is now to come at tick @new and not at tick @old;
 *		%TWHEEL_NEVER stands for a node that is not in the wheel. For hosts to which it
 *		matters when the first node is due, and not only when the wheel has to be turned.
 *		Nodes that the host's own calls of twheel_expire() take and put back are not told.
 *		Context: the caller holds @base->lock.
 */

/*
 * Limits. A quota counts what one user's contexts hold; struct twheel_account, which is the
 * host's, stands for one context there: part of a pool, and zeroed but for its member quota.
 */

/* The limits for each user and each context: parameters of the host, which may change. */
extern unsigned long twheel_max_user_timers;
/* As above. */
extern unsigned long twheel_max_fd_timers;
/*
 * How often one of them was changed: added to, with a release, after each change. A limit may have
 * an earlier value again, and not all that was reserved since then is within it.
 */
extern u32 twheel_limit_changes;

/**
 * twheel_quota_put() - drop a reference
 * @quota:	the quota. Whatever the reference was for is no longer counted
 *
 * Context: any but a hard interrupt.
 */
void twheel_quota_put(struct twheel_quota *quota);

/**
 * twheel_quota_timers() - how many timers there are
 * @quota:	the quota
 *
 * Takes O(wheels). What ends on one CPU and is made on another meanwhile may count twice.
 *
 * Context: takes the locks of bases, one at a time.
 * Return: timers that are pending or ready, in all contexts of the user.
 */
unsigned long twheel_quota_timers(struct twheel_quota *quota);

/**
 * twheel_quota_try_add_memory() - count more memory, if there is room for it now
 * @quota:	the quota, to which the caller has a reference
 * @bytes:	how much
 *
 * If there is none, what the user's contexts keep for their next timers is taken back soon, but not
 * more often than once a second: so a later call may find room.
 *
 * Context: any.
 * Return: 0, or -EDQUOT, and nothing is counted.
 */
int twheel_quota_try_add_memory(struct twheel_quota *quota, unsigned long bytes);

/**
 * twheel_quota_add_memory() - count more memory
 * @quota:	the quota
 * @bytes:	how much
 *
 * If there is no room, but memory of the user waits for an RCU grace period, so does the
 * caller.
 *
 * Context: may sleep.
 * Return: 0; or -EDQUOT, or -EINTR if a signal kills the task, and nothing is counted.
 */
int twheel_quota_add_memory(struct twheel_quota *quota, unsigned long bytes);

/**
 * twheel_quota_sub_memory() - memory was freed
 * @quota:	the quota
 * @bytes:	how much
 *
 * Context: any.
 */
void twheel_quota_sub_memory(struct twheel_quota *quota, unsigned long bytes);

/**
 * twheel_quota_memory_leaves() - memory will be freed after an RCU grace period
 * @quota:	the quota, which gets one more reference
 * @bytes:	how much
 *
 * It counts until then: a program that makes and frees timers as fast as it can would
 * otherwise have more memory than it may.
 *
 * Context: any.
 */
void twheel_quota_memory_leaves(struct twheel_quota *quota, unsigned long bytes);

/**
 * twheel_quota_memory_left() - memory was freed after an RCU grace period
 * @quota:	as of twheel_quota_memory_leaves(). The reference is dropped
 * @bytes:	how much
 *
 * Context: soft interrupt, or process.
 */
void twheel_quota_memory_left(struct twheel_quota *quota, unsigned long bytes);

/**
 * twheel_quota_is_short() - is it time to be sparing with memory?
 * @quota:	the quota
 *
 * Context: any.
 * Return: true if its user has more than half of what there may be.
 */
bool twheel_quota_is_short(struct twheel_quota *quota);

/**
 * twheel_account_close() - let no other context take what an account has reserved
 * @account:	the account. It is opened again when it next reserves
 *
 * Context: may sleep.
 */
void twheel_account_close(struct twheel_account *account);

/**
 * twheel_account_reserve() - reserve a timer of the user's limit
 * @account:	the account
 *
 * If there is none the host calls twheel_pool_reclaim() for all contexts of the user.
 *
 * Context: may sleep.
 * Return: 0; or -EDQUOT if there are as many timers as the user may have, or -EINTR if a signal
 * kills the task.
 */
int twheel_account_reserve(struct twheel_account *account);

/**
 * twheel_account_reserve_more() - reserve timers that are not needed yet
 * @account:	the account, of which a timer was reserved
 * @n:		how many at most
 *
 * Context: the caller holds the lock of the base of a stock, to which it adds them.
 * Return: how many: up to @n, and no more than a twheel_share() of what the limit leaves.
 */
u32 twheel_account_reserve_more(struct twheel_account *account, u32 n);

/**
 * twheel_account_is_sought() - does a context of the user look for a timer that none needs?
 * @account:	the account
 *
 * Context: as twheel_account_reserve_more(). Whoever looks takes that lock, too.
 * Return: true if so: then nothing is kept that is not needed at once.
 */
bool twheel_account_is_sought(const struct twheel_account *account);

/**
 * twheel_share() - how much a CPU may reserve at a time
 * @room:	what a limit leaves
 *
 * Return: so much that all CPUs together take half of it.
 */
static inline unsigned long twheel_share(unsigned long room)
{
	return room / (2 * nr_cpu_ids);
}

/**
 * twheel_account_release() - give back timers that were reserved
 * @account:	the account
 * @n:		how many
 *
 * Context: any.
 */
void twheel_account_release(struct twheel_account *account, u32 n);

/*
 * Words of leases: memory that the host shares with programs
 */

/**
 * twheel_words_init() - begin without a word
 * @words:	the words
 * @quota:	where their memory is to be counted. Outlives @words
 */
void twheel_words_init(struct twheel_words *words, struct twheel_quota *quota);

/**
 * twheel_words_destroy() - free the memory of all words
 * @words:	the words, which no program can reach any more
 *
 * Takes O(words).
 *
 * Context: may sleep.
 */
void twheel_words_destroy(struct twheel_words *words);

/**
 * twheel_words_get() - find a word, and make memory for it if there is none yet
 * @words:	the words
 * @nr:		number of the word
 *
 * A word that was never used is %TWHEEL_LEASE_EXPIRED. A word whose number 64 divides, and the 63
 * after it, follow one another in memory.
 *
 * Context: may sleep. The caller serialises all calls for @words.
 * Return: the word, which lives as long as @words; or the error -EDQUOT, -ENOMEM or
 * -EINTR.
 */
atomic64_t *twheel_words_get(struct twheel_words *words, unsigned long nr);

/*
 * Waiters. <twheel_host.h> has struct twheel_waiters, of one context, and
 *
 *	void twheel_waiters_init(struct twheel_waiters *waiters)
 *
 *	void twheel_waiters_wake(struct twheel_waiters *waiters)
 *		Something can be read: wake all who poll, and one who reads. Takes O(waiters).
 *		Context: any, without spinlocks.
 *
 * and what is counted and traced
 *
 *	void twheel_count(enum twheel_counter counter)
 *	void twheel_count_n(enum twheel_counter counter, unsigned long n)
 *	void twheel_observe(enum twheel_histogram histogram, u64 value)
 *		Count one or @n, or note a value. Context: any.
 *
 *	trace_twheel_arm(), trace_twheel_arm_enabled() and so on: see trace.h of module/linux
 */

#include <twheel_host.h>

#endif /* TWHEEL_HOST_H */
