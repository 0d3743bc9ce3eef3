/* SPDX-License-Identifier: GPL-2.0-only */
/* Nodes: two of them, if there are more than two CPUs. */
#ifndef SIM_LINUX_TOPOLOGY_H
#define SIM_LINUX_TOPOLOGY_H

#include <linux/cpumask.h>

#define NUMA_NO_NODE	(-1)

int cpu_to_node(unsigned int cpu);
const struct cpumask *cpumask_of_node(int node);

#endif /* SIM_LINUX_TOPOLOGY_H */
