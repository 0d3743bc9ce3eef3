// SPDX-License-Identifier: GPL-2.0-only
/* Work items and irq_works: a task does them, one after another. */
#include <string.h>

#include <linux/irq_work.h>
#include <linux/workqueue.h>

#include "kernel.h"

/**
 * struct workqueue_struct - a queue; their items wait in one list
 * @there:	it was made, and not destroyed
 */
struct workqueue_struct {
	bool there;
};

static struct workqueue_struct queues[4];
static struct work_struct *works;
static struct irq_work *irq_works;
static bool has_worker;
bool sim_steps_pending;

void work_begin(void)
{
	memset(queues, 0, sizeof(queues));
	sim_steps_pending = false;
	works = NULL;
	irq_works = NULL;
	has_worker = false;
}

void sim_no_work_is_left(void)
{
	u32 i;

	expect(!works && !irq_works, CONTAINED, "work is left in a queue");
	for (i = 0; i < ARRAY_SIZE(queues); i++)
		expect(!queues[i].there, CONTAINED, "a workqueue is left");
}

static void do_irq_work(struct irq_work *work)
{
	irq_works = NULL;
	tsan_acquire(work);
	sim_not_before(work->at);
	work->pending = false;
	work->func(work);
}

static void do_work(struct work_struct *work)
{
	works = work->next;
	work->pending = false;
	drain_all();
	tsan_acquire(work);
	sim_not_before(work->at);
	sim_point();
	work->func(work);
	tsan_release(work);
	tsan_release(&works);
}

static void worker(void *unused)
{
	drain_all();
	while (irq_works || works) {
		if (irq_works)
			do_irq_work(irq_works);
		else
			do_work(works);
	}
	if (sim_steps_pending)
		clock_note_step();
	sim_steps_pending = false;
	has_worker = false;
}

static void need_worker(void)
{
	if (has_worker)
		return;
	has_worker = true;
	sim_spawn("worker", -1, worker, NULL, 0, false);
}

bool irq_work_queue(struct irq_work *work)
{
	tsan_release(work);
	if (work->pending)
		return false;
	expect(!irq_works, SIM_ITSELF, "there are two irq_works");
	work->pending = true;
	work->at = sim_now();
	irq_works = work;
	/* The module has one for that. */
	sim_steps_pending = true;
	need_worker();
	return true;
}

void irq_work_sync(struct irq_work *work)
{
	while (work->pending)
		sim_relax();
}

bool queue_work(struct workqueue_struct *queue, struct work_struct *work)
{
	struct work_struct **p;

	expect(queue->there, CONTAINED, "work is queued where there is no queue any more");
	tsan_release(work);
	if (work->pending)
		return false;
	work->pending = true;
	work->at = sim_now();
	work->next = NULL;
	for (p = &works; *p; p = &(*p)->next)
		;
	*p = work;
	need_worker();
	return true;
}

struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags, int max)
{
	struct workqueue_struct *queue = queues;

	if (alloc_fails(1))
		return NULL;
	while (queue->there)
		queue++;
	expect(queue < queues + ARRAY_SIZE(queues), SIM_ITSELF, "there are too many queues");
	queue->there = true;
	return queue;
}

void destroy_workqueue(struct workqueue_struct *queue)
{
	while (has_worker)
		sim_relax();
	queue->there = false;
	tsan_acquire(&works);
}
