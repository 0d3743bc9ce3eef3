// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program forks. The child is one of the simulation, too: it goes on by itself from that moment,
 * to its end, while the simulation of the parent waits; so an episode has two futures. Of its
 * program there is only the thread that has forked. What it does to descriptors it does to copies.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/errno.h>

#include "oracle.h"
#include "kernel.h"

/* So often is it looked whether no thread is in a call. */
#define MAX_LOOKS	20U

/* Only this task goes on, and those that are no threads of the program. */
static void lose_threads(void)
{
	u32 i;

	for (i = 0; i < (u32)nr_fibers; i++) {
		struct fiber *f = &fibers[i];

		if (!f->used || f->kind != TASK || f == self || f->function == chaos_main)
			continue;
		f->used = false;
		f->active = false;
		nr_tasks--;
		if (f->function == hostile_main)
			world.others_left--;
	}
	world.owners_left = 0;
	world.readers_left = 0;
	for (i = 0; i < world.nr_owners; i++)
		world.owners[i].busy = false;
	for (i = 0; i < world.nr_contexts; i++) {
		struct context *c = &world.contexts[i];

		c->waiting = 0;
		c->attending = 0;
		c->draining = 0;
		c->extending = 0;
	}
}

/* Until the child takes a context over it can only close it. */
static void check_inherited(struct context *c)
{
	struct twheel_arm arm = { .handle = 1 };
	struct twheel_info info = { };
	struct twheel_event event;

	expect(call_info(c, &info) == -ECHILD && call_arm(c, &arm) == -ECHILD &&
	       call_read(c, &event, 1, false) == -ECHILD, STABLE_INTERFACE,
	       "a child uses a context that it has not taken over");
}

/* Cancel what a thread that is gone would have cancelled. */
static void cancel_far(struct context *c)
{
	struct twheel_timer_info infos[8];
	struct twheel_list list = { .entries = (uintptr_t)infos, .count = ARRAY_SIZE(infos) };
	long n, i;

	while ((n = call_list(c, &list)) > 0)
		for (i = 0; i < n; i++) {
			struct twheel_cancel cancel = { .handle = infos[i].handle };

			expect(!(infos[i].user_data & NEVER_TOLD) || !call_cancel(c, &cancel),
			       CONTAINED, "a child cannot cancel a timer of its parent");
		}
	expect(!n, CONTAINED, "a list fails with %ld in a child", n);
}

static void go_on_as_child(void)
{
	bool takes_over = sim_below(2);
	u32 i;

	lose_threads();
	program_forked();
	for (i = 0; i < world.nr_contexts; i++)
		check_inherited(&world.contexts[i]);
	/* This task is one of those that others_left counts. */
	world.others_left--;
	for (i = 0; takes_over && i < world.nr_contexts; i++) {
		library_take_over(&world.contexts[i].file);
		cancel_far(&world.contexts[i]);
		spawn_reader(&world.contexts[i]);
	}
	if (takes_over)
		close_all(NULL);
	for (i = 0; !takes_over && i < world.nr_contexts; i++)
		call_close(&world.contexts[i]);
	if (!takes_over)
		program_end();
	sim_give_back();
	expect(!sim_allocated, CONTAINED, "%ld pieces of memory are left in a child",
	       sim_allocated);
	sim_trace("the child ends");
	fflush(stdout);
	_exit(0);
}

static void fork_now(void)
{
	int status = 0;
	pid_t pid;

	sim_trace("fork: first the child goes on");
	fflush(stdout);
	pid = fork();
	expect(pid >= 0, SIM_ITSELF, "the simulation cannot fork");
	if (!pid)
		go_on_as_child();
	expect(waitpid(pid, &status, 0) == pid, SIM_ITSELF, "a child is gone");
	/* It has said why. */
	if (status)
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BROKEN);
	sim_trace("after the fork the parent goes on");
}

void forker_main(void *arg)
{
	u32 n;

	sim_sleep_until(sim_now() + sim_below(300 * TICK));
	/* A context can be taken over if no other thread was in a call on it. */
	for (n = 0; program_calls && n < MAX_LOOKS; n++)
		sim_sleep_until(sim_now() + sim_below(TICK));
	if (!program_calls)
		fork_now();
	world.others_left--;
}
