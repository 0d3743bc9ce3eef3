/* SPDX-License-Identifier: GPL-2.0-only */
/* Holding a timer: with the locks that guard it, wherever it is. */
#ifndef TWHEEL_HOLD_H
#define TWHEEL_HOLD_H

#include <linux/types.h>

/*
 * What is stored in a program's memory while a timer is held must not fault: it is tried,
 * and if the memory is not there it is faulted in without holding the timer. This is how
 * often for the same record: once is enough, unless the memory is taken away again at once.
 */
#define TWHEEL_FAULT_TRIES	16

struct twheel_base;
struct twheel_ctx;
struct twheel_timer;

/**
 * struct twheel_hold - what is held of a timer
 * @ctx:	its context
 * @local:	the base where timers that are armed now go
 * @base:	the base of the timer or, if it is not pending, @local; locked
 * @second:	NULL, or one more base, which is locked as well
 * @ctx_locked:	@ctx->lock is held. At first it is if the timer is not pending
 */
struct twheel_hold {
	struct twheel_ctx	*ctx;
	struct twheel_base	*local;
	struct twheel_base	*base;
	struct twheel_base	*second;
	bool			ctx_locked;
};

/**
 * twheel_hold_index() - hold a timer, whatever its state
 * @hold:	filled
 * @ctx:	the context
 * @index:	of the timer; any number
 *
 * Context: process. If there is a timer, returns with bottom halves off, under RCU and
 * with its locks held, until twheel_hold_drop().
 * Return: the timer, or NULL, and nothing is held.
 */
struct twheel_timer *twheel_hold_index(struct twheel_hold *hold,
				       struct twheel_ctx *ctx, u32 index);

/**
 * twheel_hold_handle() - hold the live timer that a handle names
 * @hold:	filled
 * @ctx:	the context
 * @handle:	a handle or a key; any number
 *
 * Context: as twheel_hold_index().
 * Return: the timer, or NULL, and nothing is held.
 */
struct twheel_timer *twheel_hold_handle(struct twheel_hold *hold,
					struct twheel_ctx *ctx, u64 handle);

/**
 * twheel_hold_both() - let go of a timer that is held, and hold it with @hold->local, too
 * @hold:	as filled before
 * @timer:	the timer that is held
 * @handle:	what named it
 *
 * In between others may do anything to the timer.
 *
 * Context: holds @timer, and still does afterwards.
 * Return: true if @handle still names the timer. It is held in any case.
 */
bool twheel_hold_both(struct twheel_hold *hold, struct twheel_timer *timer, u64 handle);

/**
 * twheel_hold_pending() - hold a timer, if it is pending
 * @hold:	filled
 * @timer:	the timer, which nobody frees meanwhile
 *
 * Context: as twheel_hold_index().
 * Return: true if it is pending; if not, nothing is held.
 */
bool twheel_hold_pending(struct twheel_hold *hold, struct twheel_timer *timer);

/**
 * twheel_hold_lock_ctx() - take the context's lock, too
 * @hold:	of a timer that was pending
 *
 * Context: holds a timer.
 */
void twheel_hold_lock_ctx(struct twheel_hold *hold);

/**
 * twheel_hold_drop() - let go of a timer and all its locks
 * @hold:	of the timer
 *
 * Context: holds a timer. Afterwards bottom halves are on, and RCU has ended.
 */
void twheel_hold_drop(struct twheel_hold *hold);

#endif /* TWHEEL_HOLD_H */
