// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The echo server in a loop of io_uring.
 *
 * Each watch has at most one request, a poll, and is freed when that has been completed: so
 * no completion names a watch that is gone.
 */
#include "server.h"
#include "twheel-uring.h"

/* The state of a watch: its poll is submitted; it is being served; it has ended. */
enum { POLLED, SERVED, ENDED };

const bool loop_flushes = true;
static struct io_uring ring;
static struct twheel *timers;
static bool stopped;

int loop_open(void)
{
	int ret = io_uring_queue_init(4096, &ring, 0);

	return ret < 0 ? ret : 0;
}

int loop_attach(struct twheel *tw)
{
	timers = tw;
	return twheel_uring_attach(&ring, tw);
}

void loop_detach(void)
{
	twheel_uring_detach(&ring, timers);
}

int loop_watch(struct watch *watch)
{
	struct io_uring_sqe *sqe = twheel_uring_sqe(&ring);

	if (!sqe)
		return -EBUSY;
	io_uring_prep_poll_add(sqe, watch->fd, POLLIN);
	io_uring_sqe_set_data(sqe, watch);
	watch->state = POLLED;
	return 0;
}

void loop_unwatch(struct watch *watch)
{
	struct io_uring_sqe *sqe;

	if (watch->state == POLLED) {
		sqe = twheel_uring_sqe(&ring);
		if (!sqe)
			server_failed(timers, -EBUSY);
		io_uring_prep_cancel(sqe, watch, 0);
		io_uring_sqe_set_data(sqe, NULL);
	}
	watch->state = ENDED;
}

static int completed(struct watch *watch)
{
	if (watch->state == POLLED) {
		watch->state = SERVED;
		watch->ready(watch);
	}
	if (watch->state == SERVED)
		return loop_watch(watch);
	watch->gone(watch);
	return 0;
}

int loop_run(void)
{
	struct io_uring_cqe *cqe;
	int ret = 0;

	while (!stopped && (ret >= 0 || ret == -EINTR)) {
		ret = twheel_uring_wait(&ring, timers);
		while (ret >= 0 && !io_uring_peek_cqe(&ring, &cqe)) {
			void *what = io_uring_cqe_get_data(cqe);
			int res = cqe->res;

			io_uring_cqe_seen(&ring, cqe);
			/* Those of cancellations have no data. */
			if (what == timers)
				ret = twheel_uring_done(&ring, timers, res);
			else if (what)
				ret = completed(what);
		}
	}
	return ret < 0 && ret != -EINTR ? ret : 0;
}

void loop_stop(void)
{
	stopped = true;
}

void loop_close(void)
{
	io_uring_queue_exit(&ring);
}
