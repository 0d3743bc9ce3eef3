// SPDX-License-Identifier: GPL-2.0-only
/*
 * RCU: a grace period ends once all who were under rcu_read_lock(), or had preemption or bottom
 * halves off, when it began no longer are. Callbacks are called in the soft interrupt of the CPU
 * that has queued them.
 */
#include <stdlib.h>

#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "kernel.h"

/**
 * struct callback - what is to be done after a grace period
 * @next:	what was queued after it
 * @head:	what @func is called with
 * @func:	what to call; or NULL, to free @memory
 * @memory:	see @func
 * @seq:	the grace period
 * @cpu:	who calls it
 */
struct callback {
	struct callback	*next;
	struct rcu_head	*head;
	void		(*func)(struct rcu_head *head);
	void		*memory;
	u64		seq;
	int		cpu;
};

static struct callback *first, **last = &first;
/* Grace periods that have begun, and that have ended */
static u64 begun, ended;
/* When the last one has */
static u64 ended_at;
/* Those of the callback that was queued last, and of the one that was called last */
static u64 queued, called;
static int nr_waiters, nr_calling;
/* For the thread sanitizer: the end of each read section, and of each callback */
static char sections, callbacks;

void rcu_begin(void)
{
	expect(!first, SIM_ITSELF, "an RCU callback is left of the last episode");
	begun = 0;
	ended = 0;
	ended_at = 0;
	queued = 0;
	called = 0;
}

bool is_reader(const struct fiber *f)
{
	return f->rcu || f->off || (f->kind != TASK && f->active);
}

void note_reader(struct fiber *f)
{
	if (!is_reader(f))
		f->rcu_since = begun;
}

void note_reader_end(struct fiber *f)
{
	if (!f->rcu && !f->off)
		tsan_release(&sections);
}

void begin_interrupt(struct fiber *f)
{
	f->rcu_since = begun;
}

void rcu_read_lock(void)
{
	if (!self)
		return;
	note_reader(self);
	self->rcu++;
}

void rcu_read_unlock(void)
{
	if (!self)
		return;
	expect(self->rcu > 0, CONTAINED, "rcu_read_unlock() is called once too often");
	self->rcu--;
	note_reader_end(self);
	sim_point();
}

bool rcu_read_lock_held(void)
{
	return !self || self->rcu;
}

bool rcu_read_lock_any_held(void)
{
	return !self || is_reader(self);
}

bool rcu_look(void)
{
	u64 before = ended;
	int i;

	if (!first && !nr_waiters)
		return false;
	ended = begun;
	for (i = 0; i < nr_fibers; i = next_fiber(i))
		if (fibers[i].used && is_reader(&fibers[i]))
			ended = min(ended, fibers[i].rcu_since);
	for (i = 0; i < nr_fibers; i = next_fiber(i)) {
		if (!fibers[i].grace || fibers[i].grace > ended)
			continue;
		fibers[i].grace = 0;
		fibers[i].ready_at = max(fibers[i].ready_at, sim_now());
		nr_waiters--;
		drain_all();
	}
	ended = max(ended, before);
	if (ended == before)
		return false;
	ended_at = sim_now();
	sim_news();
	return true;
}

u64 rcu_callbacks_at(int cpu)
{
	if (!first || first->seq > ended ||
	    !(first->cpu == cpu || (!cpus[first->cpu].online && cpu == (int)sim_config.stays)))
		return SIM_NEVER;
	return ended_at;
}

void rcu_call_one(void)
{
	struct callback *callback = first;

	first = callback->next;
	if (!first)
		last = &first;
	drain_all();
	nr_calling++;
	sim_stats.grace_periods++;
	tsan_acquire(&sections);
	tsan_acquire(callback->head);
	if (callback->func)
		callback->func(callback->head);
	else
		kfree(callback->memory);
	called = max(called, callback->seq);
	nr_calling--;
	tsan_release(&callbacks);
	free(callback);
}

static void queue(struct rcu_head *head, void (*func)(struct rcu_head *head), void *memory)
{
	struct callback *callback = malloc(sizeof(*callback));

	/* A grace period begins with a barrier: what reads after that sees what came before it. */
	sim_drain();
	*callback = (struct callback) {
		.head	= head,
		.func	= func,
		.memory	= memory,
		.seq	= ++begun,
		.cpu	= self ? self->cpu : 0,
	};
	queued = callback->seq;
	tsan_release(head);
	*last = callback;
	last = &callback->next;
	sim_point();
}

void call_rcu_hurry(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	queue(head, func, NULL);
}

void sim_free_rcu(struct rcu_head *head, void *memory)
{
	queue(head, NULL, memory);
}

void synchronize_rcu(void)
{
	might_sleep("synchronize_rcu()");
	sim_drain();
	self->grace = ++begun;
	nr_waiters++;
	wait_here();
	tsan_acquire(&sections);
}

void rcu_barrier(void)
{
	u64 until = queued;

	might_sleep("rcu_barrier()");
	while (called < until || nr_calling)
		sim_relax();
	tsan_acquire(&callbacks);
}
