/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Empty: the linker sorts no variables here, and no two CPUs use a context at once. */
#ifndef SHIM_LINUX_CACHE_H
#define SHIM_LINUX_CACHE_H

#define __read_mostly
#define ____cacheline_aligned_in_smp

#endif /* SHIM_LINUX_CACHE_H */
