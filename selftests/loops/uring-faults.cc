// SPDX-License-Identifier: GPL-2.0-only
/*
 * uring-faults - functions that throw out of a source of io_uring, and a queue that is full
 *
 * usage: uring-faults throws|full
 *
 * The exit status is 0 if all was as it should be.
 */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "twheel-ring.h"
#include "twheel-uring.h"

static struct io_uring ring;
static struct twheel_uring *source;
static struct twheel *tw;
static int called, caught, detached;

static void check(int ret, const char *what)
{
	if (ret >= 0)
		return;
	std::printf("%s: %s\n", what, std::strerror(-ret));
	std::exit(1);
}

static void start(twheel_timer_fn *function, uint64_t ns)
{
	struct twheel_timer *timer;

	check(twheel_timer_new(&timer, tw, function, nullptr), "timer");
	check(twheel_timer_start(timer, ns, 0), "start");
}

static void throws(struct twheel_timer *, const struct twheel_event *, void *)
{
	called++;
	throw 1;
}

static void comes(struct twheel_timer *, const struct twheel_event *, void *)
{
	called++;
}

static void detaches(struct twheel_timer *, const struct twheel_event *, void *)
{
	called++;
	detached = twheel_uring_detach(source);
	throw 1;
}

/* A round of the loop, in which what is thrown is caught, and the call made again. */
static int turn()
{
	struct __kernel_timespec limit = { 10, 0 };
	struct io_uring_cqe *cqe;
	int ret = twheel_timer_flush(tw);

	check(ret, "flush");
	check(io_uring_submit(&ring), "submit");
	check(io_uring_wait_cqe_timeout(&ring, &cqe, &limit), "wait");
	void *data = io_uring_cqe_get_data(cqe);
	int res = cqe->res;

	io_uring_cqe_seen(&ring, cqe);
	while (twheel_uring_is(data)) {
		try {
			ret = twheel_uring_done(data, res);
			check(ret, "done");
			return ret;
		} catch (int) {
			caught++;
		}
	}
	return 0;
}

/*
 * All that are due in one read come, though the first of them throws, and one that comes later; and
 * a source that a function detaches before it throws is freed by the next call.
 */
static bool test_throws()
{
	check(twheel_open(&tw, nullptr, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, nullptr), "open");
	source = twheel_uring_attach(&ring, tw);
	check(source ? 0 : -errno, "attach");
	start(throws, 1000000);
	start(comes, 1000001);
	start(throws, 1000002);
	start(comes, 30000000);
	while (called < 4)
		turn();
	start(detaches, 1000000);
	while (!detached)
		if (turn() > 0)
			break;
	twheel_close(tw);
	std::printf("called %d, caught %d, detached %d\n", called, caught, detached);
	return called == 5 && caught == 3 && detached == 1;
}

static uint64_t expired_key;

static void expired(const struct twheel_event *event)
{
	expired_key = event->handle;
}

/* Entries of others fill the queue whenever a request is to be made: they are submitted. */
static void fill()
{
	struct io_uring_sqe *sqe;

	while ((sqe = io_uring_get_sqe(&ring))) {
		io_uring_prep_nop(sqe);
		io_uring_sqe_set_data64(sqe, 1000);
	}
}

static bool test_full()
{
	struct twheel_config config = {};
	static struct twheel_ring timers;
	struct twheel_ring_timer timer = {};
	struct io_uring_cqe *cqe;

	config.flags = TWHEEL_CONFIG_KEYED;
	check(twheel_open(&timers.tw, TWHEEL_DEVICE, TWHEEL_OPEN_CLOEXEC, &config), "open");
	timers.ring = &ring;
	timer.key = 7;
	fill();
	check(twheel_ring_read(&timers), "read");
	twheel_ring_push(&timers, &timer, twheel_now(timers.tw) + 1000000);
	fill();
	while (!expired_key) {
		check(twheel_ring_wait(&timers), "wait");
		while (!io_uring_peek_cqe(&ring, &cqe)) {
			if (cqe->user_data < 1000)
				check(twheel_ring_done(&timers, cqe, expired), "done");
			io_uring_cqe_seen(&ring, cqe);
		}
	}
	twheel_close(timers.tw);
	return expired_key == 7;
}

int main(int, char **argv)
{
	check(io_uring_queue_init(8, &ring, 0), "io_uring");
	return !(!std::strcmp(argv[1], "throws") ? test_throws() : test_full());
}
