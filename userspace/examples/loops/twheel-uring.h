/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A twheel context in a loop of io_uring, with liburing. Copy this file into your program.
 *
 * The context is polled by one request at a time: each completion has the request made again,
 * which is as good as level-triggered. A multishot poll would be an edge.
 *
 * A completion may come after its context was detached and closed. So its user data is not that
 * of a context but of a source, which stays until then, plus one: no pointer of the program is
 * the same.
 *
 * Open the context with TWHEEL_OPEN_NONBLOCK. Detach it before you close it.
 */
#ifndef TWHEEL_URING_H
#define TWHEEL_URING_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <liburing.h>
#include <twheel.h>

/** struct twheel_uring - a context as a source of a ring */
struct twheel_uring {
	struct io_uring	*ring;
	/* NULL: it was detached. */
	struct twheel	*tw;
	/* It has a request, which twheel_uring_done() may be handling. */
	bool		polled;
};

/** twheel_uring_sqe() - a free entry of the submission queue, or NULL */
static inline struct io_uring_sqe *twheel_uring_sqe(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe && io_uring_submit(ring) >= 0)
		sqe = io_uring_get_sqe(ring);
	return sqe;
}

/** twheel_uring_poll() - poll for a source that has no request, after an error; 0 or -EBUSY */
static inline int twheel_uring_poll(struct twheel_uring *source)
{
	struct io_uring_sqe *sqe = twheel_uring_sqe(source->ring);

	if (!sqe)
		return -EBUSY;
	io_uring_prep_poll_add(sqe, twheel_fd(source->tw), POLLIN);
	io_uring_sqe_set_data(sqe, (char *)source + 1);
	source->polled = true;
	return 0;
}

/**
 * twheel_uring_attach() - have a ring wait for the timers of a context
 *
 * Return: the source; or NULL with errno, which is EINVAL for a context with keys, as timer
 * objects are not for these.
 */
static inline struct twheel_uring *twheel_uring_attach(struct io_uring *ring, struct twheel *tw)
{
	struct twheel_uring *source = (struct twheel_uring *)calloc(1, sizeof(*source));
	bool keyed = twheel_config_flags(tw) & TWHEEL_CONFIG_KEYED;
	int ret = keyed ? -EINVAL : source ? twheel_timer_flush(tw) : -ENOMEM;

	if (!ret) {
		source->ring = ring;
		source->tw = tw;
		ret = twheel_uring_poll(source);
	}
	if (!ret)
		return source;
	free(source);
	errno = -ret;
	return NULL;
}

/** twheel_uring_is() - is a completion with this user data for twheel_uring_done()? */
static inline bool twheel_uring_is(const void *data)
{
	return (uintptr_t)data & 1;
}

/**
 * twheel_uring_done() - call the functions of the timers
 * @data: the user data of a completion for which twheel_uring_is() is true
 * @res: of the completion, which was marked as seen; after an exception call it again with both
 *
 * Return: 0; 1 if that was the last completion of a source that was detached; or -EBUSY, or -errno
 * of the poll or of twheel_dispatch(): then no request is left. After -EBUSY, -ECANCELED, -ENOSPC,
 * -EDQUOT and -ENOMEM make one by twheel_uring_poll(). Any other error would come again at once.
 */
static inline int twheel_uring_done(void *data, int res)
{
	struct twheel_uring *source = (struct twheel_uring *)((char *)data - 1);
	int ret = source->tw && res >= 0 ? twheel_dispatch(source->tw) : res;

	source->polled = false;
	if (source->tw)
		return ret < 0 && ret != -EINTR ? ret : twheel_uring_poll(source);
	free(source);
	return 1;
}

/**
 * twheel_uring_wait() - submit and wait for a completion
 * @tw: the context, or NULL
 *
 * Return: 0 or more, or -errno, which may be that of twheel_timer_flush().
 */
static inline int twheel_uring_wait(struct io_uring *ring, struct twheel *tw)
{
	int ret = tw ? twheel_timer_flush(tw) : 0;

	return ret ? ret : io_uring_submit_and_wait(ring, 1);
}

/**
 * twheel_uring_detach() - end it, from wherever; the context may be closed at once
 *
 * If the ring has ended, as by io_uring_queue_exit(), free() the source instead. Otherwise
 * the cancellation has a completion, too: leave out the one whose user data is NULL.
 *
 * Return: 1 if twheel_uring_done() is to free the source, at a completion to come or, in a timer's
 * function, when that has returned; 0 if the source is freed; or -EBUSY, and nothing has changed.
 */
static inline int twheel_uring_detach(struct twheel_uring *source)
{
	struct io_uring_sqe *sqe;

	if (!source->polled) {
		free(source);
		return 0;
	}
	sqe = twheel_uring_sqe(source->ring);
	if (!sqe)
		return -EBUSY;
	io_uring_prep_cancel(sqe, (char *)source + 1, 0);
	io_uring_sqe_set_data(sqe, NULL);
	io_uring_submit(source->ring);
	source->tw = NULL;
	return 1;
}

#endif /* TWHEEL_URING_H */
