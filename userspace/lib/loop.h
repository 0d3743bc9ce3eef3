/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * libtwheel: what a timer object is, for the files that handle timer objects.
 */
#ifndef TWHEEL_LOOP_H
#define TWHEEL_LOOP_H

#include "internal.h"

/* How many records are read at once. */
#define TWHEEL_DISPATCH_MAX	256

struct twheel_queue;

/**
 * struct twheel_timer - a timer object
 * @tw: its context
 * @fn: its function, NULL and poisoned while the timer is on the free list
 * @arg: the argument of @fn
 * @handle: the device's handle while armed, otherwise 0
 * @slack: its slack, as given when it was armed
 * @word: the word by which it is pushed back, or NULL if that needs a call
 * @tag: the tag that the word has as long as it is this timer's
 * @next_free: the next timer on the free list
 * @index: its index in all chunks together
 * @arming: number of its current arming; a push back by a word does not change it
 * @slot: where its re-arm is in the queue, counted from 1; 0 if it is not there
 * @ended: armed, but its last record was read: it is in the buffer, and the device has
 *	no such timer any more
 * @known: it was armed before, so that what follows, and @slack, is known
 * @delay: the time from now for which it was armed; or a point in time
 * @interval: its interval, as given then
 * @count: its count, as given then
 * @flags: TWHEEL_ARM_* bits, as given then, without conditions
 * @group_next: the next timer of its group, or NULL
 * @group_link: what points to this timer in the list of its group; NULL without a group
 */
struct twheel_timer {
	struct twheel		*tw;
	twheel_timer_fn		*fn;
	void			*arg;
	uint64_t		handle;
	uint64_t		slack;
	union {
		uint64_t		*word;
		struct twheel_timer	*next_free;
	};
	uint32_t		index;
	uint32_t		arming;
	uint32_t		slot;
	uint16_t		tag;
	bool			ended;
	bool			known;
	uint64_t		delay;
	uint64_t		interval;
	uint32_t		count;
	uint16_t		flags;
	struct twheel_timer	*group_next;
	struct twheel_timer	**group_link;
};

/* How many timers are allocated at once */
#define TWHEEL_CHUNK_TIMERS	256

/* How many are cancelled at once: these are on the stack of a thread that may have little of it. */
#define TWHEEL_CANCEL_MAX	64

/**
 * struct twheel_calls - what may outlive a context: functions that twheel_dispatch() has called
 * @running: how many have not returned; those that were left by longjmp() count for ever
 * @closed: the context was closed, so nothing is left of it but this
 */
struct twheel_calls {
	unsigned int		running;
	bool			closed;
};

/**
 * struct twheel_loop - all timer objects of a context
 * @chunks: arrays of timers
 * @chunks_used: how many there are
 * @chunks_room: how many @chunks has room for
 * @free: the free list
 * @groups: all groups of the context
 * @queue: what is not told to the device yet; NULL unless the program has asked for it
 * @error: of a queued re-arm that has failed, until the program is told; otherwise 0
 * @wordless: words cannot be mapped, so that no timer is armed as a lease any more
 * @calls: the functions that twheel_dispatch() has called
 * @armings: the number of the latest arming, of any timer
 * @next: index in @order of the next record that twheel_dispatch() takes
 * @filled: how many of @events were read
 * @events: the records of the last read; one that was taken has no expirations any more
 * @order: pointers to these records, by deadline; equal deadlines as armed
 */
struct twheel_loop {
	struct twheel_timer	**chunks;
	size_t			chunks_used;
	size_t			chunks_room;
	struct twheel_timer	*free;
	struct twheel_group	*groups;
	struct twheel_queue	*queue;
	int			error;
	bool			wordless;
	struct twheel_calls	*calls;
	uint32_t		armings;
	size_t			next;
	size_t			filled;
	struct twheel_event	events[TWHEEL_DISPATCH_MAX];
	struct twheel_event	*order[TWHEEL_DISPATCH_MAX];
};

/**
 * struct twheel_group - some timer objects of a context
 * @tw: the context
 * @first: the first of the timers, or NULL
 * @next: the next group of the context, or NULL
 * @link: what points to this one in the list of all groups
 */
struct twheel_group {
	struct twheel		*tw;
	struct twheel_timer	*first;
	struct twheel_group	*next;
	struct twheel_group	**link;
};

/*
 * How a call that uses timer objects begins: make sure that @tw has a loop. Returns 0; -ECHILD
 * in a child that has inherited @tw; -EINVAL if @tw has keys, as timer objects are found by
 * handle, and a key may look like one; or -ENOMEM.
 */
int twheel_loop_begin(struct twheel *tw);

/*
 * Cancel the @n timers, which are armed and at most %TWHEEL_CANCEL_MAX. Returns how many of them,
 * from the first one on; or -errno. The caller has flushed the queue.
 */
ssize_t twheel_timers_cancel(struct twheel *tw, struct twheel_timer *const *timers, size_t n);

/* Take @timer out of its group, if it is in one. */
static inline void twheel_group_leave(struct twheel_timer *timer)
{
	if (!timer->group_link)
		return;
	*timer->group_link = timer->group_next;
	if (timer->group_next)
		timer->group_next->group_link = timer->group_link;
	timer->group_link = NULL;
}

/* The device has carried out @arm for @timer: note how it is armed. */
void twheel_timer_armed_by(struct twheel_timer *timer, const struct twheel_arm *arm);

/* Note that @timer is not armed any more. */
void twheel_timer_disarmed(struct twheel_timer *timer);

/* Begin to queue. 0 or -ENOMEM. */
int twheel_queue_new(struct twheel_loop *loop);

/*
 * Queue the request @arm, which re-arms the live @timer, in place of one that is queued.
 * If the queue is full it is flushed.
 */
void twheel_queue_arm(struct twheel_timer *timer, const struct twheel_arm *arm);

/* Queue the end of the live timer @handle. If the queue is full it is flushed. */
void twheel_queue_cancel(struct twheel *tw, uint64_t handle);

/* Forget the queued re-arm of @timer, if there is one. */
void twheel_queue_forget(struct twheel_timer *timer);

/* Are there cancels in the queue, so that a flush makes room for new timers? */
bool twheel_queue_has_cancels(const struct twheel_loop *loop);

#endif /* TWHEEL_LOOP_H */
