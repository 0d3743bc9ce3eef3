/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs that are to be left alone. There is one mask for all reasons. */
#ifndef SIM_LINUX_SCHED_ISOLATION_H
#define SIM_LINUX_SCHED_ISOLATION_H

#include <linux/compiler.h>
#include <linux/cpumask.h>

enum { HK_TYPE_TIMER, HK_TYPE_DOMAIN };

#define housekeeping_cpumask(type)	(&sim_housekeeping)
#define housekeeping_cpu(cpu, type)	(!!(READ_ONCE(sim_housekeeping.bits) & BIT(cpu)))

#endif /* SIM_LINUX_SCHED_ISOLATION_H */
