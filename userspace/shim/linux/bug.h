/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A stand-in: what is worth a warning in the kernel ends the program. */
#ifndef SHIM_LINUX_BUG_H
#define SHIM_LINUX_BUG_H

#include <linux/build_bug.h>
#include <linux/lockdep.h>

#define WARN_ON_ONCE(condition)	shim_assert(!(condition))

#endif /* SHIM_LINUX_BUG_H */
