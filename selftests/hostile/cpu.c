// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU time: how much an attacker takes from a victim that shares their CPU, compared with
 * the same attack by means that the kernel gives to everyone: a timerfd, or just running.
 *
 * The victim is a thread that spins. Each attack and its peer take turns, and the best
 * rounds of each count, since other load can only make a round worse. That load may hit
 * only the attack, so there are several tries. The bounds are generous, as a machine that
 * is emulated has gaps of its own.
 *
 * Attacks on the wheels themselves, and attacks that wake many threads, are in late.c.
 */
#include <pthread.h>
#include <sys/timerfd.h>

#include "hostile.h"

/* Enough time for all rounds. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	600

#define ROUNDS		3
#define ROUND_NS	(400 * TW_MSEC)
/* An attack counts as beyond the bounds if it is so in all of these tries. */
#define TRIES		5
/* An emulated machine may have such a gap at any time. */
#define GAP_NS		(50 * TW_MSEC)

FIXTURE(cpu)
{
	struct scene *scene;
};

FIXTURE_SETUP(cpu)
{
	if (obstacle())
		SETUP_SKIP("%s", obstacle());
	self->scene = new_scenes(1);
	ASSERT_NE(NULL, self->scene);
}

FIXTURE_TEARDOWN(cpu)
{
	EXPECT_TRUE(nothing_left(NOBODY));
	EXPECT_TRUE(is_served(VICTIM));
}

/* Returns what the victim gets on its CPU while @run attacks it, unless that is NULL. */
static struct victim suffer(struct scene *scene, void (*run)(void *scene))
{
	struct victim v = { };
	pid_t pid = 0;

	scene->ready = !run;
	if (run) {
		pid = attack(run, scene, scene->cpu);
		if (pid < 0)
			return v;
	}
	wait_for(&scene->ready);
	tw_pin(scene->cpu);
	v = spin(ROUND_NS);
	if (run)
		end_attack(pid);
	return v;
}

/**
 * struct trial - how an attack went
 * @alone: what the victim gets without an attack
 * @attacked: what it gets with the attack
 * @peer: what it gets with the attack of the peer
 */
struct trial {
	struct victim alone, attacked, peer;
};

static struct trial compare(struct scene *scene, void (*run)(void *scene),
			    void (*peer)(void *scene))
{
	struct trial t = { };
	int i;

	for (i = 0; i < ROUNDS; i++) {
		better(&t.alone, suffer(scene, NULL));
		scene->peer = false;
		better(&t.attacked, suffer(scene, run));
		scene->peer = true;
		if (peer)
			better(&t.peer, suffer(scene, peer));
	}
	return t;
}

/**
 * struct bounds - what an attack may do
 * @share: the part that has to be left of the victim's share with the peer
 * @gap: the largest gap, as a multiple of that with the peer
 */
struct bounds {
	double share, gap;
};

/*
 * Returns whether the victim stays within @bounds in one of the tries. If there is no peer
 * it is compared with being alone.
 */
static bool survives(struct __test_metadata *_metadata, struct scene *scene,
		     void (*run)(void *scene), void (*peer)(void *scene),
		     struct bounds bounds)
{
	struct trial t;
	int i;

	for (i = 0; i < TRIES; i++) {
		t = compare(scene, run, peer);
		if (!peer)
			t.peer = t.alone;
		TH_LOG("the victim keeps %.0f%% of its CPU, with the peer %.0f%%",
		       100 * share(t.attacked) / share(t.alone),
		       100 * share(t.peer) / share(t.alone));
		TH_LOG("longest gap %.1f ms, with the peer %.1f ms, alone %.1f ms",
		       t.attacked.gap / 1e6, t.peer.gap / 1e6, t.alone.gap / 1e6);
		if (share(t.attacked) > bounds.share * share(t.peer) &&
		    t.attacked.gap < bounds.gap * t.peer.gap + GAP_NS)
			return true;
	}
	return false;
}

static void just_run(void *scene)
{
	set(&((struct scene *)scene)->ready);
	for (;;)
		;
}

/* Arms timers with rounds of 1 ns that nobody reads. */
static void leave_unread(void *arg)
{
	arm_rounds(arg);
	last(arg);
}

TEST_F(cpu, unread_rounds)
{
	self->scene->n = 200000;
	EXPECT_TRUE(survives(_metadata, self->scene, leave_unread, NULL,
			     (struct bounds) { 0.7, 4 }));
}

static void read_timerfds(void *arg)
{
	struct itimerspec spec = { { 0, 1 }, { 0, 1 } };
	struct epoll_event events[512], watch = { .events = EPOLLIN };
	struct scene *scene = arg;
	int ep = epoll_create1(0), i, n;
	__u64 rounds;

	if (!more_files())
		_exit(1);
	for (i = 0; i < scene->n; i++) {
		watch.data.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		if (timerfd_settime(watch.data.fd, 0, &spec, NULL) ||
		    epoll_ctl(ep, EPOLL_CTL_ADD, watch.data.fd, &watch))
			_exit(1);
	}
	for (;;) {
		n = epoll_wait(ep, events, 512, 1000);
		for (i = 0; i < n; i++)
			(void)!read(events[i].data.fd, &rounds, sizeof(rounds));
		set(&scene->ready);
	}
}

TEST_F(cpu, rounds_that_are_read)
{
	self->scene->n = 2000;
	EXPECT_TRUE(survives(_metadata, self->scene, read_rounds, read_timerfds,
			     (struct bounds) { 0.33, 4 }));
}

/* Threads on both CPUs make all calls that look at many timers, again and again. */
static int walked;

static void *walk(void *arg)
{
	static __thread struct twheel_timer_info infos[4096];
	struct scene *scene = arg;
	struct twheel_info info;
	struct twheel_list list;

	for (;;) {
		memset(&list, 0, sizeof(list));
		list.entries = (unsigned long)infos;
		list.count = 4096;
		while (tw_call(walked, TWHEEL_IOC_LIST, &list) > 0)
			;
		info = (struct twheel_info) { .flags = TWHEEL_INFO_NEXT };
		tw_call(walked, TWHEEL_IOC_GET_INFO, &info);
		set(&scene->ready);
	}
	return NULL;
}

static void walk_all(void *arg)
{
	struct scene *scene = arg;
	pthread_t thread;
	int error;

	walked = tw_open();
	if (arm_far(walked, scene->n, &error) != scene->n)
		_exit(1);
	tw_pin(scene->other);
	pthread_create(&thread, NULL, walk, scene);
	tw_pin(scene->cpu);
	walk(scene);
}

TEST_F(cpu, walks)
{
	self->scene->n = 100000;
	EXPECT_TRUE(survives(_metadata, self->scene, walk_all, just_run,
			     (struct bounds) { 0.33, 4 }));
}

/* epoll in epoll: as deep as the kernel allows, and in a circle, which it refuses. */
TEST_F(cpu, nested_epoll)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int fd, eps[16], i, deep;

	fd = open_as(NOBODY);
	for (deep = 0; deep < 16; deep++) {
		eps[deep] = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_LE(0, eps[deep]);
		if (epoll_ctl(eps[deep], EPOLL_CTL_ADD, deep ? eps[deep - 1] : fd, &event))
			break;
	}
	EXPECT_LE(3, deep);
	EXPECT_GT(16, deep);
	EXPECT_EQ(-1, epoll_ctl(eps[0], EPOLL_CTL_ADD, eps[deep - 1], &event));
	EXPECT_EQ(ELOOP, errno);
	/* The device itself cannot watch other files. */
	EXPECT_EQ(-1, epoll_ctl(fd, EPOLL_CTL_ADD, eps[0], &event));
	EXPECT_EQ(EINVAL, errno);
	for (i = 0; i < 100; i++) {
		ASSERT_NE(0, tw_arm(fd, TW_MSEC, 0, i));
		ASSERT_EQ(1, epoll_wait(eps[deep - 1], &event, 1, TW_LIMIT_MS));
		ASSERT_TRUE(tw_wait_ready(fd, 1));
		ASSERT_EQ(1, tw_collect(fd, &(struct twheel_event) { }, 1));
	}
	for (i = 0; i <= deep; i++)
		close(eps[i]);
	close(fd);
}

/*
 * In a namespace of its own a program may set the clocks as far as they go, which affects
 * no other program.
 */
TEST_F(cpu, steps_in_a_time_namespace)
{
	static const char * const offsets[] = {
		"monotonic 86400 0\nboottime 86400 0\n",
		"monotonic 4000000000 0\nboottime 4000000000 0\n",
		"monotonic -5 0\nboottime -5 0\n",
	};
	int fd = open_as(VICTIM), status, i;
	__u64 deadline = tw_now(CLOCK_MONOTONIC) + TW_FAR;
	struct twheel_timer_info info;
	__u64 handle;
	pid_t pid;

	ASSERT_ARMED(handle, fd, deadline, TWHEEL_ARM_ABS, 1);
	for (i = 0; i < (int)ARRAY_SIZE(offsets); i++) {
		ASSERT_FORKED(pid);
		if (pid == 0) {
			struct twheel_event event;
			int own, k;

			if (!become(NOBODY))
				_exit(1);
			if (unshare(CLONE_NEWUSER) || unshare(CLONE_NEWTIME) ||
			    tw_write_file("/proc/self/timens_offsets", offsets[i]))
				_exit(4);
			/* The namespace is for the children. */
			pid = fork();
			if (pid)
				_exit(pid < 0 ? 1 : tw_status_of(pid));
			for (k = 0; k < 200; k++) {
				own = tw_open();
				/*
				 * These deadlines are the first, the last and the current
				 * time of this clock.
				 */
				if (own < 0 || !tw_arm(own, 1, TWHEEL_ARM_ABS, 1) ||
				    !tw_arm(own, ~0ULL >> 1, TWHEEL_ARM_ABS, 2) ||
				    !tw_arm(own, tw_now(CLOCK_MONOTONIC), TWHEEL_ARM_ABS, 3) ||
				    tw_collect(own, &event, 1) != 1 || event.user_data == 2)
					_exit(2);
				close(own);
			}
			_exit(0);
		}
		status = tw_status_of(pid);
		if (status == 4)
			SKIP(return, "no user or time namespaces for ordinary users here");
		EXPECT_EQ(0, status);
		EXPECT_TRUE(is_served(VICTIM));
		ASSERT_EQ(0, tw_get(fd, handle, &info));
		EXPECT_EQ(deadline, info.deadline);
		EXPECT_EQ(0, tw_info(fd).ready);
	}
	close(fd);
}

TEST_HARNESS_MAIN
