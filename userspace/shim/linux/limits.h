/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same, with those of C and of the system. */
#ifndef SHIM_LINUX_LIMITS_H
#define SHIM_LINUX_LIMITS_H

#include <limits.h>

#include_next <linux/limits.h>

#define U32_MAX		(~0U)
#define U64_MAX		(~0ULL)

#endif /* SHIM_LINUX_LIMITS_H */
