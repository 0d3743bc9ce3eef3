// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The way into an embedded context's wheel: arming, re-arming, cancelling.
 *
 * As module/timer.c, but that a timer that is moved to a later time leaves its bucket at
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
	if (flags & TWHEEL_ARM_LEASE)
		return !arm->interval && !(flags & TWHEEL_ARM_FIXED_DELAY) &&
		       emb->config & TWHEEL_CONFIG_LEASE ? 0 : -EINVAL;
	if (!arm->interval && (arm->count > 1 || flags & TWHEEL_ARM_FIXED_DELAY))
		return -EINVAL;
	return 0;
}

static uint64_t deadline_of(const struct twheel_emb *emb, const struct twheel_arm *arm)
{
	return arm->flags & TWHEEL_ARM_ABS ? arm->expires : emb_add(emb->now, arm->expires);
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

/* Set the word of @timer, if it has one. Returns the deadline that it had until then. */
static uint64_t set_word(struct emb_timer *timer, uint64_t value)
{
	uint64_t *word = twheel_emb_word(timer);
	uint64_t old;

	if (!word)
		return timer->deadline;
	old = twheel_lease_set(emb_atomic(word), value);
	return timer->flags & TWHEEL_ARM_LEASE && timer->state == TWHEEL_STATE_PENDING ?
	       emb_word_deadline(old, timer->deadline) : timer->deadline;
}

/* Set @timer, which is in no list and no wheel, as @arm says. */
static void set_timer(struct twheel_emb *emb, struct emb_timer *timer,
		      struct twheel_arm *arm, uint64_t deadline)
{
	uint64_t slack = arm->slack >> EMB_TICK_SHIFT;

	timer->deadline = deadline;
	timer->user_data = arm->user_data;
	timer->interval = arm->interval;
	timer->slack = slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX;
	timer->count = arm->interval ? arm->count : 1;
	timer->flags = arm->flags & EMB_TIMER_FLAGS;
	if (arm->flags & TWHEEL_ARM_LEASE)
		arm->word = twheel_emb_index(timer);
	if (deadline <= emb->now) {
		twheel_emb_make_ready(emb, timer);
		emb->late = true;
	} else {
		twheel_emb_enqueue(emb, timer);
	}
}

/* What the word of a timer says from now on that @arm arms for @deadline. */
static uint64_t word_for(const struct twheel_emb *emb, const struct twheel_arm *arm,
			 uint64_t deadline)
{
	if (!(arm->flags & TWHEEL_ARM_LEASE))
		return TWHEEL_LEASE_EXPIRED;
	return deadline | (deadline <= emb->now ? TWHEEL_LEASE_EXPIRED : 0);
}

static int rearm(struct twheel_emb *emb, struct emb_timer *timer, struct twheel_arm *arm)
{
	bool pending = timer->state == TWHEEL_STATE_PENDING;
	uint64_t deadline = deadline_of(emb, arm), old;

	if (arm->flags & TWHEEL_ARM_IF_NONE)
		return -EEXIST;
	if (arm->flags & TWHEEL_ARM_IF_PENDING && !pending)
		return -ENOENT;

	old = set_word(timer, word_for(emb, arm, deadline));
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
	set_word(timer, word_for(emb, arm, deadline));
	arm->handle = twheel_emb_handle(timer);
	set_timer(emb, timer, arm, deadline);
	return 0;
}

uint64_t twheel_emb_cancel_timer(struct twheel_emb *emb, struct emb_timer *timer)
{
	uint64_t deadline = timer->deadline;

	/* The word of a timer that is ready is over already. */
	if (timer->state == TWHEEL_STATE_PENDING)
		deadline = set_word(timer, TWHEEL_LEASE_EXPIRED);
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
