/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The timers of a device in io_uring alone, with liburing: they take no system call of their own.
 * Copy this file into your program. A read of the device tells what has expired. A write to it
 * pushes back, or makes, all timers that twheel_ring_push() has listed since the last write.
 *
 * Only the device takes such requests: see twheel-uring.h for a wheel in the process. Open the
 * context with TWHEEL_CONFIG_KEYED and without TWHEEL_OPEN_NONBLOCK.
 */
#ifndef TWHEEL_RING_H
#define TWHEEL_RING_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <liburing.h>
#include <twheel.h>

/* How many timers one write pushes back, at most */
#define TWHEEL_RING_PUSHES	256

/**
 * struct twheel_ring_timer - a timer
 * @key: its key
 * @expires: the time to which it was last pushed back
 * @listed: it is in the list of those to be pushed back; until it is not, do not free it
 * @next: the next one of that list
 */
struct twheel_ring_timer {
	uint64_t			key;
	uint64_t			expires;
	bool				listed;
	struct twheel_ring_timer	*next;
};

/**
 * struct twheel_ring - a context and its requests: a read, and at times a write
 * @ring: the ring
 * @tw: the context
 * @data: the user data of reads; that of writes is one more
 * @list: the timers that are to be pushed back
 * @writing: a write is under way
 * @nr_pushes: how many pushes are being written, or are left to the next write
 * @pushes: these
 * @events: what a read returns
 */
struct twheel_ring {
	struct io_uring			*ring;
	struct twheel			*tw;
	uint64_t			data;
	struct twheel_ring_timer	*list;
	bool				writing;
	unsigned int			nr_pushes;
	struct twheel_push		pushes[TWHEEL_RING_PUSHES];
	struct twheel_event		events[64];
};

/** twheel_ring_push() - push a timer back, by the next write */
static inline void twheel_ring_push(struct twheel_ring *timers, struct twheel_ring_timer *timer,
				    uint64_t expires)
{
	timer->expires = expires;
	if (timer->listed)
		return;
	timer->listed = true;
	timer->next = timers->list;
	timers->list = timer;
}

/** twheel_ring_read() - begin to wait for timers; 0 or -EBUSY */
static inline int twheel_ring_read(struct twheel_ring *timers)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(timers->ring);

	if (!sqe && io_uring_submit(timers->ring) >= 0)
		sqe = io_uring_get_sqe(timers->ring);
	if (!sqe)
		return -EBUSY;
	io_uring_prep_read(sqe, twheel_fd(timers->tw), timers->events, sizeof(timers->events),
			   (uint64_t)-1);
	io_uring_sqe_set_data64(sqe, timers->data);
	return 0;
}

/** twheel_ring_write() - write the pushes, unless a write is under way; 0 or -EBUSY */
static inline int twheel_ring_write(struct twheel_ring *timers)
{
	struct io_uring_sqe *sqe;

	if (timers->writing || (!timers->list && !timers->nr_pushes))
		return 0;
	sqe = io_uring_get_sqe(timers->ring);
	if (!sqe && io_uring_submit(timers->ring) >= 0)
		sqe = io_uring_get_sqe(timers->ring);
	if (!sqe)
		return -EBUSY;
	while (timers->list && timers->nr_pushes < TWHEEL_RING_PUSHES) {
		struct twheel_push *push = &timers->pushes[timers->nr_pushes++];

		push->handle = timers->list->key;
		push->expires = timers->list->expires;
		timers->list->listed = false;
		timers->list = timers->list->next;
	}
	io_uring_prep_write(sqe, twheel_fd(timers->tw), timers->pushes,
			    timers->nr_pushes * sizeof(*timers->pushes), (uint64_t)-1);
	io_uring_sqe_set_data64(sqe, timers->data + 1);
	timers->writing = true;
	return 0;
}

/**
 * twheel_ring_done() - a read or a write has been completed
 * @cqe: its completion
 * @expired: called for each expiration. If the timer's @expires is after the event's @expired, the
 *	timer was pushed back too late.
 *
 * Return: 0, or -errno of the request. After -EBUSY, and after -ECANCELED of a read, as the clock
 * was set, call twheel_ring_read(). What was not written is left to the next write.
 */
static inline int twheel_ring_done(struct twheel_ring *timers, const struct io_uring_cqe *cqe,
				   void (*expired)(const struct twheel_event *event))
{
	/* A signal may end a request early, so that less was written or nothing was read. */
	int n, res = cqe->res == -EINTR ? 0 : cqe->res;

	if (cqe->user_data != timers->data) {
		n = res < 0 ? 0 : res / (int)sizeof(*timers->pushes);
		timers->writing = false;
		timers->nr_pushes -= (unsigned int)n;
		memmove(timers->pushes, timers->pushes + n,
			timers->nr_pushes * sizeof(*timers->pushes));
		return res < 0 ? res : 0;
	}
	for (n = 0; n < res / (int)sizeof(*timers->events); n++)
		expired(&timers->events[n]);
	return res < 0 ? res : twheel_ring_read(timers);
}

/** twheel_ring_wait() - write the pushes, and wait for a completion or a signal; 0 or -errno */
static inline int twheel_ring_wait(struct twheel_ring *timers)
{
	int ret = twheel_ring_write(timers);

	if (!ret)
		ret = io_uring_submit_and_wait(timers->ring, 1);
	return ret < 0 && ret != -EINTR ? ret : 0;
}

#endif /* TWHEEL_RING_H */
