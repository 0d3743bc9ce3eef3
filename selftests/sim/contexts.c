// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contexts of an episode and those who use them: how they are chosen, how they begin and how
 * they end. It is the same for each host: see Documentation/simulator.md.
 */
#include <string.h>

#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/user_namespace.h>

#include "oracle.h"

struct world world;
struct counts counts;

/* splitmix64 */
u32 by_seed(u64 seed, u32 what, u32 n)
{
	u64 x = seed * 64 + what + 0x9E3779B97F4A7C15ULL;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ULL;
	x = (x ^ x >> 27) * 0x94D049BB133111EBULL;
	return (u32)((x ^ x >> 31) % n);
}

static s64 some_offset(void)
{
	return ((s64)sim_below(1000) - 500) * NSEC_PER_SEC + sim_below(NSEC_PER_SEC);
}

/* Offsets of CLOCK_MONOTONIC and CLOCK_BOOTTIME in the time namespaces */
static s64 offsets[SIM_NAMESPACES][2];

/* In two of three episodes nobody has a namespace; in half of the others only some have. */
static void choose_namespaces(void)
{
	u32 i;

	memset(offsets, 0, sizeof(offsets));
	if (!has(NAMESPACES) || sim_below(3))
		return;
	for (i = sim_below(2); i < SIM_NAMESPACES; i++) {
		offsets[i][0] = some_offset();
		offsets[i][1] = some_offset();
		sim_set_timens(i, offsets[i][0], offsets[i][1]);
	}
}

static void choose_clock(struct context *c)
{
	c->timens = sim_below(SIM_NAMESPACES);
	c->clock = CLOCK_MONOTONIC;
	c->ahead = offsets[c->timens][0];
	switch (sim_below(world.process ? 5 : 4)) {
	case 2:
		c->clock = CLOCK_BOOTTIME;
		c->config.clock = CLOCK_BOOTTIME;
		c->ahead = offsets[c->timens][1];
		break;
	case 3:
	case 4:
		if (!has(WALL))
			break;
		c->clock = CLOCK_REALTIME;
		c->config.clock = TWHEEL_CLOCK_REALTIME;
		c->ahead = 0;
		if (sim_below(2))
			c->config.flags |= TWHEEL_CONFIG_CANCEL_ON_SET;
	}
}

/*
 * Who is charged is always @user: as itself, as one of those that it is in user
 * namespaces of its own or in others below these, or in one that it has made inside root's.
 */
struct cred one_of(struct cred user, u32 nr)
{
	static struct user_namespace own = { .parent = &init_user_ns };
	static struct user_namespace below = { .parent = &own, .owner = { 100001 } };
	static struct user_namespace roots = { .parent = &init_user_ns };
	static struct user_namespace inside = { .parent = &roots };
	struct cred inner = { .uid = { 100000 + nr }, .user_ns = &own };

	own.owner = user.uid;
	inside.owner = user.uid;
	switch (has(USERNS) ? by_seed(sim_config.seed + nr, USERNS, 8) : 0) {
	case 1:
		return inner;
	case 2:
		inner.user_ns = &below;
		return inner;
	case 3:
		inner.user_ns = &inside;
		return inner;
	default:
		return user;
	}
}

void open_context(struct context *c)
{
	struct twheel_config config;
	long ret;

	while (call_open(c, FMODE_READ | FMODE_WRITE))
		expect(sim_config.fail_chance, CONTAINED, "the device cannot be opened");
	do {
		config = c->config;
		ret = call_config(c, &config);
	} while (ret && oracle_may_lack(ret));
	expect(!ret, CONTAINED, "a new context cannot be configured: %ld", ret);
}

/*
 * Many contexts are of three users; or nearly all of one user, and on one clock, so that one wheel
 * has timers of more contexts than a run can note, or a task hold locks.
 */
static void choose_user(struct context *c, bool together)
{
	const struct context *first = &world.contexts[0];

	c->cred.uid.val += 64 * (together ? c->nr / MANY_OF_ONE : c->nr % 3);
	if (!together || c == first)
		return;
	c->clock = first->clock;
	c->config.clock = first->config.clock;
	c->timens = first->timens;
	c->ahead = first->ahead;
	c->config.flags &= ~TWHEEL_CONFIG_CANCEL_ON_SET;
}

/* Choose what the episode is to be, and open its contexts. */
void open_contexts(void *unused)
{
	bool together = false;
	u32 i;

	choose_namespaces();
	world.nr_contexts = has(CONTEXTS) ? 1 + sim_below(2) : 1;
	if (world.many) {
		world.nr_contexts = MAX_CONTEXTS;
		together = sim_below(2);
	}
	world.nr_own = world.many ? MAX_CONTEXTS : MAX_OWN;
	for (i = 0; i < world.nr_contexts; i++) {
		struct context *c = &world.contexts[i];

		c->nr = i;
		c->cred = world.cred;
		if (has(KEYS) && !sim_below(3))
			c->config.flags |= TWHEEL_CONFIG_KEYED;
		if (has(LEASES) && !sim_below(3))
			c->config.flags |= TWHEEL_CONFIG_LEASE;
		c->hostile = has(HOSTILE) && leases(c) && !sim_below(world.many ? 16 : 2);
		if (has(LIMITS) && !sim_below(4))
			c->config.limit = min(8 + sim_below(60), (u32)*sim_param_max_fd_timers);
		choose_clock(c);
		if (world.many)
			choose_user(c, together);
		c->cred = one_of(c->cred, i);
		open_context(c);
	}
}

int some_cpu(void)
{
	return (int)sim_below(sim_config.cpus);
}

bool any_context(bool (*is)(const struct context *c))
{
	u32 i;

	for (i = 0; i < world.nr_contexts; i++)
		if (is(&world.contexts[i]))
			return true;
	return false;
}

static bool is_realtime(const struct context *c)
{
	return c->clock == CLOCK_REALTIME;
}

void spawn_chaos(void)
{
	u32 i;

	world.restless = has(HOTPLUG) || has(ISOLATION);
	world.steps = has(STEPS) && any_context(is_realtime);
	if (world.steps && has(LEAPS) && !by_seed(sim_config.seed, LEAPS, 3))
		world.leaps = MAX_LEAPS;
	for (i = 0; i < sim_config.cpus; i++, world.others_left++)
		sim_spawn("chaos", (int)i, chaos_main, (void *)(uintptr_t)i, (int)i, true);
}

void spawn_reader(struct context *c)
{
	sim_spawn("reader of", (int)c->nr, reader_main, c, some_cpu(), false);
	world.readers_left++;
}

static void spawn_users_of(struct context *c)
{
	u32 n = world.in_order || world.many || !has(READERS) ? 1 : 1 + sim_below(2);

	for (; n; n--)
		spawn_reader(c);
	if (c->hostile) {
		sim_spawn("hostile", (int)c->nr, hostile_main, c, some_cpu(), false);
		world.others_left++;
	}
	if (has(MALFORMED) && !sim_below(world.many ? 64 : 8)) {
		sim_spawn("malformed", (int)c->nr, malformed_main, c, some_cpu(), false);
		world.others_left++;
	}
}

void spawn_users(void)
{
	u32 i;

	for (i = 0; i < world.nr_contexts; i++)
		spawn_users_of(&world.contexts[i]);
}

/* Which kinds of operations owners do: all; some; or besides arming and waiting just one */
static u32 some_kinds(void)
{
	switch (sim_below(4)) {
	case 0:
	case 1:		return ~0U;
	case 2:		return sim_below(1 << 16) | 1U << sim_below(16);
	default:	return 1U << 0 | 1U << 15 | 1U << sim_below(16);
	}
}

void spawn_owners(void)
{
	u32 i;

	world.kinds = some_kinds();
	world.nr_shared = 1 + sim_below(MAX_SHARED);
	world.lazy = !sim_below(4);
	world.nr_owners = 1 + sim_below(world.settings.owners);
	for (i = 0; i < world.nr_owners; i++, world.owners_left++) {
		world.owners[i].nr = i;
		sim_spawn("owner", (int)i, owner_main, &world.owners[i], some_cpu(),
			  world.in_order);
	}
}

/* A stall may delay each of some rounds, and what a run takes is paid for by a pause. */
static void await_latest(void)
{
	do {
		sim_sleep_until(max(world.latest, sim_now()) +
				(sim_config.stall_chance ? 4000 : 100) * TICK);
	} while (world.latest > sim_now());
}

static void await_others(void)
{
	while (world.owners_left || world.others_left)
		sim_sleep_until(sim_now() + 4 * TICK);
	await_latest();
}

/* Readers wait for a record, to find that they are to end. */
static void stop_readers(void)
{
	u32 i;

	world.stop = true;
	while (world.readers_left) {
		for (i = 0; i < world.nr_contexts; i++) {
			struct context *c = &world.contexts[i];
			struct twheel_arm arm = {
				.handle		= keyed(c) ? 0xdead : 0,
				.flags		= TWHEEL_ARM_ABS,
				.expires	= 1,
			};

			call_arm(c, &arm);
		}
		sim_sleep_until(sim_now() + TICK);
	}
}

static void read_all(struct context *c)
{
	struct twheel_event events[8];
	long ret;

	do
		ret = call_read(c, events, ARRAY_SIZE(events), false);
	while (ret > 0 || ret == -ECANCELED || ret == -EFAULT);
}

/* A lazy reader may have left rounds of timers that go on when these are read. */
static void read_last_rounds(void)
{
	u32 i;

	for (;;) {
		for (i = 0; i < world.nr_contexts; i++)
			read_all(&world.contexts[i]);
		if (world.latest <= sim_now())
			break;
		await_latest();
	}
}

/* Is something to come of @c that it has not told? */
static bool is_owing(struct context *c)
{
	struct twheel_info info = { };

	if (c->hostile || call_info(c, &info))
		return false;
	return info.pending || info.ready || owes_step(c);
}

static void await_what_is_late(struct context *c)
{
	u32 n;

	for (n = 0; n < world.settings.patience && is_owing(c); n++) {
		sim_sleep_until(sim_now() + 100 * TICK);
		read_all(c);
	}
}

static void check_at_rest(struct context *c)
{
	struct twheel_info info = { };

	expect(!call_info(c, &info), CONTAINED, "GET_INFO fails");
	oracle_info(c, &info, true);
}

void end_timers(void)
{
	u32 i;

	await_others();
	stop_readers();
	call_sure();
	read_last_rounds();
	for (i = 0; i < world.nr_contexts; i++) {
		await_what_is_late(&world.contexts[i]);
		check_at_rest(&world.contexts[i]);
	}
	oracle_end();
}

/* Close @c while timers are pending, and some of them just expire. */
static void close_busy(struct context *c)
{
	u64 tick = (time_of(c) / TICK + 2) * TICK;
	u32 n = sim_below(4) ? 1 + sim_below(3) : sim_below(40), i;

	for (i = 0; i < n; i++) {
		struct twheel_arm arm = {
			.handle		= keyed(c) ? i + 1 : 0,
			.flags		= TWHEEL_ARM_ABS,
			.expires	= tick + (sim_below(4) ? 0 : sim_below(2 * TICK)),
		};

		call_arm(c, &arm);
	}
	sim_move(some_cpu());
	if (sim_below(4))
		sim_sleep_until(sim_time_of(c, tick) + sim_below(4000));
	call_close(c);
}

void close_contexts(void)
{
	u32 i;

	for (i = 0; i < world.nr_contexts; i++)
		close_busy(&world.contexts[i]);
	call_sure_end();
}
