// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clocks: how to read them, time namespaces, and steps of CLOCK_REALTIME.
 *
 * Locking rules: clock_on_step() runs with the timekeeper's lock held and its sequence
 * count odd, so it can read no clock and take no lock. It counts the step and leaves the
 * rest to two work items, by way of an irq_work. The first one has the wheels turned. It
 * runs on any CPU that is not isolated, before ordinary threads. The second one walks the list
 * of those who are told, which is under twheel_watches_lock. That is a spinlock, as all users need
 * it: a task that slept with it could delay the others. To wake somebody may take long, so it is
 * done with the lock released.
 *
 * Lifetime rules: whoever is woken may have left the list, and is freed an RCU grace period later.
 */
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/nsproxy.h>
#include <linux/pvclock_gtod.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/time_namespace.h>
#include <linux/timekeeper_internal.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "../core/host.h"
#include "clock.h"

static LIST_HEAD(twheel_watches);
static DEFINE_SPINLOCK(twheel_watches_lock);

/* Offset of CLOCK_REALTIME from CLOCK_MONOTONIC; under the timekeeper's lock. */
static ktime_t twheel_offs_real;
/* The time on CLOCK_MONOTONIC when CLOCK_REALTIME is going to be set back by a second. */
static u64 twheel_next_leap = KTIME_MAX;
static u32 twheel_steps;
static struct workqueue_struct *twheel_step_wq;
static struct work_struct twheel_look_work;

const clockid_t twheel_clockids[TWHEEL_NR_CLOCKS] = {
	[TWHEEL_MONOTONIC]	= CLOCK_MONOTONIC,
	[TWHEEL_BOOTTIME]	= CLOCK_BOOTTIME,
	[TWHEEL_REALTIME]	= CLOCK_REALTIME,
};

/*
 * Has that time come? The kernel sets its clock back at the next tick. As hrtimers do, do not wait
 * for that: or timers that are due soon afterwards expire now, too.
 */
static bool has_leapt(u64 next_leap)
{
	return unlikely(next_leap != KTIME_MAX) && ktime_get_ns() >= next_leap;
}

static u64 wall_now(void)
{
	u64 next_leap, now;

	/*
	 * Once more if a leap second was announced, or came, meanwhile. Who sees late that it came
	 * takes the clock for a second less than it is, which the step mends.
	 */
	do {
		/*
		 * Pairs with the barrier of the timekeeper's write_seqcount_begin(): who does not
		 * see a leap second any more sees the clock that was set back.
		 */
		next_leap = smp_load_acquire(&twheel_next_leap);
		now = ktime_get_real_ns();
	} while (unlikely(next_leap != READ_ONCE(twheel_next_leap)));

	return has_leapt(next_leap) ? now - NSEC_PER_SEC : now;
}

u64 twheel_clock_now(enum twheel_clock clock)
{
	switch (clock) {
	case TWHEEL_BOOTTIME:
		return ktime_get_boottime_ns();
	case TWHEEL_REALTIME:
		return wall_now();
	default:
		return ktime_get_ns();
	}
}

clockid_t twheel_clock_steady(enum twheel_clock clock)
{
	return clock == TWHEEL_REALTIME ? CLOCK_MONOTONIC : twheel_clockids[clock];
}

u64 twheel_clock_to_steady(enum twheel_clock clock, u64 ns)
{
	if (clock != TWHEEL_REALTIME)
		return twheel_clock_shift(ns, 0);

	/*
	 * In this order: whichever of them the step is seen by, the result is at most too early. So
	 * it is for what comes after a leap second that has not begun.
	 */
	ns = twheel_clock_shift(ns, -ktime_to_ns(ktime_mono_to_real(0)));
	if (has_leapt(READ_ONCE(twheel_next_leap)))
		ns = twheel_clock_shift(ns, NSEC_PER_SEC);
	return ns;
}

s64 twheel_clock_offset(enum twheel_clock clock)
{
#ifdef CONFIG_TIME_NS
	/* Only an exiting task has none: it may close a context, where times do not matter. */
	const struct nsproxy *nsproxy = current->nsproxy;
	const struct timens_offsets *offsets;

	if (clock == TWHEEL_REALTIME || !nsproxy)
		return 0;

	offsets = &nsproxy->time_ns->offsets;
	return timespec64_to_ns(clock == TWHEEL_BOOTTIME ?
				&offsets->boottime : &offsets->monotonic);
#else
	return 0;
#endif
}

u32 twheel_clock_steps(void)
{
	/* Who converts a time after this, and then finds another count, has to do it again. */
	return smp_load_acquire(&twheel_steps);
}

static void notify_watches(struct work_struct *work)
{
	static u32 told;
	struct twheel_waiters *waiters;
	u32 steps = twheel_clock_steps();
	/* Those before this one in the list have been told. */
	LIST_HEAD(place);

	if (told == steps)
		return;
	told = steps;
	spin_lock(&twheel_watches_lock);
	list_add(&place, &twheel_watches);
	while (!list_is_last(&place, &twheel_watches)) {
		waiters = list_entry(place.next, struct twheel_waiters, entry);
		list_move(&place, &waiters->entry);
		rcu_read_lock();
		spin_unlock(&twheel_watches_lock);
		twheel_waiters_wake(waiters);
		rcu_read_unlock();
		cond_resched();
		spin_lock(&twheel_watches_lock);
	}
	list_del(&place);
	spin_unlock(&twheel_watches_lock);
}

static DECLARE_WORK(twheel_notify_work, notify_watches);

static void queue_step_works(struct irq_work *work)
{
	queue_work(twheel_step_wq, &twheel_look_work);
	queue_work(twheel_step_wq, &twheel_notify_work);
}

static DEFINE_IRQ_WORK(twheel_step_irq_work, queue_step_works);

/*
 * When does a leap second begin? Never, if the kernel has passed it: it looks for that second as it
 * comes, and misses it if the machine sleeps then.
 */
static u64 next_leap_of(const struct timekeeper *tk)
{
	u64 next_leap = ktime_to_ns(tk->next_leap_ktime);

	return next_leap + NSEC_PER_SEC <= ktime_to_ns(tk->tkr_mono.base) ? KTIME_MAX : next_leap;
}

/* Also called at each tick of the kernel, with @was_set 0. */
static int clock_on_step(struct notifier_block *nb, unsigned long was_set, void *priv)
{
	const struct timekeeper *tk = priv;
	/* @was_set is also true when only the offset of TAI was set. */
	bool stepped = was_set && tk->offs_real != twheel_offs_real;
	u64 next_leap = next_leap_of(tk);

	if (!stepped && next_leap == twheel_next_leap)
		return NOTIFY_DONE;

	WRITE_ONCE(twheel_next_leap, next_leap);
	if (stepped) {
		twheel_offs_real = tk->offs_real;
		WRITE_ONCE(twheel_steps, twheel_steps + 1);
	}
	irq_work_queue(&twheel_step_irq_work);
	return NOTIFY_OK;
}

static struct notifier_block twheel_step_notifier = {
	.notifier_call = clock_on_step,
};

void twheel_clock_watch(struct twheel_waiters *waiters)
{
	spin_lock(&twheel_watches_lock);
	/* At the head, or who comes again and again would have notify_watches() never end. */
	list_add(&waiters->entry, &twheel_watches);
	spin_unlock(&twheel_watches_lock);
}

void twheel_clock_unwatch(struct twheel_waiters *waiters)
{
	spin_lock(&twheel_watches_lock);
	list_del(&waiters->entry);
	spin_unlock(&twheel_watches_lock);
}

int twheel_clock_init(void (*look)(struct work_struct *work))
{
	int ret;

	twheel_step_wq = alloc_workqueue("twheel", WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!twheel_step_wq)
		return -ENOMEM;
	INIT_WORK(&twheel_look_work, look);
	ret = pvclock_gtod_register_notifier(&twheel_step_notifier);
	if (ret)
		destroy_workqueue(twheel_step_wq);
	return ret;
}

void twheel_clock_exit(void)
{
	pvclock_gtod_unregister_notifier(&twheel_step_notifier);
	irq_work_sync(&twheel_step_irq_work);
	destroy_workqueue(twheel_step_wq);
	WARN_ON_ONCE(!list_empty(&twheel_watches));
}
