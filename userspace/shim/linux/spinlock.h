/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Empty: see types.h. With TWHEEL_DEBUG it is noted who holds a lock. */
#ifndef SHIM_LINUX_SPINLOCK_H
#define SHIM_LINUX_SPINLOCK_H

#include <linux/lockdep.h>
#include <linux/types.h>

typedef struct shim_lock spinlock_t;

#define SINGLE_DEPTH_NESTING	1

#define local_bh_disable()	shim_enter(shim_bh)
#define local_bh_enable()	shim_leave(shim_bh)

#define spin_lock_init(lock)	(*(lock) = (spinlock_t){ })
#define spin_unlock(lock)	shim_unlock(lock)
#define spin_lock_bh(lock)	(local_bh_disable(), shim_lock(lock))
#define spin_unlock_bh(lock)	(shim_unlock(lock), local_bh_enable())

/* Where bottom halves are on, one might come and want the same lock. */
#define spin_lock(lock)		({ shim_assert(shim_bh); shim_lock(lock); })
#define spin_lock_nested(lock, subclass) spin_lock(lock)
/* There is no other CPU that might hold it. */
#define spin_trylock(lock)	({ spin_lock(lock); true; })

#endif /* SHIM_LINUX_SPINLOCK_H */
