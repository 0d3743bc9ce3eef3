/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Empty: the linker sorts no variables here. */
#ifndef SHIM_LINUX_CACHE_H
#define SHIM_LINUX_CACHE_H

#define __read_mostly

#endif /* SHIM_LINUX_CACHE_H */
