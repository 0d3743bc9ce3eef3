/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Who holds what, with TWHEEL_DEBUG; otherwise empty. One thread at a time is in the functions of a
 * context, so it is enough to know whether a lock is held, and how many that thread holds.
 */
#ifndef SHIM_LINUX_LOCKDEP_H
#define SHIM_LINUX_LOCKDEP_H

#ifdef TWHEEL_DEBUG

/* It has assert.h, which would undo the kernel's static_assert() after it. */
#include <linux/build_bug.h>

#include <stdbool.h>

/**
 * struct shim_lock - a lock
 * @held: somebody holds it
 */
struct shim_lock {
	bool held;
};

/* What this thread is in: locks, and sections without bottom halves or under RCU. */
__attribute__((__weak__)) __thread unsigned int shim_locks, shim_bh, shim_rcu;

/*
 * It frees the copy that a child has of a context. Threads that the child does not have may have
 * been in the midst of a change there, so that anything may be noted.
 */
__attribute__((__weak__)) __thread bool shim_torn;

#define shim_tear(yes)		((void)(shim_torn = (yes)))
#define shim_assert(condition)	assert(shim_torn || (condition))

static inline void shim_lock(struct shim_lock *lock)
{
	shim_assert(!lock->held);
	lock->held = true;
	shim_locks++;
}

static inline void shim_unlock(struct shim_lock *lock)
{
	assert(lock->held);
	lock->held = false;
	shim_locks--;
}

#define shim_enter(section)	((void)(section)++)
#define shim_leave(section)	(assert(section), (void)(section)--)
/* The mutexes that a spinlock must not be held for, and sleeping that no section allows */
#define shim_may_sleep()	assert(!shim_locks && !shim_bh && !shim_rcu)
#define lockdep_assert_held(lock) assert((lock)->held)

#else

struct shim_lock { };

#define shim_lock(lock)		((void)(lock))
#define shim_unlock(lock)	((void)(lock))
#define shim_enter(section)	((void)0)
#define shim_leave(section)	((void)0)
#define shim_assert(condition)	((void)0)
#define shim_may_sleep()	((void)0)
#define shim_tear(yes)		((void)(yes))
#define lockdep_assert_held(lock) ((void)(lock))

#endif

#endif /* SHIM_LINUX_LOCKDEP_H */
