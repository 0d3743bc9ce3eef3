/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheels of all CPUs, and which CPU turns which: hrtimers, kicks, hotplug, isolation. */
#ifndef TWHEEL_PROGRAM_H
#define TWHEEL_PROGRAM_H

#include <linux/container_of.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>

#include "../core/base.h"

struct twheel_quota;

/**
 * struct twheel_cpu_base - the base of one CPU on one clock, and what turns its wheel
 * @base:	the base; @base.lock guards all fields below that are not said to be another's
 * @hrtimer:	turns the wheel, at tick @base.programmed or before. A kick reads that tick without
 *		the lock
 * @away:	the CPU is offline, or about to be: another CPU turns the wheel
 * @kick:	makes the CPU that turns the wheel set @hrtimer
 * @kicked:	how many kicks are on their way, or running
 * @round:	the round in which the wheel was turned last; used by @hrtimer's callback
 *		only
 * @look_ns:	what a look at one timer takes on average, in ns; used by @hrtimer's
 *		callback only
 */
struct twheel_cpu_base {
	struct twheel_base	base;
	struct hrtimer		hrtimer;
	bool			away;
	call_single_data_t	kick;
	atomic_t		kicked;
	u32			round;
	u32			look_ns;
};

extern struct twheel_cpu_base __percpu *twheel_bases[TWHEEL_NR_CLOCKS];

/**
 * twheel_cpu_base() - the base of a CPU on a clock
 * @clock:	the clock
 * @cpu:	any possible CPU
 *
 * Context: any.
 * Return: the base.
 */
static inline struct twheel_cpu_base *twheel_cpu_base(enum twheel_clock clock, u16 cpu)
{
	return per_cpu_ptr(twheel_bases[clock], cpu);
}

static inline struct twheel_cpu_base *twheel_cpu_base_of(struct twheel_base *base)
{
	return container_of(base, struct twheel_cpu_base, base);
}

/**
 * twheel_cpu_isolated() - is a CPU to be left alone?
 * @cpu:	the CPU
 *
 * Context: any. On kernels that isolate CPUs at run time the answer may change.
 * Return: true if nohz_full=, isolcpus= or a cpuset says so.
 */
static inline bool twheel_cpu_isolated(unsigned int cpu)
{
	return !housekeeping_cpu(cpu, HK_TYPE_TIMER) ||
	       !housekeeping_cpu(cpu, HK_TYPE_DOMAIN);
}

/**
 * twheel_housekeeping_cpu() - a CPU that turns wheels for another one
 * @cpu:	any possible CPU, which is isolated or offline
 *
 * Takes O(CPUs that are not isolated).
 *
 * Context: any in which the task stays on its CPU.
 * Return: a CPU that is active and not isolated, of the same node if there is one there; the
 * CPUs of a node are spread over these by their numbers. Or this CPU if there is none.
 */
unsigned int twheel_housekeeping_cpu(unsigned int cpu);

/* See core/host.h. A user has no wheels of its own. */
static inline struct twheel_base *twheel_base_of(struct twheel_quota *quota,
						 enum twheel_clock clock, u16 cpu)
{
	return &twheel_cpu_base(clock, cpu)->base;
}

/* See core/host.h: the base of this CPU or, if this CPU is isolated, that of another one. */
static inline struct twheel_base *twheel_base_local(struct twheel_quota *quota,
						    enum twheel_clock clock)
{
	unsigned int cpu = smp_processor_id();

	if (unlikely(twheel_cpu_isolated(cpu)))
		cpu = twheel_housekeeping_cpu(cpu);
	return twheel_base_of(quota, clock, cpu);
}

/* See core/host.h: not on an isolated CPU. */
static inline bool twheel_base_stays(const struct twheel_base *base)
{
	return !twheel_cpu_isolated(base->cpu);
}

/* See core/host.h: it does not matter here. */
static inline void twheel_base_changed(struct twheel_base *base, u64 old, u64 new)
{
}

/**
 * twheel_program() - set the hrtimer of a base, on the CPU that turns its wheel
 * @cbase:	the base
 * @tick:	what base->programmed is to say
 * @ns:		the time on the base's clock, in ns
 *
 * No hrtimer is set for a wheel that is empty.
 *
 * Context: the caller holds the lock of the base.
 */
void twheel_program(struct twheel_cpu_base *cbase, u64 tick, u64 ns);

/**
 * twheel_reprogram() - set the hrtimer of a base to the next turn, wherever it was set
 * @cbase:	the base
 *
 * Context: any, without the lock of the base.
 */
void twheel_reprogram(struct twheel_cpu_base *cbase);

/**
 * twheel_program_begin() - make a base ready for the other functions
 * @cbase:	the base, but for its hrtimer
 */
void twheel_program_begin(struct twheel_cpu_base *cbase);

/**
 * twheel_program_end() - wait until nobody sets the hrtimer of a base, nor will
 * @cbase:	the base, whose wheel is empty
 *
 * Context: may sleep.
 */
void twheel_program_end(struct twheel_cpu_base *cbase);

/**
 * twheel_program_init() - follow CPUs that come and go
 *
 * Context: may sleep. All bases are there.
 * Return: 0, or what cpuhp_setup_state_nocalls() returns.
 */
int twheel_program_init(void);

/**
 * twheel_program_exit() - follow them no more
 *
 * Context: may sleep.
 */
void twheel_program_exit(void);

#endif /* TWHEEL_PROGRAM_H */
