/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs that come and go: cpu.c. */
#ifndef SIM_LINUX_CPUHOTPLUG_H
#define SIM_LINUX_CPUHOTPLUG_H

enum cpuhp_state { CPUHP_AP_ONLINE_DYN = 100 };

int cpuhp_setup_state_nocalls(enum cpuhp_state state, const char *name,
			      int (*online)(unsigned int cpu), int (*offline)(unsigned int cpu));
void cpuhp_remove_state_nocalls(enum cpuhp_state state);

#endif /* SIM_LINUX_CPUHOTPLUG_H */
