// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * ring-server: echo what clients send, and hang up on those that say nothing for a second. All of
 * it is done by io_uring, timers too, so it takes the device.
 *
 * The lower half of a timer's key is the client's descriptor, and the upper one counts the clients
 * that have had that descriptor: so the timer of a client that has left names nobody.
 */
#include <err.h>
#include <errno.h>

#include "setup.h"
#include "twheel-ring.h"

#define IDLE_NS	1000000000ULL
#define MOST	1024

/* What a request is; the lower half of its user data is the descriptor of a client. */
enum { ACCEPT, RECEIVE, TIMERS, OTHER };

/**
 * struct client - a connection, by its descriptor
 * @timer: it expires when this one is silent
 * @gone: it is to be closed when its request to receive has ended
 * @data: what it has sent
 */
static struct client {
	struct twheel_ring_timer	timer;
	bool				gone;
	char				data[512];
} clients[MOST];

static struct io_uring ring;
static struct twheel_ring timers = { .ring = &ring, .data = (uint64_t)TIMERS << 32 };
static int listener;
/* Where there are too many descriptors it says when to try again. Its key, 0, is no client's. */
static struct twheel_ring_timer again;

/* A new request, to be filled in. The ring has room for all that there are at a time. */
static struct io_uring_sqe *request(uint64_t kind, int fd)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	check(sqe ? 0 : -EBUSY, "request");
	io_uring_sqe_set_data64(sqe, kind << 32 | (uint32_t)fd);
	return sqe;
}

static void await_clients(void)
{
	io_uring_prep_multishot_accept(request(ACCEPT, 0), listener, NULL, NULL, SOCK_CLOEXEC);
}

/* Wait for what the client says, for as long as it may be silent. */
static void await_data(int fd)
{
	struct client *client = &clients[fd];

	twheel_ring_push(&timers, &client->timer, twheel_now(timers.tw) + IDLE_NS);
	io_uring_prep_recv(request(RECEIVE, fd), fd, client->data, sizeof(client->data), 0);
}

/* @goes_on: the request does. It ends with an error, as if a client has left before. */
static void accepted(int fd, bool goes_on)
{
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM)
		twheel_ring_push(&timers, &again, twheel_now(timers.tw) + IDLE_NS / 10);
	else if (!goes_on)
		await_clients();
	if (fd < 0)
		return;
	clients[fd].timer.key = ((clients[fd].timer.key >> 32) + 1) << 32 | (uint32_t)fd;
	clients[fd].gone = false;
	await_data(fd);
}

static void received(int fd, int n)
{
	struct client *client = &clients[fd];
	struct io_uring_sqe *sqe;

	if (n > 0 && !client->gone) {
		/* If not all is sent, the request to receive, which is linked, fails. */
		sqe = request(OTHER, fd);
		io_uring_prep_send(sqe, fd, client->data, (size_t)n, MSG_NOSIGNAL | MSG_WAITALL);
		sqe->flags |= IOSQE_IO_LINK;
		await_data(fd);
		return;
	}
	if (!client->gone)
		puts("a client has left");
	client->gone = true;
	io_uring_prep_close(request(OTHER, fd), fd);
}

/* A timer has expired: its client was silent, unless it has left or talked since. */
static void expired(const struct twheel_event *event)
{
	int fd = (int)(uint32_t)event->handle;
	struct client *client = &clients[fd];

	if (event->handle == again.key) {
		await_clients();
		return;
	}
	if (event->handle != client->timer.key || client->gone ||
	    client->timer.expires > event->expired)
		return;
	puts("a client was silent");
	client->gone = true;
	/* So its request to receive ends. */
	io_uring_prep_shutdown(request(OTHER, fd), fd, SHUT_RDWR);
}

static void completed(const struct io_uring_cqe *cqe)
{
	uint64_t kind = cqe->user_data >> 32;

	if (kind == TIMERS)
		check(twheel_ring_done(&timers, cqe, expired), "timers");
	else if (kind == ACCEPT)
		accepted(cqe->res, cqe->flags & IORING_CQE_F_MORE);
	else if (kind == RECEIVE)
		received((int)(uint32_t)cqe->user_data, cqe->res);
}

int main(void)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_KEYED };
	struct io_uring_cqe *cqe;

	setup_limit(MOST);
	check(twheel_open(&timers.tw, TWHEEL_DEVICE, TWHEEL_OPEN_CLOEXEC, &config), TWHEEL_DEVICE);
	check(io_uring_queue_init(4 * MOST, &ring, 0), "io_uring");
	listener = setup_listener(NULL, 0);
	await_clients();
	check(twheel_ring_read(&timers), "timers");
	for (;;) {
		check(twheel_ring_wait(&timers), "io_uring");
		while (!io_uring_peek_cqe(&ring, &cqe)) {
			completed(cqe);
			io_uring_cqe_seen(&ring, cqe);
		}
	}
}
