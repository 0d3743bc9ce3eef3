// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that stay on their CPU while that is isolated, and then is not any more: where do the
 * timers go that they arm? Nothing else happens in such an episode.
 */
#include <linux/ktime.h>

#include "../core/ctx.h"
#include "oracle.h"
#include "quota.h"

#define SOME	2
#define MOST	(3 * SOME + 1)

/* How many timers are in the wheel of @cpu that the user of @c has? */
static u64 timers_on(const struct context *c, unsigned int cpu)
{
	const struct twheel_ctx *ctx = c->file.private_data;
	const struct twheel_cpu_base *cbase =
		twheel_wheels_of(&ctx->pool.account.quota->wheels, ctx->clock, cpu);

	return cbase ? cbase->base.wheel.nr_nodes : 0;
}

static u64 handles[MOST];
static u32 armed;

static void arm_some(struct context *c, u32 n)
{
	while (n--) {
		struct twheel_arm arm = { .expires = 3600 * NSEC_PER_SEC };
		long ret = call_arm(c, &arm);

		expect(!ret, CONTAINED, "a timer cannot be armed: %ld", ret);
		handles[armed++] = arm.handle;
	}
}

static void cancel_all(struct context *c)
{
	while (armed) {
		struct twheel_cancel cancel = { .handle = handles[--armed] };

		expect(!call_cancel(c, &cancel), CONTAINED, "a timer cannot be cancelled");
	}
}

static void pinned_main(void *arg)
{
	struct context *c = &world.contexts[0];
	unsigned int cpu = (unsigned int)(uintptr_t)arg;
	u64 before;

	armed = 0;
	arm_some(c, SOME);
	expect(timers_on(c, cpu) == SOME, SILENCE, "timers are not where they are armed");

	/* The first one may go anywhere, as the wheel has to be made by a call that may sleep. */
	sim_isolate(cpu, true);
	arm_some(c, 1);
	before = timers_on(c, cpu);
	arm_some(c, SOME);
	expect(timers_on(c, cpu) == before, SILENCE, "a CPU that is isolated gets timers");

	sim_isolate(cpu, false);
	arm_some(c, SOME);
	expect(timers_on(c, cpu) == before + SOME, SILENCE,
	       "a CPU that is not isolated any more gets no timers");
	cancel_all(c);
}

void pinned_run(void)
{
	u32 cpu;

	sim_config.fail_chance = 0;
	sim_config.kill_chance = 0;
	call_sure();
	/* One after another. CPU 0 is for the timers of the others. */
	for (cpu = 1; cpu < sim_config.cpus; cpu++) {
		sim_spawn("pinned", (int)cpu, pinned_main, (void *)(uintptr_t)cpu, (int)cpu, true);
		sim_run();
	}
}
