/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Empty: see types.h. Nothing lets go of the lock of a context while it holds a mutex. With
 * TWHEEL_DEBUG that is checked.
 */
#ifndef SHIM_LINUX_MUTEX_H
#define SHIM_LINUX_MUTEX_H

#include <linux/lockdep.h>

/* struct mutex, too, notes no more than that. */
#define mutex			shim_lock

#define mutex_init(m)		(*(m) = (struct shim_lock){ })
#define mutex_destroy(m)	shim_assert(!(m)->held)
#define mutex_unlock(m)		shim_unlock(m)
/* No signal is waited for. */
#define mutex_lock_killable(m)	({ shim_may_sleep(); shim_lock(m); 0; })

#endif /* SHIM_LINUX_MUTEX_H */
