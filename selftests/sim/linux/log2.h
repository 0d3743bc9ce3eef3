/* SPDX-License-Identifier: GPL-2.0-only */
/* Logarithms: of userspace/shim, and more. */
#ifndef SIM_LINUX_LOG2_H
#define SIM_LINUX_LOG2_H

#include_next <linux/log2.h>

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

#endif /* SIM_LINUX_LOG2_H */
