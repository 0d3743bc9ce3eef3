/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs that are to be left alone: by the timers of others, by the tasks of others, or by both. */
#ifndef SIM_LINUX_SCHED_ISOLATION_H
#define SIM_LINUX_SCHED_ISOLATION_H

#include <linux/compiler.h>
#include <linux/cpumask.h>

enum { HK_TYPE_TIMER, HK_TYPE_DOMAIN, NR_HK_TYPES };

/* By type, the CPUs that are not to be left alone */
extern struct cpumask sim_housekeepers[NR_HK_TYPES];

#define housekeeping_cpumask(type)	(&sim_housekeepers[type])
#define housekeeping_cpu(cpu, type)	(!!(READ_ONCE(sim_housekeepers[type].bits) & BIT(cpu)))

#endif /* SIM_LINUX_SCHED_ISOLATION_H */
