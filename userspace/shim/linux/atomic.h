/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A 64-bit word that others may change at any time. Here nobody does while it is
 * looked at. A test in which somebody does defines SHIM_ATOMICS and brings its own
 * functions.
 */
#ifndef SHIM_LINUX_ATOMIC_H
#define SHIM_LINUX_ATOMIC_H

#include <linux/types.h>

#define atomic64_t struct shim_atomic64

/* atomic64_or() orders everything already. */
#define smp_mb__before_atomic()	((void)0)
/* As above. */
#define smp_mb__after_atomic()	((void)0)

struct shim_atomic64 {
	s64 counter;
};

#ifndef SHIM_ATOMICS

static inline s64 atomic64_read(const atomic64_t *v)
{
	return v->counter;
}

static inline void atomic64_set_release(atomic64_t *v, s64 new)
{
	v->counter = new;
}

static inline void atomic64_or(s64 bits, atomic64_t *v)
{
	v->counter |= bits;
}

static inline s64 atomic64_xchg(atomic64_t *v, s64 new)
{
	s64 old = v->counter;

	v->counter = new;
	return old;
}

static inline bool atomic64_try_cmpxchg(atomic64_t *v, s64 *old, s64 new)
{
	s64 seen = v->counter;

	if (seen != *old) {
		*old = seen;
		return false;
	}
	v->counter = new;
	return true;
}

#endif /* SHIM_ATOMICS */

#endif /* SHIM_LINUX_ATOMIC_H */
