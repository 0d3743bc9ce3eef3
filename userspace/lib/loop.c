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
 *   tell, as a re-arm in place keeps it. The armings of a context are numbered one after
 *   another, so that the numbers also tell which of two timers was armed first.
 * - Timers are allocated in chunks that stay until the context is closed, so that
 *   this can be checked even when the timer was freed.
 *
 * To mistake one arming for another would take 2^32 armings in a context between a read
 * and the end of its dispatch.
 *
 * A function need not return: it may leave by longjmp() or by an exception of C++. So a
 * record counts as taken before its function is called, and the records after it stay
 * in the buffer for the next twheel_dispatch(). The library cannot tell that call from
 * one by a function that is still running, so the latter is allowed, too: the outer
 * call does not find the records any more that the inner one has taken.
 *
 * Functions are called in the order of deadlines, and of equal deadlines in the order in
 * which the timers were armed. Records nearly come that way, but a context's timers may be
 * on several CPUs, and one that was pushed back in place comes as it was armed before. So
 * the records of a read are sorted before the first of them is taken.
 *
 * In a context with leases a one-shot timer is a lease in the device, and its word pushes
 * it back without a call. A push back keeps the number of the arming: if the exchange has
 * succeeded the timer had not expired, so there is no record of the earlier deadline. A word
 * may become that of another timer when its own has ended, and the tag in it tells. As a tag
 * comes again after a thousand timers, and timer objects are kept for long, the records of a
 * read are looked through for the last ones of timers, and those timers lose their words.
 *
 * What else needs a call is queued if the program wishes: see queue.c.
 *
 * Locking rules: there is no lock. Only one thread at a time may use the timer objects
 * of a context, as twheel.h says.
 *
 * Lifetime rules: a timer is on the free list, idle, or armed (it has a
 * handle). Its chunk lives as long as the loop, and the loop as the context.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lease_word.h"
#include "loop.h"
#include "poison.h"

/* The latest time: what a sum that is too large for the clock becomes. */
#define TWHEEL_TIME_MAX		(TWHEEL_LEASE_EXPIRED - 1)

/* Wait as the descriptor does. */
#define TWHEEL_NO_TIMEOUT	UINT64_MAX

#define TWHEEL_ARM_CONDITIONS	(TWHEEL_ARM_IF_PENDING | TWHEEL_ARM_IF_NONE)

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
			twheel_timer_disarmed(timer);
	}
}

void twheel_loop_forget_words(struct twheel_loop *loop)
{
	size_t i;
	size_t k;

	for (i = 0; loop && i < loop->chunks_used; i++) {
		for (k = 0; k < TWHEEL_CHUNK_TIMERS; k++) {
			if (loop->chunks[i][k].handle)
				loop->chunks[i][k].word = NULL;
		}
	}
}

static struct twheel_loop *make_loop(void)
{
	struct twheel_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->calls = calloc(1, sizeof(*loop->calls));
	if (loop->calls)
		return loop;
	free(loop);
	return NULL;
}

int twheel_loop_begin(struct twheel *tw)
{
	if (twheel_inherited(tw))
		return -ECHILD;
	if (tw->config & TWHEEL_CONFIG_KEYED)
		return -EINVAL;
	if (!tw->loop)
		tw->loop = make_loop();
	return tw->loop ? 0 : -ENOMEM;
}

/*
 * Put @timer on the free list. Each call for a timer reads its function first, so under
 * AddressSanitizer or valgrind a call for one that is free is told of.
 */
static void put_timer(struct twheel_loop *loop, struct twheel_timer *timer)
{
	timer->fn = NULL;
	timer->next_free = loop->free;
	loop->free = timer;
	twheel_poison(&timer->fn, sizeof(timer->fn));
}

/* Take a timer off the free list, which is not empty. */
static struct twheel_timer *take_timer(struct twheel_loop *loop)
{
	struct twheel_timer *timer = loop->free;

	loop->free = timer->next_free;
	timer->next_free = NULL;
	twheel_unpoison(&timer->fn, sizeof(timer->fn));
	return timer;
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
		put_timer(loop, &chunk[i]);
	}
	loop->chunks[loop->chunks_used++] = chunk;
	return 0;
}

static void free_groups(struct twheel_loop *loop)
{
	struct twheel_group *group, *next;

	for (group = loop->groups; group; group = next) {
		next = group->next;
		free(group);
	}
}

/* The context is closed, or a function of it has ended: the last one to be there frees @calls. */
static void put_calls(struct twheel_calls *calls)
{
	if (calls->closed && !calls->running)
		free(calls);
}

void twheel_loop_free(struct twheel *tw)
{
	struct twheel_loop *loop = tw->loop;

	free(tw);
	if (!loop)
		return;
	loop->calls->closed = true;
	put_calls(loop->calls);
	while (loop->chunks_used)
		free(loop->chunks[--loop->chunks_used]);
	free(loop->chunks);
	free_groups(loop);
	free(loop->queue);
	free(loop);
}

TWHEEL_API int twheel_timer_new(struct twheel_timer **timerp, struct twheel *tw,
				twheel_timer_fn *fn, void *arg)
{
	struct twheel_timer *timer;
	int ret = twheel_loop_begin(tw);

	if (!ret && !fn)
		ret = -EINVAL;
	if (!ret && !tw->loop->free)
		ret = twheel_loop_grow(tw);
	if (ret)
		return ret;

	timer = take_timer(tw->loop);
	timer->fn = fn;
	timer->arg = arg;
	timer->known = false;
	*timerp = timer;
	return 0;
}

TWHEEL_API void twheel_timer_free(struct twheel_timer *timer)
{
	if (!timer)
		return;
	/* Two that are made later would be the same. */
	if (!timer->fn) {
		fputs("libtwheel: twheel_timer_free() was called twice for a timer\n", stderr);
		abort();
	}
	/* In a child this fails, and leaves the parent's timer alone. */
	twheel_timer_cancel(timer, NULL);

	/* Even if the cancel has failed, the timer's function is not called. */
	twheel_queue_forget(timer);
	twheel_timer_disarmed(timer);
	twheel_group_leave(timer);
	put_timer(timer->tw->loop, timer);
}

/* Let @arm name @timer and its next arming. */
static void twheel_timer_name(const struct twheel_timer *timer, struct twheel_arm *arm)
{
	arm->handle = timer->handle;
	arm->user_data = twheel_token(timer->index, ++timer->tw->loop->armings);
}

/* Timers whose cancels are queued still take room in the device. */
static int twheel_arm_with_room(struct twheel *tw, struct twheel_arm *arm)
{
	int ret = twheel_arm(tw, arm);

	if ((ret != -ENOSPC && ret != -EDQUOT && ret != -ENOMEM) ||
	    !twheel_queue_has_cancels(tw->loop))
		return ret;
	twheel_queue_flush(tw);
	return twheel_arm(tw, arm);
}

/* The device arms @timer as @arm says. */
static int twheel_timer_arm_now(struct twheel_timer *timer, struct twheel_arm *arm,
				struct twheel_old *old)
{
	struct twheel *tw = timer->tw;
	int ret;

	if (timer->slot)
		twheel_queue_flush(tw);
	twheel_timer_name(timer, arm);
	ret = twheel_arm_with_room(tw, arm);
	/*
	 * The timer has ended, and its last record waits in twheel_dispatch()'s
	 * buffer. To the caller this is a record that was not read.
	 */
	if (ret == -ENOENT && timer->handle) {
		if (arm->flags & TWHEEL_ARM_IF_NONE)
			return -EEXIST;
		arm->handle = 0;
		ret = twheel_arm_with_room(tw, arm);
		arm->old_state = TWHEEL_STATE_READY;
	}
	if (ret)
		return ret;

	twheel_timer_armed_by(timer, arm);
	twheel_store_old(old, arm->old_state, arm->old_remaining);
	return 0;
}

/* Is @setting valid and one shot? If not, or in doubt, the device has to tell. */
static bool twheel_is_plain(const struct twheel *tw, const struct twheel_arm *setting)
{
	return !setting->interval && setting->count <= 1 &&
	       (setting->expires | setting->slack) <= TWHEEL_TIME_MAX &&
	       !(setting->flags & ~(TWHEEL_ARM_ABS | TWHEEL_ARM_CONDITIONS)) &&
	       (setting->flags & TWHEEL_ARM_ABS || tw->clock != CLOCK_REALTIME);
}

/*
 * Push @timer back by its word. Returns false if that cannot be done: the timer has expired,
 * is due later already, or is armed with another slack.
 */
static bool twheel_timer_push_word(const struct twheel_timer *timer,
				   const struct twheel_arm *setting, uint64_t deadline,
				   uint64_t now, struct twheel_old *old)
{
	uint64_t was;

	if (!timer->word || timer->slack != setting->slack ||
	    setting->flags & TWHEEL_ARM_IF_NONE)
		return false;
	was = lease_word_push(timer->word, timer->tag, deadline);
	if (!lease_word_runs(was, timer->tag))
		return false;
	was = lease_word_ns(was);
	if (was > lease_word_ns(lease_word_units(deadline)))
		return false;
	twheel_store_old(old, TWHEEL_STATE_PENDING, was > now ? was - now : 0);
	return true;
}

/* Is @timer live as far as the library knows, so that queued calls cannot fail? */
static bool twheel_may_queue(const struct twheel_timer *timer,
			     const struct twheel_old *old)
{
	/* What was replaced only the device knows, and does not tell before the flush. */
	return timer->tw->loop->queue && timer->handle && !timer->ended && !old;
}

/* Is a timer for @expires due, and is the clock one that may be set back before the flush? */
static bool twheel_is_overdue(const struct twheel *tw, uint64_t expires)
{
	return tw->clock == CLOCK_REALTIME && expires <= twheel_now(tw);
}

static int twheel_timer_set(struct twheel_timer *timer,
			    const struct twheel_arm *setting, struct twheel_old *old)
{
	struct twheel *tw = timer->tw;
	bool leases = tw->config & TWHEEL_CONFIG_LEASE && !tw->loop->wordless;
	struct twheel_arm arm = {
		.expires = setting->expires,
		.interval = setting->interval,
		.slack = setting->slack,
		.count = setting->count,
		.flags = setting->flags,
	};
	uint64_t now = 0;

	if (twheel_inherited(tw))
		return -ECHILD;
	/* The caller would not learn which word belongs to the lease. */
	if (!timer->fn || setting->flags & TWHEEL_ARM_LEASE)
		return -EINVAL;
	if (!(leases || tw->loop->queue) || !twheel_is_plain(tw, setting))
		return twheel_timer_arm_now(timer, &arm, old);

	if (!(setting->flags & TWHEEL_ARM_ABS) || old)
		now = twheel_now(tw);
	if (!(setting->flags & TWHEEL_ARM_ABS)) {
		arm.expires += now;
		if (arm.expires > TWHEEL_TIME_MAX)
			arm.expires = TWHEEL_TIME_MAX;
		arm.flags |= TWHEEL_ARM_ABS;
	}
	if (twheel_timer_push_word(timer, setting, arm.expires, now, old))
		return 0;

	if (leases)
		arm.flags |= TWHEEL_ARM_LEASE;
	if (setting->flags & TWHEEL_ARM_CONDITIONS || !twheel_may_queue(timer, old) ||
	    twheel_is_overdue(tw, arm.expires))
		return twheel_timer_arm_now(timer, &arm, old);
	twheel_timer_name(timer, &arm);
	timer->arming = (uint32_t)(arm.user_data >> 32);
	/* Until the flush the word is that of the earlier arming. */
	timer->word = NULL;
	twheel_queue_arm(timer, &arm);
	return 0;
}

TWHEEL_API int twheel_timer_arm(struct twheel_timer *timer,
				const struct twheel_arm *setting,
				struct twheel_old *old)
{
	int ret = twheel_timer_set(timer, setting, old);

	if (ret)
		return ret;
	timer->known = true;
	timer->delay = setting->expires;
	timer->interval = setting->interval;
	timer->slack = setting->slack;
	timer->count = setting->count;
	timer->flags = (uint16_t)(setting->flags & ~TWHEEL_ARM_CONDITIONS);
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

TWHEEL_API int twheel_timer_again(struct twheel_timer *timer)
{
	const struct twheel_arm setting = {
		.expires = timer->delay,
		.interval = timer->interval,
		.slack = timer->slack,
		.count = timer->count,
		.flags = timer->flags,
	};

	if (twheel_inherited(timer->tw))
		return -ECHILD;
	if (timer->fn && !timer->known)
		return -ENOENT;
	/* A point in time does not come again. */
	if (setting.flags & TWHEEL_ARM_ABS)
		return -EINVAL;
	return twheel_timer_set(timer, &setting, NULL);
}

TWHEEL_API int twheel_timer_push(struct twheel_timer *timer, uint64_t expires,
				 unsigned int flags)
{
	struct twheel_arm setting = {
		.expires = expires,
		.slack = timer->slack,
		.flags = (uint16_t)(flags | TWHEEL_ARM_IF_PENDING),
	};
	struct twheel *tw = timer->tw;

	if (twheel_inherited(tw))
		return -ECHILD;
	if (!timer->fn || flags & ~(unsigned int)TWHEEL_ARM_ABS)
		return -EINVAL;
	if (!timer->handle)
		return -ENOENT;
	if (!timer->interval)
		return twheel_timer_set(timer, &setting, NULL);

	/*
	 * How many rounds are left only the device knows, and it knows the arming, which is never
	 * queued. It stays the same arming, so a record that was read already is not dropped.
	 */
	if (expires > TWHEEL_TIME_MAX ||
	    (!(flags & TWHEEL_ARM_ABS) && tw->clock == CLOCK_REALTIME))
		return -EINVAL;
	if (!(flags & TWHEEL_ARM_ABS)) {
		expires += twheel_now(tw);
		if (expires > TWHEEL_TIME_MAX)
			expires = TWHEEL_TIME_MAX;
	}
	return twheel_push(tw, timer->handle, expires);
}

TWHEEL_API int twheel_timer_cancel(struct twheel_timer *timer,
				   struct twheel_old *old)
{
	struct twheel *tw = timer->tw;
	int ret;

	if (twheel_inherited(tw))
		return -ECHILD;
	if (!timer->fn)
		return -EINVAL;
	if (twheel_may_queue(timer, old)) {
		twheel_queue_forget(timer);
		twheel_queue_cancel(tw, timer->handle);
		twheel_timer_disarmed(timer);
		return 0;
	}
	if (timer->slot)
		twheel_queue_flush(tw);
	if (!timer->handle)
		return -ENOENT;
	ret = twheel_cancel(tw, timer->handle, old);
	/* As in twheel_timer_arm_now(): its last record is in the buffer. */
	if (ret == -ENOENT) {
		twheel_store_old(old, TWHEEL_STATE_READY, 0);
		ret = 0;
	}
	if (ret)
		return ret;

	twheel_timer_disarmed(timer);
	return 0;
}

/* The error of a queued call that has failed since the program was last told. */
static int twheel_loop_error(struct twheel_loop *loop)
{
	int error = loop->error;

	loop->error = 0;
	return error;
}

TWHEEL_API int twheel_timer_flush(struct twheel *tw)
{
	if (twheel_inherited(tw))
		return -ECHILD;
	twheel_queue_flush(tw);
	return tw->loop ? twheel_loop_error(tw->loop) : 0;
}

TWHEEL_API int twheel_timer_defer(struct twheel *tw, int defer)
{
	int ret = twheel_loop_begin(tw);

	if (ret)
		return ret;
	if (defer)
		return twheel_queue_new(tw->loop);
	ret = twheel_timer_flush(tw);
	free(tw->loop->queue);
	tw->loop->queue = NULL;
	return ret;
}

ssize_t twheel_timers_cancel(struct twheel *tw, struct twheel_timer *const *timers, size_t n)
{
	struct twheel_cancel cancels[TWHEEL_CANCEL_MAX] = { };
	ssize_t ret;
	size_t i;

	for (i = 0; i < n; i++)
		cancels[i].handle = timers[i]->handle;
	ret = twheel_cancel_batch(tw, cancels, n);
	/* If the device does not know a timer, its last record is in the buffer. */
	for (i = 0; ret > 0 && i < (size_t)ret; i++)
		twheel_timer_disarmed(timers[i]);
	return ret;
}

/* Cancel some. Returns how many timers it has cancelled: 0 when none was armed; or -errno. */
static ssize_t cancel_chunk(struct twheel *tw, struct twheel_timer *chunk)
{
	struct twheel_timer *timers[TWHEEL_CANCEL_MAX];
	size_t i, n = 0;

	for (i = 0; i < TWHEEL_CHUNK_TIMERS && n < TWHEEL_CANCEL_MAX; i++)
		if (chunk[i].handle)
			timers[n++] = &chunk[i];
	return twheel_timers_cancel(tw, timers, n);
}

TWHEEL_API int twheel_timer_cancel_all(struct twheel *tw)
{
	struct twheel_loop *loop = tw->loop;
	size_t i;

	if (twheel_inherited(tw))
		return -ECHILD;
	twheel_queue_flush(tw);
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
	if (!timer->fn)
		return -EINVAL;
	if (timer->slot)
		twheel_queue_flush(timer->tw);
	if (!timer->handle)
		return -ENOENT;
	ret = twheel_get(timer->tw, timer->handle, info);
	if (ret != -ENOENT) {
		/* That the timer is a lease is the library's affair. */
		info->flags &= (uint16_t)~TWHEEL_ARM_LEASE;
		info->tag = 0;
		info->word = 0;
		return ret;
	}

	/* As in twheel_timer_arm_now(): its last record is in the buffer. */
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

TWHEEL_API uint64_t twheel_timer_remaining(const struct twheel_timer *timer)
{
	struct twheel_timer_info info;

	return twheel_timer_get(timer, &info) ? 0 : info.remaining;
}

TWHEEL_API void *twheel_timer_arg(const struct twheel_timer *timer)
{
	return timer->fn ? timer->arg : NULL;
}

TWHEEL_API void twheel_timer_set_arg(struct twheel_timer *timer, void *arg)
{
	if (timer->fn)
		timer->arg = arg;
}

TWHEEL_API int twheel_timer_armed(const struct twheel_timer *timer)
{
	return timer->handle && !twheel_inherited(timer->tw);
}

/* Is the record @a to be handled before the record @b? */
static bool twheel_is_before(const struct twheel_loop *loop, const struct twheel_event *a,
			     const struct twheel_event *b)
{
	if (a->deadline != b->deadline)
		return a->deadline < b->deadline;
	/* The numbers of armings may have wrapped around: compare how long ago they were. */
	return loop->armings - (uint32_t)(a->user_data >> 32) >
	       loop->armings - (uint32_t)(b->user_data >> 32);
}

/* Insertion: nearly always each of the few records is behind all that came before it. */
static void twheel_loop_sort(struct twheel_loop *loop)
{
	size_t i;
	size_t k;

	for (i = 0; i < loop->filled; i++) {
		struct twheel_event *event = &loop->events[i];

		for (k = i; k && twheel_is_before(loop, event, loop->order[k - 1]); k--)
			loop->order[k] = loop->order[k - 1];
		loop->order[k] = event;
	}
}

/* Timers whose last records were read have ended, and may have lost their words to others. */
static void twheel_loop_note_ended(struct twheel_loop *loop)
{
	size_t i;

	for (i = 0; i < loop->filled; i++) {
		const struct twheel_event *event = &loop->events[i];
		struct twheel_timer *timer;

		if (!(event->flags & TWHEEL_EVENT_LAST))
			continue;
		timer = twheel_loop_find(loop, event->user_data);
		if (!timer || timer->handle != event->handle)
			continue;
		timer->word = NULL;
		timer->ended = true;
	}
}

/* The first @n of loop->events were read. */
static void twheel_loop_filled(struct twheel_loop *loop, size_t n)
{
	loop->next = 0;
	loop->filled = n;
	twheel_loop_note_ended(loop);
	twheel_loop_sort(loop);
}

/* The thread was cancelled in its read. The next twheel_dispatch() handles what was read. */
static void twheel_loop_read_cancelled(void *arg)
{
	struct twheel_loop *loop = arg;

	twheel_loop_filled(loop, twheel_count_stored(loop->events, TWHEEL_DISPATCH_MAX));
}

/* Fill the buffer, from which all records were taken. 0 or -errno. */
static int twheel_loop_read(struct twheel *tw, uint64_t timeout)
{
	struct twheel_loop *loop = tw->loop;
	ssize_t n;

	pthread_cleanup_push(twheel_loop_read_cancelled, loop);
	n = timeout == TWHEEL_NO_TIMEOUT ?
	    twheel_read(tw, loop->events, TWHEEL_DISPATCH_MAX) :
	    twheel_read_timeout(tw, loop->events, TWHEEL_DISPATCH_MAX, timeout);
	pthread_cleanup_pop(0);
	if (n < 0)
		return (int)n;
	twheel_loop_filled(loop, (size_t)n);
	return 0;
}

/*
 * A function has returned, or was left by an exception. Inlined where the exception goes on, GCC 12
 * leaves out the store, as if nobody could see it.
 */
static __attribute__((__noinline__)) void end_function(struct twheel_calls **callsp)
{
	(*callsp)->running--;
	put_calls(*callsp);
}

/* Call the function of @timer. Returns whether the context is still open. */
static bool call_function(struct twheel_timer *timer, const struct twheel_event *event)
{
	struct twheel_calls *calls __attribute__((cleanup(end_function))) = timer->tw->loop->calls;

	calls->running++;
	timer->fn(timer, event, timer->arg);
	return !calls->closed;
}

static int dispatch(struct twheel *tw, uint64_t timeout)
{
	struct twheel_loop *loop;
	int taken = 0;
	/* Without timer objects there may still be records to drop or wait for. */
	int ret = twheel_loop_begin(tw);

	if (ret)
		return ret;
	loop = tw->loop;
	/* No record of what was replaced or cancelled in the queue must be read. */
	ret = twheel_timer_flush(tw);
	if (!ret && loop->next == loop->filled)
		ret = twheel_loop_read(tw, timeout);
	else
		/* As a read does: delays count from here. */
		twheel_update_now(tw);
	if (ret)
		return ret == -EAGAIN ? 0 : ret;

	while (loop->next < loop->filled) {
		struct twheel_event *record = loop->order[loop->next++];
		/* A copy, as an inner call may fill the buffer again. */
		const struct twheel_event event = *record;
		struct twheel_timer *timer;

		record->expirations = 0;
		taken++;
		timer = twheel_loop_find(loop, event.user_data);
		if (!timer || timer->handle != event.handle)
			continue;
		if (event.flags & TWHEEL_EVENT_LAST)
			twheel_timer_disarmed(timer);
		if (!call_function(timer, &event))
			return taken;
		/* In a child that the function has forked: the parent handles the rest. */
		if (twheel_inherited(tw))
			return -ECHILD;
	}
	/* The program may wait now. */
	twheel_queue_flush(tw);
	return taken;
}

TWHEEL_API int twheel_dispatch(struct twheel *tw)
{
	return dispatch(tw, TWHEEL_NO_TIMEOUT);
}

TWHEEL_API int twheel_dispatch_timeout(struct twheel *tw, uint64_t timeout)
{
	return timeout > TWHEEL_TIME_MAX ? -EINVAL : dispatch(tw, timeout);
}
