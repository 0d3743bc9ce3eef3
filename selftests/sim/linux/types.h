/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's integer types: those of userspace/shim, and what module/linux uses beside them.
 *
 * This folder holds the kernel headers of the simulation. They come before userspace/shim in the
 * include path, so that a header which only computes is the one that is there, and a header whose
 * contents need a kernel is the one that is here. What they declare is in the .c files above.
 */
#ifndef SIM_LINUX_TYPES_H
#define SIM_LINUX_TYPES_H

#include_next <linux/types.h>

typedef s64 ktime_t;
typedef unsigned short umode_t;
typedef unsigned int __poll_t;
typedef int vm_fault_t;

/* One kernel among many */
#define CONFIG_64BIT	1
#define CONFIG_TIME_NS	1
#define CONFIG_NR_CPUS	8
#define HAVE_HRTIMER_SETUP
#define HAVE_CALL_RCU_HURRY

/* IS_ENABLED() as the kernel has it: 1 if @option is defined as 1, else 0 */
#define SIM_PLACE_1	0,
#define SIM_SECOND(ignored, value, ...) value
#define SIM_ENABLED3(arg) SIM_SECOND(arg 1, 0, 0)
#define SIM_ENABLED2(value) SIM_ENABLED3(SIM_PLACE_##value)
#define SIM_ENABLED1(value) SIM_ENABLED2(value)
#define IS_ENABLED(option) SIM_ENABLED1(option)

#endif /* SIM_LINUX_TYPES_H */
