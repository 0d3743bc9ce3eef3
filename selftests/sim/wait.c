// SPDX-License-Identifier: GPL-2.0-only
/* Wait queues and poll(). */
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "kernel.h"

static u64 queue_nr;

void wait_begin(void)
{
	queue_nr = 0;
}

static void wake(struct fiber *f)
{
	sim_spend(sim_config.costs.wake);
	f->woken = true;
	f->ready_at = max(f->ready_at, sim_now());
	sim_news();
}

void sim_wake(wait_queue_head_t *queue)
{
	struct fiber *one = NULL;
	int i;

	sim_point();
	expect(!self || !self->nr_held, BOUNDED_WORK,
	       "waiters are woken with a spinlock held, which takes long if there are many");
	sim_stats.wakes++;
	acquire(queue, &queue->order);
	for (i = 0; i < nr_fibers; i = next_fiber(i)) {
		struct fiber *f = &fibers[i];

		if (!f->used)
			continue;
		f->edge |= f->watched == queue;
		if (f->queue != queue || f->woken)
			continue;
		if (!f->exclusive)
			wake(f);
		else if (!one || f->queue_nr < one->queue_nr)
			one = f;
	}
	if (one)
		wake(one);
	release(queue, &queue->order);
}

bool wq_has_sleeper(wait_queue_head_t *queue)
{
	int i;

	sim_point();
	sim_drain();
	for (i = 0; i < nr_fibers; i = next_fiber(i))
		if (fibers[i].used && (fibers[i].queue == queue || fibers[i].watched == queue))
			return true;
	return false;
}

/* The queue's lock is taken, and released. */
static void pass_lock(wait_queue_head_t *queue)
{
	acquire(queue, &queue->order);
	release(queue, &queue->order);
}

static void enqueue(wait_queue_head_t *queue, bool exclusive)
{
	self->queue = queue;
	self->exclusive = exclusive;
	self->woken = false;
	self->queue_nr = ++queue_nr;
	pass_lock(queue);
}

int sim_wait_begin(wait_queue_head_t *queue, bool exclusive, bool signals)
{
	if (signals ? sim_signal_pending() : chance(sim_config.kill_chance)) {
		pass_lock(queue);
		sim_wait_end();
		return -ERESTARTSYS;
	}
	enqueue(queue, exclusive);
	/* As set_current_state() does */
	sim_drain();
	sim_point();
	return 0;
}

void sim_wait(u64 until)
{
	might_sleep("waiting");
	self->sleeps = true;
	self->sleep_until = until;
	wait_here();
	self->sleeps = false;
	self->sleep_until = 0;
	/* It sees what the one that woke it had done. */
	acquire(self->queue, &self->queue->order);
}

void sim_wait_end(void)
{
	self->queue = NULL;
}

void poll_wait(struct file *file, wait_queue_head_t *queue, poll_table *table)
{
	if (!table || !table->registers)
		return;
	/* Only the queue's lock orders here, and that is no barrier. */
	enqueue(queue, false);
	sim_point();
}

int sim_wait_as_poller(void)
{
	if (sim_signal_pending()) {
		sim_wait_end();
		return -EINTR;
	}
	sim_wait(SIM_FOREVER);
	sim_wait_end();
	return 0;
}

void sim_watch(void)
{
	self->watched = self->queue;
	self->edge = self->woken;
	self->queue = NULL;
}

void sim_wait_for_edge(void)
{
	self->queue = self->watched;
	self->exclusive = false;
	self->woken = self->edge;
	sim_wait(SIM_FOREVER);
	self->queue = NULL;
	self->edge = false;
}

void sim_unwatch(void)
{
	self->watched = NULL;
}
