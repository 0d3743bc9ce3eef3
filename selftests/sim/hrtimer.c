// SPDX-License-Identifier: GPL-2.0-only
/* The clocks, hrtimers, and the soft interrupt in which these and RCU's callbacks are called. */
#include <linux/timekeeping.h>

#include "kernel.h"

/* If callbacks follow one another within so many ns they disturb the CPU once. */
#define BURST_NS	100000U
/* So often at most does a wheel disturb a CPU that was isolated, and come each time. */
#define MAX_DISTURBED	6U
#define MAX_TRIES	20U

u64 ktime_get_ns(void)
{
	sim_point();
	return sim_now();
}

u64 ktime_get_boottime_ns(void)
{
	return ktime_get_ns() + (u64)sim_boot_offset;
}

u64 ktime_get_real_ns(void)
{
	return ktime_get_ns() + (u64)sim_real_offset;
}

ktime_t ktime_mono_to_real(ktime_t t)
{
	sim_point();
	return t + sim_real_offset;
}

/* How much later than on CLOCK_MONOTONIC it is on the clock of @timer */
static u64 ahead_of(const struct hrtimer *timer)
{
	return timer->clock == CLOCK_BOOTTIME ? (u64)sim_boot_offset : 0;
}

/* When @timer is due, on the clock of its CPU */
static u64 due_at(const struct hrtimer *timer)
{
	u64 ahead = ahead_of(timer);

	return max(max(timer->expires, ahead) - ahead, timer->set_at);
}

static void find_next(struct cpu *cpu)
{
	const struct hrtimer *t;

	cpu->next_timer = SIM_NEVER;
	for (t = cpu->timers; t; t = t->next)
		cpu->next_timer = min(cpu->next_timer, due_at(t));
}

static void put_on(struct hrtimer *timer, int cpu)
{
	timer->cpu = cpu;
	timer->queued = true;
	timer->set_at = sim_now();
	timer->next = cpus[cpu].timers;
	cpus[cpu].timers = timer;
	find_next(&cpus[cpu]);
	sim_news();
}

static struct hrtimer *first_due(const struct cpu *cpu)
{
	struct hrtimer *t, *due = NULL;

	for (t = cpu->timers; t; t = t->next)
		if (due_at(t) <= cpu->clock && (!due || due_at(t) < due_at(due)))
			due = t;
	return due;
}

void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
		   clockid_t clock, enum hrtimer_mode mode)
{
	/* It would expire again and again if the clock is set back while hrtimers expire. */
	expect(clock != CLOCK_REALTIME, BOUNDED_WORK, "an hrtimer is on CLOCK_REALTIME");
	*timer = (struct hrtimer){ .function = function, .clock = clock };
}

static void take_off(struct hrtimer *timer)
{
	struct hrtimer **p;

	for (p = &cpus[timer->cpu].timers; *p != timer; p = &(*p)->next)
		;
	*p = timer->next;
	timer->queued = false;
	find_next(&cpus[timer->cpu]);
}

void hrtimer_set(struct hrtimer *timer, u64 at)
{
	/* Whoever sets it sees what the one before had stored: a timer has the lock of its CPU. */
	acquire(timer, &timer->order);
	if (timer->queued)
		take_off(timer);
	timer->expires = at;
	/* While its callback runs a timer keeps its CPU. */
	put_on(timer, timer->running ? timer->cpu : (int)smp_processor_id());
	release(timer, &timer->order);
}

void hrtimer_start(struct hrtimer *timer, ktime_t at, enum hrtimer_mode mode)
{
	sim_point();
	hrtimer_set(timer, (u64)at);
}

bool hrtimer_is_queued(const struct hrtimer *timer)
{
	sim_point();
	return timer->queued;
}

void hrtimer_move_all(struct cpu *from, int to)
{
	struct hrtimer *timer;

	while ((timer = from->timers)) {
		take_off(timer);
		put_on(timer, to);
	}
}

int hrtimer_cancel(struct hrtimer *timer)
{
	/* It waits for the callback to end, maybe under RCU, but not where that cannot run. */
	expect(!self->off && self->kind == TASK, CONTAINED, "hrtimer_cancel() is in the way");
	sim_point();
	if (timer->queued)
		take_off(timer);
	if (timer->running) {
		self->hrtimer = timer;
		wait_here();
		self->hrtimer = NULL;
		if (timer->queued)
			take_off(timer);
	}
	acquire(timer, &timer->order);
	return 0;
}

/*
 * Promise 6 is also that a CPU that was isolated is disturbed no more: but by what was set before.
 * Each wheel is handed over then, which may take some tries: while a callback runs here, another
 * CPU cannot take its hrtimer. No try may bring about the next one.
 */
static void check_isolation(const struct cpu *cpu, struct hrtimer *timer)
{
	if (!cpu_is_isolated((unsigned int)self->cpu))
		return;
	if (timer->isolations != cpu->isolations)
		timer->disturbed = 0;
	timer->isolations = cpu->isolations;
	if (cpu->clock - timer->disturbed_at > BURST_NS) {
		timer->disturbed++;
		timer->tries = 0;
	}
	timer->tries++;
	timer->disturbed_at = cpu->clock;
	expect(timer->disturbed <= MAX_DISTURBED && timer->tries <= MAX_TRIES, SILENCE,
	       "a CPU that is isolated goes on turning wheels");
}

/* Those that wait for the end of the callback of @timer go on. */
static void wake_cancelling(const struct hrtimer *timer)
{
	int i;

	for (i = 0; i < nr_fibers; i = next_fiber(i))
		if (fibers[i].used && fibers[i].hrtimer == timer)
			fibers[i].ready_at = max(fibers[i].ready_at, sim_now());
	sim_news();
}

/* A run ends when a millisecond is over, which it sees after each batch, and wakes some tasks. */
u64 sim_max_run(void)
{
	return NSEC_PER_MSEC + sim_max_held() + MAX_TASKS * sim_config.costs.wake;
}

/* Promise 11: what timers cost a CPU leaves others their half of it. */
static void check_share(struct cpu *cpu, u64 worked)
{
	u64 passed = cpu->clock - cpu->debt_at;

	cpu->debt = cpu->debt > passed ? cpu->debt - passed : 0;
	cpu->debt += 2 * worked;
	cpu->debt_at = cpu->clock;
	expect(!sim_config.max_debt || cpu->debt < sim_config.max_debt, FAIR,
	       "wheels take more than half of a CPU: %llu ns too much", cpu->debt / 2);
}

static void call(struct cpu *cpu, struct hrtimer *timer)
{
	u64 worked = self->worked;

	sim_stats.softirqs++;
	check_isolation(cpu, timer);
	take_off(timer);
	timer->running = true;
	acquire(timer, &timer->order);
	timer->function(timer);
	acquire(timer, &timer->order);
	release(timer, &timer->order);
	timer->running = false;
	wake_cancelling(timer);
	worked = self->worked - worked;
	sim_stats.run_ns = max(sim_stats.run_ns, worked);
	expect(worked < sim_max_run(), BOUNDED_WORK, "a run of a wheel takes %llu ns", worked);
	check_share(cpu, worked);
}

void softirq_main(void *arg)
{
	struct cpu *cpu = arg;
	struct hrtimer *timer;

	begin_interrupt(self);
	bh_off();
	sim_spend(sim_config.costs.interrupt);
	for (;;) {
		timer = first_due(cpu);
		if (timer)
			call(cpu, timer);
		else if (rcu_callbacks_at(self->cpu) <= cpu->clock)
			rcu_call_one();
		else
			break;
		sim_point();
	}
	bh_on();
}
