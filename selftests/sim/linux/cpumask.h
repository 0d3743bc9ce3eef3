/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPUs there are, and which are to be left alone: cpu.c. */
#ifndef SIM_LINUX_CPUMASK_H
#define SIM_LINUX_CPUMASK_H

#include <linux/bits.h>
#include <linux/types.h>

struct cpumask {
	unsigned long bits;
};

extern struct cpumask sim_possible, sim_active;
extern unsigned int nr_cpu_ids;

#define cpu_active_mask		(&sim_active)
#define cpu_active(cpu)		(!!(READ_ONCE(sim_active.bits) & BIT(cpu)))
#define cpumask_test_cpu(cpu, mask) (!!((mask)->bits & BIT(cpu)))
#define for_each_possible_cpu(cpu) \
	for ((cpu) = 0; (unsigned int)(cpu) < nr_cpu_ids; (cpu)++)
#define for_each_cpu_and(cpu, a, b) for_each_possible_cpu(cpu) \
	if (!(READ_ONCE((a)->bits) & READ_ONCE((b)->bits) & BIT(cpu))) ; else

#endif /* SIM_LINUX_CPUMASK_H */
