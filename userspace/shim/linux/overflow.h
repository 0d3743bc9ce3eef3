/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same, but that struct_size() does not look for an overflow. */
#ifndef SHIM_LINUX_OVERFLOW_H
#define SHIM_LINUX_OVERFLOW_H

#include <linux/types.h>

#define check_add_overflow(a, b, sum)	__builtin_add_overflow(a, b, sum)
#define struct_size(p, member, n)	(sizeof(*(p)) + (n) * sizeof((p)->member[0]))

#endif /* SHIM_LINUX_OVERFLOW_H */
