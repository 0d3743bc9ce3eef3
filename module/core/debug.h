/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What is checked when this is compiled with TWHEEL_DEBUG: for the module, make DEBUG=1. */
#ifndef TWHEEL_DEBUG_H
#define TWHEEL_DEBUG_H

#include <linux/bug.h>

/*
 * What has to be true, and costs little to look at. Without TWHEEL_DEBUG the compiler only sees
 * whether it makes sense.
 */
#ifdef TWHEEL_DEBUG
#define twheel_assert(condition)	WARN_ON_ONCE(!(condition))
#else
#define twheel_assert(condition)	BUILD_BUG_ON_INVALID(condition)
#endif

/* Does lockdep_assert_held() look? If not, what it is to look at need not be found. */
#if defined(CONFIG_LOCKDEP) || !defined(MODULE)
#define TWHEEL_ASSERTS_LOCKS	1
#else
#define TWHEEL_ASSERTS_LOCKS	0
#endif

#endif /* TWHEEL_DEBUG_H */
