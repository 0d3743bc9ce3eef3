/* SPDX-License-Identifier: GPL-2.0-only */
/* Spinlocks and bottom halves: lock.c. */
#ifndef SIM_LINUX_SPINLOCK_H
#define SIM_LINUX_SPINLOCK_H

#include <linux/bug.h>
#include <linux/compiler.h>

/**
 * struct sim_lock - a spinlock or a mutex
 * @owner:	the fiber that holds it, or NULL
 * @class:	where it was initialised: locks of one place are of one class, as for lockdep
 * @raw:	nobody sleeps who waits for it, not even with PREEMPT_RT
 * @tickets:	how many have waited for it
 * @served:	how many of them have got it: those who wait get it in turn
 * @order:	when it was released last, and by which CPU
 */
struct sim_lock {
	void			*owner;
	const char		*class;
	bool			raw;
	u64			tickets, served;
	struct sim_order	order;
};

typedef struct sim_lock spinlock_t;

#define SIM_STRING2(x)		#x
#define SIM_STRING(x)		SIM_STRING2(x)
#define SIM_LOCK_INIT(name)	{ .class = __FILE__ ":" SIM_STRING(__LINE__) ": " #name }
#define DEFINE_SPINLOCK(name)	spinlock_t name = SIM_LOCK_INIT(name)
#define spin_lock_init(lock)	(*(lock) = (spinlock_t)SIM_LOCK_INIT(lock))

#define SINGLE_DEPTH_NESTING	1

void sim_spin_lock(spinlock_t *lock, unsigned int subclass);
bool spin_trylock(spinlock_t *lock);
void spin_unlock(spinlock_t *lock);
bool spin_is_contended(spinlock_t *lock);
bool sim_holds(const struct sim_lock *lock);
void local_bh_disable(void);
void local_bh_enable(void);

#define spin_lock(lock)		spin_lock_nested(lock, 0)
#define spin_lock_nested(lock, subclass) do {	\
	SIM_POINT();				\
	sim_spin_lock(lock, subclass);		\
} while (0)
#define spin_lock_bh(lock)	do { local_bh_disable(); spin_lock(lock); } while (0)
#define spin_unlock_bh(lock)	do { spin_unlock(lock); local_bh_enable(); } while (0)
#define lockdep_assert_held(lock) WARN_ON_ONCE(!sim_holds(lock))

#endif /* SIM_LINUX_SPINLOCK_H */
