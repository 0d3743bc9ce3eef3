/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All the ways in which a few threads can interleave.
 *
 * The threads are coroutines that hand over at each step(), so an execution is
 * determined by who goes next each time. It is run again and again, with one
 * choice made otherwise each time, depth first, until there is none left.
 */
#ifndef TWHEEL_EXPLORE_H
#define TWHEEL_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>

/* Run @execution once for each combination of choices. Returns how many. */
unsigned long long explore(void (*execution)(void));

/* One of 0 to @n - 1: in some execution each. */
unsigned int choose(unsigned int n);

/*
 * Add a thread to this execution. It runs to its first step at once: what it
 * does before that must not matter to others.
 */
void thread_start(const char *name, void (*body)(void *), void *arg);

/* Let the threads run until all have ended. */
void threads_run(void);

/* In a thread, before whatever others can see: they may go first. */
void step(void);

/*
 * A step that is not taken before @ready() holds. False if it never will since
 * all others have ended, or wait likewise.
 */
bool step_when(bool (*ready)(void));

/* Note what a step did. */
void trace(const char *what, unsigned long long value);

/* Print what was noted in this execution. Returns false: see check(). */
bool trace_print(void);

#endif /* TWHEEL_EXPLORE_H */
