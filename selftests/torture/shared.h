/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the processes of the torture test share: one mapping, made before the
 * first of them is forked. What a process that is killed has done is known from here.
 */
#ifndef TORTURE_SHARED_H
#define TORTURE_SHARED_H

#include "../faults/inject.h"
#include "call.h"

/* Worker processes, and threads in each. The last thread only reads. */
#define NR_PROCESSES	4
#define NR_WORKERS	4
/* Logs: one a worker, one for the supervisor, and one for the thread that sets clocks. */
#define LOG_SUPERVISOR	(NR_PROCESSES * NR_WORKERS)
#define LOG_STEPS	(LOG_SUPERVISOR + 1)
#define NR_LOGS		(LOG_STEPS + 1)
/* Calls in a log that the oracle has not seen yet, at most. */
#define LOG_CALLS	256

/* Contexts that all processes share; each process has one of its own besides. */
#define NR_SHARED_CTX	8
#define NR_CTX		(NR_SHARED_CTX + NR_PROCESSES)
/* Of the process that stays on CPU 0, which never goes offline: all on one wheel. */
#define ONE_CPU_PROCESS	0
#define ONE_CPU_CTX	(NR_SHARED_CTX + ONE_CPU_PROCESS)
#define NR_SLOTS	192
/* Latest armings of a log that others may still refer to. */
#define NR_NOTES	1024

/* The scheduling probes keep the worst they saw in each tenth of a second. */
#define WINDOW_NS	100000000ULL
#define NR_WINDOWS	(10 * 3600 * 24)
#define HIST_BUCKETS	40

/**
 * struct ctx - a context
 * @fd: its descriptor, the same in each process that has it
 * @serial: tells those that were in this place one after another apart; 0: none
 * @clock: its clock
 * @config: TWHEEL_CONFIG_* bits
 * @blocking: without O_NONBLOCK
 * @words: where the words of leases are mapped
 * @slots: references to notes, 0 for none: the timers that are in use
 */
struct ctx {
	int fd;
	__u32 serial;
	clockid_t clock;
	__u32 config;
	bool blocking;
	__u64 *words;
	__u64 slots[NR_SLOTS];
};

/**
 * struct note - how a timer was last armed, for all threads that use it
 * @ref: what refers to this note; anything else means that it was overwritten
 * @handle: its handle or key
 * @deadline: of a lease, the deadline that its word holds
 * @interval: as armed
 * @count: as armed
 * @word: of a lease, the index of its word
 * @tag: and its tag
 * @lease: it is one
 * @far: it will not expire during the run
 */
struct note {
	__u64 ref;
	__u64 handle;
	__u64 deadline;
	__u64 interval;
	__u32 count;
	__u32 word;
	__u16 tag;
	bool lease;
	bool far;
};

/**
 * struct log - what one thread did: it appends, the oracle removes
 * @busy: not 0 while a call is made: a stamp that is not after its begin
 * @head: calls that were appended
 * @tail: calls that were removed
 * @armings: so far: makes user_data that nobody else has
 * @operations: entries of calls
 * @calls: the calls
 * @notes: by lower bits of the references
 */
struct log {
	__u64 busy;
	__u64 head;
	__u64 tail;
	__u64 armings;
	__u64 operations;
	struct call calls[LOG_CALLS];
	struct note notes[NR_NOTES];
};

/**
 * struct shared - the mapping
 * @stamp: orders calls: taken before and after each
 * @stop: workers and chaos shall end
 * @quiet: the oracle shall end, when all logs are empty
 * @serial: of the context that was opened last
 * @faults_wanted: workers shall have calls fail
 * @begun: CLOCK_MONOTONIC at the start; windows count from here
 * @tick: length of a tick
 * @may_fail: which errors are legal, ERR_* bits
 * @seed: of all random numbers
 * @violations: how many there were
 * @expirations: that were read
 * @records: that were read
 * @hotplugs: CPUs that went offline and came back
 * @steps: of the clock
 * @step_seq: twice as many; odd while the clock is being set
 * @kills: of processes
 * @faults: calls that failed for want of memory, or of the caller's
 * @injected: faults that the kernel was made to have
 * @refusals: calls that a limit has refused
 * @denied: timers that a cgroup had no memory for
 * @resolved: calls that somebody was killed in, or failed on the way back
 * @blurred: timers that too many used at once to say anything
 * @worst: lateness, beyond slack and tick
 * @worst_probe: the same of the probes, which have neither
 * @hist: lateness, by powers of two of ns
 * @probe_hist: the same of the probes
 * @windows: ns that a probe was late, the worst in each window
 * @ctx: the contexts
 * @sockets: by which processes pass each other descriptors
 * @logs: the logs
 */
struct shared {
	__u64 stamp;
	bool stop;
	bool quiet;
	bool faults_wanted;
	__u32 serial;
	__u64 begun;
	__u64 tick;
	__u32 may_fail;
	__u64 seed;
	__u64 violations;
	__u64 expirations;
	__u64 records;
	__u64 hotplugs;
	__u64 steps;
	__u64 step_seq;
	__u64 kills;
	__u64 faults;
	__u64 injected[NR_FAULT_KINDS];
	__u64 refusals;
	__u64 denied;
	__u64 resolved;
	__u64 blurred;
	__u64 worst;
	__u64 worst_probe;
	__u64 hist[HIST_BUCKETS];
	__u64 probe_hist[HIST_BUCKETS];
	__u32 windows[NR_WINDOWS];
	struct ctx ctx[NR_CTX];
	int sockets[2];
	struct log logs[NR_LOGS];
};

#define ERR_NOMEM	1	/* memory is short, or failslab */
#define ERR_LIMIT	2	/* limits change */
#define ERR_FAULT	4	/* usercopy fails */

extern struct shared *shared;

static inline void count(__u64 *counter, __u64 n)
{
	__atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

/* Has a limit refused the call? */
static inline bool is_refusal(long error)
{
	return error == -ENOSPC || error == -EDQUOT;
}

/* Is it legal in this run that a call fails with @error? */
static inline bool error_allowed(long error)
{
	switch (error) {
	case -ENOMEM:
		return shared->may_fail & ERR_NOMEM;
	case -ENOSPC:
	case -EDQUOT:
		return shared->may_fail & ERR_LIMIT;
	case -EFAULT:
		return shared->may_fail & ERR_FAULT;
	default:
		return false;
	}
}

/* Where the random numbers of thread @n begin: not with 0, which they stay at. */
static inline __u64 random_begin(__u64 n)
{
	return (shared->seed + n) * 0x9e3779b97f4a7c15ULL | 1;
}

static inline bool stopped(void)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

/* Where each process begins: they run until told to stop, or killed. */
void work(__u32 process);
void chaos_main(__u32 kinds);
void oracle_main(__u32 unused);
void probe_main(__u32 unused);

/* Something is wrong: say so, and count it. */
void violation(const char *what);

/* What chaos_main() does; each needs root. */
#define CHAOS_HOTPLUG	1
#define CHAOS_CLOCK	2
#define CHAOS_LIMITS	4
#define CHAOS_MEMORY	8
#define CHAOS_EYES	16
#define CHAOS_FAULTS	32

/* Put back what chaos has changed. */
void chaos_undo(void);

#endif /* TORTURE_SHARED_H */
