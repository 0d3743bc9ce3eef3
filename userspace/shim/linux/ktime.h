/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same. */
#ifndef SHIM_LINUX_KTIME_H
#define SHIM_LINUX_KTIME_H

#include <linux/types.h>

#define KTIME_MAX	((s64)~((u64)1 << 63))

#endif /* SHIM_LINUX_KTIME_H */
