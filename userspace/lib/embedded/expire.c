// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The way out of an embedded context's wheel: what is due becomes ready, and what is ready
 * is read.
 *
 * No thread of its own turns the wheel: each call looks first at what has come up. A read
 * looks until it has found as many records as fit, and other calls for a bounded time: what
 * is left keeps the descriptor readable, and comes later in the same order.
 */
#include "emb.h"
#include "lease_seam.h"

/* So many timers are taken out of the wheel at once. */
#define BATCH		32
/* So many records with later deadlines does one pass that becomes ready: as in the module. */
#define PASS_MAX	32

/* Put @timer into the list of those that are ready. Nearly always that is its end. */
static void add_ready(struct twheel_emb *emb, struct emb_timer *timer)
{
	struct emb_timer *next = NULL, *prev = TAILQ_LAST(&emb->ready, emb_list);
	uint32_t left = PASS_MAX;

	while (prev && prev->deadline > timer->deadline && left--) {
		next = prev;
		prev = TAILQ_PREV(prev, emb_list, ready);
	}
	if (next)
		TAILQ_INSERT_BEFORE(next, timer, ready);
	else
		TAILQ_INSERT_TAIL(&emb->ready, timer, ready);
	emb->nr_ready++;
}

void twheel_emb_make_ready(struct twheel_emb *emb, struct emb_timer *timer)
{
	timer->state = TWHEEL_STATE_READY;
	timer->expired = emb->now;
	add_ready(emb, timer);
	emb->news = true;
}

void twheel_emb_withdraw(struct twheel_emb *emb, struct emb_timer *timer)
{
	TAILQ_REMOVE(&emb->ready, timer, ready);
	emb->nr_ready--;
}

/*
 * The lease @timer has come up. If its word has not been set to a later time claim it, and
 * return true: it is over. Otherwise timer->node says when to look next.
 */
static bool look_at_lease(struct twheel_emb *emb, struct emb_timer *timer)
{
	atomic64_t *word = emb_atomic(twheel_emb_word(timer));
	uint64_t clk = emb->wheel.clk, tick;
	u64 deadline;

	if (timer->node.expires <= clk) {
		/* However late this is, compare with the time of its turn: that keeps the order. */
		bool claimed = twheel_lease_claim(word, clk << EMB_TICK_SHIFT, &deadline);

		timer->deadline = deadline;
		if (claimed)
			return true;
	} else {
		/* It moves down: if it was extended it need not come up at its old time. */
		deadline = emb_word_deadline((uint64_t)atomic64_read(word), timer->deadline);
		if (deadline <= timer->deadline)
			return false;
		timer->deadline = deadline;
	}
	tick = twheel_emb_tick(timer);
	if (tick > timer->node.expires)
		timer->node.expires = tick;
	return false;
}

/* Is @timer, which has come up, over? If not timer->node says when to look next. */
static bool is_over(struct twheel_emb *emb, struct emb_timer *timer)
{
	if (timer->flags & TWHEEL_ARM_LEASE)
		return look_at_lease(emb, timer);
	return timer->node.expires <= emb->wheel.clk;
}

bool twheel_emb_look(struct twheel_emb *emb, uint32_t looks)
{
	uint64_t tick = emb->now >> EMB_TICK_SHIFT;
	struct twheel_wheel *wheel = &emb->wheel;
	struct twheel_node *nodes[BATCH];
	uint32_t n, i;

	/* The clock was set back. What is armed now must not look as if it were late. */
	if (tick < wheel->clk)
		twheel_wheel_rewind(wheel, tick);
	/* What was due so early leaves the wheel. */
	if (emb->first <= tick)
		emb->recheck = true;
	while (wheel->next_expiry <= tick) {
		if (!looks)
			return true;
		n = twheel_wheel_take(wheel, tick, nodes, looks < BATCH ? looks : BATCH);
		looks -= n;
		for (i = 0; i < n; i++) {
			struct emb_timer *timer = container_of(nodes[i], struct emb_timer, node);

			if (is_over(emb, timer))
				twheel_emb_make_ready(emb, timer);
			else
				twheel_wheel_enqueue(wheel, &timer->node);
		}
	}
	return false;
}

static bool has_grid(const struct emb_timer *timer)
{
	return timer->interval && !(timer->flags & TWHEEL_ARM_FIXED_DELAY);
}

/* Fill @event, the record of @timer, which is ready. */
static void make_event(const struct twheel_emb *emb, const struct emb_timer *timer,
		       struct twheel_event *event)
{
	bool last = !timer->interval;
	uint64_t expirations = 1;

	if (has_grid(timer) && emb->now > timer->deadline)
		expirations += (emb->now - timer->deadline) / timer->interval;
	if (timer->count && expirations >= timer->count) {
		expirations = timer->count;
		last = true;
	}

	*event = (struct twheel_event){
		.user_data	= timer->user_data,
		.handle		= twheel_emb_handle(timer),
		.deadline	= timer->deadline,
		.expired	= timer->expired,
		.expirations	= expirations,
		.flags		= last ? TWHEEL_EVENT_LAST : 0,
	};
}

/* The record of @timer is stored: free the timer, or start its next round. */
static void finish_event(struct twheel_emb *emb, struct emb_timer *timer,
			 const struct twheel_event *event)
{
	uint64_t deadline = emb->now;

	twheel_emb_withdraw(emb, timer);
	if (event->flags & TWHEEL_EVENT_LAST) {
		twheel_emb_free(&emb->pool, timer);
		return;
	}

	/* Cannot overflow: the last expiration counted is the first, or not after now. */
	if (has_grid(timer))
		deadline = timer->deadline + (event->expirations - 1) * timer->interval;
	timer->deadline = emb_add(deadline, timer->interval);
	if (timer->count)
		timer->count -= (uint32_t)event->expirations;
	twheel_emb_enqueue(emb, timer);
}

size_t twheel_emb_deliver(struct twheel_emb *emb, struct twheel_event *buf, size_t room)
{
	size_t n = 0;

	while (n < room) {
		struct emb_timer *timer = TAILQ_FIRST(&emb->ready);

		if (!timer) {
			bool more = twheel_emb_look(emb, BATCH);

			if (!more && TAILQ_EMPTY(&emb->ready))
				break;
			continue;
		}
		make_event(emb, timer, &buf[n]);
		finish_event(emb, timer, &buf[n]);
		n++;
	}
	/* A reader that leaves some knows that there may be more. */
	emb->news = false;
	emb->late = false;
	return n;
}
