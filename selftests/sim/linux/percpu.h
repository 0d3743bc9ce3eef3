/* SPDX-License-Identifier: GPL-2.0-only */
/* Variables of each CPU. As in the kernel a CPU's copy is at the same distance for all of them. */
#ifndef SIM_LINUX_PERCPU_H
#define SIM_LINUX_PERCPU_H

#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/smp.h>

/* At most so many bytes has a variable. */
#define SIM_PERCPU_UNIT		2048

#define DECLARE_PER_CPU(type, name) extern type name
#define DEFINE_PER_CPU(type, name)						\
	char name##_units[CONFIG_NR_CPUS][SIM_PERCPU_UNIT]			\
		__attribute__((__aligned__(64)));				\
	extern type name __attribute__((__alias__(#name "_units")));		\
	_Static_assert(sizeof(type) <= SIM_PERCPU_UNIT, #name " is too large")
/* The compiler must not see that the result is beyond one variable. */
#define per_cpu_ptr(p, cpu) ({						\
	char *percpu_p = (char *)(p);					\
	__asm__("" : "+r"(percpu_p));					\
	(__typeof__(p))(percpu_p + (size_t)(cpu) * SIM_PERCPU_UNIT);	\
})
#define per_cpu(var, cpu)	(*per_cpu_ptr(&(var), cpu))
#define this_cpu_ptr(p)		per_cpu_ptr(p, smp_processor_id())
/* One instruction; others may read what it changes. */
#define this_cpu_add(var, n)						\
	((void)__atomic_fetch_add(&per_cpu(var, raw_smp_processor_id()), n, __ATOMIC_RELAXED))
#define this_cpu_inc(var)	this_cpu_add(var, 1)

/* slab.c */
void *sim_percpu_alloc(size_t size, gfp_t gfp);
void free_percpu(void *p);
#define alloc_percpu_gfp(type, gfp) ((type *)sim_percpu_alloc(sizeof(type), gfp))

#endif /* SIM_LINUX_PERCPU_H */
