/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same. */
#ifndef SHIM_LINUX_KERNEL_H
#define SHIM_LINUX_KERNEL_H

#include <linux/types.h>

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define lower_32_bits(n)	((u32)(n))
#define upper_32_bits(n)	((u32)((n) >> 32))
#define u64_to_user_ptr(x)	((void *)(uintptr_t)(x))

#endif /* SHIM_LINUX_KERNEL_H */
