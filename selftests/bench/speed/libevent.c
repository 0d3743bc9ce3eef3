// SPDX-License-Identifier: GPL-2.0-only
/*
 * libevent's timers, in a heap (libevent), or in the queue of a common timeout
 * (libevent-common), which is for many timers with the same duration: for these there is no
 * sooner and no random.
 *
 * Timers are armed from a callback, since the loop knows the time there, and outside it asks
 * for it each time. For one timer alone that is less than a round of the loop.
 */
#include <event2/event.h>
#include <event2/event_struct.h>
#include <errno.h>
#include <string.h>
#include <sys/time.h>

#include "twheel_util.h"
#include "speed.h"

struct state {
	struct event_base	*base;
	struct event		*events;
	struct event		entry;
	bool			common;
	const struct timeval	*far;
	const struct timeval	*soon;
	struct fired		fired;
	/* What is to be done in the callback */
	const uint32_t		*which;
	uint32_t		n;
	const struct aim	*aim;
	bool			assign;
	int			ret;
};

/* One loop a thread: the argument is the number of the timer. */
static __thread struct state *mine;

static void expired(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	fired_note(&mine->fired, (uintptr_t)arg);
}

static void add_all(evutil_socket_t fd, short what, void *arg)
{
	struct state *s = arg;
	uint64_t now = clock_ns();
	uint32_t i;

	(void)fd;
	(void)what;
	s->ret = 0;
	for (i = 0; i < s->n && !s->ret; i++) {
		struct event *event = &s->events[s->which[i]];
		uint64_t at = aim_at(s->aim, s->which[i]), us;
		const struct timeval *after = at > now + TW_SEC ? s->far : s->soon;
		struct timeval tv;

		if (s->assign)
			s->ret = evtimer_assign(event, s->base, expired,
						(void *)(uintptr_t)s->which[i]);
		if (!s->common) {
			us = at > now ? (at - now + 999) / 1000 : 0;
			tv = (struct timeval) { us / 1000000, us % 1000000 };
			after = &tv;
		}
		if (!s->ret)
			s->ret = event_add(event, after);
	}
}

static int open_state(struct job *job)
{
	static const struct timeval far = { 6 * 3600, 0 }, soon = { 0, 1000 };
	struct state *s = job_table(job, 1, sizeof(*s));

	job->state = s;
	mine = s;
	s->common = job->plan->facility == &libevent_common;
	s->events = job_table(job, job->nr, sizeof(*s->events));
	s->fired.which = job_table(job, job->nr, sizeof(*s->fired.which));
	s->base = event_base_new();
	if (!s->base)
		return -ENOMEM;
	if (event_assign(&s->entry, s->base, -1, 0, add_all, s))
		return -EINVAL;
	if (s->common) {
		s->far = event_base_init_common_timeout(s->base, &far);
		s->soon = event_base_init_common_timeout(s->base, &soon);
		if (!s->far || !s->soon)
			return -ENOMEM;
	}
	return 0;
}

static void close_state(struct job *job)
{
	event_base_free(((struct state *)job->state)->base);
}

static int add(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim,
	       bool assign)
{
	struct state *s = job->state;

	s->which = which;
	s->n = n;
	s->aim = aim;
	s->assign = assign;
	/* The callback clears that. */
	s->ret = -1;
	if (n == 1) {
		add_all(-1, 0, s);
	} else {
		event_active(&s->entry, 0, 0);
		if (event_base_loop(s->base, EVLOOP_NONBLOCK) < 0)
			return -EIO;
	}
	return s->ret ? -ENOMEM : 0;
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	return add(job, which, n, aim, true);
}

static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	return add(job, which, n, aim, false);
}

static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++)
		if (event_del(&s->events[which[i]]))
			return -EBADE;
	return 0;
}

static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	struct state *s = job->state;

	if (s->fired.from == s->fired.to && event_base_loop(s->base, EVLOOP_NONBLOCK) < 0)
		return -EIO;
	return fired_take(&s->fired, which, max);
}

static void wait_for(struct job *job)
{
	event_base_loop(((struct state *)job->state)->base, EVLOOP_ONCE);
}

#define EVENTS \
	.keeps = true, .open = open_state, .close = close_state, .arm = arm, .again = move, \
	.move = move, .cancel = cancel, .reap = reap, .wait = wait_for

const struct facility libevent = {
	.name = "libevent", EVENTS, .ops = OPS_ALL,
};

const struct facility libevent_common = {
	.name = "libevent-common", EVENTS,
	.ops = OPS_ALL & ~(OPS(OP_RANDOM) | OPS(OP_SOON)),
};
