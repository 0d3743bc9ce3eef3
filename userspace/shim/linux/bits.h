/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same. */
#ifndef SHIM_LINUX_BITS_H
#define SHIM_LINUX_BITS_H

#include <linux/types.h>

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK_ULL(high, low)	((~0ULL << (low)) & (~0ULL >> (63 - (high))))

#endif /* SHIM_LINUX_BITS_H */
