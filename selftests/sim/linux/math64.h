/* SPDX-License-Identifier: GPL-2.0-only */
/* Division: of userspace/shim, and more. */
#ifndef SIM_LINUX_MATH64_H
#define SIM_LINUX_MATH64_H

#include_next <linux/math64.h>

#define div_u64(dividend, divisor)	((u64)(dividend) / (u32)(divisor))

#endif /* SIM_LINUX_MATH64_H */
