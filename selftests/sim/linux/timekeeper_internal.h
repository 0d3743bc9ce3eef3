/* SPDX-License-Identifier: GPL-2.0-only */
/* What of the timekeeper is told. */
#ifndef SIM_LINUX_TIMEKEEPER_INTERNAL_H
#define SIM_LINUX_TIMEKEEPER_INTERNAL_H

#include <linux/ktime.h>

struct timekeeper {
	ktime_t	offs_real;
	ktime_t	next_leap_ktime;
};

#endif /* SIM_LINUX_TIMEKEEPER_INTERNAL_H */
