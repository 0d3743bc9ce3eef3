// SPDX-License-Identifier: GPL-2.0-only
/*
 * timerfd and epoll. A new timer takes three calls, and its expiration two: epoll_wait(),
 * which finds up to 256, and a read() of each. timerfd-et asks for edges (EPOLLET), and so
 * can do without the read.
 *
 * Where a process cannot have that many descriptors, others hold the rest of the pending
 * timers, and one measures.
 */
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "twheel_util.h"
#include "speed.h"

#define EVENTS	256
/* Descriptors of everything else */
#define OTHERS	64

struct state {
	int	ep;
	bool	et;
	int	*fds;
};

/*
 * Let the table of files grow now, and not when it is needed: where threads share it the kernel
 * waits for a grace period each time. The last number is there for one thread at a time.
 */
static int grow_table(uint32_t files)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int fd, ret = 0;

	pthread_mutex_lock(&lock);
	fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, files - 1);
	if (fd < 0)
		ret = -errno;
	else
		close(fd);
	pthread_mutex_unlock(&lock);
	return ret;
}

static int hold(struct job *job)
{
	uint32_t each = limit_files((uint64_t)job->plan->pending + OTHERS);
	uint32_t mine = (each - OTHERS) / job->plan->threads;
	int ret = grow_table(each);

	if (ret)
		return ret;
	/* With little memory both are too low for a million. */
	limit_file("/proc/sys/fs/file-max", job->plan->pending + 100000ULL);
	limit_file("/proc/sys/fs/epoll/max_user_watches", job->plan->pending + 1000ULL);
	if (job->nr > mine) {
		hold_timerfds(job, job->nr - mine, each);
		job->nr = mine;
	}
	return 0;
}

static int open_state(struct job *job)
{
	struct state *s = job_table(job, 1, sizeof(*s));
	uint32_t i;

	job->state = s;
	s->et = job->plan->facility == &timerfd_et;
	s->fds = job_table(job, job->nr, sizeof(*s->fds));
	for (i = 0; i < job->nr; i++)
		s->fds[i] = -1;
	s->ep = epoll_create1(EPOLL_CLOEXEC);
	return s->ep < 0 ? -errno : 0;
}

static void close_state(struct job *job)
{
	struct state *s = job->state;
	uint32_t i;

	for (i = 0; i < job->nr; i++)
		if (s->fds[i] >= 0)
			close(s->fds[i]);
	close(s->ep);
}

static int set(int fd, uint64_t at)
{
	struct itimerspec its = { .it_value = { at / TW_SEC, at % TW_SEC } };

	return timerfd_settime(fd, TFD_TIMER_ABSTIME, &its, NULL) ? -errno : 0;
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;
	int ret;

	for (i = 0; i < n; i++) {
		struct epoll_event event = {
			.events = EPOLLIN | (s->et ? EPOLLET : 0),
			.data.u32 = which[i],
		};
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

		if (fd < 0)
			return -errno;
		s->fds[which[i]] = fd;
		if (epoll_ctl(s->ep, EPOLL_CTL_ADD, fd, &event))
			return -errno;
		ret = set(fd, aim_at(aim, which[i]));
		if (ret)
			return ret;
	}
	return 0;
}

static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	struct state *s = job->state;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = set(s->fds[which[i]], aim_at(aim, which[i]));
	return ret;
}

/* The close alone would do, and takes as long. But a program that keeps it disarms it. */
static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	struct state *s = job->state;
	uint32_t i;
	int ret;

	for (i = 0; i < n; i++) {
		ret = set(s->fds[which[i]], 0);
		if (ret)
			return ret;
		if (close(s->fds[which[i]]))
			return -errno;
		s->fds[which[i]] = -1;
	}
	return 0;
}

static int reap_some(struct job *job, uint32_t *which, uint32_t max, int wait_ms)
{
	struct epoll_event events[EVENTS];
	struct state *s = job->state;
	uint64_t expirations;
	int i, n, got = 0;

	n = epoll_wait(s->ep, events, max < EVENTS ? max : EVENTS, wait_ms);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (i = 0; i < n; i++) {
		uint32_t w = events[i].data.u32;

		if (!s->et) {
			ssize_t ret = tw_read(s->fds[w], &expirations, sizeof(expirations));

			if (ret != sizeof(expirations) || expirations != 1)
				return ret < 0 ? ret : -EBADE;
		}
		which[got++] = w;
	}
	return got;
}

static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	return reap_some(job, which, max, 0);
}

static void wait_for(struct job *job)
{
	wait_fd(((struct state *)job->state)->ep);
}

#define DESCRIPTORS \
	.ops = OPS_KERNEL, .keeps = true, .hold = hold, .open = open_state, \
	.close = close_state, .arm = arm, .again = move, .move = move, .cancel = cancel, \
	.reap = reap, .wait = wait_for

const struct facility timerfd = { .name = "timerfd", DESCRIPTORS };
const struct facility timerfd_et = { .name = "timerfd-et", DESCRIPTORS };
