/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same. */
#ifndef SHIM_LINUX_STRING_H
#define SHIM_LINUX_STRING_H

#include <string.h>

#include <linux/types.h>

static inline void *memset64(u64 *p, u64 value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = value;
	return p;
}

#endif /* SHIM_LINUX_STRING_H */
