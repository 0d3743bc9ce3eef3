/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same. */
#ifndef SHIM_LINUX_BUILD_BUG_H
#define SHIM_LINUX_BUILD_BUG_H

#include <assert.h>

#undef static_assert
#define static_assert(expr)	_Static_assert(expr, #expr)
#define BUILD_BUG_ON(expr)	_Static_assert(!(expr), "not " #expr)
#define BUILD_BUG_ON_INVALID(expr) ((void)(sizeof((long)(expr))))

#endif /* SHIM_LINUX_BUILD_BUG_H */
