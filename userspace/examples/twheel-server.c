// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel-server: echo what clients send, and hang up on those that say nothing.
 *
 * Each client has a timer, which starts again when the client sends something. All timers
 * are on one descriptor, and epoll waits for it as it does for the connections.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <twheel.h>

#define IDLE_NS	1000000000ULL

/* The timers of the clients, by their descriptors. That of the listener says when to try again. */
static struct twheel_timer *timers[1024];
static struct twheel *tw;
static int epoll, listener;

/* Have epoll wait for a descriptor. */
static void watch(int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		err(1, "no room for descriptor %d", fd);
}

/* Called by twheel_dispatch() some time after there was no room for another client. */
static void listen_again(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	(void)timer;
	(void)event;
	(void)arg;
	watch(listener);
}

/* Called by twheel_dispatch() when a client was silent. */
static void hang_up(struct twheel_timer *timer, const struct twheel_event *event, void *place)
{
	puts(event ? "a client was silent" : "a client has left");
	twheel_timer_free(timer);
	close((int)((struct twheel_timer **)place - timers));
}

static void serve(int fd)
{
	char data[512];
	ssize_t n = read(fd, data, sizeof(data));

	if (n <= 0 || send(fd, data, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) != n ||
	    twheel_timer_start(timers[fd], IDLE_NS, 0))
		hang_up(timers[fd], NULL, &timers[fd]);
}

static void welcome(void)
{
	int fd = accept(listener, NULL, NULL);

	if (fd >= 1024) {
		close(fd);
	} else if (fd >= 0) {
		watch(fd);
		if (twheel_timer_new(&timers[fd], tw, hang_up, &timers[fd]) ||
		    twheel_timer_start(timers[fd], IDLE_NS, 0))
			errx(1, "no room for descriptor %d", fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		/* The listener would be readable all the time. */
		epoll_ctl(epoll, EPOLL_CTL_DEL, listener, NULL);
		if (twheel_timer_start(timers[listener], IDLE_NS, 0))
			errx(1, "no room for a timer");
	}
}

int main(void)
{
	/* With leases a timer that is pending starts again without a system call. */
	struct twheel_config config = { .flags = TWHEEL_CONFIG_LEASE };
	struct sockaddr_in at = { AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	struct epoll_event event;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	errno = -twheel_open(&tw, NULL, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, &config);
	if (errno)
		err(1, TWHEEL_DEVICE " or TWHEEL_BACKEND (auto, device, embedded)");
	if (bind(listener, (struct sockaddr *)&at, len) || listen(listener, SOMAXCONN) ||
	    getsockname(listener, (struct sockaddr *)&at, &len))
		err(1, "listen");
	if (twheel_timer_new(&timers[listener], tw, listen_again, NULL))
		errx(1, "no room for a timer");
	watch(listener);
	watch(twheel_fd(tw));
	setlinebuf(stdout);
	printf("port %u\n", ntohs(at.sin_port));

	/* Take one event at a time: to handle it may hang up on the client of another. */
	for (;;) {
		int fd = epoll_wait(epoll, &event, 1, -1) == 1 ? event.data.fd : -1;

		if (fd == twheel_fd(tw))
			twheel_dispatch(tw);
		else if (fd == listener)
			welcome();
		else if (fd >= 0)
			serve(fd);
	}
}
