/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef SHIM_LINUX_LOG2_H
#define SHIM_LINUX_LOG2_H

#include <linux/bitops.h>

static inline int ilog2(unsigned long n)
{
	return (int)(BITS_PER_LONG - 1) - __builtin_clzl(n);
}

#endif /* SHIM_LINUX_LOG2_H */
