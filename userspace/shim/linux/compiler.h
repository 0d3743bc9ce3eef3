/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Hints to compilers and accesses to shared memory: the same. Marks for sparse and for sections:
 * empty, as nobody reads them here.
 */
#ifndef SHIM_LINUX_COMPILER_H
#define SHIM_LINUX_COMPILER_H

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define noinline		__attribute__((__noinline__))
#define __maybe_unused		__attribute__((__unused__))
#define __uninitialized
#define __aligned(bytes)	__attribute__((__aligned__(bytes)))
#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))

#define __user
#define __rcu
#define __acquires(x)
#define __releases(x)
#define __acquire(x)		((void)0)
#define __release(x)		((void)0)

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)
/* Empty: one thread at a time is here. */
#define data_race(x)		(x)
/* As above. */
#define smp_rmb()		((void)0)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, value) __atomic_store_n(p, value, __ATOMIC_RELEASE)

#endif /* SHIM_LINUX_COMPILER_H */
