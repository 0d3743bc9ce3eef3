/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A twheel context in a loop of io_uring, with liburing. Copy this file into your program.
 *
 * The context is polled by one request at a time: each completion has the request made again,
 * which is as good as level-triggered. A multishot poll would be an edge.
 *
 * Open the context with TWHEEL_OPEN_NONBLOCK. Detach it before you close it.
 */
#ifndef TWHEEL_URING_H
#define TWHEEL_URING_H

#include <errno.h>
#include <poll.h>
#include <liburing.h>
#include <twheel.h>

/** twheel_uring_sqe() - a free entry of the submission queue, or NULL */
static inline struct io_uring_sqe *twheel_uring_sqe(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe && io_uring_submit(ring) >= 0)
		sqe = io_uring_get_sqe(ring);
	return sqe;
}

/**
 * twheel_uring_attach() - have a ring wait for the timers of a context
 * @tw: the context; the user data of its completions is this address
 *
 * Return: 0 or -EBUSY.
 */
static inline int twheel_uring_attach(struct io_uring *ring, struct twheel *tw)
{
	struct io_uring_sqe *sqe = twheel_uring_sqe(ring);

	if (!sqe)
		return -EBUSY;
	io_uring_prep_poll_add(sqe, twheel_fd(tw), POLLIN);
	io_uring_sqe_set_data(sqe, tw);
	return 0;
}

/**
 * twheel_uring_done() - call the functions of the timers, for a completion with user data @tw
 * @res: of the completion, which was marked as seen
 *
 * Return: 0; or -errno of the poll, of twheel_dispatch(), or -EBUSY: then no request is left.
 */
static inline int twheel_uring_done(struct io_uring *ring, struct twheel *tw, int res)
{
	int ret = res < 0 ? res : twheel_dispatch(tw);

	return ret < 0 && ret != -EINTR ? ret : twheel_uring_attach(ring, tw);
}

/** twheel_uring_wait() - submit and wait for a completion: 0 or more, or -errno */
static inline int twheel_uring_wait(struct io_uring *ring, struct twheel *tw)
{
	int ret = twheel_timer_flush(tw);

	return ret ? ret : io_uring_submit_and_wait(ring, 1);
}

/**
 * twheel_uring_detach() - cancel the request
 *
 * Not from a timer's function. Wait for the last completion with user data @tw before
 * twheel_close(), and do not pass it to twheel_uring_done(): it has -ECANCELED or, if timers
 * were due just then, the events of the poll.
 */
static inline void twheel_uring_detach(struct io_uring *ring, struct twheel *tw)
{
	struct io_uring_sqe *sqe = twheel_uring_sqe(ring);

	if (!sqe)
		return;
	io_uring_prep_cancel(sqe, tw, 0);
	io_uring_sqe_set_data(sqe, NULL);
	io_uring_submit(ring);
}

#endif /* TWHEEL_URING_H */
