/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same; and a number that only the kernel has. */
#ifndef SHIM_LINUX_ERRNO_H
#define SHIM_LINUX_ERRNO_H

#include <errno.h>

#include_next <linux/errno.h>

#define ERESTARTSYS	512

#endif /* SHIM_LINUX_ERRNO_H */
