/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A stand-in: where a task may sleep the host may let go of the lock of a context, so that other
 * threads get their turn.
 */
#ifndef SHIM_LINUX_SCHED_H
#define SHIM_LINUX_SCHED_H

#include <linux/lockdep.h>

/* The host has it. */
void twheel_resched(void);

#define current			NULL
#define cond_resched()		({ shim_may_sleep(); twheel_resched(); })

#endif /* SHIM_LINUX_SCHED_H */
