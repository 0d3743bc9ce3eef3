// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hashed wheel with rounds, as Netty's HashedWheelTimer has it: one row of buckets, and in
 * each timer the number of rounds that it has still to wait. Each tick walks a bucket.
 *
 * Netty's default of 512 buckets is for few timers, and its documentation wants more for more.
 * Here there are as many as timers, up to 65,536. A tick is 2^20 ns, as twheel's is.
 */
#include "speed.h"

#define TICK_SHIFT	20
#define BUCKETS_MIN	512
#define BUCKETS_MAX	65536
#define NONE		UINT32_MAX

struct node {
	uint64_t	tick;
	uint32_t	rounds;
	uint32_t	next;
	uint32_t	prev;
};

/*
 * struct state - the wheel
 * @tick: the last one whose bucket was walked
 */
struct state {
	struct node	*nodes;
	uint32_t	*buckets;
	uint32_t	nr_buckets;
	uint64_t	tick;
	struct fired	fired;
};

static int open_state(struct job *job)
{
	struct state *s = job_table(job, 1, sizeof(*s));
	uint32_t i;

	job->state = s;
	s->nr_buckets = BUCKETS_MIN;
	while (s->nr_buckets < job->nr && s->nr_buckets < BUCKETS_MAX)
		s->nr_buckets *= 2;
	s->nodes = job_table(job, job->nr, sizeof(*s->nodes));
	s->buckets = job_table(job, s->nr_buckets, sizeof(*s->buckets));
	s->fired.which = job_table(job, job->nr, sizeof(*s->fired.which));
	for (i = 0; i < s->nr_buckets; i++)
		s->buckets[i] = NONE;
	s->tick = clock_ns() >> TICK_SHIFT;
	return 0;
}

static void insert(struct state *s, uint32_t which, uint64_t at)
{
	struct node *node = &s->nodes[which];
	uint32_t *bucket;

	node->tick = (at >> TICK_SHIFT) + 1;
	if (node->tick <= s->tick)
		node->tick = s->tick + 1;
	node->rounds = (node->tick - s->tick - 1) / s->nr_buckets;
	bucket = &s->buckets[node->tick & (s->nr_buckets - 1)];
	node->next = *bucket;
	node->prev = NONE;
	if (*bucket != NONE)
		s->nodes[*bucket].prev = which;
	*bucket = which;
}

static void remove_node(struct state *s, uint32_t which)
{
	struct node *node = &s->nodes[which];

	if (node->next != NONE)
		s->nodes[node->next].prev = node->prev;
	if (node->prev != NONE)
		s->nodes[node->prev].next = node->next;
	else
		s->buckets[node->tick & (s->nr_buckets - 1)] = node->next;
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		insert(job->state, which[i], aim_at(aim, which[i]));
	return 0;
}

static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		remove_node(job->state, which[i]);
		insert(job->state, which[i], aim_at(aim, which[i]));
	}
	return 0;
}

static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		remove_node(job->state, which[i]);
	return 0;
}

static void walk(struct state *s)
{
	uint32_t which, next;

	for (which = s->buckets[s->tick & (s->nr_buckets - 1)]; which != NONE; which = next) {
		next = s->nodes[which].next;
		if (s->nodes[which].rounds) {
			s->nodes[which].rounds--;
			continue;
		}
		remove_node(s, which);
		fired_note(&s->fired, which);
	}
}

static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	struct state *s = job->state;
	uint64_t now;

	if (s->fired.from == s->fired.to)
		for (now = clock_ns() >> TICK_SHIFT; s->tick < now;) {
			s->tick++;
			walk(s);
		}
	return fired_take(&s->fired, which, max);
}

static void wait_for(struct job *job)
{
	wait_soon((((struct state *)job->state)->tick + 1) << TICK_SHIFT);
}

const struct facility hashed = {
	.name = "hashed", .ops = OPS_ALL & ~OPS(OP_SOON), .open = open_state, .arm = arm,
	.move = move, .cancel = cancel, .reap = reap, .wait = wait_for,
};
