/* SPDX-License-Identifier: GPL-2.0-only */
/* Ticks of the kernel. */
#ifndef SIM_LINUX_JIFFIES_H
#define SIM_LINUX_JIFFIES_H

#define HZ		250
#define TICK_NSEC	4000000L

#endif /* SIM_LINUX_JIFFIES_H */
