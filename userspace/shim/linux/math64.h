/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same. */
#ifndef SHIM_LINUX_MATH64_H
#define SHIM_LINUX_MATH64_H

#include <linux/types.h>

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

#endif /* SHIM_LINUX_MATH64_H */
