// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way in: arming, re-arming and cancelling a timer.
 *
 *	from	 to	  by
 *	free	 pending  arm
 *	free	 ready	  arm, if the deadline has passed
 *	pending	 pending  re-arm
 *	pending	 ready	  expiry; re-arm, if the deadline has passed
 *	pending	 free	  cancel, drain
 *	ready	 pending  re-arm; read, if rounds are left
 *	ready	 ready	  re-arm, if the deadline has passed
 *	ready	 free	  read, cancel
 *
 * Expiry and read are in expire.c, drain in info.c.
 *
 * Locking rules: see hold.c for what guards a timer, base.c for the order. A re-arm to a
 * later deadline, which is what nearly all calls do, takes the lock of the base alone.
 */
#include <linux/err.h>
#include <linux/sched.h>

#include "base.h"
#include "ctx.h"
#include "hold.h"
#include "lease.h"
#include "stats.h"
#include "timer.h"
#include "timer_types.h"
#include "trace.h"

/* What an arming may depend on: one of them at most. Not kept. */
#define TWHEEL_ARM_CONDITIONS	(TWHEEL_ARM_IF_PENDING | TWHEEL_ARM_IF_NONE)

/*
 * Set the word of @timer, if it has one, for the settings @new; @ready tells whether it
 * is to become ready at once. If @new is NULL the word says that the lease has ended.
 * From now on a program extends what the word says then, or is too late. Returns the
 * deadline that the timer had until then.
 */
static u64 replace_word(struct twheel_timer *timer,
			const struct twheel_timer *new, bool ready)
{
	const struct twheel_ctx *ctx = twheel_ctx_of(timer);
	atomic64_t *word = twheel_pool_word(timer);
	u64 value = TWHEEL_LEASE_EXPIRED, old;

	if (!word)
		return timer->deadline;

	if (new && twheel_is_lease(new->where)) {
		value = twheel_clock_shift(new->deadline, ctx->word_offset);
		if (ready)
			value |= TWHEEL_LEASE_EXPIRED;
	}
	old = twheel_lease_set(word, value);

	return twheel_is_lease(timer->where) ?
	       twheel_ctx_word_deadline(ctx, old, timer->deadline) : timer->deadline;
}

u64 twheel_timer_tick(const struct twheel_timer *timer)
{
	return twheel_wheel_coalesce(twheel_ns_to_tick(timer->deadline), timer->slack);
}

void twheel_timer_enqueue(struct twheel_timer *timer, struct twheel_base *base, u64 now)
{
	timer->node.expires = twheel_timer_tick(timer);
	twheel_base_enqueue(base, &timer->node, now);
}

/* Is @arm valid? @ctx need not be settled yet. 0 or -EINVAL. */
static int check_arm(const struct twheel_ctx *ctx, const struct twheel_arm *arm)
{
	u32 flags = arm->flags;

	if (flags & ~(TWHEEL_ARM_ABS | TWHEEL_TIMER_FLAGS | TWHEEL_ARM_CONDITIONS))
		return -EINVAL;
	if ((flags & TWHEEL_ARM_CONDITIONS) == TWHEEL_ARM_CONDITIONS)
		return -EINVAL;
	/* Most likely a difference that went below zero. Sums are capped instead. */
	if ((arm->expires | arm->interval | arm->slack) > KTIME_MAX)
		return -EINVAL;
	if (READ_ONCE(ctx->clock) == TWHEEL_REALTIME &&
	    !(flags & TWHEEL_ARM_ABS))
		return -EINVAL;
	if (flags & TWHEEL_ARM_LEASE)
		return !arm->interval && !(flags & TWHEEL_ARM_FIXED_DELAY) &&
		       READ_ONCE(ctx->config) & TWHEEL_CONFIG_LEASE ? 0 : -EINVAL;
	if (!arm->interval &&
	    (arm->count > 1 || flags & TWHEEL_ARM_FIXED_DELAY))
		return -EINVAL;
	return 0;
}

/* The settings in @arm, in the form in which a timer has them. */
static struct twheel_timer settings_of(const struct twheel_arm *arm,
				       enum twheel_clock clock, u64 now)
{
	return (struct twheel_timer) {
		.deadline	= arm->flags & TWHEEL_ARM_ABS ?
				  twheel_clock_from_user(clock, arm->expires) :
				  twheel_clock_shift(now, arm->expires),
		.user_data	= arm->user_data,
		.interval	= arm->interval,
		.slack		= min_t(u64, arm->slack >> twheel_geometry.tick_shift,
					U32_MAX),
		.count		= arm->interval ? arm->count : 1,
		.where		= (arm->flags & TWHEEL_TIMER_FLAGS) <<
				  TWHEEL_FLAGS_SHIFT,
	};
}

/* Copy the settings @new to @timer, which is locked or was just allocated. */
static void set_timer(struct twheel_timer *timer, const struct twheel_timer *new)
{
	u32 flags = BIT(TWHEEL_FLAGS_SHIFT) - 1;

	WRITE_ONCE(timer->deadline, new->deadline);
	timer->user_data = new->user_data;
	timer->interval = new->interval;
	timer->slack = new->slack;
	timer->count = new->count;
	WRITE_ONCE(timer->where, (timer->where & flags) | new->where);
}

/* Fill the (out) fields of @arm that tell how to find @timer. */
static void tell_names(const struct twheel_timer *timer, struct twheel_arm *arm)
{
	arm->handle = twheel_pool_handle(timer);
	if (arm->flags & TWHEEL_ARM_LEASE)
		arm->word = twheel_pool_index(timer);
}

static bool is_keyed(const struct twheel_ctx *ctx)
{
	return READ_ONCE(ctx->config) & TWHEEL_CONFIG_KEYED;
}

/*
 * Make a timer. -ENOENT for a handle in a context without keys; -EAGAIN if the pool has to
 * grow first, which also settles it; other errors as of check_arm() and twheel_pool_alloc().
 */
static int try_arm_new(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	bool settled = twheel_pool_settled(&ctx->pool), ready = false;
	struct twheel_timer *timer, new;
	struct twheel_base *base;
	int ret;
	u64 now;

	ret = check_arm(ctx, arm);
	if (ret)
		return ret;
	if (!settled)
		return -EAGAIN;
	/* Look only now: until it was settled it could have been configured. */
	if (is_keyed(ctx))
		twheel_pool_await_room(&ctx->pool);
	else if (arm->handle)
		return -ENOENT;

	local_bh_disable();
	base = twheel_base_local(ctx->clock);
	spin_lock(&base->lock);

	spin_lock(&ctx->lock);
	timer = twheel_pool_alloc(&ctx->pool, arm->handle);
	if (IS_ERR(timer)) {
		ret = PTR_ERR(timer);
		spin_unlock(&ctx->lock);
		goto unlock;
	}
	now = twheel_clock_now(ctx->clock);
	new = settings_of(arm, ctx->clock, now);
	ready = new.deadline <= now;
	replace_word(timer, &new, ready);
	set_timer(timer, &new);
	tell_names(timer, arm);
	twheel_count(TWHEEL_COUNT_ARMED);
	trace_twheel_arm(ctx, arm->handle, twheel_clockids[ctx->clock],
			 new.deadline, new.interval, arm->slack);
	if (ready)
		twheel_ctx_make_ready(ctx, timer, now);
	else
		twheel_timer_set_where(timer, TWHEEL_STATE_PENDING, base->cpu);
	spin_unlock(&ctx->lock);

	if (!ready)
		twheel_timer_enqueue(timer, base, now);
unlock:
	spin_unlock(&base->lock);
	local_bh_enable();

	if (ready)
		twheel_ctx_wake(ctx);
	return ret;
}

static int arm_new(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	int ret;

	while ((ret = try_arm_new(ctx, arm)) == -EAGAIN) {
		ret = twheel_pool_grow(&ctx->pool);
		if (ret)
			break;
		cond_resched();
	}
	return ret;
}

static void count_migration(const struct twheel_ctx *ctx,
			    const struct twheel_timer *timer,
			    const struct twheel_base *from,
			    const struct twheel_base *to)
{
	twheel_count(TWHEEL_COUNT_MIGRATED);
	if (trace_twheel_migrate_enabled())
		trace_twheel_migrate(ctx, twheel_pool_handle(timer), from->cpu, to->cpu);
}

/*
 * Re-arm @timer, which is held and pending, with the settings @new. If @ready it becomes
 * ready at once. -EAGAIN if it has to move to hold->local, and that base is not locked.
 */
static int rearm_pending(struct twheel_hold *hold, struct twheel_timer *timer,
			 const struct twheel_timer *new, bool ready, u64 now,
			 struct twheel_arm *arm)
{
	struct twheel_base *local = hold->local;
	u64 tick = twheel_timer_tick(new);
	bool stay = !ready && tick >= timer->node.expires &&
		    !twheel_cpu_isolated(hold->base->cpu);

	if (!stay && !ready && hold->base != local && hold->second != local)
		return -EAGAIN;

	arm->old_state = TWHEEL_STATE_PENDING;
	arm->old_remaining = twheel_ns_until(replace_word(timer, new, ready), now);
	if (stay) {
		/* The turn of its bucket comes first, and moves it. */
		set_timer(timer, new);
		timer->node.expires = tick;
		return 0;
	}

	twheel_base_dequeue(hold->base, &timer->node);
	set_timer(timer, new);
	if (ready) {
		twheel_hold_lock_ctx(hold);
		twheel_ctx_make_ready(hold->ctx, timer, now);
		return 0;
	}
	if (hold->base != local)
		count_migration(hold->ctx, timer, hold->base, local);
	twheel_timer_set_where(timer, TWHEEL_STATE_PENDING, local->cpu);
	twheel_timer_enqueue(timer, local, now);
	return 0;
}

/* The same for one that is ready. */
static void rearm_ready(struct twheel_hold *hold, struct twheel_timer *timer,
			const struct twheel_timer *new, bool ready, u64 now,
			struct twheel_arm *arm)
{
	arm->old_state = TWHEEL_STATE_READY;
	replace_word(timer, new, ready);
	twheel_ctx_withdraw(hold->ctx, timer);
	set_timer(timer, new);
	if (ready) {
		twheel_ctx_make_ready(hold->ctx, timer, now);
		return;
	}
	twheel_timer_set_where(timer, TWHEEL_STATE_PENDING, hold->local->cpu);
	twheel_timer_enqueue(timer, hold->local, now);
}

/*
 * Re-arm @timer, which is held and live; *@ready tells whether it became ready at once.
 * -ENOENT or -EEXIST if @arm has a condition that does not hold; -EAGAIN if
 * twheel_hold_both() is needed first.
 */
static int rearm_held(struct twheel_hold *hold, struct twheel_timer *timer,
		      struct twheel_arm *arm, bool *ready)
{
	bool pending = twheel_timer_state(timer) == TWHEEL_STATE_PENDING;
	enum twheel_clock clock = hold->local->clock;
	u64 now = twheel_clock_now(clock);
	struct twheel_timer new;
	int ret = 0;

	if (arm->flags & TWHEEL_ARM_IF_NONE)
		return -EEXIST;
	if (arm->flags & TWHEEL_ARM_IF_PENDING && !pending)
		return -ENOENT;

	new = settings_of(arm, clock, now);
	*ready = new.deadline <= now;
	if (pending)
		ret = rearm_pending(hold, timer, &new, *ready, now, arm);
	else
		rearm_ready(hold, timer, &new, *ready, now, arm);
	if (ret)
		return ret;

	tell_names(timer, arm);
	twheel_count(TWHEEL_COUNT_REARMED);
	trace_twheel_rearm(hold->ctx, arm->handle, twheel_clockids[clock],
			   new.deadline, new.interval, arm->slack);
	return 0;
}

/* Re-arm the timer that @arm names. -ENOENT if there is none. */
static int rearm(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	struct twheel_timer *timer;
	struct twheel_hold hold;
	bool ready;
	int ret;

	timer = twheel_hold_handle(&hold, ctx, arm->handle);
	/* Only now: a context that has a timer cannot be configured any more. */
	ret = check_arm(ctx, arm);
	if (!timer)
		return ret ?: -ENOENT;
	if (ret)
		goto drop;

	ret = rearm_held(&hold, timer, arm, &ready);
	if (ret == -EAGAIN) {
		ret = -ENOENT;
		if (twheel_hold_both(&hold, timer, arm->handle))
			ret = rearm_held(&hold, timer, arm, &ready);
	}
drop:
	twheel_hold_drop(&hold);

	if (!ret && ready)
		twheel_ctx_wake(ctx);
	return ret;
}

/* Re-arm the timer that @arm names or, if there is none, make it. */
static int rearm_or_new(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	int ret = -ENOENT;

	if (arm->handle || is_keyed(ctx))
		ret = rearm(ctx, arm);
	if (ret != -ENOENT || (arm->handle && !is_keyed(ctx)))
		return ret;

	ret = arm_new(ctx, arm);
	/*
	 * There may have been no room because another call has made the timer with this
	 * key meanwhile: then no room is needed.
	 */
	if (unlikely(ret && ret != -EEXIST) && is_keyed(ctx)) {
		int again = rearm(ctx, arm);

		if (again != -ENOENT)
			ret = again;
	}
	return ret;
}

void twheel_timer_arm(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	int ret;

	arm->old_state = TWHEEL_STATE_NONE;
	arm->old_remaining = 0;

	if (arm->flags & TWHEEL_ARM_IF_PENDING) {
		/* Handle 0 names no timer, unless it is a key. */
		ret = rearm(ctx, arm);
	} else {
		/*
		 * Other calls may make a timer with this key, and end it, at any time.
		 * -EEXIST means that one was made after rearm() had found none: with
		 * %TWHEEL_ARM_IF_NONE that is the answer, otherwise re-arm that one.
		 */
		do {
			ret = rearm_or_new(ctx, arm);
		} while (ret == -EEXIST && !(arm->flags & TWHEEL_ARM_IF_NONE));
	}
	arm->result = ret;
}

u64 twheel_timer_cancel_held(struct twheel_hold *hold, struct twheel_timer *timer)
{
	enum twheel_state state = twheel_timer_state(timer);
	struct twheel_ctx *ctx = hold->ctx;
	u64 deadline = timer->deadline;

	if (state == TWHEEL_STATE_PENDING) {
		deadline = replace_word(timer, NULL, false);
		twheel_base_dequeue(hold->base, &timer->node);
		twheel_hold_lock_ctx(hold);
	} else {
		twheel_ctx_withdraw(ctx, timer);
	}
	twheel_count(TWHEEL_COUNT_CANCELLED);
	if (trace_twheel_cancel_enabled())
		trace_twheel_cancel(ctx, twheel_pool_handle(timer), state);
	twheel_pool_free(&ctx->pool, timer);
	return deadline;
}

static int cancel_handle(struct twheel_ctx *ctx, struct twheel_cancel *cancel)
{
	struct twheel_timer *timer;
	struct twheel_hold hold;
	u64 now, deadline;

	timer = twheel_hold_handle(&hold, ctx, cancel->handle);
	if (!timer)
		return -ENOENT;

	cancel->old_state = twheel_timer_state(timer);
	now = twheel_clock_now(hold.base->clock);
	deadline = twheel_timer_cancel_held(&hold, timer);
	twheel_hold_drop(&hold);

	if (cancel->old_state == TWHEEL_STATE_PENDING)
		cancel->old_remaining = twheel_ns_until(deadline, now);
	return 0;
}

void twheel_timer_cancel(struct twheel_ctx *ctx, struct twheel_cancel *cancel)
{
	cancel->old_state = TWHEEL_STATE_NONE;
	cancel->old_remaining = 0;
	cancel->result = cancel->flags || cancel->reserved ?
			 -EINVAL : cancel_handle(ctx, cancel);
}

/* Take @timer out of its wheel for good, if it is pending. */
static void discard(struct twheel_timer *timer)
{
	struct twheel_hold hold;

	if (!twheel_hold_pending(&hold, timer))
		return;

	twheel_base_dequeue(hold.base, &timer->node);
	twheel_hold_lock_ctx(&hold);
	WRITE_ONCE(timer->where, TWHEEL_STATE_NONE);
	twheel_hold_drop(&hold);
}

void twheel_timer_discard_all(struct twheel_ctx *ctx)
{
	/*
	 * No timer may be freed before all of them are discarded: as long as one is
	 * pending it may expire, and be linked to others that are ready.
	 */
	twheel_pool_for_each(&ctx->pool, discard);

	/*
	 * The timer that expired last is no longer pending, but its expiry may still
	 * hold the lock and be linking it.
	 */
	spin_lock_bh(&ctx->lock);
	spin_unlock_bh(&ctx->lock);
}
