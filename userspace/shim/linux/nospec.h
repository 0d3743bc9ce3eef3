/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Empty: it keeps the kernel's memory from a program that makes the CPU guess. Here there is no
 * such border.
 */
#ifndef SHIM_LINUX_NOSPEC_H
#define SHIM_LINUX_NOSPEC_H

#define array_index_nospec(index, size)	(index)

#endif /* SHIM_LINUX_NOSPEC_H */
