/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Atomic operations, on the words of leases among others. Those that return a value order as
 * smp_mb() does, and the others do not.
 */
#ifndef SIM_LINUX_ATOMIC_H
#define SIM_LINUX_ATOMIC_H

/* The functions are here, the type is the shim's. */
#define SHIM_ATOMICS
#include_next <linux/atomic.h>

#include <linux/compiler.h>

typedef struct { int counter; } atomic_t;
typedef struct { long counter; } atomic_long_t;

#undef smp_mb__before_atomic
#undef smp_mb__after_atomic
#define smp_mb__before_atomic()	smp_mb()
#define smp_mb__after_atomic()	smp_mb()

#define SIM_FULL(expr)		({ SIM_POINT(); sim_drain(); (expr); })
#define SIM_HALF(expr)		({ SIM_POINT(); (expr); })

#define atomic_inc(a)		\
	SIM_HALF((void)__atomic_fetch_add(&(a)->counter, 1, __ATOMIC_RELAXED))
#define atomic_dec(a)		\
	SIM_HALF((void)__atomic_fetch_sub(&(a)->counter, 1, __ATOMIC_RELAXED))
#define atomic_fetch_dec_release(a) \
	SIM_HALF(__atomic_fetch_sub(&(a)->counter, 1, __ATOMIC_RELEASE))
#define atomic_read_acquire(a)	SIM_HALF(__atomic_load_n(&(a)->counter, __ATOMIC_ACQUIRE))

#define atomic_long_read(a)	SIM_HALF(__atomic_load_n(&(a)->counter, __ATOMIC_RELAXED))
#define atomic_long_read_acquire(a) SIM_HALF(__atomic_load_n(&(a)->counter, __ATOMIC_ACQUIRE))
#define atomic_long_add(n, a)	\
	SIM_HALF((void)__atomic_fetch_add(&(a)->counter, n, __ATOMIC_RELAXED))
#define atomic_long_sub(n, a)	\
	SIM_HALF((void)__atomic_fetch_sub(&(a)->counter, n, __ATOMIC_RELAXED))
#define atomic_long_sub_return_release(n, a) \
	SIM_HALF(__atomic_sub_fetch(&(a)->counter, n, __ATOMIC_RELEASE))
#define atomic_long_inc_return_release(a) \
	SIM_HALF(__atomic_add_fetch(&(a)->counter, 1, __ATOMIC_RELEASE))
#define atomic_long_try_cmpxchg(a, old, new) \
	SIM_FULL(__atomic_compare_exchange_n(&(a)->counter, old, new, false, \
					     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))

#define try_cmpxchg(p, old, new) \
	SIM_FULL(__atomic_compare_exchange_n(p, old, new, false, __ATOMIC_SEQ_CST, \
					     __ATOMIC_RELAXED))

#define atomic64_read(a)	SIM_HALF((s64)__atomic_load_n(&(a)->counter, __ATOMIC_RELAXED))
#define atomic64_set_release(a, value) smp_store_release(&(a)->counter, value)
#define atomic64_or(bits, a)	\
	SIM_HALF((void)__atomic_fetch_or(&(a)->counter, bits, __ATOMIC_RELAXED))
#define atomic64_xchg(a, value)	\
	SIM_FULL(__atomic_exchange_n(&(a)->counter, value, __ATOMIC_SEQ_CST))
#define atomic64_try_cmpxchg(a, old, new) \
	SIM_FULL(__atomic_compare_exchange_n(&(a)->counter, old, new, false, \
					     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))

#endif /* SIM_LINUX_ATOMIC_H */
