/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A stand-in: read sections lie between two moments at which the host lets go of the lock of a
 * context, so what is to be freed after a grace period is freed at the next of these. Not earlier:
 * a reader may free what it goes on to read.
 */
#ifndef SHIM_LINUX_RCUPDATE_H
#define SHIM_LINUX_RCUPDATE_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/lockdep.h>
#include <linux/types.h>

/**
 * struct rcu_head - something that is to be freed
 * @next: what is to be freed after it
 * @func: what frees it
 */
struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};

/* The host has these. twheel_call_rcu() with no function frees what begins with @head. */
void twheel_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head));
void twheel_rcu_barrier(void);

#define RCU_INITIALIZER(p)		(p)
#define rcu_dereference_raw(p)		READ_ONCE(p)
#define rcu_assign_pointer(p, value)	smp_store_release(&(p), value)
#define rcu_read_lock()			shim_enter(shim_rcu)
#define rcu_read_unlock()		shim_leave(shim_rcu)
#define rcu_read_lock_bh()		local_bh_disable()
#define rcu_read_unlock_bh()		local_bh_enable()
#define call_rcu_hurry(head, func)	twheel_call_rcu(head, func)
#define rcu_barrier()			twheel_rcu_barrier()
#define kvfree_rcu(p, member) ({					\
	static_assert(!offsetof(__typeof__(*(p)), member));		\
	twheel_call_rcu(&(p)->member, NULL);				\
})

#ifdef TWHEEL_DEBUG
#define rcu_read_lock_held()		(shim_rcu != 0)
#define rcu_read_lock_any_held()	(shim_rcu || shim_bh || shim_locks)
#define RCU_LOCKDEP_WARN(condition, text) assert(!(condition))
#else
#define RCU_LOCKDEP_WARN(condition, text) ((void)0)
#endif

#endif /* SHIM_LINUX_RCUPDATE_H */
