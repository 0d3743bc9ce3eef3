/* SPDX-License-Identifier: GPL-2.0-only */
/* Interrupts from one CPU to another: cpu.c. */
#ifndef SIM_LINUX_SMP_H
#define SIM_LINUX_SMP_H

#include <linux/types.h>

/**
 * struct sim_csd - a function that another CPU is to call
 * @func:	the function
 * @arg:	its argument
 * @next:	what that CPU calls afterwards
 * @at:	when it arrives
 * @busy:	it is on its way
 */
struct sim_csd {
	void		(*func)(void *arg);
	void		*arg;
	struct sim_csd	*next;
	u64		at;
	bool		busy;
};

typedef struct sim_csd call_single_data_t;

#define INIT_CSD(csd, f, a) (*(csd) = (call_single_data_t){ .func = (f), .arg = (a) })

int smp_call_function_single_async(int cpu, call_single_data_t *csd);
/* The first one says if the task may just be moved to another CPU. */
unsigned int smp_processor_id(void);
unsigned int raw_smp_processor_id(void);
void cpu_relax(void);

#endif /* SIM_LINUX_SMP_H */
