/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs all interleavings of a few threads.
 *
 * The threads are coroutines that hand over at each step(), so an execution is determined
 * by which thread goes on each time. The execution is run again and again, each time with
 * one choice changed, depth first, until there are no other choices.
 */
#ifndef TWHEEL_EXPLORE_H
#define TWHEEL_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>

/* Runs @execution once for each combination of choices. Returns how many there were. */
unsigned long long explore(void (*execution)(void));

/* Returns one of 0 to @n - 1, each of them in some execution. */
unsigned int choose(unsigned int n);

/*
 * Adds a thread to this execution. It runs to its first step at once, so nothing that it
 * does before that may matter to other threads.
 */
void thread_start(const char *name, void (*body)(void *), void *arg);

/* Lets the threads run until all have ended. */
void threads_run(void);

/* A thread calls this before any action that others can see: they may go first. */
void step(void);

/*
 * A step that is not taken before @ready() is true. Returns false if that can never be,
 * since all other threads have ended or wait likewise.
 */
bool step_when(bool (*ready)(void));

/* Notes in the trace what a step did. */
void trace(const char *what, unsigned long long value);

/* Prints the trace of this execution. Returns false, for check(). */
bool trace_print(void);

#endif /* TWHEEL_EXPLORE_H */
