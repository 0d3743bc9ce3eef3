// SPDX-License-Identifier: GPL-2.0-only
/*
 * hog - take each CPU from all others for some milliseconds, again and again
 *
 * A test that waits too briefly, or expects that what it does takes no time, passes on a machine
 * that has time for it, and fails elsewhere once in a hundred runs. A thread with a real-time
 * priority keeps each CPU now and then for up to 8 ms, and every eighth time for up to 60. So one
 * thread of a test stands still while others go on. See HOG in check.sh.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* In us: at most between two times, and how long they are */
#define PAUSE	60000
#define SHORT	8000
#define LONG	60000

static long long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

static void *keep_cpu(void *arg)
{
	const struct sched_param param = { .sched_priority = 90 };
	int cpu = (int)(intptr_t)arg;
	unsigned int seed = (unsigned int)(now_us() + cpu);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* A CPU may be offline: then the thread runs elsewhere. */
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param)) {
		fprintf(stderr, "hog: no real-time priority: is this root?\n");
		exit(1);
	}
	for (;;) {
		long long until;

		usleep((useconds_t)(rand_r(&seed) % PAUSE + 1));
		until = now_us() + rand_r(&seed) % (rand_r(&seed) % 8 ? SHORT : LONG);
		while (now_us() < until)
			;
	}
	return NULL;
}

int main(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF), cpu;
	pthread_t thread;

	for (cpu = 0; cpu < cpus; cpu++)
		if (pthread_create(&thread, NULL, keep_cpu, (void *)cpu))
			return 1;
	pause();
	return 0;
}
