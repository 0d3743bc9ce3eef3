/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals: fault.c. */
#ifndef SIM_LINUX_SCHED_SIGNAL_H
#define SIM_LINUX_SCHED_SIGNAL_H

#include <linux/sched.h>

bool sim_signal_pending(void);

#define task_sigpending(task)		sim_signal_pending()
#define fatal_signal_pending(task)	false

#endif /* SIM_LINUX_SCHED_SIGNAL_H */
