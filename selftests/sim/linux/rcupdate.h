/* SPDX-License-Identifier: GPL-2.0-only */
/* RCU: rcu.c. */
#ifndef SIM_LINUX_RCUPDATE_H
#define SIM_LINUX_RCUPDATE_H

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>

/**
 * struct rcu_head - something that waits for a grace period
 * @next:	nothing: rcu.c has a queue of its own, and this only has the kernel's size
 * @func:	nothing, either
 */
struct rcu_head {
	struct rcu_head	*next;
	void		(*func)(struct rcu_head *head);
};

void rcu_read_lock(void);
void rcu_read_unlock(void);
#define rcu_read_lock_bh()		local_bh_disable()
#define rcu_read_unlock_bh()		local_bh_enable()
bool rcu_read_lock_held(void);
bool rcu_read_lock_any_held(void);
void call_rcu_hurry(struct rcu_head *head, void (*func)(struct rcu_head *head));
void sim_free_rcu(struct rcu_head *head, void *memory);
void synchronize_rcu(void);
void rcu_barrier(void);

#define RCU_INITIALIZER(p)		(p)
#define rcu_dereference_raw(p)		SIM_READ(&(p), __ATOMIC_ACQUIRE)
#define rcu_assign_pointer(p, value)	SIM_WRITE(&(p), value, __ATOMIC_RELEASE)
#define kvfree_rcu(p, member)		sim_free_rcu(&(p)->member, p)
#define RCU_LOCKDEP_WARN(condition, text) ((void)WARN_ON_ONCE(condition))

#endif /* SIM_LINUX_RCUPDATE_H */
