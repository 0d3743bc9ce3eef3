// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: reading events, and buffers of them.
 */
/* For ppoll() */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "internal.h"

/* The most events that one read() returns: the kernel limits it to 0x7ffff000 bytes. */
#define TWHEEL_READ_MAX		(0x7ffff000 / sizeof(struct twheel_event))

/* The most seconds that are waited at once, as time_t may have 32 bits. */
#define TWHEEL_WAIT_MAX		1000000000

static ssize_t read_events(struct twheel *tw, struct twheel_event *events, size_t n, bool wait)
{
	ssize_t ret;

	/* A read() of no bytes need not reach the device, so it is refused here. */
	if (!n)
		return -EINVAL;
	if (n > TWHEEL_READ_MAX)
		n = TWHEEL_READ_MAX;
	ret = tw->backend->read(tw, events, n * sizeof(*events), wait);
	return ret < 0 ? ret : ret / (ssize_t)sizeof(*events);
}

TWHEEL_API ssize_t twheel_read(struct twheel *tw, struct twheel_event *events,
			       size_t n)
{
	return read_events(tw, events, n, true);
}

/* Was each signal handler of the program installed with SA_RESTART? */
static bool all_handlers_restart(void)
{
	struct sigaction action;
	int sig;

	for (sig = 1; sig < NSIG; sig++) {
		/* Those that a program raises by its own mistakes interrupt no wait. */
		if (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL)
			continue;
		/* The C library has some signals to itself. */
		if (sigaction(sig, NULL, &action) || action.sa_flags & SA_RESTART)
			continue;
		/* A handler that is to run once is gone by now, but for its flags. */
		if (action.sa_flags & SA_RESETHAND ||
		    (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN))
			return false;
	}
	return true;
}

TWHEEL_LEAVES
int twheel_wait_readable(const struct twheel *tw, uint64_t ns)
{
	struct pollfd pollfd = { .fd = tw->fd, .events = POLLIN };
	uint64_t sec = ns / 1000000000;
	struct timespec rest = {
		.tv_sec = sec < TWHEEL_WAIT_MAX ? (time_t)sec : TWHEEL_WAIT_MAX,
		.tv_nsec = (long)(ns % 1000000000),
	};
	int ret = ppoll(&pollfd, 1, &rest, NULL);

	if (ret >= 0)
		return !ret && sec < TWHEEL_WAIT_MAX;
	/* The kernel restarts reads, and no polls. It does not tell which handler has run. */
	return errno == EINTR && all_handlers_restart() ? 0 : -errno;
}

TWHEEL_LEAVES
TWHEEL_API ssize_t twheel_read_timeout(struct twheel *tw, struct twheel_event *events,
				       size_t n, uint64_t timeout)
{
	uint64_t now, end;
	ssize_t ret = 0;
	bool over;

	if (timeout > INT64_MAX)
		return -EINVAL;
	end = twheel_time(CLOCK_MONOTONIC) + timeout;
	for (;;) {
		over = ret;
		ret = read_events(tw, events, n, false);
		if (ret != -EAGAIN)
			return ret;
		now = twheel_time(CLOCK_MONOTONIC);
		if (over || now >= end)
			return 0;
		ret = twheel_wait_readable(tw, end - now);
		if (ret < 0) {
			/* As a read does that a signal ends: delays count from here. */
			twheel_update_now(tw);
			return ret;
		}
	}
}

/**
 * struct twheel_event_buffer - events that were read and not handled yet
 * @capacity: length of @events
 * @next: index in @events of the next event to take out
 * @filled: how many of @events were read
 * @events: the events; what is behind them has no expirations
 */
struct twheel_event_buffer {
	size_t			capacity;
	size_t			next;
	size_t			filled;
	struct twheel_event	events[];
};

TWHEEL_API int twheel_event_buffer_new(struct twheel_event_buffer **bufp,
				       size_t capacity)
{
	struct twheel_event_buffer *buf;

	if (!capacity)
		return -EINVAL;
	if (capacity > TWHEEL_READ_MAX)
		return -ENOMEM;

	buf = calloc(1, sizeof(*buf) + capacity * sizeof(buf->events[0]));
	if (!buf)
		return -ENOMEM;
	buf->capacity = capacity;
	*bufp = buf;
	return 0;
}

TWHEEL_API void twheel_event_buffer_free(struct twheel_event_buffer *buf)
{
	free(buf);
}

/* The thread was cancelled in its read: what was read can be taken out. */
static void fill_buffer_cancelled(void *arg)
{
	struct twheel_event_buffer *buf = arg;

	buf->filled = twheel_count_stored(buf->events, buf->capacity);
}

/* Fill the buffer, from which all events were taken. How many there are, or -errno. */
static ssize_t fill_buffer(struct twheel_event_buffer *buf, struct twheel *tw)
{
	ssize_t ret;

	while (buf->filled)
		buf->events[--buf->filled].expirations = 0;
	buf->next = 0;
	pthread_cleanup_push(fill_buffer_cancelled, buf);
	ret = twheel_read(tw, buf->events, buf->capacity);
	pthread_cleanup_pop(0);
	if (ret > 0)
		buf->filled = (size_t)ret;
	return ret;
}

TWHEEL_API ssize_t twheel_event_buffer_fill(struct twheel_event_buffer *buf,
					    struct twheel *tw)
{
	if (buf->next == buf->filled)
		return fill_buffer(buf, tw);
	return (ssize_t)(buf->filled - buf->next);
}

TWHEEL_API const struct twheel_event *
twheel_event_buffer_next(struct twheel_event_buffer *buf)
{
	if (buf->next == buf->filled)
		return NULL;
	return &buf->events[buf->next++];
}
