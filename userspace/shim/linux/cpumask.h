/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* There is one CPU: all that runs at once is a process with a mutex. */
#ifndef SHIM_LINUX_CPUMASK_H
#define SHIM_LINUX_CPUMASK_H

#define nr_cpu_ids 1U
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < nr_cpu_ids; (cpu)++)

#endif /* SHIM_LINUX_CPUMASK_H */
