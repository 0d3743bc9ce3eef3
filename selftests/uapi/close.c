// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a context: with very many timers, and with a thread still inside. Every timer has to
 * be given back, which the user's count shows. Contexts that end while their timers expire are in
 * selftests/sim, and programs that are killed in selftests/torture.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "twheel_test.h"

/* A user ID that nobody else on the machine has. */
#define SOMEONE		61236

/* Arms @n timers in batches, over a day. Returns how many. */
static long arm_batches(int fd, long n)
{
	static struct twheel_arm arms[1000];
	__u64 state = 4242;
	long done = 0;
	int i, part;

	while (done < n) {
		part = n - done < 1000 ? n - done : 1000;
		for (i = 0; i < part; i++)
			arms[i] = tw_request(tw_random(&state) % TW_FAR, 0, 0);
		if (tw_arm_batch(fd, arms, part) != part)
			break;
		for (i = 0; i < part; i++)
			if (arms[i].result)
				return done;
		done += part;
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
	got = arm_batches(fd, n);
	/* The first of those that are spread over a day may have expired by now. */
	EXPECT_EQ(n, got);
	EXPECT_EQ(n, tw_info(self->fd).user_timers);
	begin = tw_now(CLOCK_MONOTONIC);
	close(fd);
	EXPECT_TRUE(tw_all_given_back(self->fd));
	TH_LOG("%ld timers given back in %llu ms", n,
	       (tw_now(CLOCK_MONOTONIC) - begin) / TW_MSEC);
}

struct inside {
	pthread_t thread;
	int fd;
	bool poll;
	pid_t tid;
	ssize_t ret;
	struct twheel_event event;
};

static void *wait_inside(void *arg)
{
	struct inside *in = arg;
	struct pollfd pfd = { .fd = in->fd, .events = POLLIN };

	__atomic_store_n(&in->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	if (in->poll)
		in->ret = poll(&pfd, 1, TW_LIMIT_MS) == 1 ? pfd.revents : -1;
	else
		in->ret = tw_read(in->fd, &in->event, sizeof(in->event));
	__atomic_store_n(&in->tid, -1, __ATOMIC_SEQ_CST);
	return NULL;
}

/*
 * A thread inside a call keeps the context alive. It gets its record although the
 * descriptor is closed, and the context ends when its call returns.
 */
TEST_F(end, close_under_a_waiting_thread)
{
	struct inside in;
	pid_t tid;
	int i;

	for (i = 0; i < 10; i++) {
		memset(&in, 0, sizeof(in));
		in.poll = i % 2;
		in.fd = open(TW_DEVICE, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, in.fd);
		ASSERT_NE(0, tw_arm(in.fd, TW_FAR, 0, 0));
		ASSERT_NE(0, tw_arm(in.fd, 200 * TW_MSEC, 0, i));
		ASSERT_EQ(0, pthread_create(&in.thread, NULL, wait_inside, &in));
		/* It sleeps in its call, or it has returned already. */
		ASSERT_TRUE(tw_await((tid = __atomic_load_n(&in.tid, __ATOMIC_SEQ_CST)) < 0 ||
				     (tid && tw_sleeps(tid))));
		close(in.fd);
		pthread_join(in.thread, NULL);
		/* poll() looks the descriptor up again when it wakes. */
		if (in.poll) {
			EXPECT_TRUE(in.ret == POLLIN || in.ret == POLLNVAL);
		} else {
			EXPECT_EQ(sizeof(in.event), in.ret);
			EXPECT_EQ(i, in.event.user_data);
		}
		EXPECT_TRUE(tw_all_given_back(self->fd));
	}
}

TEST_HARNESS_MAIN
