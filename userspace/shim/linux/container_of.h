/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same. */
#ifndef SHIM_LINUX_CONTAINER_OF_H
#define SHIM_LINUX_CONTAINER_OF_H

#include <stddef.h>

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#define offsetofend(type, member) \
	(offsetof(type, member) + sizeof(((type *)0)->member))

#endif /* SHIM_LINUX_CONTAINER_OF_H */
