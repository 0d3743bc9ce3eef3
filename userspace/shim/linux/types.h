/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The kernel's integer types. Those that the interface is made of come from the
 * system's header of this name.
 *
 * This folder holds the few kernel headers that module/core/wheel.c and module/core/lease.h
 * include, with what the two use of them, so that tests and libtwheel compile both
 * unchanged in user space. They come before the system's headers in the include path.
 */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include_next <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#endif /* SHIM_LINUX_TYPES_H */
