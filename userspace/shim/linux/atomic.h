/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * 64-bit words that others may change at any time: the same, and what the kernel orders less is
 * ordered here as well. A test that looks at what happens between two accesses defines
 * SHIM_ATOMICS, and brings its own functions. Counts, which are long, order nothing, as there.
 */
#ifndef SHIM_LINUX_ATOMIC_H
#define SHIM_LINUX_ATOMIC_H

#include <linux/types.h>

#define atomic64_t struct shim_atomic64

/* Empty: atomic64_or() orders everything already. */
#define smp_mb__before_atomic()	((void)0)
/* As above. */
#define smp_mb__after_atomic()	((void)0)

struct shim_atomic64 {
	s64 counter;
};

#ifndef SHIM_ATOMICS

typedef struct { long counter; } atomic_long_t;

#define atomic_long_read(v)	__atomic_load_n(&(v)->counter, __ATOMIC_RELAXED)
#define atomic_long_add(n, v)	((void)__atomic_fetch_add(&(v)->counter, (n), __ATOMIC_RELAXED))
#define atomic_long_sub(n, v)	((void)__atomic_fetch_sub(&(v)->counter, (n), __ATOMIC_RELAXED))
#define try_cmpxchg(p, old, new) \
	__atomic_compare_exchange_n(p, old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

static inline s64 atomic64_read(const atomic64_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_ACQUIRE);
}

static inline void atomic64_set_release(atomic64_t *v, s64 new)
{
	__atomic_store_n(&v->counter, new, __ATOMIC_RELEASE);
}

static inline void atomic64_or(s64 bits, atomic64_t *v)
{
	__atomic_fetch_or(&v->counter, bits, __ATOMIC_SEQ_CST);
}

static inline s64 atomic64_xchg(atomic64_t *v, s64 new)
{
	return __atomic_exchange_n(&v->counter, new, __ATOMIC_SEQ_CST);
}

static inline bool atomic64_try_cmpxchg(atomic64_t *v, s64 *old, s64 new)
{
	return __atomic_compare_exchange_n(&v->counter, old, new, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

#endif /* SHIM_ATOMICS */

#endif /* SHIM_LINUX_ATOMIC_H */
