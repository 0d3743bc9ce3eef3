// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX timers. Each expiration queues a real-time signal, which a signalfd reads: up to
 * 256 in a call, where sigwaitinfo() takes one.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "twheel_util.h"
#include "speed.h"

#define RECORDS	256

struct state {
	int				fd;
	int				signal;
	timer_t				*timers;
	bool				*made;
	struct signalfd_siginfo		records[RECORDS];
};

static int open_state(struct job *job)
{
	struct state *s = job_table(job, 1, sizeof(*s));
	sigset_t set;

	job->state = s;
	limit_signals(job->plan->pending + 1000ULL);
	s->signal = SIGRTMIN + job->index;
	s->timers = job_table(job, job->nr, sizeof(*s->timers));
	s->made = job_table(job, job->nr, sizeof(*s->made));
	sigemptyset(&set);
	sigaddset(&set, s->signal);
	s->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return s->fd < 0 ? -errno : 0;
}

static void close_state(struct job *job)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < job->nr; i++)
		if (s->made[i])
			timer_delete(s->timers[i]);
	/* Signals that are queued already stay, and the next ones are for other timers. */
	while (tw_read(s->fd, s->records, sizeof(s->records)) > 0)
		;
	close(s->fd);
}

static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint64_t at = aim_at(aim, which[i]);
		struct itimerspec its = { .it_value = { at / TW_SEC, at % TW_SEC } };

		if (timer_settime(s->timers[which[i]], TIMER_ABSTIME, &its, NULL))
			return -errno;
	}
	return 0;
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;
	int ret;

	for (i = 0; i < n; i++) {
		struct sigevent event = {
			.sigev_notify		= SIGEV_SIGNAL,
			.sigev_signo		= s->signal,
			.sigev_value.sival_int	= which[i],
		};

		if (timer_create(CLOCK_MONOTONIC, &event, &s->timers[which[i]]))
			return -errno;
		s->made[which[i]] = true;
		ret = move(job, &which[i], 1, aim);
		if (ret)
			return ret;
	}
	return 0;
}

static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (timer_delete(s->timers[which[i]]))
			return -errno;
		s->made[which[i]] = false;
	}
	return 0;
}

static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	struct state *s = job->state;
	uint32_t i, got, room = max < RECORDS ? max : RECORDS;
	ssize_t ret = tw_read(s->fd, s->records, room * sizeof(*s->records));

	if (ret < 0)
		return ret == -EAGAIN ? 0 : ret;
	got = ret / sizeof(*s->records);
	for (i = 0; i < got; i++) {
		if (s->records[i].ssi_overrun)
			return -EBADE;
		which[i] = s->records[i].ssi_int;
	}
	return got;
}

static void wait_for(struct job *job)
{
	wait_fd(((struct state *)job->state)->fd);
}

const struct facility posix_timer = {
	.name = "posix", .ops = OPS_KERNEL, .keeps = true, .open = open_state,
	.close = close_state, .arm = arm, .again = move, .move = move, .cancel = cancel,
	.reap = reap, .wait = wait_for,
};
