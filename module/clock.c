// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clocks: reading them, namespaces, and being told that one was set.
 *
 * Locking rules: on_step() runs with the timekeeper's lock held and its sequence
 * count odd, so no clock can be read there and no lock be taken: it only counts
 * the step and leaves the rest to a work item, by way of an irq_work. The list
 * of watches is under twheel_watches_mutex, a watch's function runs with it held.
 */
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/pvclock_gtod.h>
#include <linux/sched.h>
#include <linux/time_namespace.h>
#include <linux/timekeeper_internal.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "clock.h"

static LIST_HEAD(twheel_watches);
static DEFINE_MUTEX(twheel_watches_mutex);

/* Of CLOCK_REALTIME to CLOCK_MONOTONIC; under the timekeeper's lock. */
static ktime_t twheel_offs_real;
static u32 twheel_steps;

const clockid_t twheel_clockids[TWHEEL_NR_CLOCKS] = {
	[TWHEEL_CLOCK_MONOTONIC]	= CLOCK_MONOTONIC,
	[TWHEEL_CLOCK_BOOTTIME]		= CLOCK_BOOTTIME,
	[TWHEEL_CLOCK_REALTIME]		= CLOCK_REALTIME,
};

u64 twheel_clock_now(enum twheel_clock clock)
{
	switch (clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		return ktime_get_boottime_ns();
	case TWHEEL_CLOCK_REALTIME:
		return ktime_get_real_ns();
	default:
		return ktime_get_ns();
	}
}

clockid_t twheel_clock_steady(enum twheel_clock clock)
{
	return clock == TWHEEL_CLOCK_REALTIME ? CLOCK_MONOTONIC : twheel_clockids[clock];
}

u64 twheel_clock_to_steady(enum twheel_clock clock, u64 ns)
{
	s64 ahead = 0;

	if (clock == TWHEEL_CLOCK_REALTIME)
		ahead = ktime_to_ns(ktime_mono_to_real(0));
	return twheel_clock_shift(ns, -ahead);
}

s64 twheel_clock_offset(enum twheel_clock clock)
{
#ifdef CONFIG_TIME_NS
	/* Only an exiting task has none, which makes no calls any more. */
	const struct nsproxy *nsproxy = current->nsproxy;
	const struct timens_offsets *offsets;

	if (clock == TWHEEL_CLOCK_REALTIME || !nsproxy)
		return 0;

	offsets = &nsproxy->time_ns->offsets;
	return timespec64_to_ns(clock == TWHEEL_CLOCK_BOOTTIME ?
				&offsets->boottime : &offsets->monotonic);
#else
	return 0;
#endif
}

u64 twheel_clock_shift(u64 ns, s64 offset)
{
	s64 sum;

	if (check_add_overflow((s64)min_t(u64, ns, KTIME_MAX), offset, &sum))
		return KTIME_MAX;
	return max_t(s64, sum, 0);
}

u32 twheel_clock_steps(void)
{
	return READ_ONCE(twheel_steps);
}

static void notify_watches(struct work_struct *work)
{
	struct twheel_clock_watch *watch;

	mutex_lock(&twheel_watches_mutex);
	list_for_each_entry(watch, &twheel_watches, entry) {
		watch->notify(watch);
		cond_resched();
	}
	mutex_unlock(&twheel_watches_mutex);
}

static DECLARE_WORK(twheel_notify_work, notify_watches);

static void queue_notify(struct irq_work *work)
{
	queue_work(system_highpri_wq, &twheel_notify_work);
}

static DEFINE_IRQ_WORK(twheel_notify_irq_work, queue_notify);

/* Called at each tick, too: then without @was_set. */
static int on_step(struct notifier_block *nb, unsigned long was_set, void *priv)
{
	const struct timekeeper *tk = priv;

	/* It is also "set" when only the offset to TAI is. */
	if (!was_set || tk->offs_real == twheel_offs_real)
		return NOTIFY_DONE;

	twheel_offs_real = tk->offs_real;
	WRITE_ONCE(twheel_steps, twheel_steps + 1);
	irq_work_queue(&twheel_notify_irq_work);
	return NOTIFY_OK;
}

static struct notifier_block twheel_step_notifier = {
	.notifier_call = on_step,
};

void twheel_clock_watch(struct twheel_clock_watch *watch)
{
	mutex_lock(&twheel_watches_mutex);
	list_add_tail(&watch->entry, &twheel_watches);
	mutex_unlock(&twheel_watches_mutex);
}

void twheel_clock_unwatch(struct twheel_clock_watch *watch)
{
	mutex_lock(&twheel_watches_mutex);
	list_del(&watch->entry);
	mutex_unlock(&twheel_watches_mutex);
}

int twheel_clock_init(void)
{
	return pvclock_gtod_register_notifier(&twheel_step_notifier);
}

void twheel_clock_exit(void)
{
	pvclock_gtod_unregister_notifier(&twheel_step_notifier);
	irq_work_sync(&twheel_notify_irq_work);
	cancel_work_sync(&twheel_notify_work);
	WARN_ON_ONCE(!list_empty(&twheel_watches));
}
