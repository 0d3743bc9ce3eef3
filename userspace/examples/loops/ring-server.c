// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * ring-server: echo what clients send, and hang up on those that say nothing for a second. All of
 * it is done by io_uring, timers too, so it takes the device.
 *
 * A read of the device tells which timers have expired. A write to it pushes back those of all
 * clients that have said something since the last write. Timers have keys, so a push makes a timer
 * if there is none, and no call is needed for that. The key is the client's descriptor, with how
 * many clients have had that descriptor: so the timer of a client that has left names nobody.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <liburing.h>
#include <twheel.h>

#define IDLE_NS	1000000000ULL
#define MOST	1024

/* What a request is; the lower half of its user data is the descriptor of a client. */
enum { ACCEPT, RECEIVE, SEND, TIMERS, PUSH, CLOSE, OTHER };

/**
 * struct client - a connection, by its descriptor
 * @number: how many clients had this descriptor before
 * @until: when it is silent
 * @pushed: it is in the list of those whose timers are to be pushed back
 * @gone: it is to be closed when its request has ended, of which it has one at a time
 * @data: what it has sent
 */
static struct client {
	uint32_t	number;
	uint64_t	until;
	bool		pushed, gone;
	char		data[512];
} clients[MOST];

static struct io_uring ring;
static struct twheel *tw;
/* Whose timers are to be pushed back, and what is being written at present */
static int talked[MOST];
static struct twheel_push pushes[MOST];
static unsigned int nr_talked, nr_pushes;
static int listener;
/* There were too many descriptors to accept another client. */
static bool full;
static struct twheel_event events[64];

/* A new request, of a kind and for a client, to be filled in */
static struct io_uring_sqe *request(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe && io_uring_submit(&ring) >= 0)
		sqe = io_uring_get_sqe(&ring);
	if (!sqe)
		errx(1, "the ring is full");
	return sqe;
}

static void name(struct io_uring_sqe *sqe, uint64_t kind, int fd)
{
	io_uring_sqe_set_data64(sqe, kind << 32 | (uint32_t)fd);
}

static uint64_t key_of(int fd)
{
	return (uint64_t)clients[fd].number << 32 | (uint32_t)fd;
}

static void await_timers(void)
{
	struct io_uring_sqe *sqe = request();

	io_uring_prep_read(sqe, twheel_fd(tw), events, sizeof(events), (uint64_t)-1);
	name(sqe, TIMERS, 0);
}

static void await_data(int fd)
{
	struct io_uring_sqe *sqe = request();

	io_uring_prep_recv(sqe, fd, clients[fd].data, sizeof(clients[fd].data), 0);
	name(sqe, RECEIVE, fd);
}

/* The client has said something, or is new. */
static void has_talked(int fd)
{
	struct client *client = &clients[fd];

	client->until = twheel_now(tw) + IDLE_NS;
	if (client->pushed)
		return;
	client->pushed = true;
	talked[nr_talked++] = fd;
}

/* Write what is in the list of pushes. */
static void write_pushes(void)
{
	struct io_uring_sqe *sqe = request();

	io_uring_prep_write(sqe, twheel_fd(tw), pushes, nr_pushes * sizeof(*pushes), (uint64_t)-1);
	name(sqe, PUSH, 0);
}

/* A write has ended. A signal may have ended it before all of the list was written. */
static void written(int res)
{
	unsigned int done = (unsigned int)res / sizeof(*pushes);

	if (res < 0 && res != -EINTR)
		errx(1, "write: %s", strerror(-res));
	if (res < 0)
		done = 0;
	nr_pushes -= done;
	memmove(pushes, pushes + done, nr_pushes * sizeof(*pushes));
	if (nr_pushes)
		write_pushes();
}

/* Write until when the clients that have talked may be silent, if the last write has ended. */
static void push_timers(void)
{
	unsigned int i;

	if (nr_pushes)
		return;
	for (i = 0; i < nr_talked; i++) {
		struct client *client = &clients[talked[i]];

		client->pushed = false;
		if (!client->gone)
			pushes[nr_pushes++] = (struct twheel_push){
				.handle = key_of(talked[i]), .expires = client->until,
			};
	}
	nr_talked = 0;
	if (nr_pushes)
		write_pushes();
}

static void await_clients(void)
{
	struct io_uring_sqe *sqe = request();

	io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, SOCK_CLOEXEC);
	name(sqe, ACCEPT, 0);
}

/* @goes_on: the request does. It ends with an error, as if a client has left before. */
static void accepted(int fd, bool goes_on)
{
	if (fd == -EMFILE || fd == -ENFILE)
		full = true;
	else if (!goes_on)
		await_clients();
	if (fd < 0)
		return;
	if (fd >= MOST)
		errx(1, "no room for descriptor %d", fd);
	clients[fd].number++;
	clients[fd].gone = false;
	has_talked(fd);
	await_data(fd);
}

/* The request of a client has ended, and it is to be closed. */
static void hang_up(int fd)
{
	struct io_uring_sqe *sqe = request();

	if (!clients[fd].gone)
		puts("a client has left");
	clients[fd].gone = true;
	io_uring_prep_close(sqe, fd);
	name(sqe, CLOSE, 0);
}

static void received(int fd, int n)
{
	struct io_uring_sqe *sqe;

	if (n <= 0 || clients[fd].gone) {
		hang_up(fd);
		return;
	}
	has_talked(fd);
	sqe = request();
	io_uring_prep_send(sqe, fd, clients[fd].data, (size_t)n, MSG_NOSIGNAL | MSG_WAITALL);
	name(sqe, SEND, fd);
}

static void sent(int fd, int n)
{
	if (n <= 0 || clients[fd].gone)
		hang_up(fd);
	else
		await_data(fd);
}

/* A timer has expired: its client was silent, unless it has left or talked since. */
static void expired(const struct twheel_event *event)
{
	int fd = (int)(uint32_t)event->handle;
	struct client *client = &clients[fd];
	struct io_uring_sqe *sqe;

	if (event->handle != key_of(fd) || client->gone || client->until > event->expired)
		return;
	puts("a client was silent");
	client->gone = true;
	/* So its request ends. */
	sqe = request();
	io_uring_prep_shutdown(sqe, fd, SHUT_RDWR);
	name(sqe, OTHER, 0);
}

static void have_expired(int res)
{
	int i, n = res / (int)sizeof(*events);

	if (res < 0 && res != -EINTR)
		errx(1, "read: %s", strerror(-res));
	for (i = 0; i < n; i++)
		expired(&events[i]);
	await_timers();
}

/* A descriptor is free again. */
static void closed(void)
{
	if (full)
		await_clients();
	full = false;
}

static void completed(uint64_t data, int res, bool goes_on)
{
	int fd = (int)(uint32_t)data;

	switch (data >> 32) {
	case ACCEPT:
		accepted(res, goes_on);
		break;
	case RECEIVE:
		received(fd, res);
		break;
	case SEND:
		sent(fd, res);
		break;
	case TIMERS:
		have_expired(res);
		break;
	case PUSH:
		written(res);
		break;
	case CLOSE:
		closed();
		break;
	}
}

int main(void)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_KEYED };
	struct sockaddr_in at = { AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	struct io_uring_cqe *cqe;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	errno = -twheel_open(&tw, TWHEEL_DEVICE, TWHEEL_OPEN_CLOEXEC, &config);
	if (errno)
		err(1, TWHEEL_DEVICE);
	errno = -io_uring_queue_init(4 * MOST, &ring, 0);
	if (errno)
		err(1, "io_uring");
	if (bind(listener, (struct sockaddr *)&at, len) || listen(listener, SOMAXCONN) ||
	    getsockname(listener, (struct sockaddr *)&at, &len))
		err(1, "listen");
	setlinebuf(stdout);
	printf("port %u\n", ntohs(at.sin_port));

	await_clients();
	await_timers();
	for (;;) {
		uint64_t data;
		bool goes_on;
		int res;

		push_timers();
		io_uring_submit_and_wait(&ring, 1);
		while (!io_uring_peek_cqe(&ring, &cqe)) {
			data = io_uring_cqe_get_data64(cqe);
			res = cqe->res;
			goes_on = cqe->flags & IORING_CQE_F_MORE;
			io_uring_cqe_seen(&ring, cqe);
			completed(data, res, goes_on);
		}
	}
}
