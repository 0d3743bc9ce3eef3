// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: the pending timers of a context, one after another.
 *
 * A drain also cancels them, so the queue and the timer objects of the context have to know of
 * it. This file is therefore above loop.c and queue.c, and not among the calls of context.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

static ssize_t twheel_list(struct twheel *tw, uint64_t *cursor,
			   struct twheel_timer_info *infos, size_t n,
			   unsigned int flags)
{
	struct twheel_list list = {
		.cursor = *cursor,
		.entries = (uintptr_t)infos,
		.count = n < TWHEEL_ENTRIES_MAX ? n : TWHEEL_ENTRIES_MAX,
		.flags = flags,
	};
	int ret = twheel_ioctl(tw, TWHEEL_IOC_LIST, &list);

	/* The device moves the cursor on also when a signal interrupts it. */
	*cursor = list.cursor;
	return ret;
}

TWHEEL_API ssize_t twheel_drain(struct twheel *tw, uint64_t *cursor,
				struct twheel_timer_info *infos, size_t n)
{
	ssize_t ret;

	/* The parent's objects would not learn that they are not armed any more. */
	if (tw->loop && twheel_inherited(tw))
		return -ECHILD;
	twheel_queue_flush(tw);
	ret = twheel_list(tw, cursor, infos, n, TWHEEL_LIST_DRAIN);
	if (tw->loop)
		twheel_loop_drained(tw->loop, infos, ret);
	return ret;
}

/* How many timers are cancelled, or records dropped, at once */
#define TWHEEL_DROP_MAX		32

/* How often this is done, if others arm and read meanwhile */
#define TWHEEL_DROP_TRIES	16

/* Cancel what is pending. 0 or -errno. */
static int drop_pending(struct twheel *tw)
{
	struct twheel_timer_info infos[TWHEEL_DROP_MAX];
	uint64_t cursor = 0;
	ssize_t n;

	do {
		n = twheel_drain(tw, &cursor, infos, TWHEEL_DROP_MAX);
	} while (n > 0 || n == -EINTR);
	return (int)n;
}

/* Read some of what is ready, and cancel what repeats. How many were read; or -errno. */
static ssize_t drop_some(struct twheel *tw)
{
	struct twheel_event events[TWHEEL_DROP_MAX];
	struct twheel_cancel cancels[TWHEEL_DROP_MAX] = { };
	ssize_t i, ret, n = twheel_read_timeout(tw, events, TWHEEL_DROP_MAX, 0);
	size_t live = 0;

	for (i = 0; i < n; i++)
		if (!(events[i].flags & TWHEEL_EVENT_LAST))
			cancels[live++].handle = events[i].handle;
	ret = twheel_cancel_batch(tw, cancels, live);
	return ret < 0 ? ret : n;
}

/* The same with all that is ready. 0 or -errno. */
static int drop_ready(struct twheel *tw)
{
	ssize_t n;

	do {
		n = drop_some(tw);
	} while (n > 0);
	return (int)n;
}

TWHEEL_API int twheel_cancel_all(struct twheel *tw)
{
	int tries = TWHEEL_DROP_TRIES, ret = tw->loop ? twheel_timer_cancel_all(tw) : 0;
	struct twheel_info info;

	if (ret)
		return ret;
	/* Another thread may read the record of a periodic timer: then it is pending again. */
	do {
		ret = drop_pending(tw) ?: drop_ready(tw) ?: twheel_get_info(tw, 0, &info);
	} while (!ret && info.pending + info.ready && --tries);
	return ret;
}

/* How many timers one system call of a walk returns at most. */
#define TWHEEL_WALK_CHUNK	64

/**
 * struct twheel_walk - a walk of the pending timers
 * @tw: the context
 * @cursor: where the device is to go on
 * @next: index in @infos of the next timer to hand out
 * @filled: how many of @infos are filled
 * @ended: the device has said that there are no more timers
 * @infos: the timers that the last system call has returned
 */
struct twheel_walk {
	struct twheel			*tw;
	uint64_t			cursor;
	size_t				next;
	size_t				filled;
	bool				ended;
	struct twheel_timer_info	infos[TWHEEL_WALK_CHUNK];
};

TWHEEL_API int twheel_walk_new(struct twheel_walk **walkp, struct twheel *tw)
{
	struct twheel_walk *walk;

	if (tw->emb && twheel_inherited(tw))
		return -ECHILD;
	walk = calloc(1, sizeof(*walk));
	if (!walk)
		return -ENOMEM;
	walk->tw = tw;
	*walkp = walk;
	return 0;
}

TWHEEL_API int twheel_walk_next(struct twheel_walk *walk,
				struct twheel_timer_info *info)
{
	if (walk->next == walk->filled) {
		ssize_t ret;

		/* At the end the cursor may be 0, which would begin a new walk. */
		if (walk->ended)
			return 0;
		ret = twheel_list(walk->tw, &walk->cursor, walk->infos,
				  TWHEEL_WALK_CHUNK, 0);
		if (ret < 0)
			return (int)ret;
		walk->next = 0;
		walk->filled = (size_t)ret;
		walk->ended = !ret;
		if (walk->ended)
			return 0;
	}
	*info = walk->infos[walk->next++];
	return 1;
}

TWHEEL_API void twheel_walk_free(struct twheel_walk *walk)
{
	free(walk);
}
