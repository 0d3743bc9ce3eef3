/* SPDX-License-Identifier: GPL-2.0-only */
/* The oracle: what it is told of calls, and what it knows of armings. */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include <linux/limits.h>

#include "world.h"

/* No time of an episode comes close. */
#define FAR_AHEAD	(U64_MAX / 4)

static inline struct arming *arming_of(u32 nr)
{
	return &world.armings[nr];
}

/* May @a be due at any time, as others change its word? */
static inline bool is_wild(const struct context *c, const struct arming *a)
{
	return a->lease && c->hostile;
}

/* May the clock of @c have been set since the call that armed @a began? */
static inline bool was_set(const struct context *c, const struct arming *a)
{
	return c->clock == CLOCK_REALTIME && a->steps != world.nr_steps;
}

/**
 * oracle_begins() - a call is going to arm a timer
 * @c:		the context
 * @owner:	number of the owner that makes the call
 * @shared:	others may change the timer meanwhile
 * @arm:	what is asked for
 *
 * Return: the number of the arming; that plus 1 is to be the user_data.
 */
u32 oracle_begins(struct context *c, u32 owner, bool shared, const struct twheel_arm *arm);

/**
 * oracle_armed() - that call has returned
 * @c:		the context
 * @own:	the timer
 * @nr:		number of the arming
 * @asked:	what was asked for
 * @arm:	what came back
 * @ret:	result of the call, or of its entry in a batch; not -EFAULT
 */
void oracle_armed(struct context *c, struct own *own, u32 nr, const struct twheel_arm *asked,
		  const struct twheel_arm *arm, long ret);

/* As oracle_armed(), for a timer that all owners use, and any result */
void oracle_armed_shared(struct context *c, u32 nr, const struct twheel_arm *asked,
			 const struct twheel_arm *arm, long ret);

/* Arming @nr was not carried out, as a batch ended before it. */
void oracle_not_begun(u32 nr);

/**
 * oracle_unsure() - a call has ended with EFAULT, and may have been carried out
 * @own:	the timer, which the caller cancels now
 * @nr:		number of the arming, or U32_MAX if the call was not to arm it
 * @undone:	if the call has made a timer it has cancelled it again, unless that was told before
 */
void oracle_unsure(struct own *own, u32 nr, bool undone);

/*
 * Arming @old was live before a call that was to replace it by @nr ended with EFAULT, and there is
 * no timer now: one of the two was told, or will be.
 */
void oracle_owes(u32 old, u32 nr);

/* The timer of @own is not found any more. */
void oracle_gone(struct own *own);

/* A call to cancel @own's timer has returned @ret, which is not -EFAULT. */
void oracle_cancelled(struct context *c, struct own *own, const struct twheel_cancel *cancel,
		      long ret);

/* GET of @own's timer has returned @ret, and @info if that is 0. */
void oracle_found(struct context *c, struct own *own, const struct twheel_timer_info *info,
		  long ret);

/* A list that began at stamp @began has told @info; with @drain that timer was cancelled. */
void oracle_listed(struct context *c, const struct twheel_timer_info *info, bool drain, u64 began);

/**
 * oracle_push_begins() - a write() is going to push a timer
 * @c:		the context
 * @own:	the timer
 * @push:	where to
 * @before:	set to what is known of its arming
 *
 * Until the call has returned the deadline may be the old one or the new one.
 */
void oracle_push_begins(struct context *c, struct own *own, const struct twheel_push *push,
			struct arming *before);

/* With its key, @push was carried out, and then there was no timer, though none was cancelled. */
void oracle_push_lost(struct context *c, const struct own *own, const struct twheel_push *push);

/**
 * oracle_pushed() - that entry was carried out, and the arming goes on
 * @c:		the context
 * @own:	the timer
 * @push:	where to
 * @before:	as of oracle_push_begins()
 * @began:	when the call began; or 0
 */
void oracle_pushed(struct context *c, struct own *own, const struct twheel_push *push,
		   const struct arming *before, u64 began);

/* That entry was not carried out: for @ret if it was the first that failed, which is 0 if not. */
void oracle_not_pushed(struct context *c, struct own *own, const struct arming *before, long ret);

/* A compare-and-swap has extended @own's lease to @deadline. */
void oracle_extended(struct context *c, struct own *own, u64 deadline);

/* May a call end with @ret for want of something? */
bool oracle_may_lack(long ret);

/* A number that is larger each time, to tell what came first */
u64 oracle_stamp(void);

/* record.c: a read that began at stamp @read_began has returned @event. */
void oracle_record(struct context *c, const struct twheel_event *event, u64 read_began);

/* GET_INFO has returned @info. @at_rest: all timers are over, and a read has found nothing. */
void oracle_info(struct context *c, const struct twheel_info *info, bool at_rest);

/* All timers are over. */
void oracle_end(void);

#endif /* SIM_ORACLE_H */
