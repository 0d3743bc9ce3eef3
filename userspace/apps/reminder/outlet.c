// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * reminder: what both kinds of outlets share.
 */
#include <stdlib.h>
#include <time.h>

#include "outlet.h"

void queue_init(struct queue *queue)
{
	*queue = (struct queue){ .last = &queue->first };
}

void queue_push(struct queue *queue, struct reminder *r)
{
	r->next = NULL;
	*queue->last = r;
	queue->last = &r->next;
	queue->n++;
}

void queue_push_copy(struct queue *queue, const struct reminder *r)
{
	struct reminder *copy = reminder_new(r->id, "");

	if (!copy)
		return;
	copy->fence = r->fence;
	copy->held = r->held;
	copy->given = r->given;
	queue_push(queue, copy);
}

void queue_push_given(struct queue *queue, const struct queue *from)
{
	const struct reminder *r;

	for (r = from->first; r; r = r->next)
		if (r->given)
			queue_push_copy(queue, r);
}

struct reminder *queue_pop(struct queue *queue)
{
	struct reminder *r = queue->first;

	if (!r)
		return NULL;
	queue->first = r->next;
	if (!queue->first)
		queue->last = &queue->first;
	queue->n--;
	return r;
}

void queue_prepend(struct queue *queue, struct queue *front)
{
	if (!front->n)
		return;
	*front->last = queue->first;
	if (!queue->first)
		queue->last = front->last;
	queue->first = front->first;
	queue->n += front->n;
	queue_init(front);
}

void outlet_init(struct outlet *outlet, const struct outlet_kind *kind)
{
	outlet->kind = kind;
	queue_init(&outlet->waiting);
	queue_init(&outlet->given);
	queue_init(&outlet->taken);
	queue_init(&outlet->left);
	queue_init(&outlet->failed);
}

void outlet_drop(struct outlet *outlet, struct reminder *r)
{
	uint64_t now = clock_now(CLOCK_BOOTTIME);

	while (outlet->failed.n && outlet->failed.first->held <= now)
		free(queue_pop(&outlet->failed));
	if (r->held > now)
		queue_push_copy(&outlet->failed, r);
	outlet->lost++;
	free(r);
}

void outlet_count(struct outlet *outlet, struct reminder *r)
{
	uint64_t now = clock_now(CLOCK_REALTIME);

	lateness_add(&outlet->late, now > r->due ? now - r->due : 0);
	outlet->count++;
	r->given = true;
}

void outlet_put_back(struct outlet *outlet, struct reminder *r)
{
	struct queue front;

	queue_init(&front);
	queue_push(&front, r);
	queue_prepend(&outlet->waiting, &front);
}

int outlet_leave(struct outlet *outlet, uint64_t margin)
{
	uint64_t now = clock_now(CLOCK_BOOTTIME);
	struct reminder *r;

	/* They wait in the order in which their claims end, but for a few. */
	while ((r = outlet->waiting.first) && r->held <= now + margin) {
		if (queue_pop(&outlet->waiting)->given)
			outlet_drop(outlet, r);
		else
			queue_push(&outlet->left, r);
	}
	return r ? ms_until(r->held - margin, now) : -1;
}

struct reminder *outlet_next(struct outlet *outlet)
{
	if (outlet->stopped)
		return NULL;
	outlet_leave(outlet, 0);
	return queue_pop(&outlet->waiting);
}
