/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What a program is told of its timers. */
#ifndef TWHEEL_LIST_H
#define TWHEEL_LIST_H

#include <linux/compiler.h>
#include <linux/types.h>

#include <linux/twheel.h>

struct twheel_ctx;

/**
 * twheel_list_get() - describe one timer
 * @ctx:	the context
 * @info:	@info->handle names the timer; the rest is filled
 *
 * Context: process; in the task whose time namespace counts.
 * Return: 0, or -ENOENT if @info->handle names no timer.
 */
int twheel_list_get(struct twheel_ctx *ctx, struct twheel_timer_info *info);

/**
 * twheel_list_pending() - describe pending timers
 * @ctx:	the context
 * @index:	where to begin; set to where to go on
 * @end:	where to end: what twheel_pool_end() has said or, as a program may pass it, any
 *		number
 * @drain:	whether to cancel each of them as well, in the same moment
 * @to:		where to store the descriptions
 * @count:	how many fit there
 *
 * Context: may sleep; in the task whose time namespace counts.
 * Return: how many were stored; or, if none was, 0 at the end, -EFAULT, or
 * -ERESTARTSYS if a signal is pending, and @index has moved on.
 */
long twheel_list_pending(struct twheel_ctx *ctx, u32 *index, u32 end, bool drain,
			 struct twheel_timer_info __user *to, u32 count);

/**
 * twheel_list_next_expiry() - the earliest deadline of all pending timers
 * @ctx:	the context
 *
 * Takes O(timers), and stops when a signal kills the task.
 *
 * Context: may sleep; in the task whose time namespace counts.
 * Return: the deadline as that task sees it, in ns, or %TWHEEL_NO_EXPIRY.
 */
u64 twheel_list_next_expiry(struct twheel_ctx *ctx);

#endif /* TWHEEL_LIST_H */
