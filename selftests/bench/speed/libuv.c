// SPDX-License-Identifier: GPL-2.0-only
/*
 * libuv's uv_timer_t, in a loop. It has whole milliseconds, from the loop's idea of now.
 *
 * `later` sets the repeat and calls uv_timer_again(), the call that its documentation has
 * for a timeout that is pushed back. The other moves are uv_timer_start().
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <uv.h>

#include "twheel_util.h"
#include "speed.h"

/* The caller looks again then. */
#define WAIT_MAX_MS	100

struct state {
	uv_loop_t	loop;
	uv_timer_t	*timers;
	struct fired	fired;
};

static void expired(uv_timer_t *timer)
{
	struct state *s = uv_handle_get_data((uv_handle_t *)timer);

	fired_note(&s->fired, timer - s->timers);
}

static void close_each(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static int open_state(struct job *job)
{
	struct state *s = job_table(job, 1, sizeof(*s));

	job->state = s;
	s->timers = job_table(job, job->nr, sizeof(*s->timers));
	s->fired.which = job_table(job, job->nr, sizeof(*s->fired.which));
	return uv_loop_init(&s->loop);
}

static void close_state(struct job *job)
{
	struct state *s = job->state;

	uv_walk(&s->loop, close_each, NULL);
	uv_run(&s->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&s->loop))
		fail("libuv: the loop is not empty");
}

/* Milliseconds from the loop's now until @at: rounded up, so that nothing is early */
static uint64_t until(const struct state *s, uint64_t at)
{
	uint64_t ms = (at + TW_MSEC - 1) / TW_MSEC, now = uv_now(&s->loop);

	return ms > now ? ms - now : 0;
}

static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;
	int ret = 0;

	/* As at the beginning of each round of a loop */
	uv_update_time(&s->loop);
	for (i = 0; i < n && !ret; i++)
		ret = uv_timer_start(&s->timers[which[i]], expired,
				     until(s, aim_at(aim, which[i])), 0);
	return ret;
}

static int later(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;
	int ret = 0;

	uv_update_time(&s->loop);
	for (i = 0; i < n && !ret; i++) {
		uv_timer_t *timer = &s->timers[which[i]];

		uv_timer_set_repeat(timer, until(s, aim_at(aim, which[i])));
		ret = uv_timer_again(timer);
	}
	return ret;
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++) {
		ret = uv_timer_init(&s->loop, &s->timers[which[i]]);
		uv_handle_set_data((uv_handle_t *)&s->timers[which[i]], s);
	}
	return ret ?: move(job, which, n, aim);
}

/* A handle is free when the loop has run after uv_close(). */
static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++)
		uv_close((uv_handle_t *)&s->timers[which[i]], NULL);
	uv_run(&s->loop, UV_RUN_NOWAIT);
	return 0;
}

static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	struct state *s = job->state;

	if (s->fired.from == s->fired.to)
		uv_run(&s->loop, UV_RUN_NOWAIT);
	return fired_take(&s->fired, which, max);
}

/* UV_RUN_ONCE would run a timer that is due by now, and then wait for the one after it. */
static void wait_for(struct job *job)
{
	struct state *s = job->state;
	struct pollfd pollfd = { .fd = uv_backend_fd(&s->loop), .events = POLLIN };
	int ms;

	uv_update_time(&s->loop);
	ms = uv_backend_timeout(&s->loop);
	poll(&pollfd, 1, ms < 0 || ms > WAIT_MAX_MS ? WAIT_MAX_MS : ms);
}

const struct facility libuv = {
	.name = "libuv", .ops = OPS_ALL, .keeps = true, .open = open_state,
	.close = close_state, .arm = arm, .again = move, .move = move, .later = later,
	.cancel = cancel, .reap = reap, .wait = wait_for,
};
