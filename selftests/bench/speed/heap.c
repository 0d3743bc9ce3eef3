// SPDX-License-Identifier: GPL-2.0-only
/*
 * Heaps in the process: a binary one and a 4-ary one, with the place of each timer in them, so that
 * any timer can be moved or removed. The deadlines are in the heap itself, and the four children of
 * an element share a cache line.
 *
 * Functions that take an arity are inlined where it is a constant.
 */
#include <errno.h>

#include "speed.h"

struct element {
	uint64_t	at;
	uint32_t	which;
};

struct state {
	struct element	*heap;
	uint32_t	*place;
	uint32_t	nr;
};

static uint32_t arity_of(const struct job *job)
{
	return job->plan->facility == &heap4 ? 4 : 2;
}

static int open_state(struct job *job)
{
	struct state *s = job_table(job, 1, sizeof(*s));
	uint32_t before = arity_of(job) - 1;

	job->state = s;
	/* The first children are at 1, and their line begins there. */
	s->heap = (struct element *)job_table(job, before + job->nr, sizeof(*s->heap)) + before;
	s->place = job_table(job, job->nr, sizeof(*s->place));
	return 0;
}

static void put(struct state *s, uint32_t place, struct element element)
{
	s->heap[place] = element;
	s->place[element.which] = place;
}

static __always_inline void
sift_up(struct state *s, uint32_t place, struct element element, const uint32_t arity)
{
	while (place && s->heap[(place - 1) / arity].at > element.at) {
		put(s, place, s->heap[(place - 1) / arity]);
		place = (place - 1) / arity;
	}
	put(s, place, element);
}

/* The earliest of the children that begin at @child, without branches that nobody can foresee */
static __always_inline uint32_t
earliest(const struct state *s, uint32_t child, const uint32_t arity)
{
	uint32_t n = s->nr - child < arity ? s->nr - child : arity, least = child, i;
	uint64_t at = s->heap[child].at;

	for (i = 1; i < n; i++) {
		uint64_t other = s->heap[child + i].at;

		least = other < at ? child + i : least;
		at = other < at ? other : at;
	}
	return least;
}

static __always_inline void
sift_down(struct state *s, uint32_t place, struct element element, const uint32_t arity)
{
	uint32_t child;

	while ((child = arity * place + 1) < s->nr) {
		child = earliest(s, child, arity);
		if (s->heap[child].at >= element.at)
			break;
		put(s, place, s->heap[child]);
		place = child;
	}
	put(s, place, element);
}

/* Puts @element where @place is free, in either direction. */
static __always_inline void
sift(struct state *s, uint32_t place, struct element element, const uint32_t arity)
{
	if (place && s->heap[(place - 1) / arity].at > element.at)
		sift_up(s, place, element, arity);
	else
		sift_down(s, place, element, arity);
}

static __always_inline void
drop(struct state *s, uint32_t place, const uint32_t arity)
{
	struct element last = s->heap[--s->nr];

	if (place < s->nr)
		sift(s, place, last, arity);
}

static __always_inline int
arm_all(struct state *s, const uint32_t *which, uint32_t n, const struct aim *aim,
	const uint32_t arity)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		sift_up(s, s->nr++, (struct element) { aim_at(aim, which[i]), which[i] }, arity);
	return 0;
}

static __always_inline int
move_all(struct state *s, const uint32_t *which, uint32_t n, const struct aim *aim,
	 const uint32_t arity)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		sift(s, s->place[which[i]],
		     (struct element) { aim_at(aim, which[i]), which[i] }, arity);
	return 0;
}

static __always_inline int
cancel_all(struct state *s, const uint32_t *which, uint32_t n, const uint32_t arity)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (s->heap[s->place[which[i]]].which != which[i])
			return -EBADE;
		drop(s, s->place[which[i]], arity);
	}
	return 0;
}

static __always_inline int
reap_all(struct state *s, uint32_t *which, uint32_t max, const uint32_t arity)
{
	uint64_t now = clock_ns();
	uint32_t n = 0;

	while (n < max && s->nr && s->heap[0].at <= now) {
		which[n++] = s->heap[0].which;
		drop(s, 0, arity);
	}
	return n;
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	return arity_of(job) == 4 ? arm_all(job->state, which, n, aim, 4) :
				    arm_all(job->state, which, n, aim, 2);
}

static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	return arity_of(job) == 4 ? move_all(job->state, which, n, aim, 4) :
				    move_all(job->state, which, n, aim, 2);
}

static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	return arity_of(job) == 4 ? cancel_all(job->state, which, n, 4) :
				    cancel_all(job->state, which, n, 2);
}

static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	return arity_of(job) == 4 ? reap_all(job->state, which, max, 4) :
				    reap_all(job->state, which, max, 2);
}

static void wait_for(struct job *job)
{
	struct state *s = job->state;

	if (s->nr)
		wait_soon(s->heap[0].at);
}

#define HEAP \
	.ops = OPS_ALL, .open = open_state, .arm = arm, .move = move, \
	.cancel = cancel, .reap = reap, .wait = wait_for

const struct facility heap = { .name = "heap", HEAP };
const struct facility heap4 = { .name = "heap4", HEAP };
