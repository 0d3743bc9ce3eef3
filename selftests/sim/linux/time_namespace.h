/* SPDX-License-Identifier: GPL-2.0-only */
/* By how much the clocks are ahead there. */
#ifndef SIM_LINUX_TIME_NAMESPACE_H
#define SIM_LINUX_TIME_NAMESPACE_H

#include <linux/ktime.h>

struct timens_offsets {
	struct timespec64 monotonic;
	struct timespec64 boottime;
};

struct time_namespace {
	struct timens_offsets offsets;
};

#endif /* SIM_LINUX_TIME_NAMESPACE_H */
