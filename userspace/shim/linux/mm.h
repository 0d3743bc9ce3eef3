/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A stand-in: the size of a page is that of x86. */
#ifndef SHIM_LINUX_MM_H
#define SHIM_LINUX_MM_H

#include <linux/types.h>

#ifndef PAGE_SIZE
#define PAGE_SIZE		4096UL
#endif
#define offset_in_page(p)	((unsigned long)(p) & (PAGE_SIZE - 1))

#endif /* SHIM_LINUX_MM_H */
