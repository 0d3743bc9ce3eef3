// SPDX-License-Identifier: GPL-2.0-only
/*
 * figures: put the device in the situations that figures.sh measures.
 *
 *	figures memory N	memory that N pending timers take
 *	figures due N		N timers due in one tick
 *	figures one SECONDS	one timer, SECONDS ahead
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/twheel.h>

#define BATCH	256
#define NSEC	1000000000ULL

static void fail(const char *what)
{
	fprintf(stderr, "figures: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

static void get_info(int fd, struct twheel_info *info)
{
	memset(info, 0, sizeof(*info));
	if (ioctl(fd, TWHEEL_IOC_GET_INFO, info))
		fail("get info");
}

/* Arm @n timers at @deadline. Keeps nothing of them. */
static void arm(int fd, unsigned long n, unsigned long long deadline)
{
	static struct twheel_arm arms[BATCH];

	while (n) {
		struct twheel_batch batch = {
			.entries = (unsigned long)arms,
			.count = n < BATCH ? n : BATCH,
		};
		unsigned int i;

		for (i = 0; i < batch.count; i++)
			arms[i] = (struct twheel_arm) {
				.expires = deadline,
				.flags = TWHEEL_ARM_ABS,
			};
		if (ioctl(fd, TWHEEL_IOC_ARM_BATCH, &batch) != (int)batch.count)
			fail("arm");
		for (i = 0; i < batch.count; i++) {
			errno = -arms[i].result;
			if (errno)
				fail("arm");
		}
		n -= batch.count;
	}
}

static void read_all(int fd, unsigned long n)
{
	static struct twheel_event events[BATCH];

	while (n) {
		ssize_t got = read(fd, events, sizeof(events));

		if (got <= 0)
			fail("read");
		n -= got / sizeof(events[0]);
	}
}

static unsigned long long free_bytes(void)
{
	unsigned long long kb = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	if (!f || fscanf(f, "MemTotal: %*u kB MemFree: %llu", &kb) != 1)
		fail("/proc/meminfo");
	fclose(f);
	return kb * 1024;
}

static void memory(int fd, unsigned long n)
{
	unsigned long long before;

	/* Have everything there that the first timer needs. */
	arm(fd, 1, now_ns() + 3600 * NSEC);

	before = free_bytes();
	arm(fd, n, now_ns() + 3600 * NSEC);
	printf("%.1f bytes of memory for each of %lu pending timers\n",
	       (double)(before - free_bytes()) / n, n);
}

static void due(int fd, unsigned long n)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	unsigned long long deadline;
	struct twheel_info info;

	/* Long enough for the slowest of guests to arm them all. */
	deadline = now_ns() + NSEC / 5 + n * 15000ULL;
	arm(fd, n, deadline);
	if (now_ns() >= deadline) {
		fprintf(stderr, "figures: too slow: due before all were armed\n");
		exit(1);
	}
	do {
		nanosleep(&pause, NULL);
		get_info(fd, &info);
	} while (info.ready < n);
	printf("%lu due in one tick, all ready after %.1f ms\n", n,
	       (now_ns() - deadline) / 1e6);
	read_all(fd, n);
}

static void one(int fd, unsigned long seconds)
{
	arm(fd, 1, now_ns() + seconds * NSEC);
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

	fd = open("/dev/twheel", O_RDWR);
	if (fd < 0)
		fail("/dev/twheel");

	if (!strcmp(argv[1], "memory"))
		memory(fd, n);
	else if (!strcmp(argv[1], "due"))
		due(fd, n);
	else
		one(fd, n);
	return 0;
}
