// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Pushing timers back: only the deadline changes, and nothing is told but how many.
 *
 * That is what a server does for each packet that it gets. An entry has 16 bytes instead of the 64
 * of an arming, which are not copied back.
 *
 * Locking rules: see hold.c for what guards a timer, design.md for the order. A timer's settings
 * are read and its deadline is changed while it is held, so no other call comes in between.
 */
#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include <linux/twheel.h>

#include "arm.h"
#include "ctx.h"
#include "hold.h"
#include "push.h"
#include "timer.h"

static_assert(sizeof(struct twheel_push) == 16);
/* twheel_hold_look_ahead() reads the handle at offset 0 of each entry. */
static_assert(!offsetof(struct twheel_push, handle));

/* An arming that gives @timer, which is held, the deadline of @push and leaves it as it is. */
static struct twheel_arm arming_of(const struct twheel_timer *timer,
				   const struct twheel_push *push)
{
	return (struct twheel_arm) {
		.handle		= push->handle,
		.user_data	= timer->user_data,
		.expires	= push->expires,
		.interval	= timer->interval,
		.slack		= (u64)timer->slack << twheel_geometry.tick_shift,
		.count		= timer->count,
		.flags		= TWHEEL_ARM_ABS | twheel_flags_of(timer->where),
	};
}

/* Without keys a timer that has expired is not pushed, as that would withdraw its record. */
static bool may_push(const struct twheel_hold *hold, const struct twheel_timer *timer)
{
	return hold->ctx->pool.keyed || twheel_timer_state(timer) == TWHEEL_STATE_PENDING;
}

/* Push @timer, which is held and may be pushed. 0, or -ENOENT if it may not any more. */
static noinline int push_held(struct twheel_hold *hold, struct twheel_timer *timer,
			      const struct twheel_push *push)
{
	struct twheel_arm arm = arming_of(timer, push);
	int ret = twheel_timer_rearm(hold, timer, &arm);

	if (ret != -EAGAIN)
		return ret;
	/* It was not held for a moment, in which it may have expired. */
	if (!twheel_hold_both(hold, timer, push->handle) || !may_push(hold, timer))
		return -ENOENT;
	arm = arming_of(timer, push);
	return twheel_timer_rearm(hold, timer, &arm);
}

/*
 * Carry out @push. @hint: as for twheel_hold_handle(). 0; -EINVAL; or -ENOENT if
 * there is no such timer, or without keys if it is not pending.
 */
static int push_one(struct twheel_hold *hold, const struct twheel_push *push,
		    struct twheel_timer *hint)
{
	struct twheel_timer *timer;

	if (unlikely(push->expires > KTIME_MAX))
		return -EINVAL;
	timer = twheel_hold_handle(hold, push->handle, hint);
	if (unlikely(!timer)) {
		twheel_hold_unlock_key(hold);
		return -ENOENT;
	}
	if (likely(twheel_timer_postpone(hold->base, timer,
					 twheel_clock_unshift(push->expires, hold->offset),
					 hold->here, hold->stays)))
		return 0;
	return may_push(hold, timer) ? push_held(hold, timer, push) : -ENOENT;
}

/*
 * Carry out @push, if it names a pending timer that stays where it is: without what is done for
 * others. Returns whether it was carried out.
 */
static __always_inline bool push_alone(struct twheel_ctx *ctx, const struct twheel_push *push)
{
	struct twheel_timer *timer;
	struct twheel_base *base;
	u64 deadline;
	bool done = false;

	if (!twheel_pool_settled(&ctx->pool) || push->expires > KTIME_MAX)
		return false;
	deadline = twheel_clock_unshift(push->expires, twheel_clock_offset(ctx->clock));
	rcu_read_lock_bh();
	timer = twheel_hold_lock(ctx, push->handle, &base);
	if (likely(timer)) {
		/* For sparse, which cannot follow a lock that depends on a condition. */
		__acquire(&base->lock);
		done = twheel_timer_postpone(base, timer, deadline, twheel_where_pending(base->cpu),
					     twheel_base_stays(base));
		spin_unlock(&base->lock);
	}
	rcu_read_unlock_bh();
	return done;
}

/*
 * Carry out the @n entries at @pushes. Returns how many, up to the first that fails: *@error says
 * why, and is 0 otherwise.
 */
static u32 push_some(struct twheel_ctx *ctx, const struct twheel_push *pushes, u32 n, int *error)
{
	struct twheel_timer *timers[TWHEEL_HOLD_MAX] __uninitialized;
	struct twheel_hold hold __uninitialized;
	int ret = 0;
	u32 i;

	twheel_hold_begin(&hold, ctx);
	twheel_hold_look_ahead(&hold, pushes, sizeof(*pushes), n, timers);
	for (i = 0; i < n; i++) {
		ret = push_one(&hold, &pushes[i], timers[i]);
		if (ret)
			break;
	}
	twheel_hold_end(&hold);
	*error = ret;
	return i;
}

/* Make the timer of @push, whose key no timer has. 0; or an error, -EEXIST if one has it by now. */
static int push_new(struct twheel_ctx *ctx, const struct twheel_push *push)
{
	struct twheel_arm arm = {
		.handle		= push->handle,
		.expires	= push->expires,
		.flags		= TWHEEL_ARM_ABS | TWHEEL_ARM_IF_NONE,
	};

	twheel_arm_entries(ctx, &arm, 1);
	return arm.result;
}

/*
 * As push_some(), and with keys timers are made. After a new one the next may be new, too, and what
 * was looked for ahead is of no use then. So it is one entry at first, and twice as many each time.
 */
static noinline u32 push_parts(struct twheel_ctx *ctx, const struct twheel_push *pushes, u32 n,
			       int *error)
{
	u32 done = 0, part = n;

	for (;;) {
		done += push_some(ctx, pushes + done, min(part, n - done), error);
		if (!*error && done < n) {
			part *= 2;
			continue;
		}
		if (*error != -ENOENT || !(READ_ONCE(ctx->config) & TWHEEL_CONFIG_KEYED))
			return done;
		part = 1;
		*error = push_new(ctx, &pushes[done]);
		if (!*error)
			done++;
		else if (*error != -EEXIST)
			return done;
	}
}

/* As push_parts(), in fewer instructions for a single entry. */
static u32 push_all(struct twheel_ctx *ctx, const struct twheel_push *pushes, u32 n, int *error)
{
	*error = 0;
	return n == 1 && push_alone(ctx, pushes) ? 1 : push_parts(ctx, pushes, n, error);
}

/* Copy @n entries. Returns how many: fewer if the rest cannot be read. */
static u32 copy_in(struct twheel_push *pushes, u32 n, struct iov_iter *from)
{
	size_t bytes = n > 1 ? copy_from_iter(pushes, n * sizeof(*pushes), from) : 0;
	u32 i = bytes / sizeof(*pushes);

	/* On arm64 up to 64 bytes before those that cannot be read count as not copied, too. */
	iov_iter_revert(from, bytes % sizeof(*pushes));
	while (i < n && copy_from_iter(&pushes[i], sizeof(*pushes), from) == sizeof(*pushes))
		i++;
	return i;
}

ssize_t twheel_push_entries(struct twheel_ctx *ctx, struct iov_iter *from)
{
	struct twheel_push pushes[TWHEEL_HOLD_MAX] __uninitialized;
	ssize_t total = 0;
	u32 n, want, done;
	int error;

	/* Half an entry would be lost. */
	if (iov_iter_count(from) % sizeof(*pushes))
		return -EINVAL;
	twheel_ctx_prepare(ctx);
	while (iov_iter_count(from)) {
		want = min_t(size_t, iov_iter_count(from) / sizeof(*pushes), TWHEEL_HOLD_MAX);
		n = copy_in(pushes, want, from);
		done = push_all(ctx, pushes, n, &error);
		total += done * sizeof(*pushes);
		if (!error && n < want)
			error = -EFAULT;
		if (error)
			return total ?: error;
		/* As for other batches. */
		if (task_sigpending(current))
			break;
		cond_resched();
	}
	return total;
}

ssize_t twheel_push_at(struct twheel_ctx *ctx, const struct twheel_push __user *user)
{
	struct twheel_push push __uninitialized;
	int error;

	/* Some machines cannot read such words. */
	if (unlikely((unsigned long)user % sizeof(u64)) ||
	    !user_access_begin(user, sizeof(*user)))
		return 0;
	unsafe_get_user(push.handle, &user->handle, fault);
	unsafe_get_user(push.expires, &user->expires, fault);
	user_access_end();

	twheel_ctx_prepare(ctx);
	return push_all(ctx, &push, 1, &error) ? (ssize_t)sizeof(push) : error;

fault:
	user_access_end();
	return 0;
}
