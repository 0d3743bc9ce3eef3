/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A load on one context that knows what has to come of it.
 *
 * Every arming has a number of its own, its user_data. Workers arm, re-arm and
 * cancel, readers read; each notes what it was told about the arming's end. When
 * all is quiet the notes have to agree: an arming ended in exactly one way.
 */
#ifndef TWHEEL_LOAD_H
#define TWHEEL_LOAD_H

#include <pthread.h>
#include <stdbool.h>

#include <linux/types.h>

#define LOAD_THREADS	8
#define LOAD_SLOTS	256

/**
 * struct load_mix - what the workers do
 * @workers: threads that arm
 * @readers: threads that read
 * @drainers: threads that list with TWHEEL_LIST_DRAIN
 * @spread_ns: deadlines lie up to this far ahead
 * @far: one in so many deadlines lies an hour ahead instead; 0 for none
 * @cancel: weights of what is done with a timer that is there
 * @rearm: see @cancel
 * @leave: see @cancel; forgets about it, it has to be read then
 * @periodic: one in so many is periodic; 0 for none
 * @shared: workers use each other's timers
 * @pinned: workers stay on a CPU each, readers on others
 */
struct load_mix {
	int workers;
	int readers;
	int drainers;
	__u64 spread_ns;
	int far;
	int cancel;
	int rearm;
	int leave;
	int periodic;
	bool shared;
	bool pinned;
};

struct load_arming;
struct load_thread;

/**
 * struct load - a load that runs
 * @mix: what it does
 * @fd: on which context
 * @armings: by number
 * @nr_armings: how many numbers were given out; may run past @max_armings
 * @max_armings: when to stop
 * @slots: handle and arming of the timers in use, workers' own or shared
 * @stop: the workers shall end
 * @quiet: readers and drainers shall end
 * @reads: how many reads were begun: tells a read before a cancel from one after
 * @errors: things that must not happen, so far
 * @first_error: the first of them
 */
struct load {
	struct load_mix mix;
	int fd;
	struct load_arming *armings;
	__u64 nr_armings;
	__u64 max_armings;
	__u64 slots[LOAD_THREADS][LOAD_SLOTS];
	bool stop;
	bool quiet;
	__u64 reads;
	int errors;
	char first_error[160];
	int nr_threads;
	struct load_thread *threads;

	/* The result, by load_end(). */
	__u64 cancelled, superseded, delivered, drained, expirations;
};

/* Seconds that each part of a stress test runs: TWHEEL_STRESS_SECONDS, or 5. */
int load_seconds(void);

/* Starts the threads on a new context: 0 or -errno. */
int load_begin(struct load *load, const struct load_mix *mix);

/*
 * Stops the workers, waits until every timer that is due was read, cancels the
 * rest, and checks the notes. Returns how many things were wrong.
 */
int load_end(struct load *load);

#endif /* TWHEEL_LOAD_H */
