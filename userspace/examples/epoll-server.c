// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * epoll-server: echo what clients send, and hang up on those that say nothing.
 *
 * Each connection has a timer, which starts again when the client sends something. All
 * timers are on one descriptor, and epoll waits for it as it does for the connections.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <twheel.h>

#define IDLE_NS	1000000000ULL

struct client {
	int			fd;
	struct twheel_timer	*timer;
};

static void hang_up(struct client *client, const char *why)
{
	puts(why);
	twheel_timer_free(client->timer);
	close(client->fd);
	free(client);
}

static void on_idle(struct twheel_timer *timer, const struct twheel_event *event, void *client)
{
	(void)timer;
	(void)event;
	hang_up(client, "a client was silent");
}

static void serve(struct client *client)
{
	char data[512];
	ssize_t n = read(client->fd, data, sizeof(data));

	if (n <= 0 || send(client->fd, data, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) != n ||
	    twheel_timer_start(client->timer, IDLE_NS, 0))
		hang_up(client, "a client has left");
}

static void watch(int epoll, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		err(1, "epoll");
}

static void welcome(struct twheel *tw, int epoll, int listener)
{
	int fd = accept(listener, NULL, NULL);
	struct client *client;

	/* The client may have left again. */
	if (fd < 0)
		return;
	client = malloc(sizeof(*client));
	if (!client || twheel_timer_new(&client->timer, tw, on_idle, client) ||
	    twheel_timer_start(client->timer, IDLE_NS, 0))
		errx(1, "no room for another client");
	client->fd = fd;
	watch(epoll, fd, client);
}

int main(void)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	struct epoll_event event;
	struct twheel *tw;

	errno = -twheel_open(&tw, NULL, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, NULL);
	if (errno)
		err(1, TWHEEL_DEVICE);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, len) || listen(listener, SOMAXCONN) ||
	    getsockname(listener, (struct sockaddr *)&address, &len))
		err(1, "listen");
	watch(epoll, listener, NULL);
	watch(epoll, twheel_fd(tw), tw);
	setlinebuf(stdout);
	printf("port %u\n", ntohs(address.sin_port));

	/* Take one event at a time: to handle it may free the client of another. */
	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		if (!event.data.ptr)
			welcome(tw, epoll, listener);
		else if (event.data.ptr == tw)
			twheel_dispatch(tw);
		else
			serve(event.data.ptr);
	}
}
