/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same, for numbers of 32 bits. */
#ifndef SHIM_LINUX_LOG2_H
#define SHIM_LINUX_LOG2_H

#include <linux/bitops.h>

static inline int ilog2(unsigned long n)
{
	return (int)(BITS_PER_LONG - 1) - __builtin_clzl(n);
}

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline u32 rounddown_pow_of_two(u32 n)
{
	return 1U << (31 - __builtin_clz(n));
}

static inline u32 roundup_pow_of_two(u32 n)
{
	return n < 2 ? 1 : 2 * rounddown_pow_of_two(n - 1);
}

#endif /* SHIM_LINUX_LOG2_H */
