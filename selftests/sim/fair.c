// SPDX-License-Identifier: GPL-2.0-only
/*
 * Promise 11: a user's timers beside those of users who want them to be late.
 *
 * In a fair episode one user, the victim, arms a few timers on CPU 0. Each other context belongs to
 * another user, whose task arms thousands of timers on the same CPU and then goes on from another
 * one, if there is one. A timer costs up to 30 times what it does elsewhere, so that so few are a
 * load. All that makes something late for other reasons is left out.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mm.h>

#include "oracle.h"

#define BATCH		64U

enum attack_kind {
	ALL_IN_A_TICK,		/* due all at once, again and again */
	REARMED,		/* pushed back in time, where they are */
	EXTENDED,		/* leases, extended in time */
	ROUNDS,			/* periodic, and read at once */
	HAMMERED,		/* a few timers, and calls as fast as it goes */
	NR_ATTACKS
};

/**
 * struct attack - what an attacker does
 * @c:		its context
 * @kind:	what kind of attack it is
 * @n:		how many timers it has
 * @ahead:	by how many ticks they are ahead
 * @arms:	how they are armed, with their handles
 */
struct attack {
	struct context		*c;
	enum attack_kind	kind;
	u32			n, ahead;
	struct twheel_arm	*arms;
};

/* A victim and attackers */
#define MAX_USERS	4

static struct attack attacks[MAX_USERS];
static const char * const attack_names[NR_ATTACKS] = {
	[ALL_IN_A_TICK]	= "due all in a tick",
	[REARMED]	= "re-armed in place",
	[EXTENDED]	= "leases, extended",
	[ROUNDS]	= "periodic",
	[HAMMERED]	= "hammered",
};

u64 fair_bound(void)
{
	return (world.nr_contexts - 1) * FAIR_ROUNDS * 2 * sim_max_run();
}

void fair_config(struct sim_config *config, u64 seed)
{
	static const u32 prices[] = { 1, 8, 30, 30 };
	u32 price = prices[by_seed(seed, 50, 4)];

	*config = (struct sim_config) {
		.seed		= seed,
		.cpus		= min(config->cpus, 4U),
		.fault		= config->fault,
		.switch_chance	= min(config->switch_chance, 2048U),
		.skew		= config->skew,
		.irq_delay	= config->irq_delay,
		.costs		= config->costs,
	};
	config->costs.node *= price;
	config->costs.enqueue *= price;
}

static void open_attacker(u32 i)
{
	static const u32 aheads[] = { 30, 30, 70, 150 };
	struct attack *a = &attacks[i];

	*a = (struct attack) {
		.c	= &world.contexts[i],
		.kind	= (enum attack_kind)sim_below(NR_ATTACKS),
		.n	= 1000 + sim_below(5000),
		.ahead	= aheads[sim_below(4)],
	};
	if (a->kind == HAMMERED)
		a->n = BATCH;
	a->c->cred.uid.val += 1000 * i;
	if (a->kind == EXTENDED)
		a->c->config.flags |= TWHEEL_CONFIG_LEASE;
	if (!sim_below(4)) {
		a->c->clock = CLOCK_BOOTTIME;
		a->c->config.clock = CLOCK_BOOTTIME;
	}
	a->arms = user_memory((a->n + BATCH) * sizeof(*a->arms));
}

void fair_open(void *arg)
{
	u32 i;

	world.nr_contexts = 2 + sim_below(MAX_USERS - 1);
	/* A run for each of them, and another one. */
	sim_config.max_debt = (world.nr_contexts + 1) * 2 * sim_max_run();
	for (i = 0; i < world.nr_contexts; i++) {
		struct context *c = &world.contexts[i];

		c->nr = i;
		c->clock = CLOCK_MONOTONIC;
		c->cred = world.cred;
		if (i)
			open_attacker(i);
		open_context(c);
	}
}

static void arm_all(struct attack *a, u64 deadline)
{
	u32 i, k;

	for (i = 0; i < a->n; i += BATCH) {
		for (k = i; k < i + BATCH; k++) {
			a->arms[k].flags = TWHEEL_ARM_ABS;
			if (a->kind == EXTENDED)
				a->arms[k].flags |= TWHEEL_ARM_LEASE;
			if (a->kind == ROUNDS)
				a->arms[k].interval = 8 * TICK;
			a->arms[k].expires = deadline;
		}
		call_arm_batch(a->c, &a->arms[i], BATCH);
	}
}

/* Read what there is, but at most as often as it takes for all. Was there something? */
static bool read_all(const struct attack *a)
{
	struct twheel_event events[BATCH];
	u32 i;

	for (i = 0; i <= a->n / BATCH; i++)
		if (call_read(a->c, events, BATCH, false) <= 0)
			break;
	return i;
}

static void extend_all(struct attack *a, u64 deadline)
{
	struct page *page = NULL;
	u32 i, mapped = 0;

	for (i = 0; i < a->n; i++) {
		u32 index = a->arms[i].word / 512;
		u64 *word;

		if (!page || index != mapped) {
			if (page)
				call_unmap(a->c, page);
			page = call_map(a->c, index);
			mapped = index;
		}
		word = (u64 *)page_address(page) + a->arms[i].word % 512;
		sim_point();
		if (!(*word & TWHEEL_LEASE_EXPIRED))
			*word = (*word & ~TWHEEL_LEASE_UNITS_MASK) | deadline / UNIT;
	}
	if (page)
		call_unmap(a->c, page);
}

static void hammer(struct attack *a)
{
	struct twheel_timer_info info = { .handle = a->arms[0].handle };
	u32 i;

	for (i = 0; i < 20; i++) {
		arm_all(a, time_of(a->c) + a->ahead * TICK);
		call_get(a->c, &info);
	}
}

static void attack_once(struct attack *a)
{
	u64 deadline = (time_of(a->c) / TICK + a->ahead) * TICK;
	u64 end = sim_time_of(a->c, deadline);

	switch (a->kind) {
	case ALL_IN_A_TICK:
		arm_all(a, deadline);
		sim_sleep_until(end);
		while (read_all(a) || sim_now() < end + 2 * TICK)
			sim_sleep_until(sim_now() + TICK / 4);
		break;
	case REARMED:
		arm_all(a, deadline);
		sim_sleep_until(end - sim_below(a->ahead) * TICK / 2);
		break;
	case EXTENDED:
		extend_all(a, deadline);
		sim_sleep_until(end - sim_below(a->ahead) * TICK / 2);
		break;
	case ROUNDS:
		read_all(a);
		sim_sleep_until(sim_now() + TICK);
		break;
	default:
		hammer(a);
		sim_sleep_until(sim_now() + sim_below(4 * TICK));
	}
}

static void end_all(struct attack *a)
{
	struct twheel_cancel *cancels = user_memory(BATCH * sizeof(*cancels));
	u32 i, k;

	for (i = 0; i < a->n; i += BATCH) {
		for (k = 0; k < BATCH; k++)
			cancels[k] = (struct twheel_cancel){ .handle = a->arms[i + k].handle };
		call_cancel_batch(a->c, cancels, BATCH);
	}
	read_all(a);
	free(cancels);
	free(a->arms);
}

static void attack_main(void *arg)
{
	struct attack *a = arg;

	if (a->kind != ALL_IN_A_TICK)
		arm_all(a, (time_of(a->c) / TICK + a->ahead) * TICK);
	/* What is due, and read, is armed where the task runs; the others stay. */
	if (a->kind == REARMED || a->kind == EXTENDED || a->kind == HAMMERED)
		sim_move((int)(a->c->nr % sim_config.cpus));
	sim_trace("context %u: %u timers %s, %u ticks ahead", a->c->nr, a->n, attack_names[a->kind],
		  a->ahead);
	while (world.owners_left)
		attack_once(a);
	end_all(a);
	world.others_left--;
}

/* Each timer of the victim is new, and expires. */
static void victim_main(void *arg)
{
	struct context *c = arg;
	u32 n = 40;

	while (n--) {
		struct twheel_arm asked = { .flags = TWHEEL_ARM_ABS }, arm;
		struct own own = { };
		u32 nr;

		asked.expires = time_of(c) + sim_below(sim_below(4) ? 40 * TICK : 200 * TICK);
		nr = oracle_begins(c, 0, false, &asked);
		asked.user_data = nr + 1;
		arm = asked;
		oracle_armed(c, &own, nr, &asked, &arm, call_arm(c, &arm));
		sim_sleep_until(sim_now() + sim_below(6 * TICK));
	}
	world.owners_left--;
}

void fair_spawn(void)
{
	struct context *c = &world.contexts[0];
	u32 i;

	sim_spawn("reader of", 0, reader_main, c, 0, true);
	world.readers_left++;
	sim_spawn("victim", -1, victim_main, c, 0, true);
	world.owners_left++;
	for (i = 1; i < world.nr_contexts; i++, world.others_left++)
		sim_spawn("attacker", (int)i, attack_main, &attacks[i], 0, true);
}
