// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who goes on.
 *
 * Each CPU has a clock of its own, which goes on with what the CPU does, and jumps ahead when it
 * has nothing to do. The CPU whose clock is behind goes on; others may be ahead of it by less than
 * sim_config.skew. Whoever hears from another CPU is not earlier than that: a lock that was
 * released, a wake-up, an interrupt, a task that moves. A plain load of what a CPU that is ahead
 * has stored brings no clock forward.
 */
#include <linux/ktime.h>

#include "kernel.h"

/* So often at most does one go on after another in a second; five times where all keys collide. */
#define MAX_TURNS	2000000U

void (*sim_idle_check)(void);
/* How often one did since @counted_from */
static u32 turns;
static u64 counted_from;
/* When the one that runs has to see whether others are behind, or interrupt it */
static u64 stop_at;

void sim_news(void)
{
	if (self)
		stop_at = min(stop_at, sim_now() + min(sim_config.skew, sim_config.irq_delay));
}

static u64 task_runs_at(const struct fiber *f, const struct cpu *cpu)
{
	u64 at = f->ready_at;

	if (!f->used || cpu->hardirq->active || (cpu->softirq->active && !sim_config.rt) ||
	    (cpu->keeps && cpu->keeps != f) || (f->hrtimer && f->hrtimer->running) || f->grace)
		return SIM_NEVER;
	if (f->lock)
		at = max(at, f->lock->order.time);
	/* Whoever woke it has set ready_at. */
	return f->sleeps && f->woken ? at : max(at, f->sleep_until);
}

/* When the interrupt @f, which has not begun, is wanted */
static u64 interrupt_wanted_at(const struct fiber *f, const struct cpu *cpu)
{
	if (f->kind == HARDIRQ)
		return cpu->kicks ? cpu->kicks->at : SIM_NEVER;
	if (cpu->hardirq->active || (cpu->keeps && cpu->keeps->bh))
		return SIM_NEVER;
	return min(cpu->next_timer, rcu_callbacks_at(f->cpu));
}

u64 runs_at(const struct fiber *f)
{
	const struct cpu *cpu = &cpus[f->cpu];
	u64 at;

	if (f->lock && (f->lock->owner || f->lock->served + 1 != f->ticket))
		return SIM_NEVER;
	if (f->kind == TASK)
		at = task_runs_at(f, cpu);
	else if (!f->active)
		at = interrupt_wanted_at(f, cpu);
	else if (f->kind == SOFTIRQ && (cpu->hardirq->active || (sim_config.rt && cpu->keeps)))
		at = SIM_NEVER;
	else
		at = f->lock ? f->lock->order.time : 0;
	return max(at, cpu->clock);
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
	f->ready_at = max(f->ready_at, cpus[f->cpu].clock);
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
	self->ready_at = sim_now();
	self->cpu = cpu;
	tsan_acquire(&cpus[cpu]);
	schedule();
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

static bool in_interrupt(void)
{
	u32 i;

	for (i = 0; i < sim_config.cpus; i++)
		if (cpus[i].softirq->active || cpus[i].hardirq->active || cpus[i].kicks)
			return true;
	return false;
}

/*
 * Put those that may go on into @can: on each CPU those that can first, unless that CPU would be
 * ahead of others that have work to do. Returns how many; *@first is when the first of all can.
 */
static int find(struct fiber **can, u64 *first)
{
	u64 at[MAX_FIBERS];
	int n = 0, left = 0, i;
	u32 cpu;

	*first = SIM_NEVER;
	for (cpu = 0; cpu < sim_config.cpus; cpu++)
		cpus[cpu].next = SIM_NEVER;
	for (i = 0; i < nr_fibers; i = next_fiber(i)) {
		struct fiber *f = &fibers[i];

		if (!f->used)
			continue;
		at[n] = runs_at(f);
		if (at[n] == SIM_NEVER)
			continue;
		cpus[f->cpu].next = min(cpus[f->cpu].next, at[n]);
		*first = min(*first, at[n]);
		can[n++] = f;
	}
	for (i = 0; i < n; i++)
		if (at[i] == cpus[can[i]->cpu].next && at[i] - *first <= sim_config.skew)
			can[left++] = can[i];
	return left;
}

/* An interrupt has waited long enough: no task of its CPU goes on before it. Returns how many. */
static int leave_out_interrupted(struct fiber **can, int n)
{
	u64 late[CONFIG_NR_CPUS] = { };
	int i, left = 0;

	for (i = 0; i < n; i++) {
		const struct fiber *f = can[i];
		const struct cpu *cpu = &cpus[f->cpu];

		if (f->kind != TASK && !f->active &&
		    interrupt_wanted_at(f, cpu) + sim_config.irq_delay < cpu->clock)
			late[f->cpu] = true;
	}
	for (i = 0; i < n; i++)
		if (can[i]->kind != TASK || !late[can[i]->cpu])
			can[left++] = can[i];
	return left;
}

/* @f goes on. */
static void go_on(struct fiber *f)
{
	struct cpu *cpu = &cpus[f->cpu];
	u64 wanted = SIM_NEVER, others = SIM_NEVER;
	u32 i;

	cpu->clock = runs_at(f);
	for (i = 0; i < sim_config.cpus; i++)
		if ((int)i != f->cpu)
			others = min(others, cpus[i].next);
	if (f->kind != HARDIRQ && !cpu->hardirq->active)
		wanted = interrupt_wanted_at(cpu->hardirq, cpu);
	if (f->kind == TASK && !cpu->softirq->active)
		wanted = min(wanted, interrupt_wanted_at(cpu->softirq, cpu));
	/* None is near enough to %SIM_NEVER to wrap around, but that itself. */
	stop_at = others + (others == SIM_NEVER ? 0 : sim_config.skew);
	if (wanted < stop_at)
		stop_at = max(cpu->clock, wanted) + sim_config.irq_delay;
	f->active = true;
	fiber_switch(f);
}

/* Somebody goes on; with @stay this fiber if it may. */
static void choose(bool stay)
{
	struct fiber *can[MAX_FIBERS], *next;
	u64 first;
	int n, i;

	expect(++turns < MAX_TURNS * (sim_config.zeros ? 5 : 1), CONTAINED,
	       "livelock: tasks wait for each other, and go on doing so");
	if (!nr_tasks && !in_interrupt()) {
		fiber_switch(NULL);
		return;
	}
	n = find(can, &first);
	if (first - counted_from >= NSEC_PER_SEC) {
		counted_from = first;
		turns = 0;
	}
	if (first > sim_latest()) {
		/* All are at rest until then. */
		drain_all();
		if (rcu_look())
			n = find(can, &first);
		else
			check_idle();
	}
	expect(n, CONTAINED, "deadlock: nobody can run any more");
	n = leave_out_interrupted(can, n);
	for (i = 0; stay && i < n; i++)
		if (can[i] == self) {
			go_on(self);
			return;
		}
	next = can[sim_below((u32)n)];
	if (next->kind == TASK && chance(sim_config.migrate_chance))
		migrate(next);
	go_on(next);
}

void schedule(void)
{
	choose(false);
}

void schedule_if_ahead(void)
{
	if (cpus[self->cpu].clock < stop_at)
		return;
	rcu_look();
	choose(true);
}

void choose_begin(void)
{
	turns = 0;
	counted_from = 0;
}
