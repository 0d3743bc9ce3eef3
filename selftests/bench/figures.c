// SPDX-License-Identifier: GPL-2.0-only
/*
 * figures: put the device in the situations that figures.sh measures.
 *
 *	figures memory N	memory that N pending timers take
 *	figures due N		N timers due in one tick, and how long locks are held
 *	figures one SECONDS	one timer, SECONDS ahead
 */
#include <stdio.h>

#include "../stalls/holds.h"
#include "twheel_util.h"

#define BATCH	256

static void fail(const char *what, long error)
{
	fprintf(stderr, "figures: %s: %s\n", what, strerror(error));
	exit(1);
}

/* Arm @n timers at @deadline. Keeps nothing of them. */
static void arm(int fd, unsigned long n, __u64 deadline)
{
	static struct twheel_arm arms[BATCH];

	while (n) {
		struct twheel_batch batch = {
			.entries = (unsigned long)arms,
			.count = n < BATCH ? n : BATCH,
		};
		unsigned int i;

		for (i = 0; i < batch.count; i++)
			arms[i] = tw_request(deadline, TWHEEL_ARM_ABS, 0);
		if (tw_call(fd, TWHEEL_IOC_ARM_BATCH, &batch) != (int)batch.count)
			fail("arm", errno);
		for (i = 0; i < batch.count; i++)
			if (arms[i].result)
				fail("arm", -arms[i].result);
		n -= batch.count;
	}
}

static void read_all(int fd, unsigned long n)
{
	static struct twheel_event events[BATCH];

	while (n) {
		ssize_t got = tw_read(fd, events, sizeof(events));

		if (got <= 0)
			fail("read", -got);
		n -= got / sizeof(events[0]);
	}
}

static unsigned long long free_bytes(void)
{
	unsigned long long kb = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	if (!f || fscanf(f, "MemTotal: %*u kB MemFree: %llu", &kb) != 1)
		fail("/proc/meminfo", errno);
	fclose(f);
	return kb * 1024;
}

static void memory(int fd, unsigned long n)
{
	unsigned long long before;

	/* The first timer allocates what all share. */
	arm(fd, 1, tw_now(CLOCK_MONOTONIC) + TW_FAR);

	before = free_bytes();
	arm(fd, n, tw_now(CLOCK_MONOTONIC) + TW_FAR);
	printf("%.1f bytes of memory for each of %lu pending timers\n",
	       (double)(before - free_bytes()) / n, n);
}

static void due(int fd, unsigned long n)
{
	int cpu = tw_nth_cpu(0);
	struct holds holds;
	__u64 deadline;

	/* The CPU that arms a timer expires it. */
	if (!tw_pin(cpu) || !holds_begin(cpu)) {
		fprintf(stderr, "figures: no function graph tracer on CPU %d\n", cpu);
		exit(1);
	}
	/* Long enough for the slowest of guests to arm them all. */
	deadline = tw_now(CLOCK_MONOTONIC) + TW_SEC / 5 + n * 15000ULL;
	arm(fd, n, deadline);
	if (tw_now(CLOCK_MONOTONIC) >= deadline) {
		fprintf(stderr, "figures: too slow: due before all were armed\n");
		exit(1);
	}
	do {
		usleep(1000);
	} while (tw_info(fd).ready < n);
	printf("%lu due in one tick, all ready after %.1f ms\n", n,
	       (tw_now(CLOCK_MONOTONIC) - deadline) / 1e6);
	holds = holds_end();
	if (!holds.nr) {
		fprintf(stderr, "figures: no holds were seen\n");
		exit(1);
	}
	printf("  the base's lock was held: %llu holds, median %.0f us, longest %.0f us\n",
	       holds.nr, holds.median / 1e3, holds.longest / 1e3);
	read_all(fd, n);
}

static void one(int fd, unsigned long seconds)
{
	arm(fd, 1, tw_now(CLOCK_MONOTONIC) + seconds * TW_SEC);
	read_all(fd, 1);
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	int fd;

	if (!n) {
		fprintf(stderr, "usage: figures memory N | due N | one SECONDS\n");
		return 2;
	}

	/* A read waits. */
	fd = open(TW_DEVICE, O_RDWR);
	if (fd < 0)
		fail(TW_DEVICE, errno);

	if (!strcmp(argv[1], "memory"))
		memory(fd, n);
	else if (!strcmp(argv[1], "due"))
		due(fd, n);
	else
		one(fd, n);
	return 0;
}
