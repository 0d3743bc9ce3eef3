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
 * Each client has a timer, which starts again when the client sends something. As the context has
 * leases, that takes no system call. The loop (server.h) calls both functions of a client: that for
 * what it sends, and that of its timer. Where there are too many, the next ones wait.
 */
#include <unistd.h>

#include "server.h"
#include "setup.h"

struct client {
	struct watch		watch;
	struct twheel_timer	*timer;
};

static struct twheel *timers;
static uint64_t idle_ns = 1000000000;
static struct twheel_timer *again; /* It says when there may be room for another client. */

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

/* Serve a client, if @fd is one: 0, or @fd; or -EMFILE, as there is no room. */
static int admit(int fd)
{
	struct client *client = fd < 0 ? NULL : calloc(1, sizeof(*client));

	if (fd < 0)
		return fd;
	if (client) {
		client->watch = (struct watch){ fd, serve, client_gone, NULL, 0 };
		if (!twheel_timer_new(&client->timer, timers, silent, client) &&
		    !twheel_timer_start(client->timer, idle_ns, 0) && !loop_watch(&client->watch))
			return 0;
		twheel_timer_free(client->timer);
		free(client);
	}
	close(fd);
	return -EMFILE;
}

static void welcome(struct watch *listener)
{
	int i, ret = 0;

	/* The others have to wait for their turn. */
	for (i = 0; i < 64 && !ret; i++)
		ret = admit(setup_accept(listener->fd));
	if (ret == -EMFILE)
		loop_unwatch(listener);
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

static void stop(struct watch *signals)
{
	(void)signals;
	loop_stop();
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
	struct watch signals = { setup_signals(), stop, stop, NULL, 0 };

	setup_limit(RLIM_INFINITY);
	if (argc > 1)
		idle_ns = setup_idle(argv[1]);
	check(twheel_open(&timers, NULL, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, &config),
	      TWHEEL_DEVICE " or TWHEEL_BACKEND (auto, device, embedded)");
	check(loop_flushes ? twheel_timer_defer(timers, 1) : 0, "queue");
	check(loop_open(), "loop");
	check(loop_attach(timers), "loop");
	check(twheel_timer_new(&again, timers, try_again, &listener), "timers");
	listener.fd = setup_listener(argc > 2 ? argv[2] : NULL, SOCK_NONBLOCK);
	check(loop_watch(&signals), "loop");
	check(loop_watch(&listener), "loop");
	check(loop_run(), "timers");
	loop_detach();
	loop_close();
	twheel_close(timers);
	return 0;
}
