// SPDX-License-Identifier: GPL-2.0-only
/* CLOCK_REALTIME is set, and who is told of it; time namespaces. */
#include <linux/limits.h>
#include <linux/pvclock_gtod.h>
#include <linux/timekeeper_internal.h>

#include "kernel.h"

s64 sim_real_offset, sim_furthest_offset, sim_boot_offset;
u64 sim_latest_step;
static struct notifier_block *told;
/* As the kernel's it is taken in hard interrupts, too. */
static spinlock_t timekeeper_lock = SIM_LOCK_INIT(timekeeper);
static struct time_namespace timens[SIM_NAMESPACES];
static struct nsproxy nsproxies[SIM_NAMESPACES];

void clock_begin(void)
{
	u32 i;

	sim_real_offset = 1000000000000000000;
	sim_furthest_offset = sim_real_offset;
	sim_boot_offset = 5000000000;
	sim_latest_step = 0;
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

static void tell(void)
{
	struct timekeeper tk = {
		.offs_real		= sim_real_offset,
		.next_leap_ktime	= KTIME_MAX,
	};

	if (told)
		told->notifier_call(told, 1, &tk);
}

int pvclock_gtod_register_notifier(struct notifier_block *nb)
{
	lock_timekeeper();
	told = nb;
	/* As the kernel does */
	tell();
	unlock_timekeeper();
	return 0;
}

void pvclock_gtod_unregister_notifier(struct notifier_block *nb)
{
	lock_timekeeper();
	told = NULL;
	unlock_timekeeper();
}

void clock_note_step(void)
{
	sim_latest_step = max(sim_latest_step, sim_latest() + (u64)sim_real_offset);
}

void sim_set_clock(s64 step)
{
	sim_trace("CLOCK_REALTIME is set by %+lld ns", step);
	lock_timekeeper();
	clock_note_step();
	sim_real_offset += step;
	sim_furthest_offset = max(sim_furthest_offset, sim_real_offset);
	clock_note_step();
	tell();
	unlock_timekeeper();
}
