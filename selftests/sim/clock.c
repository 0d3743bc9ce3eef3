// SPDX-License-Identifier: GPL-2.0-only
/*
 * CLOCK_REALTIME is set, and who is told of it; time namespaces.
 *
 * At a leap second that is inserted, hrtimers take CLOCK_REALTIME for a second less. What programs
 * read is set back somewhat later, at the kernel's next tick.
 */
#include <linux/limits.h>
#include <linux/pvclock_gtod.h>
#include <linux/timekeeper_internal.h>

#include "kernel.h"

s64 sim_real_offset, sim_furthest_offset, sim_boot_offset;
u64 sim_latest_step, sim_last_step, sim_next_leap;
static u64 furthest_wall;
static struct notifier_block *told;
/* As the kernel's it is taken in hard interrupts, too. */
static spinlock_t timekeeper_lock = { .class = "timekeeper", .raw = true };
static struct time_namespace timens[SIM_NAMESPACES];
static struct nsproxy nsproxies[SIM_NAMESPACES];

void clock_begin(void)
{
	u32 i;

	sim_real_offset = 1000000000000000000;
	sim_furthest_offset = sim_real_offset;
	sim_boot_offset = 5000000000;
	sim_latest_step = 0;
	sim_last_step = 0;
	furthest_wall = 0;
	sim_next_leap = KTIME_MAX;
	told = NULL;
	timekeeper_lock.order.time = 0;
	for (i = 0; i < SIM_NAMESPACES; i++)
		sim_set_timens(i, 0, 0);
}

void clock_give_namespaces(struct task_struct *task)
{
	task->nsproxy = &nsproxies[0];
}

void sim_enter_timens(u32 nr)
{
	current->nsproxy = &nsproxies[nr];
}

static struct timespec64 timespec_of(s64 ns)
{
	return (struct timespec64){ ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };
}

void sim_set_timens(u32 nr, s64 monotonic, s64 boottime)
{
	nsproxies[nr].time_ns = &timens[nr];
	timens[nr].offsets.monotonic = timespec_of(monotonic);
	timens[nr].offsets.boottime = timespec_of(boottime);
}

static void lock_timekeeper(void)
{
	irqs_off();
	sim_spin_lock(&timekeeper_lock, 0);
}

static void unlock_timekeeper(void)
{
	spin_unlock(&timekeeper_lock);
	irqs_on();
}

static void tell(bool was_set)
{
	struct timekeeper tk = {
		.tkr_mono.base		= (ktime_t)sim_now(),
		.offs_real		= sim_real_offset,
		.next_leap_ktime	= (ktime_t)sim_next_leap,
	};

	if (told)
		told->notifier_call(told, was_set, &tk);
}

int pvclock_gtod_register_notifier(struct notifier_block *nb)
{
	lock_timekeeper();
	told = nb;
	/* As the kernel does */
	tell(true);
	unlock_timekeeper();
	return 0;
}

void pvclock_gtod_unregister_notifier(struct notifier_block *nb)
{
	lock_timekeeper();
	told = NULL;
	unlock_timekeeper();
}

void sim_no_notifier_is_left(void)
{
	expect(!told, CONTAINED, "a notifier of the clock is left");
}

void clock_note_step(void)
{
	sim_last_step = sim_latest() + (u64)sim_real_offset;
	sim_latest_step = max(sim_latest_step, sim_last_step);
}

s64 sim_wall_offset(u64 now)
{
	return sim_real_offset - (now >= sim_next_leap ? NSEC_PER_SEC : 0);
}

u64 sim_furthest_wall(void)
{
	u64 now = min(sim_latest(), sim_next_leap);

	return max(furthest_wall, now + (u64)sim_real_offset);
}

u64 sim_plan_leap(u64 ahead)
{
	u32 stalls = sim_config.stall_chance;
	u64 at = 0;

	/* Where this CPU stood still until then, others would not get to read the clock either. */
	sim_config.stall_chance = 0;
	lock_timekeeper();
	if (sim_next_leap == KTIME_MAX) {
		sim_trace("a leap second is planned");
		/* Not in the past of any CPU */
		at = sim_latest() + ahead;
		sim_next_leap = at;
		tell(true);
	}
	unlock_timekeeper();
	sim_config.stall_chance = stalls;
	return at;
}

void sim_drop_leap(bool missed)
{
	sim_trace("the leap second does not come");
	lock_timekeeper();
	if (missed)
		tell(false);
	sim_next_leap = KTIME_MAX;
	if (!missed)
		tell(false);
	unlock_timekeeper();
}

void sim_set_clock(s64 step)
{
	sim_trace("CLOCK_REALTIME is set by %+lld ns", step);
	lock_timekeeper();
	/* A tick of the kernel, as there are many */
	tell(false);
	clock_note_step();
	furthest_wall = sim_furthest_wall();
	sim_next_leap = KTIME_MAX;
	sim_real_offset += step;
	sim_furthest_offset = max(sim_furthest_offset, sim_real_offset);
	clock_note_step();
	tell(true);
	unlock_timekeeper();
	program_clock_was_set();
}
