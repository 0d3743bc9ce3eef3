// SPDX-License-Identifier: GPL-2.0-only
/*
 * libtwheel's timer objects, with functions that an event loop calls: of the device, and in the
 * process. There with leases, also by a cached time, without leases, and without them and deferred,
 * which is to queue what has to be told to the wheel.
 */
#include <string.h>
#include <twheel.h>

#include "twheel_util.h"
#include "speed.h"

struct state {
	struct twheel		*tw;
	struct twheel_timer	**timers;
	struct fired		fired;
};

/* The argument is the number, and there is one context a thread. */
static __thread struct state *mine;

static const char *absent(void)
{
	return access(TW_DEVICE, R_OK | W_OK) ? "no " TW_DEVICE " here" : NULL;
}

static void expired(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	(void)timer;
	(void)event;
	fired_note(&mine->fired, (uintptr_t)arg);
}

static int open_state(struct job *job)
{
	const struct facility *f = job->plan->facility;
	bool leases = f == &libtwheel || f == &embedded_timers || f == &embedded_cached_timers;
	bool in_process = f != &libtwheel, caches = f == &embedded_cached_timers;
	/* As the manual page advises to programs that mostly push timers back */
	const struct twheel_config config = { .flags = leases ? TWHEEL_CONFIG_LEASE : 0 };
	struct state *s = job_table(job, 1, sizeof(*s));
	int ret;

	job->state = s;
	if (!in_process) {
		limit_file(TW_PARAMETERS "max_user_timers", 2ULL * job->plan->pending + 1000);
		limit_file(TW_PARAMETERS "max_fd_timers", 2ULL * job->plan->pending + 1000);
	}
	mine = s;
	s->timers = job_table(job, job->nr, sizeof(*s->timers));
	s->fired.which = job_table(job, job->nr, sizeof(*s->fired.which));
	ret = twheel_open(&s->tw, in_process ? NULL : TW_DEVICE, TWHEEL_OPEN_NONBLOCK |
			  TWHEEL_OPEN_CLOEXEC | (in_process ? TWHEEL_OPEN_EMBEDDED : 0) |
			  (caches ? TWHEEL_OPEN_CACHE_NOW : 0), &config);
	return ret || f != &embedded_deferred ? ret : twheel_timer_defer(s->tw, 1);
}

static void close_state(struct job *job)
{
	twheel_close(((struct state *)job->state)->tw);
}

/* What is deferred is measured with its flush, which does nothing otherwise. */
static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++) {
		struct twheel_arm setting = {
			.expires = aim_at(aim, which[i]),
			.flags = TWHEEL_ARM_ABS,
		};

		ret = twheel_timer_arm(s->timers[which[i]], &setting, NULL);
	}
	return ret ?: twheel_timer_flush(s->tw);
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++) {
		ret = twheel_timer_new(&s->timers[which[i]], s->tw, expired,
				       (void *)(uintptr_t)which[i]);
		if (!ret)
			ret = move(job, &which[i], 1, aim);
	}
	return ret;
}

static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++)
		twheel_timer_free(s->timers[which[i]]);
	return twheel_timer_flush(s->tw);
}

static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	struct state *s = job->state;
	int ret;

	if (s->fired.from == s->fired.to) {
		ret = twheel_dispatch(s->tw);
		if (ret < 0 && ret != -EAGAIN)
			return ret;
	}
	return fired_take(&s->fired, which, max);
}

static void wait_for(struct job *job)
{
	wait_fd(twheel_fd(((struct state *)job->state)->tw));
}

static int64_t ready(struct job *job)
{
	struct twheel_info info;
	int ret = twheel_get_info(((struct state *)job->state)->tw, 0, &info);

	return ret ?: (int64_t)info.ready;
}

#define OBJECTS \
	.keeps = true, .open = open_state, .close = close_state, .arm = arm, .again = move, \
	.move = move, .cancel = cancel, .reap = reap, .wait = wait_for

const struct facility libtwheel = {
	.name = "libtwheel", OBJECTS, .ops = OPS_KERNEL, .absent = absent, .ready = ready,
};

const struct facility embedded_objects = {
	.name = "embedded-objects", OBJECTS, .ops = OPS_ALL,
};

const struct facility embedded_timers = {
	.name = "embedded-timers", OBJECTS, .ops = OPS_ALL,
};

const struct facility embedded_cached_timers = {
	.name = "embedded-cached-timers", OBJECTS, .ops = OPS_ALL,
};

const struct facility embedded_deferred = {
	.name = "embedded-deferred", OBJECTS, .ops = OPS_ALL,
};
