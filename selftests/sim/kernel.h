/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the simulated kernel know of each other: see sim.h. */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include <setjmp.h>

#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "sim.h"

#define MAX_TASKS	128
#define MAX_FIBERS	(MAX_TASKS + 2 * CONFIG_NR_CPUS)
/* As many as lockdep can note: MAX_LOCK_DEPTH */
#define MAX_HELD	48
/* Words that the library has for each thread */
#define MAX_TLS		16

enum fiber_kind { TASK, SOFTIRQ, HARDIRQ };

/* A spinlock that is held, and its class: see lock.c */
struct held {
	struct sim_lock	*lock;
	int		class;
};

/**
 * struct fiber - a task, or the interrupts of one kind of one CPU
 * @sp:		its stack pointer, while it does not run
 * @stack:	its stack
 * @fake:	what the address sanitizer keeps of it
 * @tsan:	what the thread sanitizer calls it
 * @task:	what the module sees of it
 * @name:	what it is called in the trace, with @nr
 * @nr:		see @name
 * @kind:	what it is
 * @cpu:	the CPU that it runs on
 * @used:	it is there
 * @active:	it has begun, and not ended
 * @pinned:	it stays on @cpu
 * @points:	how many points it has passed
 * @worked:	and how many ns it has worked
 * @bh:		how often bottom halves are off
 * @off:	for how many reasons it is not preempted
 * @rcu:	how often it is in rcu_read_lock()
 * @irqs_off:	how often interrupts are off
 * @no_faults:	how often page faults are off
 * @lacks_memory: an allocation has failed since its last sim_call_begins()
 * @faults:	a copy has
 * @absent:	memory that it copies to has to be faulted in
 * @hole:	an address of a program at which there is no memory in this call, or NULL
 * @read_only:	there is, but nothing can be stored
 * @next_hole:	@hole of the next call
 * @rcu_since:	the grace period that was the last to begin before it became a reader
 * @held:	the spinlocks that it holds, with their classes
 * @nr_held:	how many
 * @held_since:	@worked when it took the first of them
 * @lock:	the lock that it waits for, or NULL
 * @ticket:	its number among those who wait for it
 * @queue:	the wait queue that it is in, or NULL
 * @queue_nr:	who came first
 * @exclusive:	it wants to be woken alone
 * @woken:	it was, since it is in @queue
 * @watched:	the wait queue of whose wake-ups it is told later, as by an epoll; or NULL
 * @edge:	there was one
 * @sleeps:	it waits to be woken, until @sleep_until
 * @hrtimer:	it waits for the end of that callback
 * @grace:	it waits for the end of that grace period, unless it is 0
 * @sleep_until: it does not go on before
 * @ready_at:	nor before that, when another CPU woke it or it was moved
 * @cancelled:	where a thread goes on that is cancelled, or NULL
 * @cleanup:	what the thread calls then
 * @cleanup_arg: argument of @cleanup
 * @tls:	while it does not run, what the library has for each thread
 * @function:	what it does
 * @arg:	argument of @function
 */
struct fiber {
	void			*sp;
	char			*stack;
	void			*fake, *tsan;
	struct task_struct	task;
	const char		*name;
	int			nr;
	enum fiber_kind		kind;
	int			cpu;
	bool			used, active, pinned;
	u64			points, worked;
	int			bh, off, rcu, irqs_off, no_faults;
	bool			lacks_memory, faults, absent, read_only;
	const char		*hole, *next_hole;
	u64			rcu_since;
	struct held		held[MAX_HELD];
	int			nr_held;
	u64			held_since;
	struct sim_lock		*lock;
	u64			ticket;
	wait_queue_head_t	*queue;
	u64			queue_nr;
	bool			exclusive, woken, sleeps;
	wait_queue_head_t	*watched;
	bool			edge;
	struct hrtimer		*hrtimer;
	u64			grace;
	u64			sleep_until;
	u64			ready_at;
	jmp_buf			*cancelled;
	void			(*cleanup)(void *arg);
	void			*cleanup_arg;
	u32			tls[MAX_TLS];
	void			(*function)(void *arg);
	void			*arg;
};

/**
 * struct cpu - a CPU
 * @clock:	what time it is for it
 * @next:	when something there can go on, as far as the one that runs now knows
 * @keeps:	the task that is not preempted
 * @last:	the task that ran last
 * @softirq:	its soft interrupts
 * @hardirq:	its interrupts from other CPUs
 * @timers:	hrtimers that are set on it
 * @next_timer:	when the first of them is due, or %SIM_NEVER
 * @kicks:	functions that others want it to call
 * @debt:	twice the ns that turning wheels took, less all ns since
 * @debt_at:	when that was
 * @online:	it is there
 * @isolations:	how often it was isolated
 * @bh:		with PREEMPT_RT whoever has bottom halves off may hold this
 */
struct cpu {
	u64			clock, next;
	struct fiber		*keeps, *last, *softirq, *hardirq;
	struct hrtimer		*timers;
	u64			next_timer;
	call_single_data_t	*kicks;
	u64			debt, debt_at;
	bool			online;
	u32			isolations;
	struct sim_lock		bh;
};

/* sched.c */
extern struct cpu cpus[CONFIG_NR_CPUS];
extern int nr_tasks;
bool chance(u32 of_65536);
/* The CPU that calls works for @ns. */
void sim_spend(u64 ns);
/* For the CPU that calls it is @at by now, as it has heard from another one. */
void sim_not_before(u64 at);
void sim_relax(void);
void might_sleep(const char *what);
/* This fiber is, or is not any more, preempted for one reason more. */
void preempt_off(void);
void preempt_on(void);
/* If this fiber is a task no other task runs on its CPU until it leaves it. */
void keep_cpu(void);
void leave_cpu(void);

/* choose.c */
#define SIM_NEVER	(~0ULL)
void choose_begin(void);
/*
 * From when on @f can go on, on the clock of its CPU and not before what it is now; %SIM_NEVER
 * if somebody else has to do something first.
 */
u64 runs_at(const struct fiber *f);
static inline bool can_run(const struct fiber *f)
{
	return runs_at(f) <= cpus[f->cpu].clock;
}

/* The caller has done something for which another one may have waited. */
void sim_news(void);
/* Somebody goes on; this fiber when it can and is chosen. */
void schedule(void);
/* If this CPU is ahead of others, or is to be interrupted, somebody else goes on. */
void schedule_if_ahead(void);
/* Until this fiber can run, others do. */
void wait_here(void);

/* fiber.c */
extern struct fiber fibers[MAX_FIBERS], *self;
extern int nr_fibers;
/* The first ones are the interrupts of all CPUs: leave out those of CPUs that are not there. */
static inline int next_fiber(int i)
{
	return i + 1 == 2 * (int)sim_config.cpus ? 2 * CONFIG_NR_CPUS : i + 1;
}

struct fiber *fiber_new(enum fiber_kind kind, void (*function)(void *arg), void *arg, int cpu);
/* NULL is the program's own stack, on which main() runs. */
void fiber_switch(struct fiber *to);
/* sched.c: where a fiber begins */
void fiber_main(void);

/* memory.c */
void memory_begin(void);
/* What @cpu has stored is seen, up to its store number @seq. */
void drain_cpu(int cpu, u64 seq);
/* Stores leave their buffers by themselves at times. */
void drain_some(void);
/* What was stored before this is seen by whoever calls acquire() with @order, and later. */
void release(void *what, struct sim_order *order);
void acquire(void *what, const struct sim_order *order);

#ifdef SIM_TSAN
/* The compiler's header does not declare them in all versions. */
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned int flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned int flags);
void __tsan_java_init(unsigned long begin, unsigned long size);
void __tsan_java_alloc(unsigned long at, unsigned long size);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void __tsan_acquire(void *p);
void __tsan_release(void *p);
#define tsan_acquire(p)	__tsan_acquire(p)
#define tsan_release(p)	__tsan_release(p)
#else
#define tsan_acquire(p)	((void)(p))
#define tsan_release(p)	((void)(p))
#endif

/* lock.c */
void locks_begin(void);
void bh_off(void);
void bh_on(void);
void irqs_off(void);
void irqs_on(void);

/* rcu.c */
void rcu_begin(void);
bool is_reader(const struct fiber *f);
/* @f is going to be a reader, unless it is one. */
void note_reader(struct fiber *f);
/* @f may have ceased to be one. */
void note_reader_end(struct fiber *f);
/* @f is an interrupt that begins, and so is a reader. */
void begin_interrupt(struct fiber *f);
/* Find which grace periods have ended. Returns whether one has since the last time. */
bool rcu_look(void);
/* From when on are there callbacks for @cpu to call? */
u64 rcu_callbacks_at(int cpu);
void rcu_call_one(void);

/* hrtimer.c */
/* As hrtimer_start(), at once: the caller has passed a point. */
void hrtimer_set(struct hrtimer *timer, u64 at);
/* Those that are set on @from are set on @to. */
void hrtimer_move_all(struct cpu *from, int to);
void softirq_main(void *arg);

/* cpu.c */
void cpus_begin(void);
void hardirq_main(void *arg);
/* Is it isolated, for whatever reason? */
bool cpu_is_isolated(unsigned int cpu);

/* clock.c, work.c */
void clock_begin(void);
void clock_note_step(void);
void clock_give_namespaces(struct task_struct *task);
void work_begin(void);

/* wait.c, fault.c */
void wait_begin(void);
bool alloc_fails(gfp_t gfp);

/* program.c */
void program_begin(void);
/* This is a child, and no mutex is locked. */
void program_forked(void);
/* CLOCK_REALTIME was set. */
void program_clock_was_set(void);
__poll_t program_poll(int fd, poll_table *table);

/* module.c, report.c */
void module_begin(void);
void report_begin(void);
/* @p is free: whatever is at that address next is another one. */
void report_freed(const void *p);

#endif /* SIM_KERNEL_H */
