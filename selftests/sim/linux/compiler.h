/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accesses to shared memory. At each of them another CPU may come in, and a store may wait in the
 * buffer of its CPU: see memory.c. With the thread sanitizer they are the atomics of C11 that order
 * what the kernel's order; and since a pointer orders what it leads to, reading one acquires.
 */
#ifndef SIM_LINUX_COMPILER_H
#define SIM_LINUX_COMPILER_H

#include <stdbool.h>

#include_next <linux/compiler.h>

#define __percpu
#define __init
#define __exit
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/**
 * struct sim_order - what was done before something was released is seen by whoever acquires it
 * @seq:	how many stores the CPU that released it had made by then
 * @time:	when that was, on the clock of that CPU
 * @cpu:	that CPU
 */
struct sim_order {
	unsigned long long	seq, time;
	int			cpu;
};

/* sched.c: another one may go on here, if the seed says so. */
void sim_point(void);
/*
 * sched.c: at the places of @sim_place, 0 for none, a CPU often stands still. A place is known by
 * its line; so several have one number, which is the same whatever the compiler does.
 */
#define SIM_PLACES	127U
extern unsigned int sim_place;
void sim_stand_still(void);
static inline void sim_point_at(unsigned int line)
{
	if (unlikely(sim_place == 1 + line % SIM_PLACES))
		sim_stand_still();
	sim_point();
}

#define SIM_POINT()	sim_point_at(__LINE__)
/* CPUs have store buffers. */
extern bool sim_weak;
/* memory.c: what this CPU sees at @p, which is @now in memory; this CPU stores over @old at @p. */
unsigned long long sim_seen(const volatile void *p, unsigned long long now);
void sim_stores(const volatile void *p, unsigned long long old);
/* The same, whether there are store buffers or not */
static inline unsigned long long sim_load(const volatile void *p, unsigned long long now)
{
	return unlikely(sim_weak) ? sim_seen(p, now) : now;
}

static inline void sim_store(const volatile void *p, unsigned long long old)
{
	if (unlikely(sim_weak))
		sim_stores(p, old);
}

/* memory.c: all that this CPU has stored is seen from here on. */
void sim_drain(void);

#ifdef __SANITIZE_THREAD__
void sim_ignore_reads(bool begin);
#define SIM_LOAD(p, order) __atomic_load_n(p, order)
#define SIM_STORE(p, value, order) __atomic_store_n(p, value, order)
/* 5 is a pointer. */
#define SIM_READ_ORDER(x) (__builtin_classify_type(x) == 5 ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED)
#undef data_race
#define data_race(x) ({					\
	__typeof__((x) + 0) race_value;			\
	sim_ignore_reads(true);				\
	race_value = (x);				\
	sim_ignore_reads(false);			\
	race_value;					\
})
#else
#define SIM_LOAD(p, order) (*(const volatile __typeof__(*(p)) *)(p))
#define SIM_STORE(p, value, order) (*(volatile __typeof__(*(p)) *)(p) = (value))
#define SIM_READ_ORDER(x) __ATOMIC_RELAXED
#endif

/* A number or a pointer, as a number */
#define SIM_BITS(x)	((unsigned long)(x))

#define SIM_READ(p, order) ({						\
	__typeof__(p) read_p = (p);					\
	__typeof__(*read_p + 0) read_value;				\
	SIM_POINT();							\
	read_value = SIM_LOAD(read_p, order);				\
	(__typeof__(read_value))sim_load(read_p, SIM_BITS(read_value));	\
})

/* Points before and after: what follows the store may be seen later than the store. */
#define SIM_WRITE(p, value, order) ({					\
	__typeof__(p) write_p = (p);					\
	__typeof__(*write_p + 0) write_value = (value);			\
	SIM_POINT();							\
	sim_store(write_p, SIM_BITS(SIM_LOAD(write_p, __ATOMIC_RELAXED))); \
	SIM_STORE(write_p, write_value, order);				\
	sim_point();							\
	(void)0;							\
})

#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_load_acquire
#undef smp_store_release
#define READ_ONCE(x)		SIM_READ(&(x), SIM_READ_ORDER(x))
#define WRITE_ONCE(x, value)	SIM_WRITE(&(x), value, __ATOMIC_RELAXED)
#define smp_load_acquire(p)	SIM_READ(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, value) SIM_WRITE(p, value, __ATOMIC_RELEASE)
#define smp_mb()		do { SIM_POINT(); sim_drain(); } while (0)

#endif /* SIM_LINUX_COMPILER_H */
