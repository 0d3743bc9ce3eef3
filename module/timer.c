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
#include <linux/uio.h>

#include "base.h"
#include "ctx.h"
#include "lease.h"
#include "quota.h"
#include "stats.h"
#include "timer.h"
#include "timer_types.h"
#include "trace.h"

/* What an arming may depend on: one of them. Not kept. */
#define TWHEEL_ARM_CONDITIONS	(TWHEEL_ARM_IF_PENDING | TWHEEL_ARM_IF_NONE)

/* Records stored before the locks are let go of. */
#define TWHEEL_DELIVER_MAX	32

/**
 * struct twheel_lock - what is held of a timer
 * @ctx:	its context
 * @local:	where timers that are armed here go
 * @base:	its base or, if it is not pending, @local: locked
 * @second:	NULL, or one that is locked as well
 * @ctx_locked:	whether ctx->lock is held: if the timer is not pending, at first
 */
struct twheel_lock {
	struct twheel_ctx	*ctx;
	struct twheel_base	*local;
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
 * held. Bottom halves are off, lock->local is set.
 */
static void lock_timer(struct twheel_lock *lock, struct twheel_ctx *ctx,
		       struct twheel_timer *timer, struct twheel_base *second)
	__acquires(&lock->base->lock)
{
	lock->ctx = ctx;
	lock->second = second;

	for (;;) {
		u32 where = READ_ONCE(timer->where);
		bool pending = twheel_state_of(where) == TWHEEL_STATE_PENDING;

		lock->ctx_locked = false;
		lock->base = lock->local;
		if (pending)
			lock->base = twheel_base_of(lock->local->clock,
						    twheel_cpu_of(where));
		lock_bases(lock->base, second);

		if (!pending)
			lock_ctx(lock);
		if (pending ? READ_ONCE(timer->where) == where :
			      twheel_timer_state(timer) != TWHEEL_STATE_PENDING)
			return;

		unlock_timer(lock);
	}
}

/*
 * Hold @timer, if there is one: with the locks that guard it, and so that this
 * CPU is not left. Called with bottom halves off and under RCU, which ends if
 * there is none.
 */
static struct twheel_timer *hold(struct twheel_lock *lock,
				 struct twheel_ctx *ctx,
				 struct twheel_timer *timer)
	__releases(RCU)
{
	if (timer) {
		lock->local = twheel_base_local(twheel_ctx_clock_of(timer));
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

/* Hold timer @index, whatever its state. */
static struct twheel_timer *hold_index(struct twheel_lock *lock,
				       struct twheel_ctx *ctx, u32 index)
{
	local_bh_disable();
	rcu_read_lock();
	return hold(lock, ctx, twheel_ctx_lookup(ctx, index));
}

static bool is_live(const struct twheel_timer *timer, u64 handle)
{
	return twheel_timer_state(timer) != TWHEEL_STATE_NONE &&
	       twheel_ctx_handle(timer) == handle;
}

/* Hold the timer that @handle names, if it is live. */
static struct twheel_timer *hold_handle(struct twheel_lock *lock,
					struct twheel_ctx *ctx, u64 handle)
{
	struct twheel_timer *timer;

	local_bh_disable();
	rcu_read_lock();
	timer = hold(lock, ctx, twheel_ctx_find(ctx, handle));
	if (timer && !is_live(timer, handle)) {
		drop_timer(lock);
		timer = NULL;
	}
	return timer;
}

static u64 remaining(u64 deadline, u64 now)
{
	return deadline > now ? deadline - now : 0;
}

/* Times end at KTIME_MAX: what is later is then. */
static u64 add_ns(u64 a, u64 b)
{
	u64 sum;

	return check_add_overflow(a, b, &sum) ? KTIME_MAX : min_t(u64, sum, KTIME_MAX);
}

static bool is_lease(u32 where)
{
	return twheel_flags_of(where) & TWHEEL_ARM_LEASE;
}

/* The time that @word holds, or @deadline if it holds none. */
static u64 word_deadline(const struct twheel_ctx *ctx, u64 word, u64 deadline)
{
	return word & TWHEEL_LEASE_EXPIRED ? deadline :
	       twheel_clock_shift(word, -ctx->word_offset);
}

/* When @timer, which is @where, is due: a lease when its word says. */
static u64 deadline_of(const struct twheel_timer *timer, u32 where)
{
	u64 deadline = READ_ONCE(timer->deadline);

	if (!is_lease(where) || twheel_state_of(where) != TWHEEL_STATE_PENDING)
		return deadline;
	return word_deadline(twheel_ctx_of(timer),
			     atomic64_read(twheel_ctx_word(timer)), deadline);
}

/*
 * Make @timer's word, if it has one, say what it is going to be, as @new and
 * @ready say; or, if @new is NULL, that it ends. Whoever extends it from now on
 * extends that, or is too late. Returns when the timer was due until then.
 */
static u64 replace_word(struct twheel_timer *timer,
			const struct twheel_timer *new, bool ready)
{
	const struct twheel_ctx *ctx = twheel_ctx_of(timer);
	atomic64_t *word = twheel_ctx_word(timer);
	u64 value = TWHEEL_LEASE_EXPIRED, old;

	if (!word)
		return timer->deadline;

	if (new && is_lease(new->where)) {
		value = twheel_clock_shift(new->deadline, ctx->word_offset);
		if (ready)
			value |= TWHEEL_LEASE_EXPIRED;
	}
	old = twheel_lease_set(word, value);

	return is_lease(timer->where) ?
	       word_deadline(ctx, old, timer->deadline) : timer->deadline;
}

/* Change what timer->where says but for the flags. */
static void set_where(struct twheel_timer *timer, enum twheel_state state, u16 cpu)
{
	u32 flags = twheel_flags_of(timer->where);

	WRITE_ONCE(timer->where, state | (u32)cpu << TWHEEL_CPU_SHIFT |
				 flags << TWHEEL_FLAGS_SHIFT);
}

static void set_pending(struct twheel_timer *timer, struct twheel_base *base)
{
	lockdep_assert_held(&base->lock);

	set_where(timer, TWHEEL_STATE_PENDING, base->cpu);
}

static void make_ready(struct twheel_ctx *ctx, struct twheel_timer *timer,
		       u64 now)
{
	lockdep_assert_held(&ctx->lock);

	set_where(timer, TWHEEL_STATE_READY, 0);
	timer->expired = now;
	twheel_count(TWHEEL_COUNT_EXPIRED);
	twheel_observe(TWHEEL_HIST_LATENESS, now - timer->deadline);
	trace_twheel_expire(ctx, twheel_ctx_handle(timer),
			    twheel_clockids[ctx->clock], timer->deadline, now);
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

/* Is @arm, which may be for a context that has no timers yet, as it should be? */
static int check_arm(const struct twheel_ctx *ctx, const struct twheel_arm *arm)
{
	u32 flags = arm->flags;

	if (flags & ~(TWHEEL_ARM_ABS | TWHEEL_TIMER_FLAGS | TWHEEL_ARM_CONDITIONS))
		return -EINVAL;
	if ((flags & TWHEEL_ARM_CONDITIONS) == TWHEEL_ARM_CONDITIONS)
		return -EINVAL;
	/* Most likely a difference that went below zero. Sums are cut instead. */
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

/* The settings in @arm, as they are kept. */
static struct twheel_timer settings_of(const struct twheel_arm *arm,
				       enum twheel_clock clock, u64 now)
{
	return (struct twheel_timer) {
		.deadline	= arm->flags & TWHEEL_ARM_ABS ?
				  twheel_clock_from_user(clock, arm->expires) :
				  add_ns(now, arm->expires),
		.user_data	= arm->user_data,
		.interval	= arm->interval,
		.slack		= min_t(u64, arm->slack >> twheel_geometry.tick_shift,
					U32_MAX),
		.count		= arm->interval ? arm->count : 1,
		.where		= (arm->flags & TWHEEL_TIMER_FLAGS) <<
				  TWHEEL_FLAGS_SHIFT,
	};
}

/* Take over the settings of @new. The timer is locked, or just made. */
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

/* Tell the program where @timer is to be found. */
static void tell(const struct twheel_timer *timer, struct twheel_arm *arm)
{
	arm->handle = twheel_ctx_handle(timer);
	if (arm->flags & TWHEEL_ARM_LEASE)
		arm->word = twheel_ctx_index(timer);
}

static bool is_keyed(const struct twheel_ctx *ctx)
{
	return READ_ONCE(ctx->config) & TWHEEL_CONFIG_KEYED;
}

/* -EAGAIN if there is no free timer, or no clock settled on, yet. */
static int try_arm_new(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	bool settled = twheel_ctx_settled(ctx), ready = false;
	struct twheel_timer *timer, new;
	struct twheel_base *base;
	int ret;
	u64 now;

	ret = check_arm(ctx, arm);
	if (ret)
		return ret;
	if (!settled)
		return -EAGAIN;
	/* Only now it is certain: it may have been configured meanwhile. */
	if (is_keyed(ctx))
		twheel_ctx_await_room(ctx);
	else if (arm->handle)
		return -ENOENT;

	local_bh_disable();
	base = twheel_base_local(ctx->clock);
	spin_lock(&base->lock);

	spin_lock(&ctx->lock);
	timer = twheel_ctx_alloc(ctx, arm->handle);
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
	tell(timer, arm);
	twheel_count(TWHEEL_COUNT_ARMED);
	trace_twheel_arm(ctx, arm->handle, twheel_clockids[ctx->clock],
			 new.deadline, new.interval, arm->slack);
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
	trace_twheel_migrate(ctx, twheel_ctx_handle(timer), from->cpu, to->cpu);
}

static void count_cancel(const struct twheel_ctx *ctx, u64 handle,
			 enum twheel_state state)
{
	twheel_count(TWHEEL_COUNT_CANCELLED);
	trace_twheel_cancel(ctx, handle, state);
}

/*
 * Re-arm @timer, which is locked and live. -ENOENT or -EEXIST if @arm has a
 * condition that does not hold; -EAGAIN if the timer has to move to lock->local
 * and that base is not locked.
 */
static int rearm_locked(struct twheel_lock *lock, struct twheel_timer *timer,
			struct twheel_arm *arm, bool *ready)
{
	enum twheel_state state = twheel_timer_state(timer);
	struct twheel_base *local = lock->local;
	u64 now = twheel_clock_now(local->clock);
	struct twheel_ctx *ctx = lock->ctx;
	struct twheel_timer new;
	u64 tick;

	if (arm->flags & TWHEEL_ARM_IF_NONE)
		return -EEXIST;
	if (arm->flags & TWHEEL_ARM_IF_PENDING && state != TWHEEL_STATE_PENDING)
		return -ENOENT;

	new = settings_of(arm, local->clock, now);
	*ready = new.deadline <= now;
	tick = expires_tick(&new);

	if (state == TWHEEL_STATE_PENDING) {
		bool stay = !*ready && tick >= timer->node.expires &&
			    !twheel_cpu_isolated(lock->base->cpu);

		if (!stay && !*ready && lock->base != local &&
		    lock->second != local)
			return -EAGAIN;

		arm->old_state = TWHEEL_STATE_PENDING;
		arm->old_remaining = remaining(replace_word(timer, &new, *ready),
					       now);
		if (stay) {
			/* The turn of its bucket comes first, and moves it. */
			set_timer(timer, &new);
			timer->node.expires = tick;
			goto out;
		}
		twheel_base_dequeue(lock->base, &timer->node);
		if (*ready)
			lock_ctx(lock);
		else if (lock->base != local)
			count_migration(ctx, timer, lock->base, local);
	} else {
		arm->old_state = TWHEEL_STATE_READY;
		replace_word(timer, &new, *ready);
		withdraw(ctx, timer);
	}

	set_timer(timer, &new);
	if (*ready) {
		make_ready(ctx, timer, now);
	} else {
		set_pending(timer, local);
		enqueue(local, timer, now);
	}
out:
	tell(timer, arm);
	twheel_count(TWHEEL_COUNT_REARMED);
	trace_twheel_rearm(ctx, arm->handle, twheel_clockids[local->clock],
			   new.deadline, new.interval, arm->slack);
	return 0;
}

static int rearm(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	struct twheel_timer *timer;
	struct twheel_lock lock;
	bool ready;
	int ret;

	timer = hold_handle(&lock, ctx, arm->handle);
	/* There are no timers in a context that may still be configured. */
	ret = check_arm(ctx, arm);
	if (!timer)
		return ret ?: -ENOENT;
	if (ret)
		goto drop;

	ret = rearm_locked(&lock, timer, arm, &ready);
	if (ret == -EAGAIN) {
		unlock_timer(&lock);
		lock_timer(&lock, ctx, timer, lock.local);
		ret = -ENOENT;
		if (is_live(timer, arm->handle))
			ret = rearm_locked(&lock, timer, arm, &ready);
	}
drop:
	drop_timer(&lock);

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
	 * There was no room, but perhaps because another call has made the
	 * timer with this key meanwhile: then none is needed.
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
		 * With a key: others may make the timer, and end it, at any time.
		 * If one was made after rearm() had found none, that is what
		 * %TWHEEL_ARM_IF_NONE asks for; all others re-arm that one.
		 */
		do {
			ret = rearm_or_new(ctx, arm);
		} while (ret == -EEXIST && !(arm->flags & TWHEEL_ARM_IF_NONE));
	}
	arm->result = ret;
}

/* Free @timer, which is pending and locked. Returns when it was due. */
static u64 remove_pending(struct twheel_lock *lock, struct twheel_timer *timer)
{
	u64 deadline = replace_word(timer, NULL, false);

	twheel_base_dequeue(lock->base, &timer->node);
	lock_ctx(lock);
	twheel_ctx_free(lock->ctx, timer);
	return deadline;
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
		u64 now = twheel_clock_now(lock.base->clock);

		cancel->old_remaining = remaining(remove_pending(&lock, timer),
						  now);
	} else {
		withdraw(ctx, timer);
		twheel_ctx_free(ctx, timer);
	}
	count_cancel(ctx, cancel->handle, cancel->old_state);
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

static void describe(const struct twheel_timer *timer,
		     struct twheel_timer_info *info)
{
	enum twheel_clock clock = twheel_ctx_clock_of(timer);
	u64 deadline = deadline_of(timer, timer->where);

	*info = (struct twheel_timer_info) {
		.handle		= twheel_ctx_handle(timer),
		.user_data	= timer->user_data,
		.deadline	= twheel_clock_to_user(clock, deadline),
		.remaining	= remaining(deadline, twheel_clock_now(clock)),
		.interval	= timer->interval,
		.slack		= (u64)timer->slack << twheel_geometry.tick_shift,
		.count		= timer->count,
		.state		= twheel_timer_state(timer),
		.flags		= twheel_flags_of(timer->where),
		.word		= is_lease(timer->where) ?
				  twheel_ctx_index(timer) : 0,
	};
}

int twheel_timer_get(struct twheel_ctx *ctx, struct twheel_timer_info *info)
{
	struct twheel_timer *timer;
	struct twheel_lock lock;

	timer = hold_handle(&lock, ctx, info->handle);
	if (!timer)
		return -ENOENT;

	describe(timer, info);
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
		describe(timer, &info);
		ret = copy_to_user_nofault(to, &info, sizeof(info)) ? -EFAULT : 1;
	}
	if (ret == 1 && drain) {
		remove_pending(&lock, timer);
		count_cancel(ctx, info.handle, TWHEEL_STATE_PENDING);
	}
	drop_timer(&lock);
	return ret;
}

u64 twheel_timer_next_expiry(struct twheel_ctx *ctx)
{
	u32 index = 0, end = twheel_ctx_end(ctx);
	u64 next = TWHEEL_NO_EXPIRY;

	for (;; index++) {
		struct twheel_timer *timer;
		u32 where;

		rcu_read_lock();
		index = twheel_ctx_next_index(ctx, index, end);
		timer = index < end ? twheel_ctx_lookup(ctx, index) : NULL;
		where = timer ? READ_ONCE(timer->where) : TWHEEL_STATE_NONE;
		if (twheel_state_of(where) == TWHEEL_STATE_PENDING)
			next = min(next, deadline_of(timer, where));
		rcu_read_unlock();

		if (index >= end || fatal_signal_pending(current))
			break;
		cond_resched();
	}
	return next == TWHEEL_NO_EXPIRY ? next :
	       twheel_clock_to_user(READ_ONCE(ctx->clock), next);
}

/*
 * @timer, a lease, has come up, and may not be over: has its word been set to a later
 * time? True if it is over, and claimed. Otherwise timer->node says when to look next.
 */
static bool look_at_lease(struct twheel_base *base, struct twheel_timer *timer,
			  const struct twheel_run *run)
{
	const struct twheel_ctx *ctx = twheel_ctx_of(timer);
	atomic64_t *word = twheel_ctx_word(timer);
	u64 clk = base->wheel.clk, deadline, wait;

	if (timer->node.expires <= clk) {
		/* Late or not, all is looked at as of its turn: so it stays in order. */
		u64 time = twheel_clock_shift(clk << twheel_geometry.tick_shift,
					      ctx->word_offset);
		bool claimed = twheel_lease_claim(word, time, &deadline);

		WRITE_ONCE(timer->deadline, twheel_clock_shift(deadline, -ctx->word_offset));
		if (claimed)
			return true;
	} else {
		/* On the way down: as it is read now it need not come up at its old time. */
		deadline = word_deadline(ctx, atomic64_read(word), timer->deadline);
		if (deadline <= timer->deadline)
			return false;
		WRITE_ONCE(timer->deadline, deadline);
	}

	timer->node.expires = max(timer->node.expires, expires_tick(timer));
	wait = twheel_quota_charge_look(ctx->quota, run->now, base->look_ns);
	if (wait)
		timer->node.expires = max(timer->node.expires, run->tick + 1 +
					  (wait >> twheel_geometry.tick_shift));
	return false;
}

/* Is @timer, which has come up, over? */
static bool is_over(struct twheel_base *base, struct twheel_timer *timer,
		    const struct twheel_run *run)
{
	if (is_lease(timer->where))
		return look_at_lease(base, timer, run);
	return timer->node.expires <= base->wheel.clk;
}

/* Make the @n timers in @due ready, in their order for each context. */
static void make_all_ready(struct twheel_node **due, u32 n, struct twheel_run *run)
{
	struct twheel_ctx *ctxs[TWHEEL_CHUNK];
	u32 i, k;

	for (i = 0; i < n; i++)
		ctxs[i] = twheel_ctx_of(container_of(due[i], struct twheel_timer, node));

	for (i = 0; i < n; i++) {
		struct twheel_ctx *ctx = ctxs[i];

		if (!ctx)
			continue;
		spin_lock(&ctx->lock);
		for (k = i; k < n; k++) {
			if (ctxs[k] != ctx)
				continue;
			make_ready(ctx, container_of(due[k], struct twheel_timer, node),
				   run->time);
			ctxs[k] = NULL;
		}
		spin_unlock(&ctx->lock);

		/* Once is enough: to wake all who wait for it may take long. */
		for (k = 0; k < run->nr_wake && run->wake[k] != ctx; k++)
			;
		if (k == run->nr_wake)
			run->wake[run->nr_wake++] = ctx;
	}
}

u32 twheel_timer_expire(struct twheel_base *base, struct twheel_run *run)
{
	struct twheel_node *due[TWHEEL_CHUNK];
	u32 seen = 0, nr_due = 0, end, i;

	lockdep_assert_held(&base->lock);

	while (seen < TWHEEL_CHUNK) {
		i = nr_due;
		end = i + twheel_wheel_take(&base->wheel, run->tick, &due[i],
					    TWHEEL_CHUNK - seen);
		if (end == i)
			break;
		seen += end - i;
		/* Those that are not over go back before the wheel turns on. */
		for (; i < end; i++) {
			struct twheel_timer *timer =
				container_of(due[i], struct twheel_timer, node);

			if (is_over(base, timer, run))
				due[nr_due++] = due[i];
			else
				twheel_wheel_enqueue(&base->wheel, due[i]);
		}
	}

	make_all_ready(due, nr_due, run);
	run->expired += nr_due;
	run->moved += seen - nr_due;
	return seen;
}

void twheel_timer_wake(const struct twheel_run *run)
{
	u32 i;

	for (i = 0; i < run->nr_wake; i++)
		twheel_ctx_wake(run->wake[i]);
}

static bool has_grid(const struct twheel_timer *timer)
{
	return timer->interval &&
	       !(twheel_flags_of(timer->where) & TWHEEL_ARM_FIXED_DELAY);
}

/* What a read at @now says of @timer, which is ready. */
static void make_event(const struct twheel_timer *timer, u64 now,
		       struct twheel_event *event)
{
	enum twheel_clock clock = twheel_ctx_clock_of(timer);
	bool last = !timer->interval;
	u64 expirations = 1;

	if (has_grid(timer) && now > timer->deadline)
		expirations += div64_u64(now - timer->deadline, timer->interval);
	if (timer->count && expirations >= timer->count) {
		expirations = timer->count;
		last = true;
	}

	*event = (struct twheel_event) {
		.user_data	= timer->user_data,
		.handle		= twheel_ctx_handle(timer),
		.deadline	= twheel_clock_to_user(clock, timer->deadline),
		.expired	= twheel_clock_to_user(clock, timer->expired),
		.expirations	= expirations,
		.flags		= last ? TWHEEL_EVENT_LAST : 0,
	};
}

/* The record of @timer was read: end it, or start its next round. */
static void finish_event(struct twheel_ctx *ctx, struct twheel_base *base,
			 struct twheel_timer *timer, u64 now,
			 const struct twheel_event *event)
{
	u64 deadline = now;

	withdraw(ctx, timer);
	if (event->flags & TWHEEL_EVENT_LAST) {
		twheel_ctx_free(ctx, timer);
		return;
	}

	/* Up to the last one that is counted this cannot overflow. */
	if (has_grid(timer))
		deadline = timer->deadline +
			   (event->expirations - 1) * timer->interval;
	WRITE_ONCE(timer->deadline, add_ns(deadline, timer->interval));
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

	twheel_count_n(TWHEEL_COUNT_READ, n);
	pagefault_enable();
	spin_unlock(&ctx->lock);
	spin_unlock(&base->lock);
	local_bh_enable();

	return n ? n * sizeof(struct twheel_event) : ret;
}

/* Take @timer out of its wheel, if it is pending, for good. */
static void discard(struct twheel_ctx *ctx, struct twheel_timer *timer)
{
	struct twheel_lock lock;

	if (twheel_timer_state(timer) != TWHEEL_STATE_PENDING)
		return;

	local_bh_disable();
	lock.local = twheel_base_local(twheel_ctx_clock_of(timer));
	lock_timer(&lock, ctx, timer, NULL);
	if (twheel_timer_state(timer) == TWHEEL_STATE_PENDING) {
		twheel_base_dequeue(lock.base, &timer->node);
		lock_ctx(&lock);
		WRITE_ONCE(timer->where, TWHEEL_STATE_NONE);
	}
	unlock_timer(&lock);
	local_bh_enable();
}

void twheel_timer_discard_all(struct twheel_ctx *ctx)
{
	/*
	 * As long as one timer is pending it may expire and be linked to others that
	 * are ready: so all stay there.
	 */
	twheel_ctx_for_each(ctx, discard);

	/*
	 * None is pending any more, but the last to expire may have just been made
	 * ready, with the lock held to link it still.
	 */
	spin_lock_bh(&ctx->lock);
	spin_unlock_bh(&ctx->lock);
}
