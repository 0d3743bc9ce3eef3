/* SPDX-License-Identifier: GPL-2.0-only */
/* Errors as pointers: of userspace/shim, and more. */
#ifndef SIM_LINUX_ERR_H
#define SIM_LINUX_ERR_H

#include_next <linux/err.h>

#define ERR_CAST(p)	((void *)(p))

#endif /* SIM_LINUX_ERR_H */
