// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: timers that call functions.
 *
 * The device promises that after a cancel or a re-arm no record of the earlier
 * arming will be read. The promise does not cover records that twheel_dispatch() has
 * read but not handled yet, and a function that it calls may cancel, re-arm or free
 * any timer. So a record is never trusted to point at a timer:
 *
 * - user_data is not a pointer but a token: the timer's index in the lower half, and
 *   the number of the arming in the upper half. A record is dropped unless its timer
 *   is armed with the same handle and for the same arming. The handle alone does not
 *   tell, as a re-arm in place keeps it.
 * - Timers are allocated in chunks that stay until the context is closed, so that
 *   this can be checked even when the timer was freed.
 *
 * To mistake one arming for another would take 2^32 re-arms of one timer between a
 * read and the end of its dispatch.
 *
 * A function need not return: it may leave by longjmp() or by an exception of C++. So a
 * record counts as taken before its function is called, and the records after it stay
 * in the buffer for the next twheel_dispatch(). The library cannot tell that call from
 * one by a function that is still running, so the latter is allowed, too: the outer
 * call does not find the records any more that the inner one has taken.
 *
 * Functions are called in the order of deadlines. Each CPU expires its timers in that
 * order, tick by tick, but a context's timers may be on several CPUs, and within a tick
 * they come in any order. So the records of a read are sorted before the first of them
 * is taken.
 *
 * Locking rules: there is no lock. Only one thread at a time may use the timer objects
 * of a context, as twheel.h says.
 *
 * Lifetime rules: a timer is on the free list, idle, or armed (it has a
 * handle). Its chunk lives as long as the loop, and the loop as the context.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "internal.h"

/* How many timers are allocated at once, and how many records are read. */
#define TWHEEL_CHUNK_TIMERS	256
#define TWHEEL_DISPATCH_MAX	256

/**
 * struct twheel_timer - a timer object
 * @tw: its context
 * @fn: its function, NULL while the timer is on the free list
 * @arg: the argument of @fn
 * @handle: the device's handle while armed, otherwise 0
 * @index: its index in all chunks together
 * @arming: number of its current arming
 * @next_free: the next timer on the free list
 */
struct twheel_timer {
	struct twheel		*tw;
	twheel_timer_fn		*fn;
	void			*arg;
	uint64_t		handle;
	uint32_t		index;
	uint32_t		arming;
	struct twheel_timer	*next_free;
};

/**
 * struct twheel_loop - all timer objects of a context
 * @chunks: arrays of %TWHEEL_CHUNK_TIMERS timers
 * @chunks_used: how many there are
 * @chunks_room: how many @chunks has room for
 * @free: the free list
 * @next: index in @order of the next record that twheel_dispatch() takes
 * @filled: how many of @events were read
 * @events: the records of the last read
 * @order: pointers to these records, by deadline
 */
struct twheel_loop {
	struct twheel_timer	**chunks;
	size_t			chunks_used;
	size_t			chunks_room;
	struct twheel_timer	*free;
	size_t			next;
	size_t			filled;
	struct twheel_event	events[TWHEEL_DISPATCH_MAX];
	const struct twheel_event *order[TWHEEL_DISPATCH_MAX];
};

static uint64_t twheel_token(uint32_t index, uint32_t arming)
{
	return (uint64_t)arming << 32 | index;
}

static struct twheel_timer *twheel_loop_find(const struct twheel_loop *loop,
					     uint64_t token)
{
	uint32_t index = (uint32_t)token;
	struct twheel_timer *timer;

	if (index / TWHEEL_CHUNK_TIMERS >= loop->chunks_used)
		return NULL;
	timer = &loop->chunks[index / TWHEEL_CHUNK_TIMERS][index % TWHEEL_CHUNK_TIMERS];
	return timer->arming == token >> 32 ? timer : NULL;
}

void twheel_loop_drained(struct twheel_loop *loop,
			 const struct twheel_timer_info *infos, ssize_t n)
{
	ssize_t i;

	for (i = 0; i < n; i++) {
		struct twheel_timer *timer = twheel_loop_find(loop, infos[i].user_data);

		if (timer && timer->handle == infos[i].handle)
			timer->handle = 0;
	}
}

static int twheel_loop_grow(struct twheel *tw)
{
	struct twheel_loop *loop = tw->loop;
	struct twheel_timer *chunk;
	size_t i;

	if (loop->chunks_used > UINT32_MAX / TWHEEL_CHUNK_TIMERS)
		return -ENOMEM;
	if (loop->chunks_used == loop->chunks_room) {
		size_t room = loop->chunks_room ? loop->chunks_room * 2 : 16;
		struct twheel_timer **chunks;

		chunks = realloc(loop->chunks, room * sizeof(*chunks));
		if (!chunks)
			return -ENOMEM;
		loop->chunks = chunks;
		loop->chunks_room = room;
	}

	chunk = calloc(TWHEEL_CHUNK_TIMERS, sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	for (i = TWHEEL_CHUNK_TIMERS; i--;) {
		chunk[i].tw = tw;
		chunk[i].index = (uint32_t)(loop->chunks_used * TWHEEL_CHUNK_TIMERS + i);
		chunk[i].next_free = loop->free;
		loop->free = &chunk[i];
	}
	loop->chunks[loop->chunks_used++] = chunk;
	return 0;
}

void twheel_loop_free(struct twheel_loop *loop)
{
	if (!loop)
		return;
	while (loop->chunks_used)
		free(loop->chunks[--loop->chunks_used]);
	free(loop->chunks);
	free(loop);
}

TWHEEL_API int twheel_timer_new(struct twheel_timer **timerp, struct twheel *tw,
				twheel_timer_fn *fn, void *arg)
{
	struct twheel_timer *timer;

	if (twheel_inherited(tw))
		return -ECHILD;
	/* In a context with keys timers are found by key, not by handle. */
	if (!fn || tw->config & TWHEEL_CONFIG_KEYED)
		return -EINVAL;
	if (!tw->loop) {
		tw->loop = calloc(1, sizeof(*tw->loop));
		if (!tw->loop)
			return -ENOMEM;
	}
	if (!tw->loop->free) {
		int ret = twheel_loop_grow(tw);

		if (ret)
			return ret;
	}

	timer = tw->loop->free;
	tw->loop->free = timer->next_free;
	timer->next_free = NULL;
	timer->fn = fn;
	timer->arg = arg;
	*timerp = timer;
	return 0;
}

TWHEEL_API void twheel_timer_free(struct twheel_timer *timer)
{
	struct twheel_loop *loop;

	if (!timer)
		return;
	/* In a child this fails, and leaves the parent's timer alone. */
	twheel_timer_cancel(timer, NULL);

	/* Even if the cancel has failed, the timer's function is not called. */
	timer->handle = 0;
	timer->fn = NULL;
	loop = timer->tw->loop;
	timer->next_free = loop->free;
	loop->free = timer;
}

TWHEEL_API int twheel_timer_arm(struct twheel_timer *timer,
				const struct twheel_arm *setting,
				struct twheel_old *old)
{
	struct twheel_arm arm = {
		.handle = timer->handle,
		.user_data = twheel_token(timer->index, timer->arming + 1),
		.expires = setting->expires,
		.interval = setting->interval,
		.slack = setting->slack,
		.count = setting->count,
		.flags = setting->flags,
	};
	int ret;

	if (twheel_inherited(timer->tw))
		return -ECHILD;
	/* The caller would not learn which word belongs to the lease. */
	if (setting->flags & TWHEEL_ARM_LEASE)
		return -EINVAL;
	ret = twheel_arm(timer->tw, &arm);

	/*
	 * The timer has ended, and its last record waits in twheel_dispatch()'s
	 * buffer. To the caller this is a record that was not read.
	 */
	if (ret == -ENOENT && timer->handle) {
		if (setting->flags & TWHEEL_ARM_IF_NONE)
			return -EEXIST;
		arm.handle = 0;
		ret = twheel_arm(timer->tw, &arm);
		arm.old_state = TWHEEL_STATE_READY;
	}
	if (ret)
		return ret;

	timer->handle = arm.handle;
	timer->arming++;
	twheel_store_old(old, arm.old_state, arm.old_remaining);
	return 0;
}

TWHEEL_API int twheel_timer_start(struct twheel_timer *timer, uint64_t delay,
				  uint64_t interval)
{
	struct twheel_arm setting = {
		.expires = delay,
		.interval = interval,
	};

	return twheel_timer_arm(timer, &setting, NULL);
}

TWHEEL_API int twheel_timer_cancel(struct twheel_timer *timer,
				   struct twheel_old *old)
{
	int ret;

	if (twheel_inherited(timer->tw))
		return -ECHILD;
	if (!timer->handle)
		return -ENOENT;
	ret = twheel_cancel(timer->tw, timer->handle, old);
	/* As in twheel_timer_arm(): its last record is in the buffer. */
	if (ret == -ENOENT) {
		twheel_store_old(old, TWHEEL_STATE_READY, 0);
		ret = 0;
	}
	if (ret)
		return ret;

	timer->handle = 0;
	return 0;
}

/* Returns how many timers it has cancelled: 0 when none was armed; or -errno. */
static ssize_t cancel_chunk(struct twheel *tw, struct twheel_timer *chunk)
{
	struct twheel_cancel cancels[TWHEEL_CHUNK_TIMERS] = { };
	struct twheel_timer *timers[TWHEEL_CHUNK_TIMERS];
	size_t n = 0;
	ssize_t ret;
	ssize_t i;

	for (i = 0; i < TWHEEL_CHUNK_TIMERS; i++) {
		if (!chunk[i].handle)
			continue;
		cancels[n].handle = chunk[i].handle;
		timers[n++] = &chunk[i];
	}
	ret = twheel_cancel_batch(tw, cancels, n);
	/* If the device does not know a timer, its last record is in the buffer. */
	for (i = 0; i < ret; i++)
		timers[i]->handle = 0;
	return ret;
}

TWHEEL_API int twheel_timer_cancel_all(struct twheel *tw)
{
	struct twheel_loop *loop = tw->loop;
	size_t i;

	if (twheel_inherited(tw))
		return -ECHILD;
	for (i = 0; loop && i < loop->chunks_used; i++) {
		ssize_t ret;

		do {
			ret = cancel_chunk(tw, loop->chunks[i]);
		} while (ret > 0);
		if (ret)
			return (int)ret;
	}
	return 0;
}

TWHEEL_API int twheel_timer_get(const struct twheel_timer *timer,
				struct twheel_timer_info *info)
{
	struct twheel_loop *loop = timer->tw->loop;
	size_t i;
	int ret;

	if (twheel_inherited(timer->tw))
		return -ECHILD;
	if (!timer->handle)
		return -ENOENT;
	ret = twheel_get(timer->tw, timer->handle, info);
	if (ret != -ENOENT)
		return ret;

	/* As in twheel_timer_arm(): its last record is in the buffer. */
	for (i = loop->next; i < loop->filled; i++) {
		const struct twheel_event *event = loop->order[i];

		if (event->handle != timer->handle)
			continue;
		*info = (struct twheel_timer_info){
			.handle = event->handle,
			.user_data = event->user_data,
			.deadline = event->deadline,
			.count = (uint32_t)event->expirations,
			.state = TWHEEL_STATE_READY,
		};
		return 0;
	}
	return -ENOENT;
}

TWHEEL_API int twheel_timer_armed(const struct twheel_timer *timer)
{
	return timer->handle && !twheel_inherited(timer->tw);
}

static int twheel_by_deadline(const void *a, const void *b)
{
	const struct twheel_event *x = *(const struct twheel_event *const *)a;
	const struct twheel_event *y = *(const struct twheel_event *const *)b;

	if (x->deadline != y->deadline)
		return x->deadline < y->deadline ? -1 : 1;
	/* Keep the order of the read: qsort() leaves equal ones in any order. */
	return x < y ? -1 : x > y;
}

static void twheel_loop_sort(struct twheel_loop *loop)
{
	size_t i;

	for (i = 0; i < loop->filled; i++)
		loop->order[i] = &loop->events[i];
	qsort(loop->order, loop->filled, sizeof(loop->order[0]), twheel_by_deadline);
}

TWHEEL_API int twheel_dispatch(struct twheel *tw)
{
	struct twheel_loop *loop = tw->loop;
	int taken = 0;

	if (twheel_inherited(tw))
		return -ECHILD;
	/* A key may look like the handle of a timer object. */
	if (tw->config & TWHEEL_CONFIG_KEYED)
		return -EINVAL;
	if (!loop) {
		/* Without timer objects there may still be records to drop or wait for. */
		loop = calloc(1, sizeof(*loop));
		if (!loop)
			return -ENOMEM;
		tw->loop = loop;
	}
	if (loop->next == loop->filled) {
		ssize_t n = twheel_read(tw, loop->events, TWHEEL_DISPATCH_MAX);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		loop->next = 0;
		loop->filled = (size_t)n;
		twheel_loop_sort(loop);
	}

	while (loop->next < loop->filled) {
		/* A copy, as an inner call may fill the buffer again. */
		const struct twheel_event event = *loop->order[loop->next++];
		struct twheel_timer *timer;

		taken++;
		timer = twheel_loop_find(loop, event.user_data);
		if (!timer || timer->handle != event.handle)
			continue;
		if (event.flags & TWHEEL_EVENT_LAST)
			timer->handle = 0;
		timer->fn(timer, &event, timer->arg);
		/* In a child that the function has forked: the parent handles the rest. */
		if (twheel_inherited(tw))
			return -ECHILD;
	}
	return taken;
}
