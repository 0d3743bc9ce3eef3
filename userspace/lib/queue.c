// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: re-arms and cancels of timer objects that the device is not told at once.
 *
 * Only calls that cannot fail are queued: a re-arm of a live timer, which takes no memory,
 * and a cancel of one. To the program they take effect at once: loop.c gives the timer the
 * number of its new arming, or disarms it, before the device knows. The queue is flushed
 * before each read, so no record of an arming that was replaced in the queue is read after
 * that. What has passed on a clock that may be set back is not queued, as the step may come
 * before the flush; twheel_set_now() flushes.
 *
 * All the same a re-arm finds no timer if its last record was read behind the library's
 * back, by another process that has the descriptor. Then a new timer is made, as
 * twheel_timer_arm() does. This may fail, and the program learns it from the next flush or
 * dispatch.
 *
 * Locking rules: as in loop.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "loop.h"

/* How many re-arms fit in a queue, and how many cancels. */
#define TWHEEL_QUEUE_MAX	256

/**
 * struct twheel_queue - what the device is not told yet
 * @nr_arms: how many re-arms there are
 * @nr_cancels: how many cancels there are
 * @timers: the timer of each re-arm, which has its index here in its slot
 * @arms: the re-arms
 * @cancels: the cancels; their timers may have been freed, or armed again
 */
struct twheel_queue {
	size_t			nr_arms;
	size_t			nr_cancels;
	struct twheel_timer	*timers[TWHEEL_QUEUE_MAX];
	struct twheel_arm	arms[TWHEEL_QUEUE_MAX];
	struct twheel_cancel	cancels[TWHEEL_QUEUE_MAX];
};

int twheel_queue_new(struct twheel_loop *loop)
{
	if (!loop->queue)
		loop->queue = calloc(1, sizeof(*loop->queue));
	return loop->queue ? 0 : -ENOMEM;
}

void twheel_queue_arm(struct twheel_timer *timer, const struct twheel_arm *arm)
{
	struct twheel_queue *queue = timer->tw->loop->queue;

	if (!timer->slot) {
		if (queue->nr_arms == TWHEEL_QUEUE_MAX)
			twheel_queue_flush(timer->tw);
		queue->timers[queue->nr_arms] = timer;
		queue->nr_arms++;
		timer->slot = (uint32_t)queue->nr_arms;
	}
	queue->arms[timer->slot - 1] = *arm;
}

void twheel_queue_cancel(struct twheel *tw, uint64_t handle)
{
	struct twheel_queue *queue = tw->loop->queue;

	if (queue->nr_cancels == TWHEEL_QUEUE_MAX)
		twheel_queue_flush(tw);
	queue->cancels[queue->nr_cancels++] = (struct twheel_cancel){ .handle = handle };
}

void twheel_queue_forget(struct twheel_timer *timer)
{
	struct twheel_queue *queue = timer->tw->loop->queue;
	size_t slot = timer->slot;
	size_t last;

	if (!slot)
		return;
	/* The last one takes its place. */
	last = --queue->nr_arms;
	queue->timers[slot - 1] = queue->timers[last];
	queue->arms[slot - 1] = queue->arms[last];
	queue->timers[slot - 1]->slot = (uint32_t)slot;
	timer->slot = 0;
}

bool twheel_queue_has_cancels(const struct twheel_loop *loop)
{
	return loop->queue && loop->queue->nr_cancels;
}

static void flush_cancels(struct twheel *tw, struct twheel_queue *queue)
{
	if (queue->nr_cancels)
		twheel_cancel_batch(tw, queue->cancels, queue->nr_cancels);
	queue->nr_cancels = 0;
}

static void flush_arms(struct twheel *tw, struct twheel_queue *queue)
{
	size_t n = queue->nr_arms;
	ssize_t done;
	size_t i;

	if (!n)
		return;
	done = twheel_arm_batch(tw, queue->arms, n);
	for (i = 0; i < n; i++) {
		struct twheel_timer *timer = queue->timers[i];
		struct twheel_arm *arm = &queue->arms[i];
		int ret = (ssize_t)i < done ? arm->result : -EFAULT;

		if (ret == -ENOENT) {
			arm->handle = 0;
			ret = twheel_arm(tw, arm);
		}
		timer->slot = 0;
		if (ret) {
			twheel_timer_disarmed(timer);
			if (!tw->loop->error)
				tw->loop->error = ret;
		} else {
			twheel_timer_armed_by(timer, arm);
		}
	}
	queue->nr_arms = 0;
}

void twheel_queue_flush(struct twheel *tw)
{
	struct twheel_queue *queue = tw->loop ? tw->loop->queue : NULL;

	if (!queue)
		return;
	/* Cancels come first, as they make room for new timers. */
	flush_cancels(tw, queue);
	flush_arms(tw, queue);
}
