/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPU turns which wheel: hrtimers, kicks, hotplug, isolation. */
#ifndef TWHEEL_PROGRAM_H
#define TWHEEL_PROGRAM_H

#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>

#include "../core/base.h"

struct work_struct;

/**
 * struct twheel_cpu_base - the base of one user on one CPU and clock, and what turns its wheel
 * @base:	the base; @base.lock guards all fields below that are not said to be another's
 * @hrtimer:	turns the wheel, at tick @base.programmed or before. A kick reads that tick without
 *		the lock
 * @entry:	in the list of its CPU, from twheel_program_begin() to twheel_program_end()
 * @of_user:	in the list of its user's wheels; of wheels.c
 * @away:	the CPU is offline, or about to be: another CPU turns the wheel
 * @kick:	makes the CPU that turns the wheel set @hrtimer
 * @kicked:	how many kicks are on their way, or running
 * @kicked_at:	the tick of the wheel's clock in which one was sent last
 * @round:	the round in which the wheel was turned last; used by @hrtimer's callback
 *		only
 */
struct twheel_cpu_base {
	struct twheel_base	base;
	struct hrtimer		hrtimer;
	struct list_head	entry;
	struct list_head	of_user;
	bool			away;
	call_single_data_t	kick;
	atomic_t		kicked;
	u64			kicked_at;
	u32			round;
};

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

/*
 * See core/host.h: timers follow their program to where it may run, if that is not here, and from a
 * wheel that others wait for to that of the own CPU. No timer stays on an isolated CPU.
 */
static inline bool twheel_base_stays(const struct twheel_base *base)
{
	return cpumask_test_cpu(base->cpu, current->cpus_ptr) &&
	       !spin_is_contended((spinlock_t *)&base->lock) && !twheel_cpu_isolated(base->cpu);
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
 * If the wheel is empty no hrtimer is set, and base->programmed says %TWHEEL_NEVER.
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
 * twheel_program_elsewhere() - have another CPU turn a wheel that is turned on an isolated one
 * @cbase:	the base
 *
 * That may take some runs of the wheel here.
 *
 * Context: the callback of @cbase->hrtimer, without the lock of the base.
 */
void twheel_program_elsewhere(struct twheel_cpu_base *cbase);

/**
 * twheel_program_now() - turn all wheels on CLOCK_REALTIME, of all users
 * @work:	ignored: it is a work item of clock.c
 *
 * The run of each wheel then sets its hrtimer by the new time.
 *
 * Context: may sleep.
 */
void twheel_program_now(struct work_struct *work);

/**
 * twheel_program_begin() - make a base ready for the other functions
 * @cbase:	the base, whose hrtimer is set up
 *
 * Context: process.
 */
void twheel_program_begin(struct twheel_cpu_base *cbase);

/**
 * twheel_program_end() - let no more walks over all wheels begin to use a base
 * @cbase:	the base, whose wheel is empty
 *
 * Context: process. twheel_program_wait() has to be called an RCU grace period later.
 */
void twheel_program_end(struct twheel_cpu_base *cbase);

/**
 * twheel_program_wait() - wait until nobody sets the hrtimer of a base, nor will
 * @cbase:	the base, whose wheel is empty
 *
 * Context: may sleep.
 */
void twheel_program_wait(struct twheel_cpu_base *cbase);

/**
 * twheel_program_init() - follow CPUs that come and go
 *
 * Context: may sleep. No base has begun.
 * Return: 0, or what cpuhp_setup_state_nocalls() returns.
 */
int twheel_program_init(void);

/**
 * twheel_program_exit() - follow them no more
 *
 * Context: may sleep. No base is left.
 */
void twheel_program_exit(void);

/**
 * twheel_turn() - turn a wheel, for a while: in turn.c
 * @hrtimer:	of a struct twheel_cpu_base, after twheel_program_begin()
 *
 * The hrtimer is set for what is left.
 *
 * Context: soft interrupt; the callback of @hrtimer.
 * Return: HRTIMER_NORESTART.
 */
enum hrtimer_restart twheel_turn(struct hrtimer *hrtimer);

#endif /* TWHEEL_PROGRAM_H */
