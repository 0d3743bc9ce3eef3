// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The way in: arming and re-arming timers. Which states a timer has is in Documentation/design.md.
 *
 * A batch is carried out in parts. First the timers of all entries of a part are looked up
 * and their memory is fetched, so that the CPU waits for it once. Then they are re-armed one
 * after another, mostly with one lock that all of them need.
 *
 * Locking rules: see hold.c for what guards a timer, design.md for the order. A re-arm to a
 * later deadline, which is what nearly all calls do, takes the lock of the base alone.
 */
#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include "arm.h"
#include "base.h"
#include "ctx.h"
#include "debug.h"
#include "hold.h"
#include "host.h"
#include "lease.h"
#include "timer.h"

/* twheel_hold_look_ahead() reads the handle at offset 0 of each entry. */
static_assert(!offsetof(struct twheel_arm, handle));

/* The conditions of an arming, which has one at most. They are not kept with the timer. */
#define TWHEEL_ARM_CONDITIONS	(TWHEEL_ARM_IF_PENDING | TWHEEL_ARM_IF_NONE)

u64 twheel_timer_end_lease(const struct twheel_ctx *ctx, const struct twheel_timer *timer)
{
	return twheel_ctx_word_deadline(ctx, twheel_lease_end(twheel_word_of(timer)),
					timer->deadline);
}

/*
 * What the word of a timer is to say, but for its tag, when @arm arms it for @deadline. @ready:
 * the timer expires at once.
 */
static u64 word_for(const struct twheel_ctx *ctx, const struct twheel_arm *arm, u64 deadline,
		    bool ready)
{
	if (!(arm->flags & TWHEEL_ARM_LEASE))
		return TWHEEL_LEASE_EXPIRED;
	return twheel_lease_units(twheel_clock_shift(deadline, ctx->word_offset)) |
	       (ready ? TWHEEL_LEASE_EXPIRED : 0);
}

/* If @arm has armed @timer as a lease, whose word says @word, tell that. */
static void tell_word(const struct twheel_timer *timer, struct twheel_arm *arm, u64 word)
{
	if (!(arm->flags & TWHEEL_ARM_LEASE))
		return;
	arm->word = twheel_index_of(timer);
	arm->tag = twheel_lease_tag(word);
}

/* As replace_word(), for a timer that is to be a lease. */
static noinline u64 renew_word(const struct twheel_ctx *ctx, const struct twheel_timer *timer,
			       struct twheel_arm *arm, u64 deadline, bool ready)
{
	u64 old;

	tell_word(timer, arm, twheel_lease_renew(twheel_word_of(timer),
						 word_for(ctx, arm, deadline, ready), &old));
	return twheel_is_lease(timer->where) ?
	       twheel_ctx_word_deadline(ctx, old, timer->deadline) : timer->deadline;
}

/*
 * Set the word of @timer, which is live, as @arm says: see word_for(). From here on, an extension
 * by a program either changes this new word or comes too late. Returns the deadline that the
 * timer had until now.
 */
static __always_inline u64 replace_word(const struct twheel_ctx *ctx,
					const struct twheel_timer *timer,
					struct twheel_arm *arm, u64 deadline, bool ready)
{
	if (unlikely(arm->flags & TWHEEL_ARM_LEASE))
		return renew_word(ctx, timer, arm, deadline, ready);
	if (unlikely(twheel_is_lease(timer->where)))
		return twheel_timer_end_lease(ctx, timer);
	return timer->deadline;
}

static u64 tick_of(u64 deadline, u32 slack)
{
	u64 tick = twheel_ns_to_tick(deadline);

	return slack ? twheel_wheel_coalesce(tick, slack) : tick;
}

u64 twheel_timer_tick(const struct twheel_timer *timer)
{
	return tick_of(timer->deadline, timer->slack);
}

/* Put @timer into the wheel of @base, which has gone on to the present, to be due at @tick. */
static __always_inline void enqueue(struct twheel_timer *timer, struct twheel_base *base, u64 tick)
{
	twheel_assert(twheel_where_without_flags(timer->where) == twheel_where_pending(base->cpu));
	timer->node.expires = tick;
	twheel_wheel_enqueue(&base->wheel, &timer->node);
	twheel_base_changed(base, TWHEEL_NEVER, tick);
	if (base->wheel.next_expiry < base->programmed)
		twheel_base_program(base);
}

void twheel_timer_enqueue(struct twheel_timer *timer, struct twheel_base *base, u64 now)
{
	twheel_base_forward(base, now);
	enqueue(timer, base, twheel_timer_tick(timer));
}

/* Is @arm valid? @ctx, whose clock is @clock, need not be settled yet. 0 or -EINVAL. */
static __always_inline int check_arm(const struct twheel_ctx *ctx, enum twheel_clock clock,
				     const struct twheel_arm *arm)
{
	u32 flags = arm->flags;

	/* Most likely a difference that went below zero. Sums are capped instead. */
	if ((arm->expires | arm->interval | arm->slack) > KTIME_MAX)
		return -EINVAL;
	if (!(flags & TWHEEL_ARM_ABS) && clock == TWHEEL_REALTIME)
		return -EINVAL;
	if (likely(!(flags & ~TWHEEL_ARM_ABS)))
		return arm->interval || arm->count <= 1 ? 0 : -EINVAL;

	if (flags & ~(TWHEEL_ARM_ABS | TWHEEL_TIMER_FLAGS | TWHEEL_ARM_CONDITIONS))
		return -EINVAL;
	if ((flags & TWHEEL_ARM_CONDITIONS) == TWHEEL_ARM_CONDITIONS)
		return -EINVAL;
	if (flags & TWHEEL_ARM_LEASE &&
	    (arm->interval || !(READ_ONCE(ctx->config) & TWHEEL_CONFIG_LEASE)))
		return -EINVAL;
	if (!arm->interval &&
	    (arm->count > 1 || flags & TWHEEL_ARM_FIXED_DELAY))
		return -EINVAL;
	return 0;
}

/*
 * @deadline, as a word can say it. What has passed @now has passed afterwards, too: so it is not
 * rounded up.
 */
static noinline u64 round_for_word(const struct twheel_ctx *ctx, u64 deadline, u64 now)
{
	u64 time = twheel_clock_shift(deadline, ctx->word_offset);
	u64 units = deadline > now ? twheel_lease_units(time) : time >> TWHEEL_LEASE_UNIT_SHIFT;

	return twheel_clock_shift(twheel_lease_deadline(units), -ctx->word_offset);
}

/*
 * The time that @arm, which is valid, asks for, in ns on the context's clock. @offset: that of the
 * calling program's clock.
 */
static __always_inline u64 expires_at(const struct twheel_arm *arm, s64 offset, u64 now)
{
	if (!(arm->flags & TWHEEL_ARM_ABS))
		return min_t(u64, now + arm->expires, KTIME_MAX);
	return twheel_clock_unshift(arm->expires, offset);
}

/* When @arm is due: that time, or for a lease what a word can say. */
static __always_inline u64 deadline_of(const struct twheel_ctx *ctx, const struct twheel_arm *arm,
				       s64 offset, u64 now)
{
	u64 time = expires_at(arm, offset, now);

	if (unlikely(arm->flags & TWHEEL_ARM_LEASE))
		return round_for_word(ctx, time, now);
	return time;
}

/* The slack that @arm asks for, in ticks */
static u32 slack_of(const struct twheel_arm *arm)
{
	return arm->slack ? min_t(u64, arm->slack >> twheel_geometry.tick_shift, U32_MAX) : 0;
}

/*
 * Copy the settings in @arm to @timer, which is locked or was just allocated. @where: what
 * timer->where is to say, without flags.
 */
static void set_timer(struct twheel_timer *timer, const struct twheel_arm *arm, u64 deadline,
		      u32 slack, u32 where)
{
	twheel_assert(twheel_state_of(where) != TWHEEL_STATE_NONE);
	WRITE_ONCE(timer->deadline, deadline);
	timer->user_data = arm->user_data;
	timer->interval = arm->interval;
	timer->slack = slack;
	timer->count = arm->interval ? arm->count : 1;
	/*
	 * From now on the lock of the base guards the timer. Only twheel_list_next_expiry() reads
	 * it without that lock, and must not find the deadline of the timer that was there before.
	 * Pairs with smp_load_acquire() there.
	 */
	smp_store_release(&timer->where,
			  where | (arm->flags & TWHEEL_TIMER_FLAGS) << TWHEEL_FLAGS_SHIFT);
}

static bool is_keyed(const struct twheel_ctx *ctx)
{
	return READ_ONCE(ctx->config) & TWHEEL_CONFIG_KEYED;
}

/* Make @timer, which is on hold->base but in no wheel and no list, ready at @now. */
static void make_ready(struct twheel_hold *hold, struct twheel_timer *timer, u64 now)
{
	twheel_ctx_make_ready(hold->ctx, hold->base, timer, now);
	hold->wake = true;
}

/* Say in @arm that it was carried out, that no timer was replaced, and that there is no lease. */
static void clear_answer(struct twheel_arm *arm)
{
	arm->word = 0;
	arm->tag = 0;
	arm->result = 0;
	arm->old_state = TWHEEL_STATE_NONE;
	arm->old_remaining = 0;
}

/* Arm the @n @timers, which were free, on hold->local as @arms say. */
static __always_inline void start_new(struct twheel_hold *hold, struct twheel_timer **timers,
				      struct twheel_arm *arms, u32 n)
{
	struct twheel_base *local = hold->local;
	u32 where = twheel_where_pending(local->cpu);
	struct twheel_arm *arm, *end = arms + n;
	struct twheel_ctx *ctx = hold->ctx;
	bool leases = ctx->pool.leases;
	u64 now = twheel_hold_now(hold);

	twheel_count_n(TWHEEL_COUNT_ARMED, n);
	twheel_base_forward(local, now);
	for (arm = arms; arm < end; arm++) {
		struct twheel_timer *timer = *timers++;
		u64 deadline = deadline_of(ctx, arm, hold->offset, now);
		bool ready = deadline <= now;
		u32 slack = slack_of(arm);

		if (unlikely(leases))
			tell_word(timer, arm,
				  twheel_lease_begin(twheel_word_of(timer),
						     word_for(ctx, arm, deadline, ready)));
		set_timer(timer, arm, deadline, slack, where);
		arm->handle = twheel_pool_handle(timer);
		if (trace_twheel_arm_enabled())
			trace_twheel_arm(ctx, arm->handle, ctx->clock, deadline, arm->interval,
					 arm->slack);
		if (unlikely(ready))
			make_ready(hold, timer, now);
		else
			enqueue(timer, local, tick_of(deadline, slack));
	}
}

/* As twheel_pool_alloc(); that which was taken before comes first. */
static __always_inline int take_timers(struct twheel_hold *hold, struct twheel_timer **timers,
				       u32 n)
{
	struct twheel_pool *pool = &hold->ctx->pool;

	if (likely(!hold->taken))
		return twheel_pool_alloc(pool, hold->local, timers, n);
	timers[0] = hold->taken;
	hold->taken = NULL;
	return 1 + (n > 1 ? max(twheel_pool_alloc(pool, hold->local, timers + 1, n - 1), 0) : 0);
}

/*
 * Make timers for the @n entries at @arms. @timers has room for as many. If timers have keys, @n is
 * 1 and the lock of the key is held, which no timer has. Returns for how many entries: 1 or more;
 * or -EAGAIN if the pool has to grow first.
 */
static __always_inline int make_new(struct twheel_hold *hold, struct twheel_arm *arms, u32 n,
				    struct twheel_timer **timers)
{
	struct twheel_pool *pool = &hold->ctx->pool;
	int ret;

	/* Settings may change until the pool is settled, which growing does. */
	if (!hold->local)
		return -EAGAIN;

	twheel_hold_local(hold);
	ret = take_timers(hold, timers, n);
	if (ret < 0)
		return ret;

	if (unlikely(pool->keyed))
		twheel_keys_insert(&pool->keys, timers[0], &hold->key, arms->handle);
	start_new(hold, timers, arms, ret);
	if (unlikely(pool->keyed)) {
		twheel_hold_unlock_key(hold);
		twheel_keys_split(&pool->keys);
	}
	return ret;
}

/* As make_new(), out of line. */
static noinline int arm_new(struct twheel_hold *hold, struct twheel_arm *arms, u32 n,
			    struct twheel_timer **timers)
{
	return make_new(hold, arms, n, timers);
}

/* May @timer, pending on a base where timers may stay if it @stays, be due at @tick there? */
static __always_inline bool can_stay(const struct twheel_timer *timer, u64 tick, bool stays)
{
	return tick >= timer->node.expires && stays;
}

/* Let @timer be due at @tick where it is: the turn of its bucket comes first, and moves it. */
static __always_inline void stay_until(struct twheel_base *base, struct twheel_timer *timer,
				       u64 tick)
{
	twheel_base_changed(base, timer->node.expires, tick);
	timer->node.expires = tick;
}

/* Out of line: so what calls it has nothing to save. */
static noinline void trace_rearmed(const struct twheel_timer *timer)
{
	trace_twheel_rearm(twheel_ctx_of(timer), twheel_pool_handle(timer),
			   twheel_ctx_of(timer)->clock, timer->deadline, timer->interval,
			   (u64)timer->slack << twheel_geometry.tick_shift);
}

/* Note that @timer was re-armed. */
static __always_inline void note_rearmed(const struct twheel_timer *timer)
{
	twheel_count(TWHEEL_COUNT_REARMED);
	if (trace_twheel_rearm_enabled())
		trace_rearmed(timer);
}

bool twheel_timer_postpone(struct twheel_base *base, struct twheel_timer *timer, u64 deadline,
			   u32 here, bool stays)
{
	u64 tick = twheel_ns_to_tick(deadline);

	lockdep_assert_held(&base->lock);
	twheel_ctx_assert_held(twheel_ctx_of(timer), timer);

	/* A flag may say that it is a lease, which may be due when its program has said. */
	if (unlikely(READ_ONCE(timer->where) != here || timer->slack ||
		     deadline < timer->deadline || !can_stay(timer, tick, stays)))
		return false;
	WRITE_ONCE(timer->deadline, deadline);
	stay_until(base, timer, tick);
	note_rearmed(timer);
	return true;
}

/*
 * Re-arm @timer, which is held, to be due at @deadline, and not where it is. Returns 0; or -EAGAIN
 * if it has to move to hold->local, and that base is not locked.
 */
static __always_inline int rearm_anew(struct twheel_hold *hold, struct twheel_timer *timer,
				      struct twheel_arm *arm, u64 deadline, u64 now, bool pending)
{
	struct twheel_base *local = hold->local;
	bool ready = deadline <= now;
	u64 old;

	if (!ready && hold->base != local && hold->second != local)
		return -EAGAIN;

	old = replace_word(hold->ctx, timer, arm, deadline, ready);
	if (pending) {
		arm->old_state = TWHEEL_STATE_PENDING;
		arm->old_remaining = twheel_ns_until(old, now);
		twheel_hold_dequeue(hold, timer);
	} else {
		arm->old_state = TWHEEL_STATE_READY;
		twheel_ctx_withdraw(hold->ctx, timer);
	}
	set_timer(timer, arm, deadline, slack_of(arm), twheel_where_without_flags(timer->where));
	note_rearmed(timer);
	if (ready) {
		make_ready(hold, timer, now);
		return 0;
	}
	if (hold->base != local) {
		twheel_count(TWHEEL_COUNT_MIGRATED);
		if (trace_twheel_migrate_enabled())
			trace_twheel_migrate(hold->ctx, twheel_pool_handle(timer), hold->base->cpu,
					     local->cpu);
	}
	twheel_timer_set_where(timer, TWHEEL_STATE_PENDING, local->cpu);
	twheel_timer_enqueue(timer, local, now);
	return 0;
}

/*
 * Re-arm @timer, which is held and pending on @base, to be due at @deadline, if it can stay where
 * it is. @stays: twheel_base_stays() of @base. Returns whether that was done.
 */
static __always_inline bool rearm_in_place(struct twheel_ctx *ctx, struct twheel_base *base,
					   struct twheel_timer *timer, struct twheel_arm *arm,
					   u64 deadline, u64 now, bool stays)
{
	u32 slack = slack_of(arm);
	u64 tick = tick_of(deadline, slack);

	lockdep_assert_held(&base->lock);
	twheel_ctx_assert_held(ctx, timer);

	if (unlikely(deadline <= now || !can_stay(timer, tick, stays)))
		return false;
	arm->old_state = TWHEEL_STATE_PENDING;
	arm->old_remaining = twheel_ns_until(replace_word(ctx, timer, arm, deadline, false), now);
	set_timer(timer, arm, deadline, slack, twheel_where_without_flags(timer->where));
	stay_until(base, timer, tick);
	note_rearmed(timer);
	return true;
}

int twheel_timer_rearm(struct twheel_hold *hold, struct twheel_timer *timer,
		       struct twheel_arm *arm)
{
	bool pending = twheel_timer_state(timer) == TWHEEL_STATE_PENDING;
	u64 now = twheel_hold_now(hold), deadline;

	if (arm->flags & TWHEEL_ARM_CONDITIONS) {
		if (arm->flags & TWHEEL_ARM_IF_NONE)
			return -EEXIST;
		if (!pending)
			return -ENOENT;
	}

	deadline = deadline_of(hold->ctx, arm, hold->offset, now);
	if (likely(pending && rearm_in_place(hold->ctx, hold->base, timer, arm, deadline, now,
					     hold->stays)))
		return 0;
	return rearm_anew(hold, timer, arm, deadline, now, pending);
}

/*
 * Re-arm the timer that @arm names. @hint: as for twheel_hold_handle(). Returns as
 * twheel_timer_rearm(); or -ENOENT if there is no such timer: if timers have keys the lock of this
 * key is then held, so that no other call makes one.
 */
static int rearm(struct twheel_hold *hold, struct twheel_arm *arm, struct twheel_timer *hint)
{
	struct twheel_timer *timer;
	int ret;

	for (;; hint = NULL) {
		timer = twheel_hold_handle(hold, arm->handle, hint);
		if (!timer)
			return -ENOENT;
		ret = twheel_timer_rearm(hold, timer, arm);
		if (ret != -EAGAIN)
			return ret;
		if (twheel_hold_both(hold, timer, arm->handle))
			return twheel_timer_rearm(hold, timer, arm);
		/* The timer has ended while it was not held. */
	}
}

/*
 * Carry out @arm. @hint: as for twheel_hold_handle(). @full: 0, or the error for which no timer can
 * be made. Returns the result, or -EAGAIN if the pool has to grow first. The lock of the key may be
 * held afterwards.
 */
static int arm_or_lock(struct twheel_hold *hold, struct twheel_arm *arm,
		       struct twheel_timer *hint, int full)
{
	struct twheel_ctx *ctx = hold->ctx;
	struct twheel_timer *timer;
	int ret;

	clear_answer(arm);
	ret = check_arm(ctx, READ_ONCE(ctx->clock), arm);
	if (ret)
		return ret;

	ret = -ENOENT;
	if (arm->handle || is_keyed(ctx))
		ret = rearm(hold, arm, hint);
	if (ret != -ENOENT || arm->flags & TWHEEL_ARM_IF_PENDING ||
	    (arm->handle && !is_keyed(ctx)))
		return ret;
	if (full)
		return full;
	ret = arm_new(hold, arm, 1, &timer);
	return min(ret, 0);
}

/*
 * Carry out the first of the @n entries at @arms, as long as each just wants a new timer. @timers
 * has room for @n timers. Of entries before *@checked, which goes on, that is known. Returns how
 * many entries were carried out, which may be 0 although there are such entries; or -EAGAIN if the
 * pool has to grow first.
 */
static noinline int arm_row(struct twheel_hold *hold, struct twheel_arm *arms, u32 n,
			    struct twheel_timer **timers, struct twheel_arm **checked)
{
	struct twheel_arm *arm = max(arms, *checked), *end = arms + n;
	const struct twheel_ctx *ctx = hold->ctx;
	enum twheel_clock clock = READ_ONCE(ctx->clock);
	int ret;

	if (is_keyed(ctx))
		return 0;
	for (; arm < end; arm++) {
		if (arm->handle || arm->flags & TWHEEL_ARM_IF_PENDING || check_arm(ctx, clock, arm))
			break;
		clear_answer(arm);
	}
	if (arm == arms)
		return 0;

	ret = arm_new(hold, arms, min(arm, end) - arms, timers);
	/* Until the pool is settled what was checked may change. */
	if (ret > 0)
		*checked = arm;
	return ret;
}

/*
 * Fill @timers with those that the @n entries at @arms may name, and fetch the neighbours of those
 * that the entries make due earlier.
 */
static void look_ahead(const struct twheel_hold *hold, const struct twheel_arm *arms, u32 n,
		       struct twheel_timer **timers)
{
	u64 now;
	u32 i;

	twheel_hold_look_ahead(hold, arms, sizeof(*arms), n, timers);
	if (n == 1 || !hold->local)
		return;
	now = twheel_clock_now(hold->local->clock);
	for (i = 0; i < n; i++)
		if (timers[i] &&
		    expires_at(&arms[i], hold->offset, now) < READ_ONCE(timers[i]->deadline))
			twheel_timer_fetch_neighbours(timers[i]);
}

/*
 * Carry out the @n entries at @arms, up to TWHEEL_HOLD_MAX. For the first entry that makes a timer,
 * @taken is a free one or NULL, and @full 0 or the error for which none can be made. @checked: as
 * for arm_row(). Returns how many entries were carried out: fewer than @n if the pool has to grow
 * for the next one.
 */
static u32 arm_some(struct twheel_ctx *ctx, struct twheel_arm *arms, u32 n, int full,
		    struct twheel_timer *taken, struct twheel_arm **checked)
{
	struct twheel_timer *room[TWHEEL_HOLD_MAX] __uninitialized, **timers = room;
	struct twheel_arm *arm = arms, *end = arms + n;
	struct twheel_hold hold __uninitialized;
	int ret = 0;

	twheel_hold_begin(&hold, ctx);
	hold.taken = taken;
	/* There is nothing to look for if all are new. */
	while (!full && (ret = arm_row(&hold, arm, end - arm, timers, checked)) > 0) {
		arm += ret;
		timers += ret;
	}
	if (!ret && arm < end)
		look_ahead(&hold, arm, end - arm, timers);
	for (; ret >= 0 && arm < end; arm += ret, timers += ret, full = 0) {
		ret = 0;
		if (!arm->handle && end - arm > 1 && !full)
			ret = arm_row(&hold, arm, end - arm, timers, checked);
		if (!ret) {
			ret = arm_or_lock(&hold, arm, *timers, full);
			twheel_hold_unlock_key(&hold);
			if (ret != -EAGAIN) {
				arm->result = ret;
				ret = 1;
			}
		}
		if (ret < 0)
			break;
	}
	if (unlikely(hold.taken)) {
		/* None was needed: another call has made the timer with this key. */
		hold.taken->ended = hold.ended;
		hold.ended = hold.taken;
	}
	twheel_hold_end(&hold);
	return arm - arms;
}

/* As arm_alone(), for a timer that is pending. */
static bool rearm_alone(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	s64 offset = arm->flags & TWHEEL_ARM_ABS ? twheel_clock_offset(ctx->clock) : 0;
	struct twheel_hold hold __uninitialized;
	struct twheel_timer *timer;
	struct twheel_base *base;
	u64 now, deadline;

	rcu_read_lock_bh();
	timer = twheel_hold_lock(ctx, arm->handle, &base);
	if (!timer) {
		rcu_read_unlock_bh();
		return false;
	}
	now = twheel_clock_now(ctx->clock);
	deadline = deadline_of(ctx, arm, offset, now);
	if (likely(rearm_in_place(ctx, base, timer, arm, deadline, now, twheel_base_stays(base)))) {
		/* For sparse, which cannot follow a lock that depends on a condition. */
		__acquire(&base->lock);
		spin_unlock(&base->lock);
		rcu_read_unlock_bh();
		return true;
	}
	/* For sparse: twheel_hold_end() ends the section. */
	__release(RCU_BH);
	twheel_hold_go_on(&hold, ctx, base);
	arm->result = rearm_anew(&hold, timer, arm, deadline, now, true);
	twheel_hold_end(&hold);
	return arm->result != -EAGAIN;
}

/* As arm_alone(), for a new timer without a key. */
static bool arm_new_alone(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	struct twheel_hold hold __uninitialized;
	struct twheel_timer *timer;
	struct twheel_base *base;
	int ret;

	rcu_read_lock_bh();
	base = twheel_base_local(ctx->pool.account.quota, ctx->clock);
	spin_lock(&base->lock);
	/* For sparse: twheel_hold_end() releases it, and ends the section. */
	__release(&base->lock);
	__release(RCU_BH);
	twheel_hold_go_on(&hold, ctx, base);
	hold.offset = arm->flags & TWHEEL_ARM_ABS ? twheel_clock_offset(ctx->clock) : 0;
	/* As it is already, which the compiler does not know. */
	hold.taken = NULL;
	ret = make_new(&hold, arm, 1, &timer);
	twheel_hold_end(&hold);
	return ret > 0;
}

/*
 * Carry out @arm, unless that takes more than most single calls do: which need nothing of what is
 * done for a batch. Returns whether it was carried out.
 */
static bool arm_alone(struct twheel_ctx *ctx, struct twheel_arm *arm)
{
	/* Until the pool is settled what was checked may change before the timer is made. */
	if (!twheel_pool_settled(&ctx->pool) || check_arm(ctx, READ_ONCE(ctx->clock), arm))
		return false;
	clear_answer(arm);
	if (arm->handle || is_keyed(ctx))
		return !(arm->flags & TWHEEL_ARM_IF_NONE) && rearm_alone(ctx, arm);
	return !(arm->flags & TWHEEL_ARM_IF_PENDING) && arm_new_alone(ctx, arm);
}

/* As twheel_arm_entries(), for what arm_alone() is not for. */
static noinline void arm_parts(struct twheel_ctx *ctx, struct twheel_arm *arms, u32 n)
{
	struct twheel_timer *taken = NULL;
	struct twheel_arm *checked = arms;
	u32 part, done;
	int full = 0;

	for (; n; arms += done, n -= done) {
		part = min_t(u32, n, TWHEEL_HOLD_MAX);
		done = arm_some(ctx, arms, part, full, taken, &checked);
		full = 0;
		taken = NULL;
		if (done < part) {
			/*
			 * Try that one again, even if there is no room: another call may have
			 * made the timer with this key meanwhile, and then none is needed.
			 */
			full = twheel_ctx_grow(ctx, &taken);
			cond_resched();
		}
	}
}

void twheel_arm_entries(struct twheel_ctx *ctx, struct twheel_arm *arms, u32 n)
{
	twheel_ctx_prepare(ctx);
	if (n != 1 || !arm_alone(ctx, arms))
		arm_parts(ctx, arms, n);
}
