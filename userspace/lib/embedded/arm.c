// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The way into an embedded context's wheel: arming, re-arming, cancelling.
 *
 * As module/core/arm.c, but that a timer that is moved to a later time leaves its bucket at
 * once: so there is always a timer in emb->first.
 */
#include <errno.h>

#include "emb.h"
#include "lease_seam.h"

/* What an arming may depend on: one of them at most. */
#define CONDITIONS	(TWHEEL_ARM_IF_PENDING | TWHEEL_ARM_IF_NONE)

static int check_arm(const struct twheel_emb *emb, const struct twheel_arm *arm)
{
	uint32_t flags = arm->flags;

	/* Most likely a difference that went below zero. Sums are capped instead. */
	if ((arm->expires | arm->interval | arm->slack) > EMB_TIME_MAX)
		return -EINVAL;
	if (!(flags & TWHEEL_ARM_ABS) && emb->clock == CLOCK_REALTIME)
		return -EINVAL;
	if (flags & ~(uint32_t)(TWHEEL_ARM_ABS | EMB_TIMER_FLAGS | CONDITIONS))
		return -EINVAL;
	if ((flags & CONDITIONS) == CONDITIONS)
		return -EINVAL;
	if (flags & TWHEEL_ARM_LEASE &&
	    (arm->interval || !(emb->config & TWHEEL_CONFIG_LEASE)))
		return -EINVAL;
	if (!arm->interval && (arm->count > 1 || flags & TWHEEL_ARM_FIXED_DELAY))
		return -EINVAL;
	return 0;
}

static uint64_t deadline_of(const struct twheel_emb *emb, const struct twheel_arm *arm)
{
	uint64_t deadline = arm->flags & TWHEEL_ARM_ABS ? arm->expires :
			    emb_add(emb->now, arm->expires);

	if (!(arm->flags & TWHEEL_ARM_LEASE))
		return deadline;
	/* What has passed has passed afterwards, too. */
	return twheel_lease_deadline(deadline > emb->now ? twheel_lease_units(deadline) :
				     deadline >> TWHEEL_LEASE_UNIT_SHIFT);
}

uint64_t twheel_emb_tick(const struct emb_timer *timer)
{
	return twheel_wheel_coalesce(emb_ns_to_tick(timer->deadline), timer->slack);
}

void twheel_emb_enqueue(struct twheel_emb *emb, struct emb_timer *timer)
{
	timer->state = TWHEEL_STATE_PENDING;
	timer->node.expires = twheel_emb_tick(timer);
	twheel_wheel_forward(&emb->wheel, emb->now >> EMB_TICK_SHIFT);
	twheel_wheel_enqueue(&emb->wheel, &timer->node);
	if (timer->node.expires < emb->first)
		emb->first = timer->node.expires;
}

static void dequeue(struct twheel_emb *emb, struct emb_timer *timer)
{
	twheel_wheel_dequeue(&emb->wheel, &timer->node);
	if (timer->node.expires <= emb->first)
		emb->recheck = true;
}

/* Take @timer, which is live, out of the wheel or off the list. */
static void take_out(struct twheel_emb *emb, struct emb_timer *timer)
{
	if (timer->state == TWHEEL_STATE_PENDING)
		dequeue(emb, timer);
	else
		twheel_emb_withdraw(emb, timer);
}

/* Let nobody extend @timer, which is live, any more. Returns the deadline that it had. */
static uint64_t end_lease(struct emb_timer *timer)
{
	if (!(timer->flags & TWHEEL_ARM_LEASE))
		return timer->deadline;
	return emb_word_deadline(twheel_lease_end(emb_atomic(twheel_emb_word(timer))),
				 timer->deadline);
}

/* What the word of a timer is to say, but for its tag, when @arm arms it for @deadline. */
static uint64_t word_for(const struct twheel_emb *emb, const struct twheel_arm *arm,
			 uint64_t deadline)
{
	if (!(arm->flags & TWHEEL_ARM_LEASE))
		return TWHEEL_LEASE_EXPIRED;
	return twheel_lease_units(deadline) |
	       (deadline <= emb->now ? TWHEEL_LEASE_EXPIRED : 0);
}

/* If @arm has armed @timer as a lease, whose word says @word, tell that. */
static void tell_word(const struct emb_timer *timer, struct twheel_arm *arm, uint64_t word)
{
	if (!(arm->flags & TWHEEL_ARM_LEASE))
		return;
	arm->word = twheel_emb_index(timer);
	arm->tag = twheel_lease_tag(word);
}

/*
 * Set the word of @timer, which is live, for @arm and @deadline, as above. Returns the deadline
 * that the timer had until then.
 */
static uint64_t replace_word(const struct twheel_emb *emb, struct emb_timer *timer,
			     struct twheel_arm *arm, uint64_t deadline)
{
	u64 old;

	if (!(arm->flags & TWHEEL_ARM_LEASE))
		return end_lease(timer);
	tell_word(timer, arm, twheel_lease_renew(emb_atomic(twheel_emb_word(timer)),
						 word_for(emb, arm, deadline), &old));
	return timer->flags & TWHEEL_ARM_LEASE ? emb_word_deadline(old, timer->deadline) :
	       timer->deadline;
}

/* Set @timer, which is in no list and no wheel, as @arm says. */
static void set_timer(struct twheel_emb *emb, struct emb_timer *timer,
		      const struct twheel_arm *arm, uint64_t deadline)
{
	uint64_t slack = arm->slack >> EMB_TICK_SHIFT;

	timer->deadline = deadline;
	timer->user_data = arm->user_data;
	timer->interval = arm->interval;
	timer->slack = slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX;
	timer->count = arm->interval ? arm->count : 1;
	timer->flags = arm->flags & EMB_TIMER_FLAGS;
	if (deadline <= emb->now) {
		twheel_emb_make_ready(emb, timer);
		emb->late = true;
	} else {
		twheel_emb_enqueue(emb, timer);
	}
}

static int rearm(struct twheel_emb *emb, struct emb_timer *timer, struct twheel_arm *arm)
{
	bool pending = timer->state == TWHEEL_STATE_PENDING;
	uint64_t deadline = deadline_of(emb, arm), old;

	if (arm->flags & TWHEEL_ARM_IF_NONE)
		return -EEXIST;
	if (arm->flags & TWHEEL_ARM_IF_PENDING && !pending)
		return -ENOENT;

	old = replace_word(emb, timer, arm, deadline);
	arm->old_state = timer->state;
	if (pending)
		arm->old_remaining = emb_until(old, emb->now);
	take_out(emb, timer);
	set_timer(emb, timer, arm, deadline);
	return 0;
}

int twheel_emb_arm(struct twheel_emb *emb, struct twheel_arm *arm)
{
	bool keyed = emb->config & TWHEEL_CONFIG_KEYED;
	struct emb_timer *timer = NULL;
	uint64_t deadline;
	int ret;

	arm->word = 0;
	arm->tag = 0;
	arm->old_state = TWHEEL_STATE_NONE;
	arm->old_remaining = 0;
	ret = check_arm(emb, arm);
	if (ret)
		return ret;

	if (keyed || arm->handle)
		timer = twheel_emb_find(&emb->pool, arm->handle);
	if (timer)
		return rearm(emb, timer, arm);
	if (arm->flags & TWHEEL_ARM_IF_PENDING || (arm->handle && !keyed))
		return -ENOENT;

	ret = twheel_emb_alloc(&emb->pool, arm->handle, &timer);
	if (ret)
		return ret;
	deadline = deadline_of(emb, arm);
	if (emb->config & TWHEEL_CONFIG_LEASE)
		tell_word(timer, arm, twheel_lease_begin(emb_atomic(twheel_emb_word(timer)),
							 word_for(emb, arm, deadline)));
	arm->handle = twheel_emb_handle(timer);
	set_timer(emb, timer, arm, deadline);
	return 0;
}

uint64_t twheel_emb_cancel_timer(struct twheel_emb *emb, struct emb_timer *timer)
{
	uint64_t deadline = timer->deadline;

	/* The word of a timer that is ready is over already. */
	if (timer->state == TWHEEL_STATE_PENDING)
		deadline = end_lease(timer);
	take_out(emb, timer);
	twheel_emb_free(&emb->pool, timer);
	return deadline;
}

int twheel_emb_cancel(struct twheel_emb *emb, struct twheel_cancel *cancel)
{
	struct emb_timer *timer;
	uint64_t deadline;

	cancel->old_state = TWHEEL_STATE_NONE;
	cancel->old_remaining = 0;
	if (cancel->flags || cancel->reserved)
		return -EINVAL;
	timer = twheel_emb_find(&emb->pool, cancel->handle);
	if (!timer)
		return -ENOENT;

	cancel->old_state = timer->state;
	deadline = twheel_emb_cancel_timer(emb, timer);
	if (cancel->old_state == TWHEEL_STATE_PENDING)
		cancel->old_remaining = emb_until(deadline, emb->now);
	return 0;
}
