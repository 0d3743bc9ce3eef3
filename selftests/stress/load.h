/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A load on one context that knows which results there have to be.
 *
 * Every arming has a number of its own, which is its user_data. Workers arm, re-arm and
 * cancel, and readers read. Each thread notes what it was told about the end of an arming.
 * When all is quiet the notes have to agree: every arming ended in exactly one way.
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
 * @far: one of this many deadlines lies an hour ahead instead; 0 for none
 * @cancel: weight of cancelling a timer that exists
 * @rearm: weight of re-arming it
 * @leave: weight of forgetting it, so that it has to be read
 * @push: before one of this many steps a worker pushes its own timer back; 0 for never
 * @periodic: one of this many timers is periodic; 0 for none
 * @shared: workers use the timers of each other
 * @pinned: each worker stays on a CPU, and readers stay on others
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
	int push;
	int periodic;
	bool shared;
	bool pinned;
};

struct load_arming;
struct load_thread;

/**
 * struct load - a load that runs
 * @mix: what it does
 * @fd: its context
 * @armings: notes by number
 * @nr_armings: how many numbers were given out; may run past @max_armings
 * @max_armings: the load ends at this number
 * @slots: handle and arming of the timers in use, of one worker or shared
 * @stop: the workers have to end
 * @quiet: readers and drainers have to end
 * @reads: how many reads have begun; tells a read before a cancel from one after it
 * @errors: how many errors there were
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

	/* The results, which load_end() sets. */
	__u64 cancelled, superseded, delivered, drained, expirations;
};

/* Returns how many seconds each part of a stress test runs: TWHEEL_STRESS_SECONDS, or 5. */
int load_seconds(void);

/* Starts the threads on a new context. Returns 0 or -errno. */
int load_begin(struct load *load, const struct load_mix *mix);

/*
 * Stops the workers, waits until every timer that is due was read, cancels the
 * rest, and checks the notes. Returns how many things were wrong.
 */
int load_end(struct load *load);

#endif /* TWHEEL_LOAD_H */
