// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a program is told of the timers of an embedded context.
 */
#include <errno.h>
#include <string.h>

#include "emb.h"
#include "lease_seam.h"

/* What the word of @timer, a lease, says. */
static uint64_t word_of(const struct emb_timer *timer)
{
	return (uint64_t)atomic64_read(emb_atomic(twheel_emb_word(timer)));
}

/* When @timer is due: a pending lease when its word says. */
static uint64_t deadline_of(const struct emb_timer *timer)
{
	if (!(timer->flags & TWHEEL_ARM_LEASE) || timer->state != TWHEEL_STATE_PENDING)
		return timer->deadline;
	return emb_word_deadline(word_of(timer), timer->deadline);
}

static void describe(const struct twheel_emb *emb, const struct emb_timer *timer,
		     struct twheel_timer_info *info)
{
	uint64_t deadline = deadline_of(timer);

	*info = (struct twheel_timer_info){
		.handle		= twheel_emb_handle(timer),
		.user_data	= timer->user_data,
		.deadline	= deadline,
		.remaining	= emb_until(deadline, emb->now),
		.interval	= timer->interval,
		.slack		= (uint64_t)timer->slack << EMB_TICK_SHIFT,
		.count		= timer->count,
		.state		= timer->state,
		.flags		= timer->flags,
	};
	if (timer->flags & TWHEEL_ARM_LEASE) {
		info->word = twheel_emb_index(timer);
		info->tag = twheel_lease_tag(word_of(timer));
	}
}

int twheel_emb_get(struct twheel_emb *emb, struct twheel_timer_info *info)
{
	struct emb_timer *timer = twheel_emb_find(&emb->pool, info->handle);

	if (!timer)
		return -ENOENT;
	describe(emb, timer, info);
	return 0;
}

/* How many were stored. The cursor is the next index, and the end as it was at the start. */
int twheel_emb_list(struct twheel_emb *emb, struct twheel_list *list)
{
	uint32_t index = (uint32_t)list->cursor, end = (uint32_t)(list->cursor >> 32), n = 0;
	char *to = (char *)(uintptr_t)list->entries;

	if (!list->cursor)
		end = twheel_emb_end(&emb->pool);
	/* A cursor is the program's: it may be any number. */
	if (end > twheel_emb_end(&emb->pool))
		end = twheel_emb_end(&emb->pool);
	for (; index < end && n < list->count; index++) {
		struct emb_timer *timer = twheel_emb_at(&emb->pool, index);
		struct twheel_timer_info info;

		if (!timer || timer->state != TWHEEL_STATE_PENDING)
			continue;
		describe(emb, timer, &info);
		/* An array need not be aligned. */
		memcpy(to + (size_t)n * sizeof(info), &info, sizeof(info));
		if (list->flags & TWHEEL_LIST_DRAIN)
			twheel_emb_cancel_timer(emb, timer);
		n++;
	}
	list->cursor = (uint64_t)end << 32 | index;
	return (int)n;
}

uint64_t twheel_emb_next_expiry(struct twheel_emb *emb)
{
	uint32_t index, end = twheel_emb_end(&emb->pool);
	uint64_t next = TWHEEL_NO_EXPIRY;

	for (index = 1; index < end; index++) {
		const struct emb_timer *timer = twheel_emb_at(&emb->pool, index);

		if (timer && timer->state == TWHEEL_STATE_PENDING && deadline_of(timer) < next)
			next = deadline_of(timer);
	}
	return next;
}
