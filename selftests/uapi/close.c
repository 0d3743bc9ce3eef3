// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a context: by close, exit or a deadly signal, with many timers, with unread
 * records, with threads still inside. Each time every timer has to be given back, which the
 * user's count shows.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "twheel_test.h"

/* A user ID that nobody else on the machine has. */
#define SOMEONE		61236

/*
 * Arms @n timers in batches. With a large @spread most are far ahead, with a small one all
 * are due soon.
 */
static long arm_batches(int fd, long n, __u64 spread)
{
	static __thread struct twheel_arm arms[1000];
	__u64 state = 4242;
	long done = 0;
	int i, ret, part;

	while (done < n) {
		part = n - done < 1000 ? n - done : 1000;
		for (i = 0; i < part; i++)
			arms[i] = tw_request(tw_random(&state) % spread, 0, 0);
		ret = tw_arm_batch(fd, arms, part);
		if (ret <= 0)
			break;
		for (i = 0; i < ret; i++)
			done += arms[i].result == 0;
		if (ret == part && arms[ret - 1].result)
			break;
	}
	return done;
}

FIXTURE(end)
{
	/* This context has no timers and stays open: it shows the count of the user. */
	int fd;
};

FIXTURE_SETUP(end)
{
	if (geteuid() == 0) {
		ASSERT_EQ(0, setresgid(SOMEONE, SOMEONE, SOMEONE));
		ASSERT_EQ(0, setresuid(SOMEONE, SOMEONE, SOMEONE));
	}
	ASSERT_OPEN(self->fd);
	ASSERT_EQ(0, tw_info(self->fd).user_timers) {
		TH_LOG("another program of this user has timers");
	}
}

FIXTURE_TEARDOWN(end)
{
	close(self->fd);
}

TEST_F(end, close_with_a_million_pending)
{
	struct twheel_info info = tw_info(self->fd);
	long n = tw_debug_kernel() ? 100000 : 1000000, got;
	__u64 begin;
	int fd = tw_open();

	ASSERT_LE(0, fd);
	if ((__u64)n > info.limit)
		n = info.limit;
	if ((__u64)n > info.user_limit)
		n = info.user_limit;
	got = arm_batches(fd, n, TW_FAR);
	/* The first of those that are spread over a day may have expired by now. */
	EXPECT_EQ(n, got);
	EXPECT_EQ(n, tw_info(self->fd).user_timers);
	begin = tw_now(CLOCK_MONOTONIC);
	close(fd);
	EXPECT_TRUE(tw_all_given_back(self->fd));
	TH_LOG("%ld timers given back in %llu ms", n,
	       (tw_now(CLOCK_MONOTONIC) - begin) / TW_MSEC);
}

TEST_F(end, close_with_unread_records)
{
	int fd = tw_open(), i;

	ASSERT_LE(0, fd);
	for (i = 0; i < 1000; i++)
		ASSERT_NE(0, tw_arm(fd, 0, 0, i));
	ASSERT_TRUE(tw_wait_ready(fd, 1000));
	close(fd);
	EXPECT_TRUE(tw_all_given_back(self->fd));
}

/* The context is closed on one CPU while another CPU still expires its timers. */
TEST_F(end, close_while_timers_expire)
{
	struct twheel_event events[16];
	int here = tw_nth_cpu(0), there = tw_nth_cpu(1), fd, i;
	__u64 state = 577, until;

	if (there < 0)
		SKIP(return, "needs two CPUs");
	for (i = 0; i < 400; i++) {
		ASSERT_OPEN(fd);
		ASSERT_TRUE(tw_pin(there));
		EXPECT_EQ(300, arm_batches(fd, 300, 2 * TW_MSEC));
		ASSERT_TRUE(tw_pin(here));
		if (i % 3 == 0) {
			tw_poll(fd, TW_LIMIT_MS);
			tw_read(fd, events, sizeof(events));
		}
		until = tw_now(CLOCK_MONOTONIC) + tw_random(&state) % (2 * TW_MSEC);
		while (tw_now(CLOCK_MONOTONIC) < until)
			;
		close(fd);
	}
	EXPECT_TRUE(tw_all_given_back(self->fd));
}

TEST_F(end, close_with_periodic_timers)
{
	struct twheel_arm arm;
	int fd, i;

	for (i = 0; i < 200; i++) {
		ASSERT_OPEN(fd);
		arm = tw_request(0, 0, 0);
		arm.interval = i % 2 ? 1 : TW_MSEC;
		ASSERT_EQ(0, tw_call(fd, TWHEEL_IOC_ARM, &arm));
		if (i % 3 == 0)
			ASSERT_NE(0, tw_poll(fd, TW_LIMIT_MS));
		close(fd);
	}
	EXPECT_TRUE(tw_all_given_back(self->fd));
}

struct inside {
	pthread_t thread;
	int fd;
	bool poll;
	bool entered;
	ssize_t ret;
	struct twheel_event event;
};

static void *wait_inside(void *arg)
{
	struct inside *in = arg;
	struct pollfd pfd = { .fd = in->fd, .events = POLLIN };

	__atomic_store_n(&in->entered, true, __ATOMIC_SEQ_CST);
	if (in->poll)
		in->ret = poll(&pfd, 1, TW_LIMIT_MS) == 1 ? pfd.revents : -1;
	else
		in->ret = tw_read(in->fd, &in->event, sizeof(in->event));
	return NULL;
}

/*
 * A thread inside a call keeps the context alive. It gets its record although the
 * descriptor is closed, and the context ends when its call returns.
 */
TEST_F(end, close_under_a_waiting_thread)
{
	struct inside in;
	int i;

	for (i = 0; i < 10; i++) {
		memset(&in, 0, sizeof(in));
		in.poll = i % 2;
		in.fd = open(TW_DEVICE, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, in.fd);
		ASSERT_NE(0, tw_arm(in.fd, TW_FAR, 0, 0));
		ASSERT_NE(0, tw_arm(in.fd, 200 * TW_MSEC, 0, i));
		ASSERT_EQ(0, pthread_create(&in.thread, NULL, wait_inside, &in));
		while (!__atomic_load_n(&in.entered, __ATOMIC_SEQ_CST))
			sched_yield();
		/*
		 * The thread may not be inside read() yet, and would then see EBADF: give
		 * it time.
		 */
		ASSERT_TRUE(tw_pass(50 * TW_MSEC));
		close(in.fd);
		pthread_join(in.thread, NULL);
		if (in.ret == -EBADF)
			continue;
		if (in.poll) {
			EXPECT_TRUE(in.ret == POLLIN || in.ret == POLLNVAL);
		} else {
			EXPECT_EQ(sizeof(in.event), in.ret);
			EXPECT_EQ(i, in.event.user_data);
		}
		EXPECT_TRUE(tw_all_given_back(self->fd));
	}
}

TEST_F(end, exit_without_close)
{
	int fd, i;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		ASSERT_FORKED(pid);
		if (pid == 0) {
			fd = tw_open();
			_exit(arm_batches(fd, 2000, i % 2 ? TW_FAR : 5 * TW_MSEC) == 2000 ? 0 : 1);
		}
		EXPECT_EQ(0, tw_status_of(pid));
	}
	EXPECT_TRUE(tw_all_given_back(self->fd));
}

TEST_F(end, killed_while_arming)
{
	int status, fd, i, seen = 0;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		ASSERT_FORKED(pid);
		if (pid == 0) {
			for (;;) {
				fd = tw_open();
				arm_batches(fd, 20000, i % 2 ? TW_FAR : 5 * TW_MSEC);
				close(fd);
			}
		}
		tw_await(tw_info(self->fd).user_timers >= 1000 + 500U * i);
		seen += tw_info(self->fd).user_timers != 0;
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(tw_all_given_back(self->fd));
	}
	EXPECT_LT(0, seen);
}

/* Processes that share a context are killed one after the other. */
TEST_F(end, killed_while_reading)
{
	struct twheel_event event;
	int status, i, k, fd;
	pid_t pids[3];

	for (i = 0; i < 20; i++) {
		fd = open(TW_DEVICE, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, fd);
		for (k = 0; k < 3; k++) {
			pids[k] = fork();
			ASSERT_LE(0, pids[k]);
			while (pids[k] == 0) {
				tw_arm(fd, TW_MSEC, 0, 0);
				tw_arm(fd, TW_FAR, 0, 0);
				tw_read(fd, &event, sizeof(event));
			}
		}
		close(fd);
		for (k = 0; k < 3; k++) {
			usleep(10000);
			ASSERT_EQ(0, kill(pids[k], SIGKILL));
			ASSERT_EQ(pids[k], waitpid(pids[k], &status, 0));
		}
	}
	EXPECT_TRUE(tw_all_given_back(self->fd));
}

TEST_HARNESS_MAIN
