/* SPDX-License-Identifier: GPL-2.0-only */
/* Times: of userspace/shim, and more. */
#ifndef SIM_LINUX_KTIME_H
#define SIM_LINUX_KTIME_H

#include_next <linux/ktime.h>

#include <linux/types.h>

#define NSEC_PER_SEC	1000000000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_USEC	1000L
#define ns_to_ktime(ns)	((ktime_t)(ns))
#define ktime_to_ns(t)	((s64)(t))

struct timespec64 {
	s64	tv_sec;
	long	tv_nsec;
};

static inline s64 timespec64_to_ns(const struct timespec64 *ts)
{
	return ts->tv_sec * NSEC_PER_SEC + ts->tv_nsec;
}

#endif /* SIM_LINUX_KTIME_H */
