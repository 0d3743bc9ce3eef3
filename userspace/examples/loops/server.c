// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An echo server: it sends back what clients send, and hangs up on those that say nothing.
 *
 * usage: LOOP-server [MILLISECONDS [PATH]]
 *
 * A client may be silent for a second, unless told. What a client sends that begins with q
 * says that it is nearly done: then it gets a twentieth of that. The server listens on a TCP
 * port of its choice, or at PATH.
 *
 * Each client has a timer, which starts again when the client sends something. As the context
 * has leases, that takes no system call. Where there are too many clients, the next ones wait
 * until others have left. The loop (server.h) calls both functions of a client:
 * that for what it sends, and that of its timer.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"
#include "setup.h"

#define MS_MAX	(INT64_MAX / 1000000ULL)

struct client {
	struct watch		watch;
	struct twheel_timer	*timer;
};

static struct twheel *timers;
static uint64_t idle_ns = 1000000000;
/* Where there is no room for another client, it says when to try again. */
static struct twheel_timer *again;

static void client_gone(struct watch *watch)
{
	close(watch->fd);
	free((struct client *)watch);
}

static void hang_up(struct client *client, const char *why)
{
	puts(why);
	twheel_timer_free(client->timer);
	loop_unwatch(&client->watch);
}

/* Called by the loop while there is something to read. */
static void serve(struct watch *watch)
{
	struct client *client = (struct client *)watch;
	char data[512];
	ssize_t n = recv(watch->fd, data, sizeof(data), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0 || send(watch->fd, data, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) != n ||
	    twheel_timer_start(client->timer, *data == 'q' ? idle_ns / 20 : idle_ns, 0))
		hang_up(client, "a client has left");
}

/* Called by twheel_dispatch(). The client may have spoken, and the loop not have said so yet. */
static void silent(struct twheel_timer *timer, const struct twheel_event *event, void *client)
{
	struct watch *watch = client;
	char byte;

	(void)timer;
	(void)event;
	if (recv(watch->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN)
		serve(watch);
	else
		hang_up(client, "a client was silent");
}

/* Serve a client, and false; or hang up on it, and true, as there is no room. */
static bool turn_away(int fd)
{
	struct client *client = calloc(1, sizeof(*client));

	if (client) {
		client->watch = (struct watch){ fd, serve, client_gone, NULL, 0 };
		if (!twheel_timer_new(&client->timer, timers, silent, client) &&
		    !twheel_timer_start(client->timer, idle_ns, 0) && !loop_watch(&client->watch))
			return false;
		twheel_timer_free(client->timer);
		free(client);
	}
	close(fd);
	return true;
}

static void welcome(struct watch *listener)
{
	int i, fd;

	/* The others have to wait for their turn. */
	for (i = 0; i < 64; i++) {
		fd = accept(listener->fd, NULL, NULL);
		if (fd < 0 ? errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS : turn_away(fd)) {
			loop_unwatch(listener);
			return;
		}
		/* None is left, or one has left before it was accepted. */
		if (fd < 0)
			return;
	}
}

/* The listener is not watched any more: it would be ready all the time. */
static void full(struct watch *listener)
{
	(void)listener;
	check(twheel_timer_start(again, 100000000, 0), "timers");
}

static void try_again(struct twheel_timer *timer, const struct twheel_event *event, void *listener)
{
	(void)timer;
	(void)event;
	if (loop_watch(listener))
		full(listener);
}

static void told_to_stop(struct watch *signals)
{
	(void)signals;
	loop_stop();
}

static void closed(struct watch *watch)
{
	close(watch->fd);
}

void server_failed(struct twheel *tw, int err)
{
	(void)tw;
	check(err, "timers");
}

int main(int argc, char **argv)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_LEASE };
	struct watch listener = { -1, welcome, full, NULL, 0 };
	struct watch signals = { setup_signals(), told_to_stop, closed, NULL, 0 };

	setup_limit(RLIM_INFINITY);
	if (argc > 1) {
		char *end;
		unsigned long long ms = strtoull(argv[1], &end, 10);

		/* A longer time would wrap around, and be a short one. */
		if (*argv[1] < '0' || *argv[1] > '9' || *end || !ms || ms > MS_MAX)
			errx(2, "'%s' is not a number of milliseconds from 1 to %llu", argv[1],
			     MS_MAX);
		idle_ns = ms * 1000000;
	}
	check(twheel_open(&timers, NULL, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, &config),
	      TWHEEL_DEVICE " or TWHEEL_BACKEND (auto, device, embedded)");
	check(loop_flushes ? twheel_timer_defer(timers, 1) : 0, "queue");
	check(loop_open(), "loop");
	check(loop_attach(timers), "loop");
	check(twheel_timer_new(&again, timers, try_again, &listener), "timers");
	listener.fd = setup_listener(argc > 2 ? argv[2] : NULL, SOCK_NONBLOCK);
	if (loop_watch(&signals) || loop_watch(&listener))
		errx(1, "no room in the loop");
	check(loop_run(), "timers");
	loop_detach();
	loop_close();
	twheel_close(timers);
	return 0;
}
