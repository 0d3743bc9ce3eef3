// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who runs. At each point where one CPU could see what another one has done, the seed says who goes
 * on, whether time goes by and whether a CPU stands still.
 *
 * As in the kernel a task may be preempted, and moved to another CPU, while it holds no spinlock
 * and bottom halves are on; the soft interrupt runs on its CPU between two points of whatever runs
 * there with bottom halves on; an interrupt from another CPU between any two; and whoever waits for
 * a spinlock keeps its CPU.
 */
#include <string.h>

#include "kernel.h"

/*
 * So often at most does one go on after another in an episode, and so many points are passed. More
 * is a livelock.
 */
#define MAX_TURNS	2000000U
#define MAX_POINTS	10000000U

struct sim_config sim_config;
struct sim_stats sim_stats;
struct cpu cpus[CONFIG_NR_CPUS];
u64 sim_clock;
void (*sim_idle_check)(void);
static u64 rng[2];
static u32 turns;
static int nr_tasks;

/* xoroshiro128+ */
u64 sim_random(void)
{
	u64 a = rng[0], b = rng[1], sum = a + b;

	b ^= a;
	rng[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
	rng[1] = b << 37 | b >> 27;
	return sum;
}

u32 sim_below(u32 n)
{
	return (u32)((sim_random() >> 32) * n >> 32);
}

bool chance(u32 of_65536)
{
	return of_65536 && (sim_random() >> 48) < of_65536;
}

u64 sim_now(void)
{
	return sim_clock;
}

u64 sim_own_points(void)
{
	return self->points;
}

static bool task_can_run(const struct fiber *f, const struct cpu *cpu)
{
	if (!f->used || cpu->hardirq->active || cpu->softirq->active)
		return false;
	if (cpu->keeps && cpu->keeps != f)
		return false;
	if (f->sleeps)
		return f->woken || f->sleep_until <= sim_clock;
	return !(f->hrtimer && f->hrtimer->running) && !f->grace && f->sleep_until <= sim_clock;
}

bool can_run(const struct fiber *f)
{
	const struct cpu *cpu = &cpus[f->cpu];

	if (f->frozen > sim_stats.episode_points || (f->lock && f->lock->owner))
		return false;
	switch (f->kind) {
	case HARDIRQ:
		return f->active || cpu->kicks;
	case SOFTIRQ:
		if (cpu->hardirq->active)
			return false;
		if (f->active)
			return true;
		return !(cpu->keeps && cpu->keeps->bh) &&
		       ((cpu->timers && hrtimer_due(cpu)) || rcu_has_callbacks(f->cpu));
	default:
		return task_can_run(f, cpu);
	}
}

/* Move @f, a task that can run, to some CPU that it may run on. */
static void migrate(struct fiber *f)
{
	int to = (int)sim_below(sim_config.cpus);
	const struct cpu *cpu = &cpus[to];

	if (f->off || f->pinned || !cpu->online || cpu->keeps || cpu->softirq->active ||
	    cpu->hardirq->active)
		return;
	drain_cpu(f->cpu, U64_MAX);
	if (f == self)
		tsan_release(&cpus[f->cpu]);
	f->cpu = to;
	if (f == self)
		tsan_acquire(&cpus[to]);
}

void sim_move(int cpu)
{
	if (!cpus[cpu].online)
		return;
	sim_drain();
	tsan_release(&cpus[self->cpu]);
	self->cpu = cpu;
	tsan_acquire(&cpus[cpu]);
	schedule();
}

static bool thaw(void)
{
	bool thawed = false;
	int i;

	for (i = 0; i < nr_fibers; i = next_fiber(i)) {
		thawed |= fibers[i].frozen > sim_stats.episode_points;
		fibers[i].frozen = 0;
	}
	return thawed;
}

/* When the first task wants to go on that sleeps */
static u64 next_sleeper(void)
{
	u64 next = U64_MAX;
	int i;

	for (i = 0; i < nr_fibers; i = next_fiber(i))
		if (fibers[i].used && fibers[i].kind == TASK && fibers[i].sleep_until > sim_clock)
			next = min(next, fibers[i].sleep_until);
	return next;
}

static void check_idle(void)
{
	struct fiber *who = self;

	if (!sim_idle_check)
		return;
	/* So no point of the check lets others run. */
	self = NULL;
	sim_idle_check();
	self = who;
}

/* Nobody can run: go on to the next event. False if there is none. */
static bool advance(void)
{
	u64 next;

	if (thaw())
		return true;
	drain_all();
	if (rcu_look())
		return true;
	check_idle();
	next = min(hrtimer_next(), next_sleeper());
	if (next == U64_MAX)
		return false;
	sim_clock = max(sim_clock, next);
	return true;
}

static bool in_interrupt(void)
{
	u32 i;

	for (i = 0; i < sim_config.cpus; i++)
		if (cpus[i].softirq->active || cpus[i].hardirq->active || cpus[i].kicks)
			return true;
	return false;
}

void schedule(void)
{
	struct fiber *can[MAX_FIBERS], *next;
	int n, i;

	for (;;) {
		expect(++turns < MAX_TURNS, CONTAINED,
		       "livelock: tasks wait for each other, and go on doing so");
		if (!nr_tasks && !in_interrupt()) {
			fiber_switch(NULL);
			return;
		}
		for (n = i = 0; i < nr_fibers; i++)
			if (can_run(&fibers[i]))
				can[n++] = &fibers[i];
		if (n)
			break;
		expect(advance(), CONTAINED, "deadlock: nobody can run any more");
	}
	next = can[sim_below((u32)n)];
	if (next->kind == TASK && chance(sim_config.migrate_chance))
		migrate(next);
	next->active = true;
	fiber_switch(next);
}

static void pass_point(void)
{
	expect(sim_stats.episode_points < MAX_POINTS, CONTAINED, "livelock: a call does not end");
	sim_stats.points++;
	sim_stats.episode_points++;
	self->points++;
}

void sim_point(void)
{
	u64 r;

	if (!self)
		return;
	pass_point();
	r = sim_random();
	sim_clock += (u32)r * sim_config.point_ns >> 32;
	r >>= 48;
	if (sim_weak && !(r & 3))
		drain_some();
	if (chance(sim_config.freeze_chance)) {
		self->frozen = sim_stats.episode_points + sim_below(sim_config.freeze_points);
		schedule();
	} else if (r < sim_config.switch_chance) {
		if (chance(sim_config.stall_chance) && sim_config.stall_ns) {
			sim_clock += sim_random() % sim_config.stall_ns;
			drain_all();
		}
		rcu_look();
		schedule();
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
	sim_clock += 100;
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

void preempt_off(void)
{
	note_reader(self);
	self->off++;
	if (self->kind == TASK)
		cpus[self->cpu].keeps = self;
}

void preempt_on(void)
{
	expect(self->off > 0, SIM_ITSELF, "preemption is turned on once too often");
	self->off--;
	note_reader_end(self);
	if (!self->off && self->kind == TASK)
		cpus[self->cpu].keeps = NULL;
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
	clock_give_namespaces(&f->task);
	nr_tasks++;
}

static void begin_cpus(void)
{
	u32 i;

	nr_cpu_ids = sim_config.cpus;
	if (nr_fibers)
		return;
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
	rng[0] = config->seed * 0x9E3779B97F4A7C15ULL + 1;
	rng[1] = config->seed ^ 0xD1B54A32D192ED03ULL;
	for (i = 0; i < 8; i++)
		sim_random();
	sim_clock = (1ULL << 40) + (sim_random() & 0xfffffff);
	sim_stats.episode_points = 0;
	turns = 0;
	begin_cpus();
	memory_begin();
	locks_begin();
	rcu_begin();
	wait_begin();
	cpus_begin();
	clock_begin();
	work_begin();
	module_begin();
	report_begin();
}

void sim_run(void)
{
	while (nr_tasks)
		schedule();
}
