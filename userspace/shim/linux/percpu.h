/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Variables of each CPU, of which there is one */
#ifndef SHIM_LINUX_PERCPU_H
#define SHIM_LINUX_PERCPU_H

#include <linux/slab.h>

#define __percpu
#define alloc_percpu_gfp(type, gfp) kzalloc(sizeof(type), gfp)
#define free_percpu(p)		kfree(p)
#define per_cpu_ptr(p, cpu)	((void)(cpu), (p))

#endif /* SHIM_LINUX_PERCPU_H */
