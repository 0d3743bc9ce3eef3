/* SPDX-License-Identifier: GPL-2.0-only */
/* Mutexes: lock.c. */
#ifndef SIM_LINUX_MUTEX_H
#define SIM_LINUX_MUTEX_H

#include <linux/spinlock.h>

/* So lockdep_assert_held() takes both. */
#define mutex			sim_lock

#define DEFINE_MUTEX(name)	struct mutex name = SIM_LOCK_INIT(name)
#define mutex_init(m)		(*(m) = (struct mutex)SIM_LOCK_INIT(m))
#define mutex_destroy(m)	((void)WARN_ON_ONCE((m)->owner))

void mutex_lock(struct mutex *lock);
void mutex_unlock(struct mutex *lock);
/* A signal that kills may come meanwhile: then -EINTR. */
int mutex_lock_killable(struct mutex *lock);

#endif /* SIM_LINUX_MUTEX_H */
