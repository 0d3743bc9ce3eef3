// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks, points and time. At each point where one CPU could see what another one has done, the seed
 * says how much time goes by, whether the CPU stands still, and whether another one goes on:
 * choose.c.
 *
 * As in the kernel a task may be preempted, and moved to another CPU, while it holds no spinlock
 * and bottom halves are on; the soft interrupt runs on its CPU between two points of whatever runs
 * there with bottom halves on; an interrupt from another CPU between any two; and whoever waits for
 * a spinlock keeps its CPU. With PREEMPT_RT a spinlock, bottom halves that are off and the soft
 * interrupt keep no CPU: only an interrupt from another CPU does, and interrupts that are off.
 */
#include <string.h>

#include "kernel.h"

/* So many points are passed at most in an episode, or five times as many where all keys collide. */
#define MAX_POINTS	10000000U

struct sim_config sim_config;
struct sim_stats sim_stats;
struct cpu cpus[CONFIG_NR_CPUS];
u64 sim_rng[2];
u32 sim_place;
/* For so many ns more CPUs may stand still at that place. */
static u32 still_left;
int nr_tasks;

bool chance(u32 of_65536)
{
	return of_65536 && (sim_random() >> 48) < of_65536;
}

u64 sim_latest(void)
{
	u64 latest = 0;
	u32 i;

	for (i = 0; i < sim_config.cpus; i++)
		latest = max(latest, cpus[i].clock);
	return latest;
}

u64 sim_now(void)
{
	return self ? cpus[self->cpu].clock : sim_latest();
}

void sim_spend(u64 ns)
{
	if (!self)
		return;
	cpus[self->cpu].clock += ns;
	self->worked += ns;
}

void sim_not_before(u64 at)
{
	if (self)
		cpus[self->cpu].clock = max(cpus[self->cpu].clock, at);
}

u64 sim_own_points(void)
{
	return self->points;
}

static void pass_point(void)
{
	expect(sim_stats.episode_points < MAX_POINTS * (sim_config.zeros ? 5 : 1), CONTAINED,
	       "livelock: a call does not end");
	sim_stats.points++;
	sim_stats.episode_points++;
	self->points++;
}

/* No CPU does anything for a while. */
static void stall(void)
{
	u64 until = sim_latest() + sim_random() % sim_config.stall_ns;
	u32 i;

	for (i = 0; i < sim_config.cpus; i++)
		cpus[i].clock = max(cpus[i].clock, until);
	drain_all();
}

/* The CPU stands still. */
static void freeze(u32 ns)
{
	cpus[self->cpu].clock += ns;
	schedule();
}

void sim_stand_still(void)
{
	u32 ns;

	if (!self || sim_below(8))
		return;
	/* Mostly for a short while, and so more often */
	ns = sim_below(sim_below(4) ? sim_config.freeze_ns / 8 : sim_config.freeze_ns);
	ns = min(ns, still_left);
	still_left -= ns;
	if (ns)
		freeze(ns);
}

void sim_point(void)
{
	u64 r;

	if (!self)
		return;
	pass_point();
	r = sim_random();
	sim_spend((u64)(u32)r * sim_config.costs.point >> 32);
	r >>= 48;
	if (sim_weak && !(r & sim_config.drain_mask))
		drain_some();
	if (chance(sim_config.freeze_chance)) {
		freeze(sim_below(sim_config.freeze_ns));
	} else if (r < sim_config.switch_chance) {
		if (chance(sim_config.stall_chance) && sim_config.stall_ns)
			stall();
		rcu_look();
		schedule();
	} else {
		schedule_if_ahead();
	}
}

void wait_here(void)
{
	while (!can_run(self))
		schedule();
}

void sim_relax(void)
{
	pass_point();
	sim_spend(sim_config.costs.relax);
	rcu_look();
	schedule();
}

void cpu_relax(void)
{
	sim_relax();
}

void might_sleep(const char *what)
{
	if (!self)
		return;
	expect(!self->off && !self->rcu && self->kind == TASK, CONTAINED,
	       "%s may sleep, where nothing may", what);
}

void cond_resched(void)
{
	might_sleep("cond_resched()");
	sim_point();
}

bool need_resched(void)
{
	return self && !sim_below(8);
}

void keep_cpu(void)
{
	if (self->kind == TASK)
		cpus[self->cpu].keeps = self;
}

void leave_cpu(void)
{
	if (self->kind == TASK)
		cpus[self->cpu].keeps = NULL;
}

void preempt_off(void)
{
	note_reader(self);
	self->off++;
	if (!sim_config.rt)
		keep_cpu();
}

void preempt_on(void)
{
	expect(self->off > 0, SIM_ITSELF, "preemption is turned on once too often");
	self->off--;
	note_reader_end(self);
	if (!self->off && !sim_config.rt)
		leave_cpu();
}

struct task_struct *sim_current(void)
{
	static struct task_struct nobody;

	return self ? &self->task : &nobody;
}

void sim_sleep_until(u64 ns)
{
	self->sleep_until = ns;
	wait_here();
}

void fiber_main(void)
{
	for (;;) {
		self->function(self->arg);
		self->active = false;
		if (self->kind == TASK) {
			expect(!self->off && !self->rcu && !self->bh, SIM_ITSELF,
			       "a task ends with a lock held");
			/* Whoever waits for its end sees what it has stored. */
			sim_drain();
			self->used = false;
			nr_tasks--;
		}
		schedule();
	}
}

void sim_spawn(const char *name, int nr, void (*function)(void *arg), void *arg, int cpu,
	       bool pinned)
{
	struct fiber *f = fiber_new(TASK, function, arg, cpus[cpu].online ? cpu : 0);

	/* It sees what was done before it began. */
	drain_all();
	f->name = name;
	f->nr = nr;
	f->pinned = pinned;
	f->task.cpus_mask.bits = pinned ? BIT(f->cpu) : ~0UL;
	f->task.cpus_ptr = &f->task.cpus_mask;
	f->ready_at = sim_now();
	sim_news();
	clock_give_namespaces(&f->task);
	nr_tasks++;
}

static void begin_cpus(void)
{
	u32 i;

	nr_cpu_ids = sim_config.cpus;
	if (nr_fibers) {
		/* The stacks of tasks stay, and these may be few again. */
		nr_fibers = 2 * CONFIG_NR_CPUS;
		return;
	}
	for (i = 0; i < CONFIG_NR_CPUS; i++) {
		cpus[i].softirq = fiber_new(SOFTIRQ, softirq_main, &cpus[i], (int)i);
		cpus[i].softirq->name = "soft interrupt";
		cpus[i].softirq->nr = -1;
		cpus[i].hardirq = fiber_new(HARDIRQ, hardirq_main, &cpus[i], (int)i);
		cpus[i].hardirq->name = "interrupt";
		cpus[i].hardirq->nr = -1;
	}
}

void sim_begin(const struct sim_config *config)
{
	u32 i;

	sim_config = *config;
	sim_seed(config->seed);
	for (i = 0; i < 8; i++)
		sim_random();
	sim_stats.episode_points = 0;
	memset(sim_stats.may_fail, 0, sizeof(sim_stats.may_fail));
	sim_stats.efaults = 0;
	sim_stats.cancels = 0;
	sim_place = config->place;
	still_left = 50 * config->freeze_ns;
	choose_begin();
	begin_cpus();
	memory_begin();
	locks_begin();
	rcu_begin();
	wait_begin();
	cpus_begin();
	clock_begin();
	work_begin();
	module_begin();
	program_begin();
	report_begin();
}

void sim_run(void)
{
	while (nr_tasks)
		schedule();
}
