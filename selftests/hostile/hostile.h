/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers for the hostile programs: attacks by another user, and measures of what a victim
 * notices of them.
 *
 * The tests begin as root to set things up: users, memory cgroups, parameters. Attackers
 * and victims run as ordinary users.
 */
#ifndef TWHEEL_HOSTILE_H
#define TWHEEL_HOSTILE_H

#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "users.h"

/* The attacker, and a user ID that nobody else on the machine has. */
#define NOBODY		65534
#define VICTIM		61240

/* Arms @n timers that are far ahead, of the plain kind. */
static inline int arm_far(int fd, int n, int *error)
{
	struct twheel_arm like = tw_request(TW_FAR, 0, 0);

	return arm_like(fd, &like, n, error);
}

/* Returns whether a timer of @uid, in a context of its own, comes as it should. */
static inline bool is_served(uid_t uid)
{
	struct twheel_event event;
	int fd = open_as(uid);
	__u64 deadline;
	bool ok;

	deadline = tw_now(CLOCK_MONOTONIC) + 5 * TW_MSEC;
	ok = fd >= 0 && tw_arm(fd, deadline, TWHEEL_ARM_ABS, 7) &&
	     tw_collect(fd, &event, 1) == 1 && event.user_data == 7 &&
	     event.expired >= deadline && tw_now(CLOCK_MONOTONIC) >= deadline;
	if (fd >= 0)
		close(fd);
	return ok;
}

/*
 * Waits until @uid, whose processes have ended, has no timers any more. Returns whether
 * that happened.
 */
static inline bool nothing_left(uid_t uid)
{
	int fd = open_when_freed(uid);
	bool ok = fd >= 0 && tw_all_given_back(fd);

	if (fd >= 0)
		close(fd);
	return ok;
}

/**
 * struct victim - the time that a spinning thread had on its CPU
 * @own: how long it ran, in ns
 * @total: how long the measurement took, in ns
 * @gap: the longest time for which it did not run, in ns
 */
struct victim {
	__u64 own;
	__u64 total;
	__u64 gap;
};

/* If at least this much passes between two looks at the clock, something else ran in between. */
#define GAP_MIN_NS	2000

/*
 * Spins for @ns. CPU time is no measure, as it counts interrupts as time of their victim.
 * Nor is the number of loops: on an emulated machine that depends on what else is emulated.
 */
static inline struct victim spin(__u64 ns)
{
	__u64 begin = tw_now(CLOCK_MONOTONIC), last = begin, now;
	struct victim v = { };

	do {
		now = tw_now(CLOCK_MONOTONIC);
		if (now - last > v.gap)
			v.gap = now - last;
		if (now - last < GAP_MIN_NS)
			v.own += now - last;
		last = now;
	} while (now - begin < ns);
	v.total = now - begin;
	return v;
}

/* Returns the share of its CPU that the thread has had. */
static inline double share(struct victim v)
{
	return v.total ? (double)v.own / v.total : 0;
}

/* Updates @best with the larger share and the shorter gap of @v. */
static inline void better(struct victim *best, struct victim v)
{
	if (share(v) > share(*best)) {
		best->own = v.own;
		best->total = v.total;
	}
	if (!best->gap || v.gap < best->gap)
		best->gap = v.gap;
}

/*
 * Runs @attack(@arg) in a process of @uid, on @cpu unless that is -1. The process ends with its
 * parent.
 */
static inline pid_t attack_as(uid_t uid, void (*attack)(void *arg), void *arg, int cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if ((cpu >= 0 && !tw_pin(cpu)) || (geteuid() == 0 && !become(uid)))
		_exit(1);
	/* This comes after changing the user, which clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	attack(arg);
	_exit(0);
}

static inline pid_t attack(void (*attack)(void *arg), void *arg, int cpu)
{
	return attack_as(NOBODY, attack, arg, cpu);
}

static inline void end_attack(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Returns memory that attackers and victims share. */
static inline void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline void wait_for(const int *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline void set(int *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

/**
 * struct scene - the data that attackers and victim share
 * @ready: the attack has begun
 * @cpu: the CPU of the victim
 * @other: another CPU, or the same if there is only one
 * @n: how many objects the attack uses, such as timers
 * @held: how many of them the attack still has
 * @peer: whether to attack with the kernel's own means instead
 */
struct scene {
	int ready;
	int cpu;
	int other;
	int n;
	int held;
	bool peer;
};

/* Returns memory for @n scenes, the first of which is on the first two CPUs; or NULL. */
static inline struct scene *new_scenes(int n)
{
	struct scene *scene = shared(n * sizeof(*scene));

	if (!scene)
		return NULL;
	scene->cpu = tw_nth_cpu(0);
	scene->other = tw_nth_cpu(1);
	if (scene->other < 0)
		scene->other = scene->cpu;
	return scene;
}

/*
 * Call this when the attack goes on by itself: it waits until the parent ends the process.
 */
static inline void last(struct scene *scene)
{
	set(&scene->ready);
	for (;;)
		pause();
}

static inline bool more_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return false;
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files) == 0;
}

/*
 * Makes epoll watch @fd @n times, by way of several epoll instances, each with up to 1000
 * duplicates of it.
 */
static inline bool watch(int fd, int n)
{
	struct epoll_event watch = { .events = EPOLLIN };
	static int copies[1000];
	int i, ep = -1;

	for (i = 0; i < n; i++) {
		if (i < 1000)
			copies[i] = dup(fd);
		if (i % 1000 == 0)
			ep = epoll_create1(EPOLL_CLOEXEC);
		if (epoll_ctl(ep, EPOLL_CTL_ADD, copies[i % 1000], &watch))
			return false;
	}
	return true;
}

/* Arms as many timers as the scene has with rounds of 1 ns. Returns their context. */
static inline int arm_rounds(const struct scene *scene)
{
	struct twheel_arm like = tw_request(0, 0, 0);
	int fd = tw_open(), error;

	like.interval = 1;
	if (arm_like(fd, &like, scene->n, &error) != scene->n)
		_exit(1);
	return fd;
}

/*
 * Arms timers with rounds of 1 ns on the victim's CPU, and reads them as fast as possible.
 */
static inline void read_rounds(void *arg)
{
	static struct twheel_event events[512];
	struct scene *scene = arg;
	int fd = arm_rounds(scene);

	scene->held = scene->n;
	for (;;) {
		if (tw_read(fd, events, sizeof(events)) == -EAGAIN)
			tw_poll(fd, 1000);
		set(&scene->ready);
	}
}

/* Returns why the test cannot run here, or NULL. */
static inline const char *obstacle(void)
{
	return geteuid() ? "needs root, to be other users" : NULL;
}

#endif /* TWHEEL_HOSTILE_H */
