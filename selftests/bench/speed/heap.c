// SPDX-License-Identifier: GPL-2.0-only
/*
 * A binary heap in the process, with the place of each timer in it, so that any timer can be
 * moved or removed. The deadlines are in the heap itself.
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

static int open_state(struct job *job)
{
	struct state *s = table(1, sizeof(*s));

	job->state = s;
	s->heap = table(job->nr, sizeof(*s->heap));
	s->place = table(job->nr, sizeof(*s->place));
	return 0;
}

static void close_state(struct job *job)
{
	struct state *s = job->state;

	table_free(s->heap, job->nr, sizeof(*s->heap));
	table_free(s->place, job->nr, sizeof(*s->place));
	table_free(s, 1, sizeof(*s));
}

static void put(struct state *s, uint32_t place, struct element element)
{
	s->heap[place] = element;
	s->place[element.which] = place;
}

static void sift_up(struct state *s, uint32_t place, struct element element)
{
	while (place && s->heap[(place - 1) / 2].at > element.at) {
		put(s, place, s->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	put(s, place, element);
}

static void sift_down(struct state *s, uint32_t place, struct element element)
{
	uint32_t child;

	while ((child = 2 * place + 1) < s->nr) {
		if (child + 1 < s->nr && s->heap[child + 1].at < s->heap[child].at)
			child++;
		if (s->heap[child].at >= element.at)
			break;
		put(s, place, s->heap[child]);
		place = child;
	}
	put(s, place, element);
}

/* Puts @element where @place is free, in either direction. */
static void sift(struct state *s, uint32_t place, struct element element)
{
	if (place && s->heap[(place - 1) / 2].at > element.at)
		sift_up(s, place, element);
	else
		sift_down(s, place, element);
}

static void drop(struct state *s, uint32_t place)
{
	struct element last = s->heap[--s->nr];

	if (place < s->nr)
		sift(s, place, last);
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++)
		sift_up(s, s->nr++, (struct element) { aim_at(aim, which[i]), which[i] });
	return 0;
}

static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++)
		sift(s, s->place[which[i]],
		     (struct element) { aim_at(aim, which[i]), which[i] });
	return 0;
}

static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (s->heap[s->place[which[i]]].which != which[i])
			return -EBADE;
		drop(s, s->place[which[i]]);
	}
	return 0;
}

static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	struct state *s = job->state;
	uint64_t now = clock_ns();
	uint32_t n = 0;

	while (n < max && s->nr && s->heap[0].at <= now) {
		which[n++] = s->heap[0].which;
		drop(s, 0);
	}
	return n;
}

static void wait_for(struct job *job)
{
	struct state *s = job->state;

	if (s->nr)
		wait_soon(s->heap[0].at);
}

const struct facility heap = {
	.name = "heap", .ops = OPS_ALL, .open = open_state, .close = close_state, .arm = arm,
	.move = move, .cancel = cancel, .reap = reap, .wait = wait_for,
};
