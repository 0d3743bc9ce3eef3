/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Empty: there is one kind of memory. */
#ifndef SHIM_LINUX_GFP_H
#define SHIM_LINUX_GFP_H

#include <linux/types.h>

#define GFP_KERNEL	0
#define __GFP_ACCOUNT	0
#define __GFP_NOWARN	0

#endif /* SHIM_LINUX_GFP_H */
