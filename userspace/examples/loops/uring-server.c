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
static struct twheel_uring *timers;
static bool stopped;
/* How many sources that were detached have a completion to come */
static int detached;

int loop_open(void)
{
	int ret = io_uring_queue_init(4096, &ring, 0);

	return ret < 0 ? ret : 0;
}

int loop_attach(struct twheel *tw)
{
	timers = twheel_uring_attach(&ring, tw);
	return timers ? 0 : -errno;
}

void loop_detach(void)
{
	int ret = twheel_uring_detach(timers);

	if (ret < 0)
		server_failed(timers->tw, ret);
	detached += ret;
	timers = NULL;
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
			server_failed(NULL, -EBUSY);
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

/* Take the next completion, if there is one. Those of cancellations have no data. */
static int take_completion(void **data, int *res)
{
	struct io_uring_cqe *cqe;

	if (io_uring_peek_cqe(&ring, &cqe))
		return 0;
	*data = io_uring_cqe_get_data(cqe);
	*res = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return 1;
}

static int timers_completed(void *data, int res)
{
	int ret = twheel_uring_done(data, res);

	if (ret > 0)
		detached--;
	return ret;
}

int loop_run(void)
{
	int res, ret = 0;
	void *data;

	while (!stopped && (ret >= 0 || ret == -EINTR)) {
		ret = twheel_uring_wait(&ring, timers ? timers->tw : NULL);
		while (ret >= 0 && take_completion(&data, &res)) {
			if (twheel_uring_is(data))
				ret = timers_completed(data, res);
			else if (data)
				ret = completed(data);
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
	void *data;
	int res;

	while (detached && twheel_uring_wait(&ring, NULL) >= 0) {
		while (take_completion(&data, &res)) {
			if (twheel_uring_is(data))
				timers_completed(data, res);
		}
	}
	io_uring_queue_exit(&ring);
}
