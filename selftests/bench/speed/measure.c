// SPDX-License-Identifier: GPL-2.0-only
/* Carries out a plan: the threads, and a line for each operation. */
#include <stdio.h>

#include "twheel_util.h"
#include "worker.h"

const char *const op_names[NR_OPS] = {
	"fill", "arm", "order", "later", "random", "heartbeat", "soon", "cancel", "expire",
	"deliver", "call", "page",
};

struct common common;

static struct worker *workers;

/* What reading the clock takes */
static uint64_t clock_cost(const struct plan *plan)
{
	uint64_t begun = speed_now(plan);
	int i;

	for (i = 0; i < 1000; i++)
		speed_now(plan);
	return (speed_now(plan) - begun) / 1001;
}

/* One line for all threads */
static void print(const struct plan *plan, enum speed_op op)
{
	const struct facility *f = plan->facility;
	uint64_t ns = 0, ops = 0;
	const struct worker *failed = NULL;
	unsigned int i;

	for (i = 0; i < plan->threads; i++) {
		ns += workers[i].ns;
		ops += workers[i].ops;
		if (workers[i].why)
			failed = &workers[i];
	}
	printf("%s\t%u\t%s\t%u\t%u\t", f->name,
	       f->batches && !(op == OP_LATER && f->later) ? plan->batch : 0, op_names[op],
	       op >= OP_CALL ? 0 : plan->pending, plan->threads);
	if (failed)
		printf("-\t%s (%.1f s)\n", failed->why, failed->spent / 1e9);
	else
		printf("%.2f\n", (double)ns / ops);
}

static void shuffle(uint32_t *order, uint32_t nr, __u64 seed)
{
	uint32_t i, k, other;

	for (i = 0; i < nr; i++)
		order[i] = i;
	for (i = nr; i > 1; i--) {
		k = tw_random(&seed) % i;
		other = order[k];
		order[k] = order[i - 1];
		order[i - 1] = other;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	const struct plan *plan = w->job.plan;
	const struct facility *f = plan->facility;
	enum speed_op op;
	int ret;

	pin(w->job.index);
	/* With a shared descriptor the others copy that of the first. */
	if (plan->shared && w->job.index)
		pthread_barrier_wait(&common.barrier);
	ret = f->hold ? f->hold(&w->job) : 0;
	if (!ret)
		ret = f->open(&w->job);
	check(w, OP_ARM, ret);
	if (plan->shared && !w->job.index)
		pthread_barrier_wait(&common.barrier);

	w->job.order = table(w->job.nr, sizeof(*w->job.order));
	shuffle(w->job.order, w->job.nr, 88172645463325253ULL);
	w->base = clock_ns() + 6 * 3600 * TW_SEC;

	for (op = 0; op < NR_OPS; op++) {
		if (!(plan->ops & OPS(op)))
			continue;
		pthread_barrier_wait(&common.barrier);
		common.enough = false;
		pthread_barrier_wait(&common.barrier);
		operate(w, op);
		pthread_barrier_wait(&common.barrier);
		if (!w->job.index)
			print(plan, op);
	}
	return NULL;
}

/**
 * measure() - carry out a plan in this process, and print a line for each operation
 * @plan: what to do
 *
 * The process is not good for another one after that: what a facility has not freed goes
 * when it ends.
 *
 * Return: 0. Does not return if a facility has failed.
 */
int measure(const struct plan *plan)
{
	unsigned int i;

	pin(0);
	common.clock_cost = clock_cost(plan);
	workers = table(plan->threads, sizeof(*workers));
	if (pthread_barrier_init(&common.barrier, NULL, plan->threads))
		fail("no barrier");
	for (i = 0; i < plan->threads; i++) {
		workers[i].job = (struct job) {
			.plan	= plan,
			.index	= i,
			.nr	= plan->pending / plan->threads,
			.first	= plan->shared && i ? &workers[0].job : NULL,
		};
	}
	/* Alone, it must not be a thread: threads share the table of files, for a price. */
	for (i = 1; i < plan->threads; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			fail("no thread");
	work(&workers[0]);
	for (i = 1; i < plan->threads; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}
