// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * timerfd-server: what twheel-server does, with a timerfd for each client.
 *
 * It is there for comparison: Documentation/moving.md has both side by side.
 */
#include <arpa/inet.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define IDLE_S	1
/* In the data of an epoll event: not a client, but its timer. */
#define TIMER	(1ULL << 32)

/* The timers of the clients, by their descriptors. */
static int timers[1024];

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

	if (read(timers[fd], &expirations, sizeof(expirations)) > 0)
		hang_up(fd, "a client was silent");
}

static void serve(int fd)
{
	char data[512];
	ssize_t n = read(fd, data, sizeof(data));

	if (n <= 0 || send(fd, data, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) != n || start(fd))
		hang_up(fd, "a client has left");
}

/* Have epoll wait for a descriptor. That of a client gets a timer. */
static void watch(int epoll, int fd, int is_client)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = fd };

	/* A client may have left before it was accepted. */
	if (fd < 0)
		return;
	if (fd >= 1024 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		errx(1, "no room for descriptor %d", fd);
	if (!is_client)
		return;
	timers[fd] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	event.data.u64 |= TIMER;
	if (timers[fd] < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timers[fd], &event) || start(fd))
		err(1, "timerfd");
}

int main(void)
{
	struct sockaddr_in at = { AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	socklen_t len = sizeof(at);
	struct epoll_event event;

	if (bind(listener, (struct sockaddr *)&at, len) || listen(listener, SOMAXCONN) ||
	    getsockname(listener, (struct sockaddr *)&at, &len))
		err(1, "listen");
	watch(epoll, listener, 0);
	setlinebuf(stdout);
	printf("port %u\n", ntohs(at.sin_port));

	/* Take one event at a time: to handle it may hang up on the client of another. */
	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.u64 & TIMER)
			expire((int)(uint32_t)event.data.u64);
		else if ((int)event.data.u64 == listener)
			watch(epoll, accept(listener, NULL, NULL), 1);
		else
			serve((int)event.data.u64);
	}
}
