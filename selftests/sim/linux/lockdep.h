/* SPDX-License-Identifier: GPL-2.0-only */
/* See spinlock.h. */
#ifndef SIM_LINUX_LOCKDEP_H
#define SIM_LINUX_LOCKDEP_H

#include <linux/spinlock.h>

#endif /* SIM_LINUX_LOCKDEP_H */
