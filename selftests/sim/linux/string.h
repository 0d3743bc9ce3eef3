/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory: of userspace/shim, and more. */
#ifndef SIM_LINUX_STRING_H
#define SIM_LINUX_STRING_H

#include_next <linux/string.h>

#include <linux/types.h>

static inline void *memset64(u64 *p, u64 value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = value;
	return p;
}

#endif /* SIM_LINUX_STRING_H */
