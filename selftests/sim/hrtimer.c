// SPDX-License-Identifier: GPL-2.0-only
/* The clocks, hrtimers, and the soft interrupt in which these and RCU's callbacks are called. */
#include <linux/timekeeping.h>

#include "kernel.h"

/* If callbacks follow one another within so many ns they disturb the CPU once. */
#define BURST_NS	100000U

u64 ktime_get_ns(void)
{
	sim_point();
	return sim_clock;
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

struct hrtimer *hrtimer_due(const struct cpu *cpu)
{
	struct hrtimer *t, *due = NULL;

	for (t = cpu->timers; t; t = t->next)
		if (t->expires <= sim_clock + ahead_of(t) &&
		    (!due || t->expires - ahead_of(t) < due->expires - ahead_of(due)))
			due = t;
	return due;
}

u64 hrtimer_next(void)
{
	const struct hrtimer *t;
	u64 next = U64_MAX;
	u32 i;

	for (i = 0; i < sim_config.cpus; i++)
		for (t = cpus[i].timers; t; t = t->next)
			next = min(next, max(t->expires, ahead_of(t)) - ahead_of(t));
	return next;
}

void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
		   clockid_t clock, enum hrtimer_mode mode)
{
	*timer = (struct hrtimer){ .function = function, .clock = clock };
}

static void take_off(struct hrtimer *timer)
{
	struct hrtimer **p;

	for (p = &cpus[timer->cpu].timers; *p != timer; p = &(*p)->next)
		;
	*p = timer->next;
	timer->queued = false;
}

void hrtimer_start(struct hrtimer *timer, ktime_t at, enum hrtimer_mode mode)
{
	sim_point();
	if (timer->queued)
		take_off(timer);
	/* While its callback runs a timer keeps its CPU. */
	if (!timer->running)
		timer->cpu = (int)smp_processor_id();
	tsan_release(timer);
	timer->expires = (u64)at;
	timer->queued = true;
	timer->next = cpus[timer->cpu].timers;
	cpus[timer->cpu].timers = timer;
}

int hrtimer_cancel(struct hrtimer *timer)
{
	/* It waits for the callback to end, which may be under RCU, but not where that cannot run. */
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
	tsan_acquire(timer);
	return 0;
}

/*
 * Promise 6 is also that a CPU that was isolated is disturbed no more: but by what was set before,
 * at most once for each wheel, which is handed over then. That may take some tries: while a
 * callback runs here, another CPU cannot take its hrtimer.
 */
static void check_isolation(struct cpu *cpu)
{
	if (sim_housekeeping.bits & BIT(self->cpu))
		return;
	cpu->disturbed += sim_clock - cpu->disturbed_at > BURST_NS;
	cpu->disturbed_at = sim_clock;
	expect(cpu->disturbed <= 3 * sim_config.cpus + 2, SILENCE,
	       "a CPU that is isolated goes on turning wheels");
}

static void call(struct cpu *cpu, struct hrtimer *timer)
{
	u64 points = self->points;

	sim_stats.softirqs++;
	check_isolation(cpu);
	take_off(timer);
	timer->running = true;
	tsan_acquire(timer);
	timer->function(timer);
	tsan_release(timer);
	timer->running = false;
	points = self->points - points;
	sim_stats.run_points = max(sim_stats.run_points, points);
}

void softirq_main(void *arg)
{
	struct cpu *cpu = arg;
	struct hrtimer *timer;

	begin_interrupt(self);
	self->off = 1;
	self->bh = 1;
	for (;;) {
		timer = hrtimer_due(cpu);
		if (timer)
			call(cpu, timer);
		else if (rcu_has_callbacks(self->cpu))
			rcu_call_one();
		else
			break;
		sim_point();
	}
	self->off = 0;
	self->bh = 0;
	note_reader_end(self);
}
