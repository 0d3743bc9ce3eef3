// SPDX-License-Identifier: GPL-2.0-only
/*
 * An episode of the simulation: the module is loaded, contexts are opened, actors use them, all
 * timers end, the contexts are closed and the module is unloaded. Nothing is left then, so the next
 * episode begins from the same state, and each can be repeated by itself.
 */
#include <string.h>

#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/user_namespace.h>

#include "oracle.h"

const char * const knob_names[NR_KNOBS] = {
	[STALLS]	= "stalls",	[FREEZES]	= "freezes",
	[MIGRATION]	= "migration",	[WEAK]		= "weak",
	[NOMEM]		= "nomem",	[FAULTS]	= "faults",
	[EFAULTS]	= "efaults",	[SIGNALS]	= "signals",
	[KILLS]		= "kills",	[HOTPLUG]	= "hotplug",
	[ISOLATION]	= "isolation",	[STEPS]		= "steps",
	[NAMESPACES]	= "namespaces",	[LIMITS]	= "limits",
	[HOSTILE]	= "hostile",	[MALFORMED]	= "malformed",
	[KEYS]		= "keys",	[LEASES]	= "leases",
	[PERIODIC]	= "periodic",	[SLACK]		= "slack",
	[CONDITIONS]	= "conditions",	[PUSHES]	= "pushes",
	[BATCHES]	= "batches",	[BULK]		= "bulk",
	[LISTS]		= "lists",	[SHARED_TIMERS]	= "shared",
	[CONTEXTS]	= "contexts",	[READERS]	= "readers",
	[UNLOAD]	= "unload",	[FAIRNESS]	= "fairness",
	[TENANCY]	= "tenancy",	[MANY]		= "many",
	[RT]		= "rt",		[LEAPS]		= "leaps",
	[USERNS]	= "userns",	[LATE]		= "late",
	[PROCESS]	= "process",	[CANCELS]	= "cancels",
	[FORKS]		= "forks",	[WALL]		= "wall",
	[COLLISIONS]	= "collisions",
};

/* An episode is of one of these kinds, or of none. */
#define KINDS		(1ULL << FAIRNESS | 1ULL << TENANCY | 1ULL << MANY)

static bool always(enum knob knob)
{
	return world.settings.always >> knob & 1;
}

/* Is @knob in use in the episode of @seed? Once in @n, unless it is always */
static bool once_in(u64 seed, enum knob knob, u32 n)
{
	return always(knob) || (has(knob) && !by_seed(seed, knob, n));
}

/* Is the episode of this kind? Not if all are of another one. */
static bool is_kind(u64 seed, enum knob kind, u32 n)
{
	return world.settings.always & KINDS ? always(kind) : once_in(seed, kind, n);
}

/*
 * What there is only with the module: the kernel's CPUs and users; memory that is not there, as the
 * library leaves that to its program; and calls that are wrong, which the tests of uapi make.
 */
static void leave_out_module(void)
{
	static const enum knob left_out[] = {
		WEAK, FAULTS, EFAULTS, KILLS, HOTPLUG, ISOLATION, NAMESPACES, MALFORMED, LEAPS,
		USERNS, LATE, RT, FAIRNESS, TENANCY, MANY,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(left_out); i++)
		world.settings.without |= 1ULL << left_out[i];
}

/* About what a server's CPU takes, of which part goes by at the points in between */
static const struct sim_costs ordinary_costs = {
	.point		= 60,
	.node		= 30,
	.enqueue	= 30,
	.interrupt	= 500,
	.kick		= 500,
	.wake		= 200,
	.relax		= 100,
};

static void choose_config(struct sim_config *config, u64 seed, u32 cpus)
{
	/* How often another one goes on: from hardly ever to at every second point */
	static const u32 chances[] = { 512, 2048, 8192, 8192, 16384, 32768 };
	static const u32 cpu_counts[] = { 1, 2, 2, 2, 3, 4, 4, 8 };
	static const u32 skews[] = { 200, 1000, 5000, 20000 };
	static const u32 irq_delays[] = { 0, 300, 3000 };

	*config = (struct sim_config) {
		.seed		= seed,
		.cpus		= cpus ? cpus : cpu_counts[by_seed(seed, 40, 8)],
		.switch_chance	= chances[by_seed(seed, 41, 6)],
		.stall_chance	= once_in(seed, STALLS, 2) ? 200 : 0,
		.stall_ns	= 40 * TICK,
		.freeze_chance	= once_in(seed, FREEZES, 2) ? 400 : 0,
		.freeze_ns	= by_seed(seed, 42, 2) ? 12000 : 60000,
		.skew		= skews[by_seed(seed, 46, 4)],
		.irq_delay	= irq_delays[by_seed(seed, 47, 3)],
		.migrate_chance	= once_in(seed, MIGRATION, 2) ? 4000 : 0,
		.fault		= world.settings.fault,
		.fail_chance	= once_in(seed, NOMEM, 2) ? 1000 : 0,
		.fault_chance	= once_in(seed, FAULTS, 2) ? 2000 : 0,
		.efault_chance	= once_in(seed, EFAULTS, 8) ? 1000 : 0,
		.late_chance	= once_in(seed, LATE, 4) ? 300 : 0,
		.signal_chance	= once_in(seed, SIGNALS, 2) ? 500 : 0,
		.kill_chance	= once_in(seed, KILLS, 4) ? 500 : 0,
		.costs		= ordinary_costs,
		.rt		= once_in(seed, RT, 10),
		.zeros		= once_in(seed, COLLISIONS, 4),
	};
	if (world.process)
		config->cancel_chance = once_in(seed, CANCELS, 2) ? 10000 : 0;
	config->bh_lock = config->rt && by_seed(seed, 58, 2);
	if (config->fault != AT_RANDOM) {
		config->fail_chance = has(NOMEM);
		config->fault_chance = has(FAULTS);
		config->efault_chance = has(EFAULTS);
	}
	if (config->late_chance)
		config->fault_chance *= 4;
	config->weak = config->cpus > 1 && once_in(seed, WEAK, 3);
	/* At every 4th, 16th, 64th or 256th point a store buffer is emptied, more or less. */
	config->drain_mask = (4U << 2 * by_seed(seed, 65, 4)) - 1;
	/* A CPU that stands still shows most if the others go on for long. */
	if (config->freeze_chance)
		config->switch_chance = min(config->switch_chance, 2048U);
	if (config->freeze_chance && by_seed(seed, 56, 2)) {
		config->place = 1 + by_seed(seed, 57, SIM_PLACES);
		config->freeze_chance = 100;
	}
}

/* What matters is which interrupt is sent when, and how soon what was stored is seen. */
static void isolate_config(struct sim_config *config, u64 seed)
{
	static const u32 kicks[] = { 500, 5000, 50000 };

	world.isolated = true;
	config->weak = has(WEAK) && by_seed(seed, 49, 4);
	config->stall_chance = 0;
	config->costs.kick = kicks[by_seed(seed, 51, 3)];
}

static void choose_parameters(u64 seed)
{
	*sim_param_slots = by_seed(seed, 43, 5) ? 64 : 4U << by_seed(seed, 44, 4);
	*sim_param_max_user_timers = 0;
	if (world.tenants)
		*sim_param_max_user_timers = TENANTS_LIMIT;
	else if (once_in(seed, LIMITS, 4) && !world.fair && !world.many)
		*sim_param_max_user_timers = 60 + sim_below(300);
	if (!by_seed(seed, 61, 8))
		*sim_param_max_fd_timers = 1000000;
}

/* Nothing that the kernel would call or show is left of the module. */
static void check_unloaded(void)
{
	sim_no_work_is_left();
	sim_no_hotplug_is_left();
	sim_no_notifier_is_left();
	sim_no_device_is_left();
}

/* A parameter that is wrong is refused before anything is done. */
static void load_in_vain(void)
{
	static const unsigned int ticks[] = { 0, 1023, (1U << 30) + 1 };
	static const unsigned int slots[] = { 2, 65, 8192 };
	u32 i = by_seed(sim_config.seed, 60, 3);

	sim_fresh_module();
	*sim_param_tick_ns = ticks[i];
	expect(sim_module_init() == -EINVAL, CONTAINED, "a tick of %u ns is accepted", ticks[i]);
	*sim_param_tick_ns = TICK;
	*sim_param_slots = slots[i];
	expect(sim_module_init() == -EINVAL, CONTAINED, "%u slots are accepted", slots[i]);
	expect(!sim_allocated, CONTAINED, "memory is left of wrong parameters");
	check_unloaded();
}

/* insmod; it may fail when memory is short, and then nothing is left of it. */
static void load(void *arg)
{
	u64 seed = sim_config.seed;
	unsigned long limit;
	int ret;

	if (world.process) {
		sim_fresh_module();
		*sim_param_max_fd_timers = 1000000;
		sim_device = &sim_library;
		sim_trace("a program, and no module");
		return;
	}
	if (!by_seed(seed, 62, 16))
		load_in_vain();
	for (;;) {
		sim_fresh_module();
		choose_parameters(seed);
		limit = *sim_param_max_fd_timers;
		sim_call_begins();
		ret = sim_module_init();
		sim_trace("insmod: %d", ret);
		sim_call_ends(ret);
		if (!ret)
			break;
		expect(ret == -ENOMEM, CONTAINED, "insmod fails with %d", ret);
		expect(!sim_allocated, CONTAINED, "memory is left of an insmod that has failed");
		check_unloaded();
	}
	/* If none is chosen it is that of a user. */
	limit = limit ?: *sim_param_max_user_timers;
	expect(*sim_param_max_fd_timers == limit, CONTAINED,
	       "a context may have %lu timers, and the limit is %lu", *sim_param_max_fd_timers,
	       limit);
}

static bool is_hostile(const struct context *c)
{
	return c->hostile;
}

static void check_idle(void)
{
	u32 i;

	for (i = 0; i < world.nr_contexts; i++) {
		struct context *c = &world.contexts[i];

		if (c->waiting <= c->faulting)
			continue;
		expect(!call_poll(c, false), EXACTLY_ONCE,
		       "lost wake-up: context %u is readable, all wait, and nobody is woken", i);
		expect(sim_steps_pending || !owes_step(c), EXACTLY_ONCE,
		       "the clock was set, all who read context %u wait, and nobody was told", i);
	}
}

/* A timer that is cancelled */
static void arm_in_vain(struct context *c)
{
	struct twheel_arm arm = { .handle = keyed(c) ? 0xf00d : 0, .flags = TWHEEL_ARM_ABS };
	struct twheel_cancel cancel = { };

	arm.expires = time_of(c) + 70 * TICK;
	if (call_arm(c, &arm))
		return;
	cancel.handle = arm.handle;
	call_cancel(c, &cancel);
}

/*
 * Promise 6: with nothing pending there is no interrupt, and with a timer an hour ahead a few. A
 * wheel in the process has its timerfd fire for timers only.
 */
static void check_silence(struct context *c)
{
	struct twheel_arm arm = {
		.handle		= keyed(c) ? 0xbeef : 0,
		.user_data	= 0,
		.flags		= TWHEEL_ARM_ABS,
	};
	struct twheel_event event;
	struct twheel_info info = { };
	u64 before, most;
	long ret;
	u32 i;

	/* What was set for timers that were cancelled may come in vain, once for each wheel. */
	sim_sleep_until(sim_now() + 2 * 3600 * NSEC_PER_SEC);
	before = sim_stats.softirqs;
	sim_sleep_until(sim_now() + 1000 * TICK);
	expect(sim_stats.softirqs == before, SILENCE,
	       "nothing is pending, and wheels are turned %llu times", sim_stats.softirqs - before);
	call_info(c, &info);
	arm.expires = time_of(c) + 3600 * NSEC_PER_SEC;
	if (call_arm(c, &arm))
		return;
	arm_in_vain(c);
	sim_sleep_until(sim_time_of(c, arm.expires) - TICK);
	ret = call_read(c, &event, 1, false);
	expect(ret == -EAGAIN || time_of(c) >= arm.expires, NEVER_EARLY,
	       "a timer is told before its hour has passed");
	/* A stall may have lasted until then. */
	if (ret > 0 || time_of(c) >= arm.expires + TICK)
		return;
	sim_sleep_until(sim_time_of(c, arm.expires) + 3 * TICK);
	/* Nobody waits: so a call that finds the timer due wakes nobody. */
	call_info(c, &info);
	/* A stall may put it off. */
	for (i = 0; call_read(c, &event, 1, false) != sizeof(event); i++) {
		expect(sim_config.stall_chance && i < 4000, LATE_BY_A_TICK,
		       "a timer is not told when its hour has passed");
		sim_sleep_until(sim_now() + TICK);
	}
	most = info.levels + 4;
	/* A read asks the timerfd whether the clock was set, by setting it. */
	if (world.process)
		most = c->config.flags & TWHEEL_CONFIG_CANCEL_ON_SET ? 2 : 1;
	expect(sim_stats.softirqs - before <= most, SILENCE,
	       "one timer an hour ahead has cost %llu interrupts", sim_stats.softirqs - before);
}

/* All timers have ended, so those who are charged for them have none. */
static void check_users(void)
{
	struct twheel_info info = { };
	u32 i;

	for (i = 0; i < world.nr_contexts; i++) {
		expect(!call_info(&world.contexts[i], &info), CONTAINED, "GET_INFO fails");
		expect(!info.user_timers, EXACTLY_ONCE,
		       "a user has %llu timers, and all have ended", info.user_timers);
	}
}

void close_all(void *unused)
{
	u32 i;

	end_timers();
	if (!any_context(is_hostile))
		check_users();
	sim_config.signal_chance = 0;
	if (!any_context(is_hostile) && !sim_below(4))
		check_silence(&world.contexts[0]);
	close_contexts();
	if (world.process) {
		program_end();
		return;
	}
	for (i = 0; has(UNLOAD) && i < sim_config.cpus; i++)
		sim_spawn("last chaos", (int)i, last_chaos_main, (void *)(uintptr_t)i, (int)i,
			  true);
	if (sim_below(2))
		sim_sleep_until(sim_now() + sim_below(3000));
	sim_acquire(&sim_device);
	sim_module_exit();
	sim_trace("rmmod");
	check_unloaded();
}

static void begin_fair(void)
{
	sim_spawn("opener", -1, fair_open, NULL, 0, false);
	sim_run();
	fair_spawn();
}

static void open_first(void *arg)
{
	world.nr_contexts = 1;
	world.contexts[0].cred = world.cred;
	world.contexts[0].clock = CLOCK_MONOTONIC;
	open_context(&world.contexts[0]);
}

static void begin_scene(void)
{
	sim_spawn("opener", -1, open_first, NULL, 0, false);
	sim_run();
	scene_run();
}

static void begin_tenants(void)
{
	sim_spawn("opener", -1, open_first, NULL, 0, false);
	sim_run();
	if (is_crowd(sim_config.seed))
		crowd_spawn();
	else
		tenants_spawn();
}

static void begin_any(void)
{
	world.in_order = sim_below(2) && !world.isolated;
	/* Without memory for a wheel there, timers that are armed on a CPU go to another one. */
	if (world.in_order)
		sim_config.fail_chance = 0;
	sim_spawn("opener", -1, open_contexts, NULL, 0, false);
	sim_run();
	world.in_order &= !any_context(leases);
	if (world.isolated || (!world.in_order && sim_below(2)))
		spawn_chaos();
	spawn_users();
	if (world.process && once_in(sim_config.seed, FORKS, 4)) {
		sim_spawn("forker", -1, forker_main, NULL, some_cpu(), false);
		world.others_left++;
	}
	spawn_owners();
}

void episode(u64 seed, u32 cpus, const struct settings *settings)
{
	struct sim_config config;

	memset(&world, 0, offsetof(struct world, armings));
	world.nr_armings = 0;
	world.settings = *settings;
	world.cred = (struct cred){ .uid = { 1000 + by_seed(seed, 45, 2) * 64 } };
	world.cred.user_ns = &init_user_ns;
	world.process = !(settings->always & ~(1ULL << PROCESS)) && once_in(seed, PROCESS, 8);
	if (world.process)
		leave_out_module();
	choose_config(&config, seed, cpus);
	world.fair = is_kind(seed, FAIRNESS, 100);
	world.tenants = !world.fair && is_kind(seed, TENANCY, 20);
	world.many = !world.fair && !world.tenants && is_kind(seed, MANY, 20);
	/* To use each of them takes a while, and what all do at once long enough as it is. */
	if (world.many) {
		world.settings.each /= 4;
		config.zeros = false;
	}
	if (world.fair)
		fair_config(&config, seed);
	else if (world.tenants)
		tenants_config(&config, seed);
	else if (config.cpus > 1 && !world.many && once_in(seed, ISOLATION, 6))
		isolate_config(&config, seed);
	config.stays = by_seed(seed, 63, config.cpus);
	world.efault_chance = config.efault_chance;
	/* With PREEMPT_RT tasks have the same priority as soft interrupts here. */
	world.exact = !config.stall_chance && !config.rt;
	sim_idle_check = NULL;
	counts.episodes++;

	sim_begin(&config);
	sim_spawn("insmod", -1, load, NULL, 0, false);
	sim_run();
	if (world.fair)
		begin_fair();
	else if (world.tenants)
		begin_tenants();
	else if (is_scene(seed))
		begin_scene();
	else
		begin_any();
	sim_spawn("closer", -1, close_all, NULL, 0, false);
	sim_idle_check = check_idle;
	sim_run();
	sim_give_back();
	expect(!sim_allocated, CONTAINED, "%ld pieces of memory are left after rmmod",
	       sim_allocated);
}
