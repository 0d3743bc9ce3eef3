/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulation: CPUs that run tasks, soft interrupts and hard interrupts as fibers of one thread,
 * and time that goes by only here. All that is not certain is chosen by a seed.
 *
 * This is what actors see of it. kernel.h is what its files see of each other, and linux/ what the
 * module sees. Documentation/simulator.md says what is as in the kernel and what is not.
 */
#ifndef SIM_H
#define SIM_H

#include <linux/fs.h>
#include <linux/types.h>

#include "random.h"

/* Promises of Documentation/design.md, by number; 0 for a fault of the simulation itself */
enum promise {
	SIM_ITSELF,
	NEVER_EARLY,
	LATE_BY_A_TICK,
	EXACTLY_ONCE,
	CANCEL_IS_FINAL,
	CONSTANT_COST,
	SILENCE,
	BOUNDED_WORK,
	CONTAINED,
	STABLE_INTERFACE,
	IN_ORDER,
	FAIR,
};

/**
 * struct sim_costs - what things take, in ns
 * @point:	less than that from point to point
 * @node:	to take a timer from a wheel
 * @enqueue:	to put one into a wheel
 * @interrupt:	to begin a soft interrupt, or one from another CPU
 * @kick:	until an interrupt from another CPU arrives, up to twice that
 * @wake:	to wake a task
 * @relax:	between two looks of one that waits for another CPU
 *
 * All that happens otherwise between two points takes no time.
 */
struct sim_costs {
	u32	point, node, enqueue, interrupt, kick, wake, relax;
};

/**
 * struct sim_config - what a run is to be like
 * @seed:		chooses all else
 * @cpus:		how many CPUs there are
 * @stays:		the CPU that is always online, and never isolated
 * @switch_chance:	at a point another one goes on. Chances are out of 65536
 * @stall_chance:	when another one goes on, first up to @stall_ns go by while nobody runs
 * @stall_ns:		see @stall_chance; 0 for never
 * @freeze_chance:	at a point a CPU stands still for up to @freeze_ns
 * @freeze_ns:		see @freeze_chance
 * @place:		at this place a CPU often stands still as well: see SIM_POINT(); 0 for none
 * @skew:		so many ns at most may a CPU go ahead of another one that has work to do
 * @irq_delay:		so many ns an interrupt may wait for a task that could be interrupted
 * @migrate_chance:	a task is moved to another CPU when it is chosen
 * @fault:		the one thing that fails of all that have a chance to, as sim_fault() names
 *			it; 0 for none, or %AT_RANDOM
 * @fail_chance:	an allocation fails
 * @fault_chance:	memory of a program is not there while nothing may sleep
 * @efault_chance:	memory of a program is not there at all
 * @late_chance:	memory of a program is not there yet, and the one who needs it waits
 * @signal_chance:	a signal is pending
 * @kill_chance:	a signal that kills is
 * @cancel_chance:	a thread is cancelled where it waits
 * @weak:		CPUs have store buffers
 * @drain_mask:		which random numbers do not let stores leave a buffer at a point
 * @rt:			the rules of PREEMPT_RT: spinlocks and soft interrupts are preempted
 * @bh_lock:		and bottom halves that are off are a lock of the CPU, as before Linux 6.18
 * @zeros:		random bytes are zeros, with which the keys of programs collide
 * @costs:		what things take
 * @max_debt:		wheels may take half of a CPU, and so many ns more for a while; 0 for all
 */
struct sim_config {
	u64	seed;
	u32	cpus;
	u32	stays;
	u32	switch_chance;
	u32	stall_chance;
	u64	stall_ns;
	u32	freeze_chance;
	u32	freeze_ns;
	u32	place;
	u32	skew;
	u32	irq_delay;
	u32	migrate_chance;
	u64	fault;
	u32	fail_chance;
	u32	fault_chance;
	u32	efault_chance;
	u32	late_chance;
	u32	signal_chance;
	u32	kill_chance;
	u32	cancel_chance;
	u32	drain_mask;
	bool	weak;
	bool	rt, bh_lock;
	bool	zeros;
	struct sim_costs costs;
	u64	max_debt;
};

#define AT_RANDOM	(~0ULL)
enum fault_kind { ALLOCATION, COPY, NR_FAULT_KINDS };

/* The @nr-th allocation or copy, counting from 1 */
static inline u64 sim_fault(enum fault_kind kind, u64 nr)
{
	return NR_FAULT_KINDS * nr + kind;
}

/* What has happened since the program began */
struct sim_stats {
	u64	points, switches, softirqs, kicks, wakes, faults, grace_periods, stale;
	/* The most ns that a CPU has worked with spinlocks held, and in a callback of an hrtimer */
	u64	held_ns, run_ns;
	/*
	 * Since this episode began: points, allocations and copies that had a chance to fail, and
	 * copies that did so where the program has no such memory; threads that were cancelled
	 */
	u64	episode_points, may_fail[NR_FAULT_KINDS], efaults, cancels;
};

/* promises.c: what it is called when it is broken */
extern const char * const sim_promises[];

extern struct sim_config sim_config;
extern struct sim_stats sim_stats;

/* report.c. The status of the program when something is wrong */
#define EXIT_BROKEN	3
extern bool sim_verbose;
/* Something is wrong: say so, and end. */
void sim_broken(enum promise promise, const char *format, ...)
	__attribute__((__noreturn__, __format__(__printf__, 2, 3)));
/* With V=1, a line of the trace */
void sim_trace(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
/* Called by sim_broken() at last, to say how to repeat it */
extern void (*sim_how_to_repeat)(void);
/* What it was called with */
extern enum promise sim_promise;

#define expect(condition, promise, ...) \
	do { \
		if (__builtin_expect(!(condition), 0)) \
			sim_broken(promise, __VA_ARGS__); \
	} while (0)

/* sched.c */
/* Begin anew, as @config says. */
void sim_begin(const struct sim_config *config);
/* Begin a task, which is called @name @nr in the trace. @pinned: it stays on @cpu. */
void sim_spawn(const char *name, int nr, void (*function)(void *arg), void *arg, int cpu,
	       bool pinned);
/* Run until all tasks have ended. */
void sim_run(void);
void sim_point(void);
void sim_sleep_until(u64 ns);
/* What time it is for the CPU that calls; and the latest that it is for any CPU */
u64 sim_now(void);
u64 sim_latest(void);
/* Called when nobody can run: has somebody not been woken that should have been? */
extern void (*sim_idle_check)(void);
/* Continue the task that calls it on another CPU. */
void sim_move(int cpu);
/* How many points the task that calls it has passed. */
u64 sim_own_points(void);

/* memory.c: what the kernel around the module orders, such as all calls on a file before its end */
void sim_release(void *what);
void sim_acquire(void *what);
/* memory.c: whoever goes on sees all that was stored before this. */
void drain_all(void);

/* wait.c: after a poll that has found nothing, wait until it is woken. */
int sim_wait_as_poller(void);
/* After a poll, whatever it has found: from now on be told of wake-ups, until sim_unwatch(). */
void sim_watch(void);
/* Wait until there was one since then, or since this has returned last. */
void sim_wait_for_edge(void);
void sim_unwatch(void);

/* fault.c: around each call of a program. It ends with an error for which there was a reason. */
void sim_call_begins(void);
/* In the next call of this task nothing can be stored at @at. False if faults are not at random. */
bool sim_hole(const void *at);
void sim_call_ends(long ret);

/* work.c, cpu.c, clock.c, module.c: after rmmod, or an insmod that has failed */
void sim_no_work_is_left(void);
void sim_no_hotplug_is_left(void);
void sim_no_notifier_is_left(void);
void sim_no_device_is_left(void);

/* cpu.c */
void sim_isolate(unsigned int cpu, bool isolated);
/* From a task that is pinned to @cpu */
void sim_hotplug(unsigned int cpu, bool online);

/* clock.c: CLOCK_REALTIME and CLOCK_BOOTTIME are ahead of CLOCK_MONOTONIC by these. */
extern s64 sim_real_offset, sim_boot_offset;
/* The most that sim_real_offset has been */
extern s64 sim_furthest_offset;
/*
 * The latest time that CLOCK_REALTIME has shown just before or after a step, or when the work items
 * for it were done; and the last such time
 */
extern u64 sim_latest_step, sim_last_step;
/* They are not done. Tasks have no priorities here, so others may keep them from their CPU. */
extern bool sim_steps_pending;
/* What hrtimers add to CLOCK_MONOTONIC when it shows @now, and the latest that this sum has been */
s64 sim_wall_offset(u64 now);
u64 sim_furthest_wall(void);
/* This also ends the plan to insert a leap second. */
void sim_set_clock(s64 step);
/*
 * In @ahead ns CLOCK_REALTIME is a second less. Whoever plans that sets the clock afterwards.
 * Returns when it is, on CLOCK_MONOTONIC; or 0 if another one is planned.
 */
u64 sim_plan_leap(u64 ahead);
/* It does not come, as it is taken back or, if it was @missed, as the machine slept then. */
void sim_drop_leap(bool missed);
extern u64 sim_next_leap;
#define SIM_NAMESPACES	2
void sim_set_timens(u32 nr, s64 monotonic, s64 boottime);
/* The task that calls it is in that namespace from now on. */
void sim_enter_timens(u32 nr);

/* library.c: the library, as a device */
extern const struct file_operations sim_library;
/* How many of its calls threads are in */
extern u32 program_calls;
void library_take_over(struct file *file);
/* program.c: all its contexts are closed, so nothing may be left open or mapped. */
void program_end(void);

/* module.c */
extern const struct file_operations *sim_device;
extern int (*sim_module_init)(void);
extern void (*sim_module_exit)(void);
extern unsigned int *sim_param_tick_ns, *sim_param_slots;
extern unsigned long *sim_param_max_user_timers, *sim_param_max_fd_timers;
extern const struct kernel_param_ops *sim_ops_max_user_timers;
/* An administrator changes the first of these, and all know of it. */
void sim_set_user_limit(unsigned long limit);
/* As loading a module does: give its variables the values that they were compiled with. */
void sim_fresh_module(void);
/* Read all files in debugfs, and reset the counters. */
void sim_read_debugfs(void);

/* How many ns at most a CPU works with a spinlock held, and in a run of a wheel */
u64 sim_max_held(void);
u64 sim_max_run(void);

/* slab.c: how many pieces of memory the module has */
extern long sim_allocated;
/* What was freed is given back, and must be as it was. */
void sim_give_back(void);

#endif /* SIM_H */
