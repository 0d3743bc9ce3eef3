/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The kernel's integer types: the same. Those that the interface is made of come from the
 * system's header of this name.
 *
 * This folder holds the kernel headers that module/core includes, with what it uses of them, so
 * that libtwheel and tests compile it unchanged in user space. They come before the system's
 * headers in the include path. Each says how true it is:
 *
 *	the same	means here what it means in the kernel
 *	a stand-in	does the job in another way, or only for the use that core/ makes of it
 *	empty		does nothing, for the reason that is given
 *
 * Much is empty because whoever includes it runs the core under a lock of its own: one thread
 * at a time is in the functions of one context. With TWHEEL_DEBUG the empty locks note who holds
 * them, and assertions are checked.
 */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include_next <linux/types.h>

#include <linux/compiler.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

typedef unsigned int gfp_t;

#endif /* SHIM_LINUX_TYPES_H */
