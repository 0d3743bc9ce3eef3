/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Empty: a signal is handled when it comes, and ends no call. */
#ifndef SHIM_LINUX_SCHED_SIGNAL_H
#define SHIM_LINUX_SCHED_SIGNAL_H

#include <linux/sched.h>

#define task_sigpending(task)		0
#define fatal_signal_pending(task)	0

#endif /* SHIM_LINUX_SCHED_SIGNAL_H */
