/* SPDX-License-Identifier: GPL-2.0-only */
/* Kinds of memory: only whether the caller may sleep matters. */
#ifndef SIM_LINUX_GFP_H
#define SIM_LINUX_GFP_H

#include <linux/types.h>

/* In the kernel, too, it is known with that. */
#define PAGE_SIZE		4096UL

#define GFP_KERNEL		1U
#define GFP_KERNEL_ACCOUNT	GFP_KERNEL
#define __GFP_ACCOUNT		0
#define __GFP_NORETRY		0
#define __GFP_RETRY_MAYFAIL	0
#define __GFP_NOWARN		0

#endif /* SIM_LINUX_GFP_H */
