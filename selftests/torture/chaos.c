// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens around the workers: CPUs go and come, the clock is set, limits
 * move, memory runs short, calls fail, tools look at everything.
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "late.h"
#include "shared.h"

#define CGROUP		"/sys/fs/cgroup/twheel-torture"
#define HOG		"/sys/fs/cgroup/twheel-hog"
#define DEBUG		"/sys/kernel/debug/"
#define TRACING		"/sys/kernel/tracing/"
#define HOG_BYTES	(24UL << 20)

static char max_fd_timers[32], max_user_timers[32];

static void wait_ns(__u64 ns)
{
	__u64 end = tw_now(CLOCK_MONOTONIC) + ns;
	struct timespec ts = { .tv_nsec = 5 * TW_MSEC };

	while (!stopped() && tw_now(CLOCK_MONOTONIC) < end)
		nanosleep(&ts, NULL);
}

static bool read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* Read what there is in @path, so that the kernel has to produce it. */
static void look_at(const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), i;

	for (i = 0; fd >= 0 && i < 64 && read(fd, text, sizeof(text)) > 0; i++)
		;
	if (fd >= 0)
		close(fd);
}

static int set_online(int cpu, bool online)
{
	char path[64];
	__u64 begin = tw_now(CLOCK_MONOTONIC), end;
	int ret;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	ret = tw_write_file(path, online ? "1" : "0");
	end = tw_now(CLOCK_MONOTONIC);
	/* Meanwhile the timers of that CPU may not have expired. */
	late_saw(end, end - begin);
	return ret;
}

static void *hotplug(void *arg)
{
	__u64 random = random_begin(~1ULL);
	int cpu, cpus = sysconf(_SC_NPROCESSORS_CONF);

	(void)arg;
	while (!stopped() && cpus > 1) {
		cpu = 1 + tw_random(&random) % (cpus - 1);
		if (!set_online(cpu, false)) {
			/* Now and then long enough to see that timers are lost. */
			wait_ns(tw_random(&random) % (tw_random(&random) % 8 ?
						      200 * TW_MSEC : 5 * TW_SEC));
			while (set_online(cpu, true))
				wait_ns(10 * TW_MSEC);
			count(&shared->hotplugs, 1);
		}
		wait_ns(tw_random(&random) % (300 * TW_MSEC));
	}
	return NULL;
}

/* Set CLOCK_REALTIME ahead by @ns. */
static void set_clock(long long ns)
{
	__u64 time = tw_now(CLOCK_REALTIME) + ns;
	struct timespec ts = { .tv_sec = time / TW_SEC, .tv_nsec = time % TW_SEC };

	if (clock_settime(CLOCK_REALTIME, &ts))
		violation("the clock cannot be set");
}

static void *clock_steps(void *arg)
{
	struct log *log = &shared->logs[LOG_STEPS];
	__u64 random = random_begin(~2ULL);
	long long ns, sum = 0;
	struct call *call;

	(void)arg;
	while (!stopped() || sum) {
		/* Around where it was, by very different steps, and back at the end. */
		ns = tw_random(&random) % (tw_random(&random) % 4 ? 100 * TW_MSEC : 8 * TW_SEC);
		if (tw_random(&random) % 2)
			ns = -ns;
		if (stopped() || sum + ns > (long long)(10 * TW_SEC) ||
		    sum + ns < -(long long)(10 * TW_SEC))
			ns = -sum;
		if (ns) {
			call = call_new(log, CALL_STEP, NULL);
			call_begin(log, call);
			count(&shared->step_seq, 1);
			set_clock(ns);
			count(&shared->step_seq, 1);
			call_end(log, call, ns < 0);
			count(&shared->steps, 1);
			sum += ns;
		}
		/* In bursts, too: from at once to seconds later. */
		wait_ns(1ULL << tw_random(&random) % 33);
	}
	return NULL;
}

/* The limits of the module: low, then as they were. */
static void *limits(void *arg)
{
	__u64 random = random_begin(~3ULL);
	char text[32];

	(void)arg;
	while (!stopped()) {
		snprintf(text, sizeof(text), "%llu", tw_random(&random) % 400);
		if (tw_random(&random) % 2)
			tw_write_file(TW_PARAMETERS "max_fd_timers", text);
		else
			tw_write_file(TW_PARAMETERS "max_user_timers", text);
		wait_ns(tw_random(&random) % (300 * TW_MSEC));
		tw_write_file(TW_PARAMETERS "max_fd_timers", max_fd_timers);
		tw_write_file(TW_PARAMETERS "max_user_timers", max_user_timers);
		wait_ns(tw_random(&random) % TW_SEC);
	}
	return NULL;
}

/*
 * A process that fills contexts with timers, in a cgroup that has no room for them. It
 * sets the limit itself, to a little more than it uses, while it does nothing but arm:
 * for anything else it would be killed, and the kernel would report that.
 */
static void be_poor(void)
{
	static struct twheel_arm arms[16];
	struct twheel_batch batch = { .entries = (unsigned long)arms, .count = 16 };
	int max = open(CGROUP "/memory.max", O_WRONLY | O_CLOEXEC), fd, i, k;
	__u64 random = random_begin(~5ULL), denied;
	char text[32];

	/* Touch the memory that the process itself needs, before there is a limit. */
	memset(arms, 1, sizeof(arms));
	while (!stopped()) {
		fd = tw_open();
		if (read_file(CGROUP "/memory.current", text, sizeof(text))) {
			snprintf(text, sizeof(text), "%llu",
				 strtoull(text, NULL, 10) + (512 << 10) +
				 tw_random(&random) % (64 << 10));
			if (write(max, text, strlen(text)) < 0)
				break;
		}
		/* A refusal takes long, as the kernel looks for memory: a few are enough. */
		denied = shared->denied + 16;
		for (i = 0; fd >= 0 && i < 640 && shared->denied < denied && !stopped(); i++) {
			for (k = 0; k < 16; k++)
				arms[k] = tw_request(tw_random(&random) % TW_SEC, 0, 1);
			if (tw_call(fd, TWHEEL_IOC_ARM_BATCH, &batch) < 0)
				continue;
			for (k = 0; k < 16; k++)
				count(&shared->denied, arms[k].result == -ENOMEM);
		}
		if (write(max, "max", 3) < 0)
			break;
		close(fd);
		/* Memory is to be short, not the CPU. */
		wait_ns(50 * TW_MSEC);
	}
	_exit(0);
}

/* Use more memory than the process's cgroup is to have, again and again. */
static void be_a_hog(void)
{
	size_t i;
	char *memory;

	while (!stopped()) {
		memory = mmap(NULL, HOG_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (i = 0; memory != MAP_FAILED && i < HOG_BYTES && !stopped(); i += 4096)
			memory[i] = 1;
		munmap(memory, HOG_BYTES);
		wait_ns(500 * TW_MSEC);
	}
	_exit(0);
}

/* Start a process that runs @function in @group, and ends with this one. */
static pid_t live_in(const char *group, void (*function)(void))
{
	char path[128];
	pid_t pid;

	mkdir(group, 0755);
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (tw_write_file(path, "0"))
		_exit(1);
	function();
	_exit(0);
}

static void *memory(void *arg)
{
	pid_t poor = live_in(CGROUP, be_poor), hog = live_in(HOG, be_a_hog);

	(void)arg;
	tw_write_file(HOG "/memory.high", "16M");
	waitpid(poor, NULL, 0);
	waitpid(hog, NULL, 0);
	return NULL;
}

static void run(char *const argv[])
{
	posix_spawn_file_actions_t actions;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (!posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ))
		waitpid(pid, NULL, 0);
	posix_spawn_file_actions_destroy(&actions);
}

/* Look at debugfs and at traces, and run the tool that reads both. */
static void *eyes(void *arg)
{
	char *const stat[] = { "twheel", "stat", NULL };
	char *const info[] = { "twheel", "info", NULL };
	char *const list[] = { "twheel", "list", NULL };
	__u64 random = random_begin(~6ULL);

	(void)arg;
	while (!stopped()) {
		switch (tw_random(&random) % 7) {
		case 0:
			tw_write_file(DEBUG "twheel/reset", "1");
			break;
		case 1:
			look_at(DEBUG "twheel/counters");
			look_at(DEBUG "twheel/histograms");
			break;
		case 2:
			run(stat);
			break;
		case 3:
			run(info);
			break;
		case 4:
			run(list);
			break;
		default:
			tw_write_file(TRACING "events/twheel/enable", "1");
			wait_ns(tw_random(&random) % (200 * TW_MSEC));
			look_at(TRACING "trace_pipe");
			tw_write_file(TRACING "events/twheel/enable", "0");
			break;
		}
		wait_ns(tw_random(&random) % (2 * TW_SEC));
	}
	return NULL;
}

/* For up to two seconds @percent of each kind fail. */
static void inject(__u64 *random, unsigned int percent)
{
	enum fault_kind kind;
	long before[NR_FAULT_KINDS];

	for (kind = 0; kind < NR_FAULT_KINDS; kind++) {
		before[kind] = inject_fired(kind);
		inject_rate(kind, percent);
	}
	wait_ns(tw_random(random) % (2 * TW_SEC));
	for (kind = 0; kind < NR_FAULT_KINDS; kind++)
		count(&shared->injected[kind], inject_fired(kind) - before[kind]);
}

/* Calls of threads that are marked fail, now and then many of them. */
static void *faults(void *arg)
{
	__u64 random = random_begin(~7ULL);
	enum fault_kind kind;

	(void)arg;
	if (inject_begin())
		violation("this kernel injects no faults");
	while (!stopped()) {
		inject(&random, 10);
		inject(&random, 1 + tw_random(&random) % 4);
		inject(&random, 50);
	}
	for (kind = 0; kind < NR_FAULT_KINDS; kind++)
		inject_rate(kind, 0);
	return NULL;
}

void chaos_undo(void)
{
	int cpu, cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (cpu = 1; cpu < cpus; cpu++)
		set_online(cpu, true);
	rmdir(CGROUP);
	rmdir(HOG);
}

void chaos_main(__u32 kinds)
{
	static void *(*const functions[])(void *) = {
		hotplug, clock_steps, limits, memory, eyes, faults,
	};
	pthread_t threads[sizeof(functions) / sizeof(functions[0])];
	size_t i;

	read_file(TW_PARAMETERS "max_fd_timers", max_fd_timers, sizeof(max_fd_timers));
	read_file(TW_PARAMETERS "max_user_timers", max_user_timers, sizeof(max_user_timers));
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (kinds & 1U << i)
			pthread_create(&threads[i], NULL, functions[i], NULL);
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (kinds & 1U << i)
			pthread_join(threads[i], NULL);
	_exit(0);
}
