// SPDX-License-Identifier: GPL-2.0-only
/* What the facilities share: memory, waiting, limits. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "twheel_util.h"
#include "speed.h"

/** fail() - end the program, since a facility does not do what it should */
void fail(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("speed: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	/* Not exit(): other threads go on meanwhile. */
	_exit(1);
}

/** table() - zeroed memory for @nr elements that is there already, so that no fault is measured */
void *table(uint64_t nr, uint64_t size)
{
	void *map = mmap(NULL, nr * size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (map == MAP_FAILED)
		fail("no memory for %llu times %llu bytes", (unsigned long long)nr,
		     (unsigned long long)size);
	return map;
}

/** table_free() - give back what table() has returned */
void table_free(void *table, uint64_t nr, uint64_t size)
{
	munmap(table, nr * size);
}

/** job_table() - such memory, for as long as the facility is open */
void *job_table(struct job *job, uint64_t nr, uint64_t size)
{
	if (job->nr_tables == MAX_TABLES)
		fail("%s: too many tables", job->plan->facility->name);
	job->tables[job->nr_tables].at = table(nr, size);
	job->tables[job->nr_tables].size = nr * size;
	return job->tables[job->nr_tables++].at;
}

/** job_close() - close the facility, and give back its memory */
void job_close(struct job *job)
{
	unsigned int i;

	if (job->plan->facility->close)
		job->plan->facility->close(job);
	for (i = 0; i < job->nr_tables; i++)
		table_free(job->tables[i].at, 1, job->tables[i].size);
	job->nr_tables = 0;
}

/** fired_take() - take expirations out; returns how many */
uint32_t fired_take(struct fired *fired, uint32_t *which, uint32_t max)
{
	uint32_t n = fired->to - fired->from;

	if (n > max)
		n = max;
	memcpy(which, fired->which + fired->from, n * sizeof(*which));
	fired->from += n;
	if (fired->from == fired->to) {
		fired->from = 0;
		fired->to = 0;
	}
	return n;
}

/** wait_fd() - wait until @fd is readable, 100 ms at most */
void wait_fd(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	poll(&pollfd, 1, 100);
}

/** wait_until() - sleep until a time on CLOCK_MONOTONIC */
void wait_until(uint64_t ns)
{
	struct timespec ts = { ns / TW_SEC, ns % TW_SEC };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/** wait_soon() - the same, but 100 ms at most */
void wait_soon(uint64_t ns)
{
	uint64_t most = clock_ns() + 100 * TW_MSEC;

	wait_until(ns < most ? ns : most);
}

/**
 * pin() - let this thread run on one CPU only
 * @index: number of the thread. The last CPU is the first to be taken, since the first
 *	has most of the interrupts.
 */
void pin(unsigned int index)
{
	static cpu_set_t all;
	int nr;

	if (!CPU_COUNT(&all))
		sched_getaffinity(0, sizeof(all), &all);
	sched_setaffinity(0, sizeof(all), &all);
	nr = CPU_COUNT(&all);
	if (!tw_pin(tw_nth_cpu(nr - 1 - index % nr)))
		fail("cannot choose a CPU: %s", strerror(errno));
}

/**
 * limit_file() - raise a limit that the kernel has in a file, if it is lower
 * @path: the file
 * @want: that much
 *
 * Who may not gets errors later, from what is limited.
 */
void limit_file(const char *path, uint64_t want)
{
	unsigned long long now;
	char text[32];
	FILE *file = fopen(path, "re");
	bool known = file && fscanf(file, "%llu", &now) == 1;

	if (file)
		fclose(file);
	if (!known || now >= want)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)want);
	if (!tw_write_file(path, text))
		printf("# %s: %llu, and was %llu\n", path, (unsigned long long)want, now);
}

/**
 * limit_files() - raise the number of descriptors
 * @want: that many
 *
 * Return: how many this process may have now.
 */
uint32_t limit_files(uint64_t want)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		fail("RLIMIT_NOFILE: %s", strerror(errno));
	if (limit.rlim_cur >= want)
		return limit.rlim_cur;
	if (limit.rlim_max < want) {
		struct rlimit raised = { want, want };

		if (!setrlimit(RLIMIT_NOFILE, &raised))
			return want;
		limit_file("/proc/sys/fs/nr_open", want);
		if (!setrlimit(RLIMIT_NOFILE, &raised))
			return want;
	}
	limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		fail("RLIMIT_NOFILE: %s", strerror(errno));
	return limit.rlim_cur;
}

/** limit_signals() - raise RLIMIT_SIGPENDING to @want, if that is allowed */
void limit_signals(uint64_t want)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_SIGPENDING, &limit) || limit.rlim_cur >= want)
		return;
	limit.rlim_cur = want;
	if (limit.rlim_max < want)
		limit.rlim_max = want;
	setrlimit(RLIMIT_SIGPENDING, &limit);
}

/* A child that holds @nr timers until its parent ends. */
static void holder(unsigned int cpu, uint32_t nr, int ready)
{
	struct aim aim = { .base = clock_ns() + TW_FAR / 4, .span = TW_FAR / 24 };
	int error = 0;
	uint32_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The pending timers of a CPU are in one tree: they have to be in the one measured. */
	pin(cpu);
	for (i = 0; i < nr && !error; i++) {
		uint64_t at = aim_at(&aim, i);
		struct itimerspec its = { .it_value = { at / TW_SEC, at % TW_SEC } };
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

		if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME, &its, NULL))
			error = errno;
	}
	if (write(ready, &error, sizeof(error)) != sizeof(error) || error)
		_exit(1);
	for (;;)
		pause();
}

/**
 * hold_timerfds() - keep timers pending in other processes, until this thread ends
 * @job: on whose CPU
 * @nr: how many
 * @each: how many descriptors a process may have
 */
void hold_timerfds(const struct job *job, uint32_t nr, uint32_t each)
{
	int ready[2], error;

	if (pipe(ready))
		fail("pipe: %s", strerror(errno));
	/* What it has inherited is open, too. */
	each -= 128;
	while (nr) {
		uint32_t n = nr < each ? nr : each;
		pid_t pid = fork();

		if (pid < 0)
			fail("fork: %s", strerror(errno));
		if (!pid) {
			close(ready[0]);
			holder(job->index, n, ready[1]);
		}
		/* One after another: what is left of the CPU is for one. */
		if (!(tw_poll(ready[0], TW_LIMIT_MS) & POLLIN) ||
		    read(ready[0], &error, sizeof(error)) != sizeof(error))
			fail("a process that holds %u timers did not start", n);
		if (error)
			fail("a process that holds %u timers: %s", n, strerror(error));
		nr -= n;
	}
	close(ready[0]);
	close(ready[1]);
}
