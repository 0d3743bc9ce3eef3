// SPDX-License-Identifier: GPL-2.0-only
/*
 * A wheel in the process, by libtwheel's calls: with handles, also by a cached time, with pushes,
 * and with keys. Threads may share a context.
 */
#include <errno.h>
#include <twheel.h>

#include "speed.h"

struct state {
	struct twheel		*tw;
	uint64_t		*handles;
	struct twheel_arm	*arms;
	struct twheel_push	*pushes;
	struct twheel_cancel	*cancels;
	struct twheel_event	*events;
};

static int open_state(struct job *job)
{
	bool keyed = job->plan->facility == &embedded_keyed;
	bool caches = job->plan->facility == &embedded_cached;
	bool threads = job->plan->facility == &embedded_threads;
	const struct twheel_config config = { .flags = keyed ? TWHEEL_CONFIG_KEYED : 0 };
	struct state *s = job_table(job, 1, sizeof(*s));
	uint32_t batch = job->plan->batch;

	job->state = s;
	/* With keys there are none. */
	if (!keyed)
		s->handles = job_table(job, job->nr, sizeof(*s->handles));
	s->arms = job_table(job, batch, sizeof(*s->arms));
	s->pushes = job_table(job, batch, sizeof(*s->pushes));
	s->cancels = job_table(job, batch, sizeof(*s->cancels));
	s->events = job_table(job, SPEED_REAP, sizeof(*s->events));
	if (job->first) {
		s->tw = ((struct state *)job->first->state)->tw;
		return 0;
	}
	return twheel_open(&s->tw, NULL, TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_NONBLOCK |
			   TWHEEL_OPEN_CLOEXEC | (caches ? TWHEEL_OPEN_CACHE_NOW : 0) |
			   (threads ? TWHEEL_OPEN_THREADS : 0), &config);
}

static void close_state(struct job *job)
{
	if (!job->first)
		twheel_close(((struct state *)job->state)->tw);
}

/* The handle of a timer, or its key, which looks random and needs no table */
static uint64_t handle_of(const struct job *job, uint32_t which)
{
	const struct state *s = job->state;

	if (s->handles)
		return s->handles[which];
	return (((uint64_t)job->index << 32 | which) + 1) * 0x9e3779b97f4a7c15ULL;
}

/* Every result is looked at, as a program has to. */
static int arm_all(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim,
		   bool pending)
{
	struct state *s = job->state;
	uint32_t i, part;
	ssize_t ret;

	for (; n; n -= part, which += part) {
		part = n < job->plan->batch ? n : job->plan->batch;
		for (i = 0; i < part; i++)
			s->arms[i] = (struct twheel_arm){
				.handle = pending || !s->handles ? handle_of(job, which[i]) : 0,
				.user_data = which[i],
				.expires = aim_at(aim, which[i]),
				.flags = TWHEEL_ARM_ABS,
			};
		if (part == 1)
			ret = twheel_arm(s->tw, s->arms);
		else
			ret = twheel_arm_batch(s->tw, s->arms, part);
		if (ret != (part == 1 ? 0 : part))
			return ret < 0 ? ret : -EIO;
		for (i = 0; i < part; i++) {
			if (s->arms[i].result)
				return s->arms[i].result;
			if (s->handles)
				s->handles[which[i]] = s->arms[i].handle;
		}
	}
	return 0;
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	return arm_all(job, which, n, aim, false);
}

static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	return arm_all(job, which, n, aim, true);
}

static int push(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i, part;
	ssize_t ret;

	for (; n; n -= part, which += part) {
		part = n < job->plan->batch ? n : job->plan->batch;
		if (part == 1) {
			ret = twheel_push(s->tw, s->handles[*which], aim_at(aim, *which));
			if (ret)
				return ret;
			continue;
		}
		for (i = 0; i < part; i++)
			s->pushes[i] = (struct twheel_push){
				.handle = s->handles[which[i]],
				.expires = aim_at(aim, which[i]),
			};
		ret = twheel_push_batch(s->tw, s->pushes, part);
		if (ret != part)
			return ret < 0 ? ret : -EIO;
	}
	return 0;
}

static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	struct state *s = job->state;
	uint32_t i, part;
	ssize_t ret;

	for (; n; n -= part, which += part) {
		part = n < job->plan->batch ? n : job->plan->batch;
		if (part == 1) {
			ret = twheel_cancel(s->tw, handle_of(job, *which), NULL);
			if (ret)
				return ret;
			continue;
		}
		for (i = 0; i < part; i++)
			s->cancels[i] = (struct twheel_cancel){
				.handle = handle_of(job, which[i]),
			};
		ret = twheel_cancel_batch(s->tw, s->cancels, part);
		if (ret != part)
			return ret < 0 ? ret : -EIO;
		for (i = 0; i < part; i++)
			if (s->cancels[i].result)
				return s->cancels[i].result;
	}
	return 0;
}

static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	struct state *s = job->state;
	ssize_t i, n = twheel_read(s->tw, s->events, max < SPEED_REAP ? max : SPEED_REAP);

	for (i = 0; i < n; i++)
		which[i] = s->events[i].user_data;
	return n == -EAGAIN ? 0 : n;
}

static void wait_for(struct job *job)
{
	wait_fd(twheel_fd(((struct state *)job->state)->tw));
}

#define CALLS \
	.batches = true, .shares = true, .open = open_state, .close = close_state, .arm = arm, \
	.cancel = cancel, .reap = reap, .wait = wait_for

const struct facility embedded = {
	.name = "embedded", CALLS, .ops = OPS_ALL, .move = move,
};

const struct facility embedded_cached = {
	.name = "embedded-cached", CALLS, .ops = OPS_ALL, .move = move,
};

const struct facility embedded_threads = {
	.name = "embedded-threads", CALLS, .ops = OPS_ALL, .move = move,
};

/* All else is as it is without pushes. */
const struct facility embedded_push = {
	.name = "embedded-push", CALLS, .move = push,
	.ops = OPS_MOVE | OPS(OP_ORDER) | OPS(OP_HEARTBEAT),
};

const struct facility embedded_keyed = {
	.name = "embedded-keyed", CALLS, .ops = OPS_ALL, .move = move,
};
