// SPDX-License-Identifier: GPL-2.0-only
/*
 * How late timers were, and how late anything was: the probes.
 *
 * A probe is a thread on each CPU that sleeps for a millisecond at a time. What
 * delays timers, be it the emulator, interrupts, or other threads, delays the
 * probes as well. A timer that is later than they were by far is wrong.
 */
#include <pthread.h>

#include "late.h"

static void max_of(__u32 *most, __u64 ns)
{
	__u32 value = ns > ~0U ? ~0U : ns, seen = __atomic_load_n(most, __ATOMIC_RELAXED);

	while (seen < value && !__atomic_compare_exchange_n(most, &seen, value, true,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static __u64 window(__u64 now)
{
	__u64 i = now > shared->begun ? (now - shared->begun) / WINDOW_NS : 0;

	return i < NR_WINDOWS ? i : NR_WINDOWS - 1;
}

void late_saw(__u64 now, __u64 ns)
{
	__u64 i;

	for (i = window(now - ns); i <= window(now); i++)
		max_of(&shared->windows[i], ns);
}

__u64 late_bound(__u64 due, __u64 at)
{
	__u64 worst = 0, i;

	for (i = window(due - WINDOW_NS); i <= window(at + WINDOW_NS); i++)
		if (shared->windows[i] > worst)
			worst = shared->windows[i];
	return LATE_ALWAYS + LATE_FACTOR * worst;
}

void late_count(__u64 *hist, __u64 ns)
{
	int bucket = ns ? 64 - __builtin_clzll(ns) : 0;

	count(&hist[bucket < HIST_BUCKETS ? bucket : HIST_BUCKETS - 1], 1);
}

__u64 late_percentile(const __u64 *hist, int percent)
{
	__u64 sum = 0, below = 0;
	int i;

	for (i = 0; i < HIST_BUCKETS; i++)
		sum += hist[i];
	for (i = 0; i < HIST_BUCKETS - 1; i++) {
		below += hist[i];
		if (below * 100 >= sum * percent)
			break;
	}
	return 1ULL << i;
}

static void *probe(void *arg)
{
	int cpu = (long)arg, n;
	struct timespec ts;
	__u64 due, late, now;

	for (n = 0;; n++) {
		/* When its CPU goes, a thread is moved, and is not moved back. */
		if (n % 100 == 0)
			tw_pin(cpu);
		due = tw_now(CLOCK_MONOTONIC) + TW_MSEC;
		ts = (struct timespec) { .tv_sec = due / TW_SEC, .tv_nsec = due % TW_SEC };
		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
			continue;
		now = tw_now(CLOCK_MONOTONIC);
		late = now - due;
		late_saw(now, late);
		late_count(shared->probe_hist, late);
		/* Only this process writes it, and a race costs little. */
		if (late > shared->worst_probe)
			shared->worst_probe = late;
	}
	return NULL;
}

void probe_main(__u32 unused)
{
	int i, cpus = sysconf(_SC_NPROCESSORS_CONF);
	pthread_t thread;

	(void)unused;
	for (i = 1; i < cpus; i++)
		pthread_create(&thread, NULL, probe, (void *)(long)i);
	probe(NULL);
}
