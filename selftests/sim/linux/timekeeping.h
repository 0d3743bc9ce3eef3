/* SPDX-License-Identifier: GPL-2.0-only */
/* The clocks: hrtimer.c. */
#ifndef SIM_LINUX_TIMEKEEPING_H
#define SIM_LINUX_TIMEKEEPING_H

#include <linux/ktime.h>

u64 ktime_get_ns(void);
u64 ktime_get_boottime_ns(void);
u64 ktime_get_real_ns(void);
ktime_t ktime_mono_to_real(ktime_t t);

#endif /* SIM_LINUX_TIMEKEEPING_H */
