// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * timerfd-server: what twheel-server does, with a timerfd for each client.
 *
 * It is there for comparison: Documentation/moving.md has both side by side.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define IDLE_S	1
/* In the data of an epoll event: not a client, but its timer. */
#define TIMER	(1ULL << 32)

/* The timers of the clients, by their descriptors. That of the listener says when to try again. */
static int timers[1024];
static int epoll, listener;

/* Have epoll wait for a descriptor. */
static void watch(int fd, uint64_t data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		err(1, "no room for descriptor %d", fd);
}

static void hang_up(int fd, const char *why)
{
	puts(why);
	close(timers[fd]);
	close(fd);
}

static int start(int fd)
{
	struct itimerspec idle = { .it_value.tv_sec = IDLE_S };

	return timerfd_settime(timers[fd], 0, &idle, NULL);
}

/* Called when a client's timer is readable, which may be over by now: data came in. */
static void expire(int fd)
{
	uint64_t expirations;

	if (read(timers[fd], &expirations, sizeof(expirations)) <= 0)
		return;
	if (fd == listener)
		watch(listener, listener);
	else
		hang_up(fd, "a client was silent");
}

static void serve(int fd)
{
	char data[512];
	ssize_t n = read(fd, data, sizeof(data));

	if (n <= 0 || send(fd, data, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) != n || start(fd))
		hang_up(fd, "a client has left");
}

/* Make the timer of a descriptor. */
static int add_timer(int fd)
{
	timers[fd] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timers[fd] >= 0)
		watch(timers[fd], TIMER | fd);
	return timers[fd];
}

static void welcome(void)
{
	int fd = accept(listener, NULL, NULL);
	bool full = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			       errno == ENOMEM);

	if (fd >= 1024 || (fd >= 0 && add_timer(fd) < 0)) {
		full = fd < 1024;
		close(fd);
	} else if (fd >= 0) {
		watch(fd, fd);
		start(fd);
	}
	if (full) {
		/* The listener would be readable all the time. */
		epoll_ctl(epoll, EPOLL_CTL_DEL, listener, NULL);
		start(listener);
	}
}

int main(void)
{
	struct sockaddr_in at = { AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	struct epoll_event event;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (bind(listener, (struct sockaddr *)&at, len) || listen(listener, SOMAXCONN) ||
	    getsockname(listener, (struct sockaddr *)&at, &len))
		err(1, "listen");
	watch(listener, listener);
	if (add_timer(listener) < 0)
		err(1, "timerfd");
	setlinebuf(stdout);
	printf("port %u\n", ntohs(at.sin_port));

	/* Take one event at a time: to handle it may hang up on the client of another. */
	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.u64 & TIMER)
			expire((int)(uint32_t)event.data.u64);
		else if ((int)event.data.u64 == listener)
			welcome();
		else
			serve((int)event.data.u64);
	}
}
