// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a program is told of its timers.
 *
 * Locking rules: see hold.c. An entry of a list is stored in the program's memory with the
 * locks held and page faults off; if the memory has to be faulted in that is done after
 * letting go of them. So to describe a timer and to drain it is one step to all others: a
 * cancel comes before that or after it. Only the word of a lease changes without a lock: so the
 * entry is stored again, without them, if the lease was extended before it ended.
 */
#include <linux/errno.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "cancel.h"
#include "ctx.h"
#include "hold.h"
#include "host.h"
#include "list.h"
#include "timer.h"

/* When @timer, which is @where, is due: a lease when its word says. */
static u64 due_time(const struct twheel_timer *timer, u32 where)
{
	u64 deadline = READ_ONCE(timer->deadline);

	if (!twheel_is_lease(where) || twheel_state_of(where) != TWHEEL_STATE_PENDING)
		return deadline;
	return twheel_ctx_word_deadline(twheel_ctx_of(timer),
					atomic64_read(twheel_word_of(timer)), deadline);
}

/* Say in @info, of a timer of @ctx, when it is due. */
static void tell_deadline(const struct twheel_ctx *ctx, struct twheel_timer_info *info,
			  u64 deadline)
{
	info->deadline = twheel_clock_to_user(ctx->clock, deadline);
	info->remaining = twheel_ns_until(deadline, twheel_clock_now(ctx->clock));
}

static void describe(const struct twheel_timer *timer,
		     struct twheel_timer_info *info)
{
	const struct twheel_ctx *ctx = twheel_ctx_of(timer);

	twheel_ctx_assert_held(ctx, timer);

	*info = (struct twheel_timer_info) {
		.handle		= twheel_pool_handle(timer),
		.user_data	= timer->user_data,
		.interval	= timer->interval,
		.slack		= (u64)timer->slack << twheel_geometry.tick_shift,
		.count		= timer->count,
		.state		= twheel_timer_state(timer),
		.flags		= twheel_flags_of(timer->where),
	};
	if (twheel_is_lease(timer->where)) {
		info->word = twheel_index_of(timer);
		info->tag = twheel_lease_tag(atomic64_read(twheel_word_of(timer)));
	}
	tell_deadline(ctx, info, due_time(timer, timer->where));
}

int twheel_list_get(struct twheel_ctx *ctx, struct twheel_timer_info *info)
{
	struct twheel_timer *timer;
	struct twheel_hold hold __uninitialized;

	twheel_hold_begin(&hold, ctx);
	timer = twheel_hold_handle(&hold, info->handle, NULL);
	if (timer)
		describe(timer, info);
	twheel_hold_unlock_key(&hold);
	twheel_hold_end(&hold);
	return timer ? 0 : -ENOENT;
}

static int store_info(struct twheel_timer_info __user *to, const struct twheel_timer_info *info)
{
	return copy_to_user_nofault(to, info, sizeof(*info)) ? -EFAULT : 1;
}

/*
 * Cancel @timer, which is held and pending, and which @info describes. Returns whether that says
 * another deadline now.
 */
static bool drain_one(struct twheel_hold *hold, struct twheel_timer *timer,
		      struct twheel_timer_info *info)
{
	u64 deadline = twheel_timer_cancel_held(hold, timer);

	if (likely(twheel_clock_to_user(hold->ctx->clock, deadline) == info->deadline))
		return false;
	/* A lease that was just extended */
	tell_deadline(hold->ctx, info, deadline);
	return true;
}

/*
 * Store a description of timer @index at @to if it is pending and then, with @drain, cancel
 * it. 1 if it was stored, 0 if it was not pending, or -EFAULT if the memory has to be
 * faulted in first.
 */
static int list_one(struct twheel_ctx *ctx, u32 index, bool drain,
		    struct twheel_timer_info __user *to)
{
	struct twheel_timer_info info;
	struct twheel_timer *timer;
	struct twheel_hold hold __uninitialized;
	bool again = false;
	int ret = 0;

	twheel_hold_begin(&hold, ctx);
	timer = twheel_hold_index(&hold, index);
	if (timer && twheel_timer_state(timer) == TWHEEL_STATE_PENDING) {
		describe(timer, &info);
		ret = store_info(to, &info);
	}
	if (ret == 1 && drain)
		again = drain_one(&hold, timer, &info);
	twheel_hold_end(&hold);
	/* The memory may have been paged out since. If it is gone nobody can read it. */
	if (again && copy_to_user(to, &info, sizeof(info)))
		return 1;
	return ret;
}

long twheel_list_pending(struct twheel_ctx *ctx, u32 *index, u32 end, bool drain,
			 struct twheel_timer_info __user *to, u32 count)
{
	u32 tries = TWHEEL_FAULT_TRIES;
	long n = 0;

	for (;;) {
		int ret;

		rcu_read_lock();
		*index = twheel_pool_next_index(&ctx->pool, *index, end);
		rcu_read_unlock();
		if (*index >= end || n == count)
			return n;

		ret = list_one(ctx, *index, drain, to + n);
		if (ret == -EFAULT) {
			if (!tries-- || fault_in_safe_writeable((char __user *)(to + n),
								sizeof(*to)))
				return n ?: -EFAULT;
			continue;
		}
		n += ret;
		(*index)++;
		tries = TWHEEL_FAULT_TRIES;
		/* Not before: so each call goes on, however often signals come. */
		if (task_sigpending(current))
			return n ?: -ERESTARTSYS;
		cond_resched();
	}
}

u64 twheel_list_next_expiry(struct twheel_ctx *ctx)
{
	u32 index = 0, end = twheel_pool_end(&ctx->pool);
	u64 next = TWHEEL_NO_EXPIRY;

	for (;; index++) {
		struct twheel_timer *timer;
		u32 where;

		rcu_read_lock();
		index = twheel_pool_next_index(&ctx->pool, index, end);
		timer = index < end ? twheel_chunk_timer(&ctx->pool.chunks, index) : NULL;
		/* Pairs with smp_store_release() in set_timer(). */
		where = timer ? smp_load_acquire(&timer->where) : TWHEEL_STATE_NONE;
		if (twheel_state_of(where) == TWHEEL_STATE_PENDING)
			next = min(next, due_time(timer, where));
		rcu_read_unlock();

		if (index >= end || fatal_signal_pending(current))
			break;
		cond_resched();
	}
	return next == TWHEEL_NO_EXPIRY ? next :
	       twheel_clock_to_user(READ_ONCE(ctx->clock), next);
}
