// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wheel of the module, module/core/wheel.c compiled unchanged, in the process: what is left of
 * the cost when there is no system call, no lock and no handle. It has six levels of 64
 * buckets.
 *
 * This file is compiled with userspace/shim in place of the kernel's headers.
 */
#include <errno.h>

#include "wheel.h"
#include "speed.h"

#define TICK_SHIFT	20
#define SLOTS		64
#define LEVELS		6
#define TAKE		64

struct state {
	struct twheel_wheel	wheel;
	struct twheel_node	*nodes;
	struct fired		fired;
};

static u64 tick_now(void)
{
	return clock_ns() >> TICK_SHIFT;
}

static int open_state(struct job *job)
{
	struct state *s = job_table(job, 1, sizeof(*s));

	job->state = s;
	s->nodes = job_table(job, job->nr, sizeof(*s->nodes));
	s->fired.which = job_table(job, job->nr, sizeof(*s->fired.which));
	twheel_wheel_init(&s->wheel, SLOTS, LEVELS, tick_now(),
			  job_table(job, 1, twheel_wheel_size(SLOTS, LEVELS)));
	return 0;
}

/* The tick of a deadline: rounded up */
static u64 tick_of(u64 at)
{
	return (at + (1 << TICK_SHIFT) - 1) >> TICK_SHIFT;
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++) {
		s->nodes[which[i]].expires = tick_of(aim_at(aim, which[i]));
		twheel_wheel_enqueue(&s->wheel, &s->nodes[which[i]]);
	}
	return 0;
}

static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct twheel_node *node = &s->nodes[which[i]];
		u64 tick = tick_of(aim_at(aim, which[i]));

		/* As the module does it: a later one stays in its bucket. */
		if (tick >= node->expires) {
			node->expires = tick;
			continue;
		}
		twheel_wheel_dequeue(&s->wheel, node);
		node->expires = tick;
		twheel_wheel_enqueue(&s->wheel, node);
	}
	return 0;
}

static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++)
		twheel_wheel_dequeue(&s->wheel, &s->nodes[which[i]]);
	return 0;
}

static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	struct state *s = job->state;
	struct twheel_node *nodes[TAKE];
	u64 now = tick_now();
	u32 n, i;

	while (s->fired.to - s->fired.from < max) {
		n = twheel_wheel_take(&s->wheel, now, nodes, TAKE);
		if (!n)
			break;
		for (i = 0; i < n; i++) {
			if (nodes[i]->expires <= s->wheel.clk)
				fired_note(&s->fired, nodes[i] - s->nodes);
			else
				twheel_wheel_enqueue(&s->wheel, nodes[i]);
		}
	}
	return fired_take(&s->fired, which, max);
}

static void wait_for(struct job *job)
{
	struct state *s = job->state;

	wait_soon(s->wheel.next_expiry << TICK_SHIFT);
}

const struct facility core6 = {
	.name = "core6", .ops = OPS_ALL & ~OPS(OP_SOON), .open = open_state, .arm = arm,
	.move = move, .cancel = cancel, .reap = reap, .wait = wait_for,
};
