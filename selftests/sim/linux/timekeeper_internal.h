/* SPDX-License-Identifier: GPL-2.0-only */
/* What of the timekeeper is told. */
#ifndef SIM_LINUX_TIMEKEEPER_INTERNAL_H
#define SIM_LINUX_TIMEKEEPER_INTERNAL_H

#include <linux/ktime.h>

struct tk_read_base {
	ktime_t	base;
};

struct timekeeper {
	struct tk_read_base	tkr_mono;
	ktime_t			offs_real;
	ktime_t			next_leap_ktime;
};

#endif /* SIM_LINUX_TIMEKEEPER_INTERNAL_H */
