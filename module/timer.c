// SPDX-License-Identifier: GPL-2.0-only
/*
 * One timer: its states, and what can be done to it.
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
 * Locking rules: see struct twheel_timer for what guards a timer, base.c for the
 * order. Re-arming to a later deadline, which is what nearly all calls do, takes
 * the base's lock alone.
 *
 * A record is stored in the reader's memory, and an entry of a drained list,
 * with the locks held and page faults off; if memory has to be faulted in it is
 * done after letting go of them. So what is stored and what has become of the
 * timer are one step, to whoever else looks: a cancel comes before it or after.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "timer.h"

/* Records stored before the locks are let go of. */
#define TWHEEL_DELIVER_MAX	32

/**
 * struct twheel_lock - what is held of a timer
 * @ctx:	its context
 * @base:	its base or, if it is not pending, this CPU's: locked
 * @second:	NULL, or one that is locked as well
 * @ctx_locked:	whether ctx->lock is held: if the timer is not pending, at first
 */
struct twheel_lock {
	struct twheel_ctx	*ctx;
	struct twheel_base	*base;
	struct twheel_base	*second;
	bool			ctx_locked;
};

static void lock_bases(struct twheel_base *a, struct twheel_base *b)
	__acquires(&a->lock)
{
	if (b && b->cpu < a->cpu)
		swap(a, b);

	spin_lock(&a->lock);
	if (b && b != a) {
		spin_lock_nested(&b->lock, SINGLE_DEPTH_NESTING);
		__release(&b->lock);
	}
}

static void unlock_bases(struct twheel_base *a, struct twheel_base *b)
	__releases(&a->lock)
{
	if (b && b != a) {
		__acquire(&b->lock);
		spin_unlock(&b->lock);
	}
	spin_unlock(&a->lock);
}

static void lock_ctx(struct twheel_lock *lock)
{
	spin_lock(&lock->ctx->lock);
	lock->ctx_locked = true;
	/* Tell sparse, which cannot count what depends on a condition. */
	__release(&lock->ctx->lock);
}

static void unlock_timer(struct twheel_lock *lock)
	__releases(&lock->base->lock)
{
	if (lock->ctx_locked) {
		__acquire(&lock->ctx->lock);
		spin_unlock(&lock->ctx->lock);
	}
	unlock_bases(lock->base, lock->second);
}

/*
 * Take the locks that guard @timer, and that of @second if it is not NULL. The
 * timer's state says which those are and must not have changed when they are
 * held. Bottom halves are off.
 */
static void lock_timer(struct twheel_lock *lock, struct twheel_ctx *ctx,
		       struct twheel_timer *timer, struct twheel_base *second)
	__acquires(&lock->base->lock)
{
	enum twheel_clock clock = twheel_ctx_clock_of(timer);

	lock->ctx = ctx;
	lock->second = second;

	for (;;) {
		u32 where = READ_ONCE(timer->where);
		bool pending = twheel_state_of(where) == TWHEEL_STATE_PENDING;

		lock->ctx_locked = false;
		lock->base = pending ?
			twheel_base_of(clock, where >> TWHEEL_CPU_SHIFT) :
			twheel_base_local(clock);
		lock_bases(lock->base, second);

		if (!pending)
			lock_ctx(lock);
		if (pending ? READ_ONCE(timer->where) == where :
			      twheel_timer_state(timer) != TWHEEL_STATE_PENDING)
			return;

		unlock_timer(lock);
	}
}

static u64 handle_of(const struct twheel_timer *timer)
{
	return (u64)timer->generation << 32 | twheel_ctx_index(timer);
}

static bool is_live(const struct twheel_timer *timer, u64 handle)
{
	return twheel_timer_state(timer) != TWHEEL_STATE_NONE &&
	       timer->generation == upper_32_bits(handle);
}

/*
 * Find timer @index and hold it: with the locks that guard it, and so that this
 * CPU is not left. NULL, and nothing is held, if there is no such timer.
 */
static struct twheel_timer *hold_index(struct twheel_lock *lock,
				       struct twheel_ctx *ctx, u32 index)
{
	struct twheel_timer *timer;

	local_bh_disable();
	rcu_read_lock();

	timer = twheel_ctx_lookup(ctx, index);
	if (timer) {
		lock_timer(lock, ctx, timer, NULL);
		/* Sparse cannot count what depends on a condition. */
		__release(&lock->base->lock);
		__release(RCU);
		return timer;
	}

	rcu_read_unlock();
	local_bh_enable();
	return NULL;
}

static void drop_timer(struct twheel_lock *lock)
{
	__acquire(RCU);
	__acquire(&lock->base->lock);
	unlock_timer(lock);
	rcu_read_unlock();
	local_bh_enable();
}

/* Hold the timer that @handle names, if it is live. */
static struct twheel_timer *hold_handle(struct twheel_lock *lock,
					struct twheel_ctx *ctx, u64 handle)
{
	struct twheel_timer *timer = hold_index(lock, ctx, lower_32_bits(handle));

	if (timer && !is_live(timer, handle)) {
		drop_timer(lock);
		timer = NULL;
	}
	return timer;
}

static u64 remaining(const struct twheel_timer *timer, u64 now)
{
	return timer->deadline > now ? timer->deadline - now : 0;
}

/* Times end at KTIME_MAX: what is later is then. */
static u64 add_ns(u64 a, u64 b)
{
	u64 sum;

	return check_add_overflow(a, b, &sum) ? KTIME_MAX : min_t(u64, sum, KTIME_MAX);
}

static void set_pending(struct twheel_timer *timer, struct twheel_base *base)
{
	lockdep_assert_held(&base->lock);

	WRITE_ONCE(timer->where,
		   TWHEEL_STATE_PENDING | (u32)base->cpu << TWHEEL_CPU_SHIFT);
}

static void make_ready(struct twheel_ctx *ctx, struct twheel_timer *timer,
		       u64 now)
{
	lockdep_assert_held(&ctx->lock);

	WRITE_ONCE(timer->where, TWHEEL_STATE_READY);
	timer->expired = now;
	list_add_tail(&timer->ready, &ctx->ready);
	WRITE_ONCE(ctx->nr_ready, ctx->nr_ready + 1);
}

static void withdraw(struct twheel_ctx *ctx, struct twheel_timer *timer)
{
	lockdep_assert_held(&ctx->lock);

	list_del(&timer->ready);
	WRITE_ONCE(ctx->nr_ready, ctx->nr_ready - 1);
}

static u64 expires_tick(const struct twheel_timer *timer)
{
	return twheel_wheel_coalesce(twheel_ns_to_tick(timer->deadline),
				     timer->slack);
}

/* Put @timer, which is set_pending(), in the wheel of @base. */
static void enqueue(struct twheel_base *base, struct twheel_timer *timer, u64 now)
{
	timer->node.expires = expires_tick(timer);
	twheel_base_enqueue(base, &timer->node, now);
}

/* Take over the settings in @arm. The timer is locked, or new. */
static void set_timer(struct twheel_timer *timer, const struct twheel_arm *arm,
		      u64 now)
{
	u64 start = arm->flags & TWHEEL_ARM_ABS ? 0 : now;

	WRITE_ONCE(timer->deadline, add_ns(start, arm->expires));
	timer->user_data = arm->user_data;
	timer->interval = arm->interval;
	timer->slack = min_t(u64, arm->slack >> twheel_geometry.tick_shift,
			     U32_MAX);
	timer->count = arm->interval ? arm->count : 1;
}

/* -EAGAIN if there is no free timer, or no clock settled on, yet. */
static int try_arm_new(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	struct twheel_timer *timer;
	struct twheel_base *base;
	bool ready = false;
	int ret = 0;
	u64 now;

	if (!twheel_ctx_settled(ctx))
		return -EAGAIN;

	local_bh_disable();
	base = twheel_base_local(ctx->clock);
	spin_lock(&base->lock);

	spin_lock(&ctx->lock);
	timer = twheel_ctx_alloc(ctx);
	if (IS_ERR(timer)) {
		ret = PTR_ERR(timer);
		spin_unlock(&ctx->lock);
		goto unlock;
	}
	now = twheel_clock_now(ctx->clock);
	set_timer(timer, arm, now);
	arm->handle = handle_of(timer);
	ready = timer->deadline <= now;
	if (ready)
		make_ready(ctx, timer, now);
	else
		set_pending(timer, base);
	spin_unlock(&ctx->lock);

	if (!ready)
		enqueue(base, timer, now);
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
		ret = twheel_ctx_grow(ctx);
		if (ret)
			break;
	}
	return ret;
}

/*
 * Re-arm @timer, which is locked and live. -EAGAIN if it has to move to @local
 * and that base is not locked.
 */
static int rearm_locked(struct twheel_lock *lock, struct twheel_timer *timer,
			struct twheel_base *local, struct twheel_arm *arm,
			bool *ready)
{
	struct twheel_ctx *ctx = lock->ctx;
	u64 now = twheel_clock_now(local->clock);
	struct twheel_timer new = { };
	u64 tick;

	set_timer(&new, arm, now);
	*ready = new.deadline <= now;
	tick = expires_tick(&new);

	if (twheel_timer_state(timer) == TWHEEL_STATE_PENDING) {
		bool stay = !*ready && tick >= timer->node.expires;

		if (!stay && !*ready && lock->base != local &&
		    lock->second != local)
			return -EAGAIN;

		arm->old_state = TWHEEL_STATE_PENDING;
		arm->old_remaining = remaining(timer, now);
		if (stay) {
			/* The turn of its bucket comes first, and moves it. */
			set_timer(timer, arm, now);
			timer->node.expires = tick;
			return 0;
		}
		twheel_base_dequeue(lock->base, &timer->node);
		if (*ready)
			lock_ctx(lock);
	} else {
		arm->old_state = TWHEEL_STATE_READY;
		withdraw(ctx, timer);
	}

	set_timer(timer, arm, now);
	if (*ready) {
		make_ready(ctx, timer, now);
	} else {
		set_pending(timer, local);
		enqueue(local, timer, now);
	}
	return 0;
}

static int rearm(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	struct twheel_timer *timer;
	struct twheel_base *local;
	struct twheel_lock lock;
	bool ready;
	int ret;

	timer = hold_handle(&lock, ctx, arm->handle);
	if (!timer)
		return -ENOENT;

	local = twheel_base_local(lock.base->clock);
	ret = rearm_locked(&lock, timer, local, arm, &ready);
	if (ret == -EAGAIN) {
		unlock_timer(&lock);
		lock_timer(&lock, ctx, timer, local);
		ret = -ENOENT;
		if (is_live(timer, arm->handle))
			ret = rearm_locked(&lock, timer, local, arm, &ready);
	}
	drop_timer(&lock);

	if (!ret && ready)
		twheel_ctx_wake(ctx);
	return ret;
}

void twheel_timer_arm(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	arm->old_state = TWHEEL_STATE_NONE;
	arm->old_remaining = 0;

	if (arm->flags & ~TWHEEL_ARM_ABS || (arm->count > 1 && !arm->interval))
		arm->result = -EINVAL;
	else
		arm->result = arm->handle ? rearm(ctx, arm) : arm_new(ctx, arm);
}

/* Free @timer, which is pending and locked. */
static void remove_pending(struct twheel_lock *lock, struct twheel_timer *timer)
{
	twheel_base_dequeue(lock->base, &timer->node);
	lock_ctx(lock);
	twheel_ctx_free(lock->ctx, timer);
}

static int cancel_timer(struct twheel_ctx *ctx, struct twheel_cancel *cancel)
{
	struct twheel_timer *timer;
	struct twheel_lock lock;

	timer = hold_handle(&lock, ctx, cancel->handle);
	if (!timer)
		return -ENOENT;

	cancel->old_state = twheel_timer_state(timer);
	if (cancel->old_state == TWHEEL_STATE_PENDING) {
		cancel->old_remaining = remaining(timer,
						  twheel_clock_now(lock.base->clock));
		remove_pending(&lock, timer);
	} else {
		withdraw(ctx, timer);
		twheel_ctx_free(ctx, timer);
	}
	drop_timer(&lock);
	return 0;
}

void twheel_timer_cancel(struct twheel_ctx *ctx, struct twheel_cancel *cancel)
{
	cancel->old_state = TWHEEL_STATE_NONE;
	cancel->old_remaining = 0;
	cancel->result = cancel->flags || cancel->reserved ?
			 -EINVAL : cancel_timer(ctx, cancel);
}

static void describe(const struct twheel_timer *timer, u64 now,
		     struct twheel_timer_info *info)
{
	*info = (struct twheel_timer_info) {
		.handle		= handle_of(timer),
		.user_data	= timer->user_data,
		.deadline	= timer->deadline,
		.remaining	= remaining(timer, now),
		.interval	= timer->interval,
		.slack		= (u64)timer->slack << twheel_geometry.tick_shift,
		.count		= timer->count,
		.state		= twheel_timer_state(timer),
	};
}

int twheel_timer_get(struct twheel_ctx *ctx, struct twheel_timer_info *info)
{
	struct twheel_timer *timer;
	struct twheel_lock lock;

	timer = hold_handle(&lock, ctx, info->handle);
	if (!timer)
		return -ENOENT;

	describe(timer, twheel_clock_now(lock.base->clock), info);
	drop_timer(&lock);
	return 0;
}

int twheel_timer_list(struct twheel_ctx *ctx, u32 index, bool drain,
		      struct twheel_timer_info __user *to)
{
	struct twheel_timer_info info;
	struct twheel_timer *timer;
	struct twheel_lock lock;
	int ret = 0;

	timer = hold_index(&lock, ctx, index);
	if (!timer)
		return 0;

	if (twheel_timer_state(timer) == TWHEEL_STATE_PENDING) {
		describe(timer, twheel_clock_now(lock.base->clock), &info);
		ret = copy_to_user_nofault(to, &info, sizeof(info)) ? -EFAULT : 1;
	}
	if (ret == 1 && drain)
		remove_pending(&lock, timer);
	drop_timer(&lock);
	return ret;
}

u64 twheel_timer_next_expiry(struct twheel_ctx *ctx)
{
	u32 index = 0, end = twheel_ctx_end(ctx);
	u64 next = TWHEEL_NO_EXPIRY;

	for (;; index++) {
		struct twheel_timer *timer;

		rcu_read_lock();
		index = twheel_ctx_next_index(ctx, index, end);
		timer = index < end ? twheel_ctx_lookup(ctx, index) : NULL;
		if (timer && twheel_timer_state(timer) == TWHEEL_STATE_PENDING)
			next = min_t(u64, next, READ_ONCE(timer->deadline));
		rcu_read_unlock();

		if (index >= end || fatal_signal_pending(current))
			return next;
		cond_resched();
	}
}

u32 twheel_timer_expire(struct twheel_base *base, struct twheel_node **due,
			u32 n, u64 now, struct twheel_ctx **wake)
{
	u32 i = 0, nr_wake = 0;

	lockdep_assert_held(&base->lock);

	while (i < n) {
		struct twheel_timer *timer =
			container_of(due[i], struct twheel_timer, node);
		struct twheel_ctx *ctx = twheel_ctx_of(timer);

		spin_lock(&ctx->lock);
		do {
			make_ready(ctx, timer, now);
			if (++i == n)
				break;
			timer = container_of(due[i], struct twheel_timer, node);
		} while (twheel_ctx_of(timer) == ctx);
		spin_unlock(&ctx->lock);

		wake[nr_wake++] = ctx;
	}
	return nr_wake;
}

/* What a read at @now says of @timer, which is ready. */
static void make_event(const struct twheel_timer *timer, u64 now,
		       struct twheel_event *event)
{
	u64 expirations = 1;
	bool last = !timer->interval;

	if (timer->interval && now > timer->deadline)
		expirations += div64_u64(now - timer->deadline, timer->interval);
	if (timer->count && expirations >= timer->count) {
		expirations = timer->count;
		last = true;
	}

	*event = (struct twheel_event) {
		.user_data	= timer->user_data,
		.handle		= handle_of(timer),
		.deadline	= timer->deadline,
		.expired	= timer->expired,
		.expirations	= expirations,
		.flags		= last ? TWHEEL_EVENT_LAST : 0,
	};
}

/* The record of @timer was read: end it, or start its next round. */
static void finish_event(struct twheel_ctx *ctx, struct twheel_base *base,
			 struct twheel_timer *timer, u64 now,
			 const struct twheel_event *event)
{
	withdraw(ctx, timer);
	if (event->flags & TWHEEL_EVENT_LAST) {
		twheel_ctx_free(ctx, timer);
		return;
	}

	/* Up to the last one that is counted this cannot overflow. */
	WRITE_ONCE(timer->deadline,
		   add_ns(timer->deadline +
			  (event->expirations - 1) * timer->interval,
			  timer->interval));
	if (timer->count)
		timer->count -= event->expirations;
	set_pending(timer, base);
	enqueue(base, timer, now);
}

ssize_t twheel_timer_deliver(struct twheel_ctx *ctx, struct iov_iter *to)
{
	struct twheel_base *base;
	u32 n = 0;
	u64 now;
	int ret = 0;

	if (!twheel_ctx_settled(ctx) || !READ_ONCE(ctx->nr_ready))
		return 0;

	local_bh_disable();
	base = twheel_base_local(ctx->clock);
	spin_lock(&base->lock);
	spin_lock(&ctx->lock);
	pagefault_disable();

	now = twheel_clock_now(ctx->clock);
	while (n < TWHEEL_DELIVER_MAX &&
	       iov_iter_count(to) >= sizeof(struct twheel_event)) {
		struct twheel_timer *timer;
		struct twheel_event event;
		size_t copied;

		timer = list_first_entry_or_null(&ctx->ready,
						 struct twheel_timer, ready);
		if (!timer)
			break;

		make_event(timer, now, &event);
		copied = copy_to_iter(&event, sizeof(event), to);
		if (copied != sizeof(event)) {
			iov_iter_revert(to, copied);
			ret = -EFAULT;
			break;
		}
		finish_event(ctx, base, timer, now, &event);
		n++;
	}

	pagefault_enable();
	spin_unlock(&ctx->lock);
	spin_unlock(&base->lock);
	local_bh_enable();

	return n ? n * sizeof(struct twheel_event) : ret;
}

void twheel_timer_discard(struct twheel_ctx *ctx, struct twheel_timer *timer)
{
	struct twheel_lock lock;

	if (twheel_timer_state(timer) != TWHEEL_STATE_PENDING)
		return;

	local_bh_disable();
	lock_timer(&lock, ctx, timer, NULL);
	if (twheel_timer_state(timer) == TWHEEL_STATE_PENDING) {
		twheel_base_dequeue(lock.base, &timer->node);
		lock_ctx(&lock);
		WRITE_ONCE(timer->where, TWHEEL_STATE_NONE);
	}
	unlock_timer(&lock);
	local_bh_enable();
}
