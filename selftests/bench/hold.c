// SPDX-License-Identifier: GPL-2.0-only
/*
 * hold: how long a wheel's lock is held while N timers expire that are due in one tick.
 *
 *	hold N ROUNDS
 *
 * All timers are armed on one CPU, with the same deadline. The function graph tracer
 * measures the function that holds the lock (../stalls/holds.c). Printed are the medians, over
 * the rounds, of a round's median and 99th percentile, and of the longest holds the least:
 * whatever else stops the CPU for a while can only make a hold longer. More timers are held
 * more often, so their longest hold has more occasions to be interrupted. All records are
 * read and counted.
 */
#include <stdio.h>

#include "../stalls/holds.h"
#include "situations.h"

#define ROUNDS_MAX	9
/* How often a deadline is put off that comes before all timers are armed. */
#define ATTEMPTS	6
/* Timers that are armed to see how long that takes. */
#define TRIAL		20000

/* Each number from 0 to @n - 1 comes once, as far as count, sum and deadline can tell. */
static void read_all(int fd, unsigned long n, __u64 deadline)
{
	static struct twheel_event events[BATCH];
	unsigned long got = 0;
	__u64 sum = 0, now;
	unsigned int nr, i;

	while (got < n) {
		nr = read_batch(fd, events, &now);
		for (i = 0; i < nr; i++) {
			if (events[i].deadline != deadline)
				fail("the deadline of a record", 0);
			sum += events[i].user_data;
		}
		got += nr;
	}
	if (got != n || sum != (__u64)n * (n - 1) / 2)
		fail("number of records", 0);
	check_empty(fd);
}

static void cannot(unsigned long n, const char *reason)
{
	static const char *const figures[] = { "median", "p99", "longest" };
	size_t i;

	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		printf("hold\t%lu\t%s\t-\t%s\n", n, figures[i], reason);
	exit(0);
}

/* Returns a time that most likely suffices to arm @n timers, in ns. */
static __u64 enough(unsigned long n)
{
	__u64 begun = tw_now(CLOCK_MONOTONIC), far = begun + TW_FAR;
	int fd = open_timers(0);

	arm_all(fd, TRIAL, &far, 0);
	close(fd);
	return TW_SEC / 5 + (tw_now(CLOCK_MONOTONIC) - begun) * 2 * n / TRIAL;
}

/* The timers expire on the CPU that has armed them, which is @cpu. */
static struct holds measure(unsigned long n, int cpu)
{
	int fd = open_timers(0), attempts = 0;
	__u64 lead = enough(n), deadline;
	struct holds holds;

	for (;;) {
		if (!holds_begin(cpu))
			cannot(n, "the function graph tracer cannot be used");
		deadline = tw_now(CLOCK_MONOTONIC) + lead;
		arm_all(fd, n, &deadline, 0);
		if (tw_now(CLOCK_MONOTONIC) < deadline)
			break;
		read_all(fd, n, deadline);
		holds_end();
		lead *= 2;
		if (++attempts == ATTEMPTS)
			cannot(n, "too slow: due before all were armed");
	}
	while (tw_info(fd).ready < n)
		usleep(1000);
	holds = holds_end();
	if (!holds.nr)
		fail("number of holds that were seen", 0);
	printf("# hold: %lu due in one tick: %llu holds, median %llu, p99 %llu, longest %llu ns\n",
	       n, holds.nr, holds.median, holds.p99, holds.longest);
	read_all(fd, n, deadline);
	close(fd);
	return holds;
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	int rounds = argc == 3 ? atoi(argv[2]) : 0, cpu = tw_nth_cpu(0), i;
	__u64 medians[ROUNDS_MAX], p99s[ROUNDS_MAX], longest = ~0ULL;

	if (!n || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: hold N ROUNDS (1 to %d)\n", ROUNDS_MAX);
		return 2;
	}
	setlinebuf(stdout);
	if (!tw_pin(cpu))
		fail("sched_setaffinity", errno);
	for (i = 0; i < rounds; i++) {
		struct holds holds = measure(n, cpu);

		medians[i] = holds.median;
		p99s[i] = holds.p99;
		if (holds.longest < longest)
			longest = holds.longest;
	}
	qsort(medians, rounds, sizeof(medians[0]), tw_compare);
	qsort(p99s, rounds, sizeof(p99s[0]), tw_compare);
	printf("hold\t%lu\tmedian\t%llu\n", n, medians[rounds / 2]);
	printf("hold\t%lu\tp99\t%llu\n", n, p99s[rounds / 2]);
	printf("hold\t%lu\tlongest\t%llu\n", n, longest);
	return 0;
}
