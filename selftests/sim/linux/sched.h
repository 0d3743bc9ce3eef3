/* SPDX-License-Identifier: GPL-2.0-only */
/* The task that runs: sched.c. */
#ifndef SIM_LINUX_SCHED_H
#define SIM_LINUX_SCHED_H

#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/nsproxy.h>

struct task_struct {
	struct {
		u64 sum_exec_runtime;
	} se;
	struct nsproxy *nsproxy;
	const struct cpumask *cpus_ptr;
	struct cpumask cpus_mask;
};

struct task_struct *sim_current(void);
void cond_resched(void);
bool need_resched(void);

#define current		sim_current()

#endif /* SIM_LINUX_SCHED_H */
