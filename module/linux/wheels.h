/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheels of one user: one for each clock and each CPU on which the user has armed. */
#ifndef TWHEEL_WHEELS_H
#define TWHEEL_WHEELS_H

#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "program.h"

/*
 * For what an open of the device needs. All devices of the misc class are opened under one
 * lock: so a program at the limit of its memory cgroup tries once to reclaim memory there,
 * and then gets an error. For wheels, too: whoever gets none may have another one.
 */
#define TWHEEL_OPEN_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/**
 * struct twheel_cpu_wheels - the wheels that a user has on one CPU
 * @of:		by clock; NULL until the user arms there. Stored once, under twheel_wheels.lock;
 *		read without a lock
 * @ready:	by clock: timers that are armed on this CPU found a wheel last time, here or, if
 *		the CPU is isolated, on another one; or there was no memory for it. Written on
 *		this CPU, or by who was there; read without a lock
 * @retry:	when to try again after there was no memory, in ns on CLOCK_MONOTONIC. Likewise
 */
struct twheel_cpu_wheels {
	struct twheel_cpu_base	*of[TWHEEL_NR_CLOCKS];
	bool			ready[TWHEEL_NR_CLOCKS];
	u64			retry;
};

/**
 * struct twheel_wheels - the wheels of one user
 * @on:		by CPU
 * @first:	by clock, that which was made first: for timers that are armed on a CPU where no
 *		wheel could be made yet. Stored once, under @lock, after it is in @on; read without
 *		a lock
 * @all:	those of all CPUs and clocks; added to under @lock, walked under RCU
 * @lock:	serialises those who have made a wheel
 */
struct twheel_wheels {
	struct twheel_cpu_wheels __percpu	*on;
	struct twheel_cpu_base			*first[TWHEEL_NR_CLOCKS];
	struct list_head			all;
	/* outside twheel_cpus_lock */
	spinlock_t				lock;
};

/**
 * twheel_wheels_init() - begin without a wheel
 * @wheels:	zeroed
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int twheel_wheels_init(struct twheel_wheels *wheels);

/**
 * twheel_wheels_destroy() - free all wheels, which are empty
 * @wheels:	the wheels, which no context uses any more
 *
 * Takes O(wheels), and waits for an RCU grace period if there were some.
 *
 * Context: may sleep.
 */
void twheel_wheels_destroy(struct twheel_wheels *wheels);

/**
 * twheel_wheels_make() - make the wheel in which timers that are armed here go, unless there is one
 * @wheels:	the wheels
 * @clock:	the clock
 *
 * Without memory the timers go to @wheels->first. As each try may have memory reclaimed, there are
 * ten a second.
 *
 * The task may move to another CPU at any time. Then the timers go to @wheels->first, and the next
 * call makes what is missing.
 *
 * Context: may sleep.
 * Return: 0; or -ENOMEM if there is no wheel on @clock at all.
 */
int twheel_wheels_make(struct twheel_wheels *wheels, enum twheel_clock clock);

/**
 * twheel_wheels_cpu() - the CPU whose wheels are for timers that are armed now
 *
 * Context: the task stays on its CPU.
 * Return: this CPU or, if it is isolated, another one.
 */
static inline unsigned int twheel_wheels_cpu(void)
{
	unsigned int cpu = smp_processor_id();

	return likely(!twheel_cpu_isolated(cpu)) ? cpu : twheel_housekeeping_cpu(cpu);
}

/**
 * twheel_wheels_of() - the wheel of a CPU
 * @wheels:	the wheels
 * @clock:	the clock
 * @cpu:	any possible CPU
 *
 * Context: any.
 * Return: the wheel, or NULL if there is none.
 */
static inline struct twheel_cpu_base *twheel_wheels_of(const struct twheel_wheels *wheels,
						       enum twheel_clock clock, u16 cpu)
{
	/* What it has comes by address dependency. */
	return READ_ONCE(per_cpu_ptr(wheels->on, cpu)->of[clock]);
}

#endif /* TWHEEL_WHEELS_H */
