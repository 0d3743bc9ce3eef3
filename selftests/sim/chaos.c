// SPDX-License-Identifier: GPL-2.0-only
/* CPUs come and go and are isolated, and the clock is set. */
#include <linux/ktime.h>

#include "world.h"

void step_clock(s64 step)
{
	u32 i;

	if (!step)
		return;
	world.nr_steps++;
	for (i = 0; i < world.nr_contexts; i++)
		world.contexts[i].told_last = false;
	sim_set_clock(step);
	world.steps_done++;
}

/* Set the clock; and in a program perhaps again, while others read what is due then. */
static void set_clock(void)
{
	for (;;) {
		step_clock((s64)sim_below(200 * TICK) - (s64)(100 * TICK));
		if (!world.process || sim_below(2))
			return;
		sim_sleep_until(sim_now() + sim_below(10000));
	}
}

/* The clock is set back for a leap second at a tick, which may be some milliseconds late. */
static void leap(void)
{
	u64 at = sim_plan_leap(TICK + sim_below(20 * TICK));

	if (!at)
		return;
	world.leaps--;
	sim_sleep_until(at + sim_below(10 * TICK));
	/* Somebody else may have set it. */
	if (sim_next_leap == at)
		step_clock(-(s64)NSEC_PER_SEC);
}

/* CPU @cpu is isolated for a moment, or is not, again and again. */
static void flicker(unsigned int cpu)
{
	u32 n = sim_below(20);

	while (n--) {
		sim_isolate(cpu, !sim_below(2));
		sim_sleep_until(sim_now() + sim_below(3000));
	}
}

void chaos_main(void *arg)
{
	unsigned int cpu = (unsigned int)(uintptr_t)arg;
	bool isolated = false;
	u32 pause = 40;

	/* For a program there is no other chaos than that the clock is set. */
	if (world.process)
		pause = 10;
	if (world.isolated)
		pause = 1;
	if (world.isolated && cpu != sim_config.stays) {
		isolated = true;
		sim_isolate(cpu, true);
	}
	while (world.owners_left) {
		sim_sleep_until(sim_now() + sim_below(pause * TICK));
		if (world.leaps && !sim_below(3))
			leap();
		else if (world.steps && (world.process || !sim_below(3)))
			set_clock();
		if (cpu == sim_config.stays)
			continue;
		if (has(HOTPLUG) && !sim_below(world.isolated ? 20 : 3)) {
			sim_hotplug(cpu, false);
			sim_sleep_until(sim_now() + sim_below(20 * TICK));
			sim_hotplug(cpu, true);
		}
		if (world.isolated)
			flicker(cpu);
		if (world.isolated)
			sim_isolate(cpu, isolated);
		if (has(ISOLATION) && !sim_below(3)) {
			isolated = !isolated;
			sim_isolate(cpu, isolated);
		}
	}
	/* Kicks may be on their way when the module is unloaded. */
	if (isolated && sim_below(2))
		sim_isolate(cpu, false);
	/* What a step back has put off is due at last. */
	if (world.steps)
		step_clock(sim_furthest_offset - sim_real_offset + TICK);
	world.others_left--;
}

void last_chaos_main(void *arg)
{
	unsigned int cpu = (unsigned int)(uintptr_t)arg;
	u32 n = 1 + sim_below(2);

	while (n--) {
		sim_sleep_until(sim_now() + sim_below(3000));
		if (has(STEPS) && sim_below(2))
			sim_set_clock((s64)sim_below(TICK) + 1);
		if (cpu != sim_config.stays && has(HOTPLUG) && !sim_below(2)) {
			sim_hotplug(cpu, false);
			sim_sleep_until(sim_now() + sim_below(3000));
			sim_hotplug(cpu, true);
		}
	}
}
