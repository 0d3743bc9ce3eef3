// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs all interleavings of a few threads.
 *
 * setcontext() puts a thread onto its stack, but makes a system call each time, so later
 * switches use _setjmp() and _longjmp().
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "explore.h"

#define MAX_THREADS	8
#define MAX_STEPS	256
#define STACK_SIZE	65536

/**
 * struct thread - a coroutine, which runs one body after another
 * @here:	the place at which it goes on
 * @stack:	its stack, kept from one exploration to the next
 * @begun:	it has begun to run on its stack
 * @name:	its name in the trace
 * @body:	the function that it runs in this execution
 * @arg:	argument of @body
 * @ready:	NULL, or the condition that it waits for
 * @never:	that condition cannot become true any more
 * @ended:	@body has returned
 */
struct thread {
	jmp_buf		here;
	char		*stack;
	bool		begun;
	const char	*name;
	void		(*body)(void *arg);
	void		*arg;
	bool		(*ready)(void);
	bool		never;
	bool		ended;
};

static struct thread threads[MAX_THREADS], *self;
static unsigned int nr_threads;
static jmp_buf scheduler;

/* The choices of this execution, and the number of alternatives for each. */
static unsigned int chosen[MAX_STEPS], among[MAX_STEPS], nr_choices;

static struct {
	const char		*thread;
	const char		*what;
	unsigned long long	value;
} traced[MAX_STEPS];
static unsigned int nr_traced;

unsigned int choose(unsigned int n)
{
	if (n == 1)
		return 0;
	if (nr_choices == MAX_STEPS)
		abort();
	/* A choice that is made for the first time begins at 0. */
	among[nr_choices] = n;
	return chosen[nr_choices++];
}

/* Changes the last choice that has another alternative, and forgets those after it. */
static bool choose_otherwise(void)
{
	while (nr_choices) {
		if (++chosen[nr_choices - 1] < among[nr_choices - 1])
			return true;
		chosen[--nr_choices] = 0;
	}
	return false;
}

unsigned long long explore(void (*execution)(void))
{
	unsigned long long n = 0;
	unsigned int i;

	/* A failed execution leaves its choices, and threads that have not ended. */
	memset(chosen, 0, sizeof(chosen));
	for (i = 0; i < MAX_THREADS; i++)
		threads[i].begun = false;
	do {
		self = NULL;
		nr_choices = 0;
		nr_traced = 0;
		nr_threads = 0;
		execution();
		n++;
	} while (choose_otherwise());
	return n;
}

static void suspend(void)
{
	if (!_setjmp(self->here))
		_longjmp(scheduler, 1);
}

static void run_bodies(void)
{
	for (;;) {
		self->body(self->arg);
		self->ended = true;
		suspend();
	}
}

static void begin(struct thread *t)
{
	ucontext_t context;

	if (!t->stack)
		t->stack = malloc(STACK_SIZE);
	if (!t->stack || getcontext(&context))
		abort();
	t->begun = true;
	context.uc_stack.ss_sp = t->stack;
	context.uc_stack.ss_size = STACK_SIZE;
	makecontext(&context, run_bodies, 0);
	setcontext(&context);
}

static void resume(struct thread *t)
{
	self = t;
	if (!_setjmp(scheduler)) {
		if (t->begun)
			_longjmp(t->here, 1);
		begin(t);
	}
	self = NULL;
}

void thread_start(const char *name, void (*body)(void *), void *arg)
{
	struct thread *t = &threads[nr_threads];

	if (nr_threads++ == MAX_THREADS)
		abort();
	t->name = name;
	t->body = body;
	t->arg = arg;
	t->ready = NULL;
	t->never = false;
	t->ended = false;
	resume(t);
}

void threads_run(void)
{
	struct thread *can[MAX_THREADS];
	unsigned int i, n;

	for (;;) {
		n = 0;
		for (i = 0; i < nr_threads; i++) {
			struct thread *t = &threads[i];

			if (!t->ended && (!t->ready || t->ready()))
				can[n++] = t;
		}
		if (n) {
			resume(can[choose(n)]);
			continue;
		}
		/* The remaining threads wait for conditions that cannot become true. */
		for (i = 0; i < nr_threads && threads[i].ended; i++)
			;
		if (i == nr_threads)
			return;
		threads[i].never = true;
		resume(&threads[i]);
	}
}

void step(void)
{
	if (self)
		suspend();
}

bool step_when(bool (*ready)(void))
{
	self->ready = ready;
	suspend();
	self->ready = NULL;
	return !self->never;
}

void trace(const char *what, unsigned long long value)
{
	if (nr_traced == MAX_STEPS)
		abort();
	traced[nr_traced].thread = self ? self->name : "";
	traced[nr_traced].what = what;
	traced[nr_traced++].value = value;
}

bool trace_print(void)
{
	unsigned int i;

	for (i = 0; i < nr_traced; i++)
		printf("#   %-10s %-8s %llx\n", traced[i].thread,
		       traced[i].what, traced[i].value);
	return false;
}
