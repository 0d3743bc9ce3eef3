// SPDX-License-Identifier: GPL-2.0-only
/*
 * TWHEEL_CONFIG_CANCEL_ON_SET: when the clock was set, one reader gets ECANCELED, however
 * it waits, and no record is lost.
 *
 * Each test puts the machine's clock back.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>

#include "wall.h"

#define RECORD		sizeof(struct twheel_event)

FIXTURE(told)
{
	FIXTURE_DATA(wall) wall;
	int fd;
};

FIXTURE_SETUP(told)
{
	wall_setup(_metadata, &self->wall, NULL);
	self->fd = open_wall(TWHEEL_CONFIG_CANCEL_ON_SET);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(told)
{
	close(self->fd);
	wall_teardown(_metadata, &self->wall, NULL);
}

/* Waits until the module has told every context of the last step. */
static bool settle(void)
{
	return tw_pass(30 * TW_MSEC);
}

TEST_F(told, a_later_read)
{
	struct twheel_event event;

	EXPECT_EQ(TWHEEL_CONFIG_CANCEL_ON_SET, tw_info(self->fd).config);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(0, tw_poll(self->fd, 0));

	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	EXPECT_EQ(TW_READABLE, tw_poll(self->fd, TW_LIMIT_MS));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	ASSERT_TRUE(settle());
	EXPECT_EQ(0, tw_poll(self->fd, 0));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));

	/* Setting the clock back by a millisecond is a step, too. */
	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR - TW_MSEC));
	EXPECT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

TEST_F(told, only_who_asked)
{
	struct twheel_event event;

	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	ASSERT_TRUE(settle());
	EXPECT_EQ(0, tw_poll(self->wall.fd, 0));
	EXPECT_EQ(-EAGAIN, tw_read(self->wall.fd, &event, RECORD));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
}

/* A context is told only of steps that come while CANCEL_ON_SET is configured. */
TEST_F(told, from_its_configuration_on)
{
	struct twheel_event event;

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_REALTIME, 0));
	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	ASSERT_TRUE(settle());
	EXPECT_EQ(0, tw_poll(self->fd, 0));
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_REALTIME, TWHEEL_CONFIG_CANCEL_ON_SET));
	EXPECT_EQ(0, tw_poll(self->fd, 0));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	ASSERT_EQ(0, set_clock(self->wall.ahead, 0));
	ASSERT_TRUE(settle());
	EXPECT_EQ(TW_READABLE, tw_poll(self->fd, 0));
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_REALTIME, 0));
	EXPECT_EQ(0, tw_poll(self->fd, 0));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

TEST_F(told, several_changes_are_one)
{
	struct twheel_event event;
	int i;

	for (i = 1; i <= 5; i++) {
		ASSERT_EQ(0, set_clock(self->wall.ahead, i % 2 * HOUR));
		ASSERT_TRUE(settle());
	}
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
	ASSERT_TRUE(settle());
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

TEST_F(told, no_record_is_lost)
{
	enum { N = 100 };
	struct twheel_event events[N];
	unsigned int seen[N] = { };
	__u64 now = wall_now();
	char byte;
	int i;

	for (i = 0; i < N; i++)
		ASSERT_NE(0, tw_arm(self->fd, i % 2 ? now : now + HOUR,
				    TWHEEL_ARM_ABS, i));
	ASSERT_TRUE(tw_wait_ready(self->fd, N / 2));
	ASSERT_EQ(0, set_clock(self->wall.ahead, 2 * HOUR));
	ASSERT_TRUE(tw_wait_ready(self->fd, N));
	/* A read that has no room for a record leaves the ECANCELED for the next one. */
	EXPECT_EQ(-EINVAL, tw_read(self->fd, &byte, 1));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, events, sizeof(events)));
	EXPECT_EQ(N, tw_info(self->fd).ready);
	ASSERT_EQ(sizeof(events), tw_read(self->fd, events, sizeof(events)));
	for (i = 0; i < N; i++) {
		ASSERT_GT(N, events[i].user_data);
		EXPECT_EQ(1, ++seen[events[i].user_data]);
	}
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, events, sizeof(events)));
}

TEST_F(told, a_read_that_does_not_wait)
{
	struct twheel_event event;
	struct iovec iov = { &event, RECORD };

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_RDWR));
	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	ASSERT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
	EXPECT_EQ(-1, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(ECANCELED, errno);
	EXPECT_EQ(-1, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(EAGAIN, errno);
}

struct sleeper {
	pthread_t thread;
	int fd;
	pid_t tid;
	ssize_t ret;
	int revents;
	struct twheel_event event;
};

static void *sleep_in_read(void *arg)
{
	struct sleeper *s = arg;

	__atomic_store_n(&s->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	s->ret = tw_read(s->fd, &s->event, RECORD);
	__atomic_store_n(&s->tid, -1, __ATOMIC_RELEASE);
	return NULL;
}

static void *sleep_in_poll(void *arg)
{
	struct sleeper *s = arg;

	__atomic_store_n(&s->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	s->revents = tw_poll(s->fd, TW_LIMIT_MS);
	__atomic_store_n(&s->tid, -1, __ATOMIC_RELEASE);
	return NULL;
}

/* Waits until the thread sleeps in its call. Returns whether it does. */
static bool is_asleep(const struct sleeper *s)
{
	pid_t tid;

	/* It may have returned before. */
	return tw_await((tid = __atomic_load_n(&s->tid, __ATOMIC_ACQUIRE)) < 0 || tw_sleeps(tid)) &&
	       tid > 0;
}

/* Waits until the thread has returned from its call. Returns whether it has. */
static bool has_returned(const struct sleeper *s)
{
	return tw_await(__atomic_load_n(&s->tid, __ATOMIC_ACQUIRE) < 0);
}

TEST_F(told, a_read_that_waits)
{
	struct sleeper s = { .fd = self->fd };
	struct twheel_event event;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_RDWR));
	ASSERT_EQ(0, pthread_create(&s.thread, NULL, sleep_in_read, &s));
	ASSERT_TRUE(is_asleep(&s));
	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	ASSERT_TRUE(has_returned(&s));
	pthread_join(s.thread, NULL);
	EXPECT_EQ(-ECANCELED, s.ret);
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_RDWR | O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

TEST_F(told, a_poll_that_waits)
{
	struct sleeper s = { .fd = self->fd };

	ASSERT_EQ(0, pthread_create(&s.thread, NULL, sleep_in_poll, &s));
	ASSERT_TRUE(is_asleep(&s));
	ASSERT_EQ(0, set_clock(self->wall.ahead, -HOUR));
	ASSERT_TRUE(has_returned(&s));
	pthread_join(s.thread, NULL);
	EXPECT_EQ(TW_READABLE, s.revents);
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &s.event, RECORD));
}

TEST_F(told, epoll_edge_triggered)
{
	struct epoll_event watch = { .events = EPOLLIN | EPOLLET }, got;
	int ep = epoll_create1(EPOLL_CLOEXEC), i;
	struct twheel_event event;

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &watch));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	for (i = 1; i <= 5; i++) {
		ASSERT_EQ(0, set_clock(self->wall.ahead, i % 2 * HOUR));
		ASSERT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
		EXPECT_EQ(EPOLLIN, got.events);
		EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
		EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
		ASSERT_TRUE(settle());
		/* One step causes one edge, and the read has consumed it. */
		EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	}
	/* The edge of a step does not hide the edge of a record. */
	ASSERT_EQ(0, set_clock(self->wall.ahead, 0));
	ASSERT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
	ASSERT_TRUE(settle());
	epoll_wait(ep, &got, 1, 0);
	ASSERT_NE(0, tw_arm(self->fd, 0, TWHEEL_ARM_ABS, 1));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(RECORD, tw_read(self->fd, &event, RECORD));
	close(ep);
}

/* If a context has several descriptors, only one of them is told. */
TEST_F(told, a_shared_context)
{
	struct twheel_event event;
	int other = dup(self->fd);

	ASSERT_LE(0, other);
	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	ASSERT_NE(0, tw_poll(other, TW_LIMIT_MS));
	EXPECT_EQ(-ECANCELED, tw_read(other, &event, RECORD));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	close(other);
}

/* Slewing the clock or setting the TAI offset does not step the clock. */
TEST_F(told, slewing_is_no_discontinuity)
{
	struct timex tx = { .modes = 0 }, old;
	struct timeval delta = { 0, 1000 };
	struct twheel_event event;
	long tai;

	ASSERT_LE(0, adjtimex(&tx));
	old = tx;
	ASSERT_EQ(0, adjtime(&delta, NULL));
	ASSERT_TRUE(settle());
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));

	tx = (struct timex){ .modes = ADJ_FREQUENCY, .freq = old.freq + (100 << 16) };
	ASSERT_LE(0, adjtimex(&tx));
	ASSERT_TRUE(settle());
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	tx = (struct timex){ .modes = ADJ_FREQUENCY, .freq = old.freq };
	ASSERT_LE(0, adjtimex(&tx));

	tx = (struct timex){ .modes = ADJ_TICK, .tick = old.tick + 10 };
	ASSERT_LE(0, adjtimex(&tx));
	ASSERT_TRUE(settle());
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	tx = (struct timex){ .modes = ADJ_TICK, .tick = old.tick };
	ASSERT_LE(0, adjtimex(&tx));

	for (tai = 37; tai >= 0; tai -= 37) {
		tx = (struct timex){ .modes = ADJ_TAI, .constant = old.tai + tai };
		ASSERT_LE(0, adjtimex(&tx));
		ASSERT_TRUE(settle());
		EXPECT_EQ(0, tw_poll(self->fd, 0));
		EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	}
	delta.tv_usec = 0;
	EXPECT_EQ(0, adjtime(&delta, NULL));

	/*
	 * With ADJ_SETOFFSET the same system call steps the clock, and the reader is told.
	 */
	tx = (struct timex){ .modes = ADJ_SETOFFSET | ADJ_NANO, .time = { 1, 0 } };
	ASSERT_LE(0, adjtimex(&tx));
	EXPECT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
}

/*
 * A leap second that is inserted at midnight is a step back like any other. But the kernel sets
 * its clock back at its next tick only: a look at a wheel before that must not take what the clock
 * shows for the new day.
 */
TEST_F(told, a_leap_second)
{
	/* Of a timer that expires each millisecond, before midnight and as often afterwards */
	enum { ROUNDS = 200 };
	int busy = open_wall(0);
	struct twheel_arm rounds = { .flags = TWHEEL_ARM_ABS, .interval = TW_MSEC };
	const __u64 day = 24 * 3600 * TW_SEC;
	__u64 midnight = (wall_now() / day + 2) * day, now, leap;
	struct timex tx = { .modes = ADJ_STATUS, .status = STA_INS };
	struct twheel_event event, told;
	struct timespec ts;
	ssize_t ret;

	/* The kernel has to know of the leap second before the last second of the day begins. */
	now = midnight - 5 * TW_SEC / 2;
	ts = (struct timespec){ now / TW_SEC, now % TW_SEC };
	ASSERT_NE(0, tw_arm(self->fd, midnight, TWHEEL_ARM_ABS, 1));
	ASSERT_NE(0, tw_arm(self->fd, midnight + TW_SEC, TWHEEL_ARM_ABS, 2));
	ASSERT_LE(0, busy);
	rounds.expires = midnight - ROUNDS * TW_MSEC;
	rounds.count = 2 * ROUNDS;
	ASSERT_EQ(0, tw_call(busy, TWHEEL_IOC_ARM, &rounds));
	/* Setting the clock clears STA_INS, so the clock is set first. */
	ASSERT_EQ(0, clock_settime(CLOCK_REALTIME, &ts));
	ASSERT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
	ASSERT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
	ASSERT_LE(0, adjtimex(&tx));
	if (wall_now() > midnight - 3 * TW_SEC / 2)
		SKIP(goto out, "the machine was too slow to come before midnight");

	/* At this moment the clock shows midnight and is put back by a second. */
	leap = tw_now(CLOCK_MONOTONIC);
	leap += midnight - wall_now();
	/* A busy CPU notices the leap second at its next tick. */
	do {
		ret = tw_read(self->fd, &event, RECORD);
		/* Before that tick, and not after the second midnight */
		if (wall_now() >= midnight && tw_read(busy, &told, RECORD) == RECORD &&
		    tw_now(CLOCK_MONOTONIC) < leap + TW_SEC && !TW_EMBEDDED)
			EXPECT_GE(ROUNDS, told.expirations);
	} while (ret == -EAGAIN && tw_now(CLOCK_MONOTONIC) < leap + TW_SEC);
	if (TW_EMBEDDED && ret == RECORD) {
		/* Up to that tick the clock that a program reads went on past midnight. */
		EXPECT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
		ret = tw_read(self->fd, &told, RECORD);
	} else {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_LE(leap + TW_SEC, tw_now(CLOCK_MONOTONIC));
	}
	EXPECT_EQ(-ECANCELED, ret);
	EXPECT_EQ(1, event.user_data);
	EXPECT_LE(midnight, event.expired);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(2, event.user_data);
	EXPECT_LE(midnight + TW_SEC, event.expired);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
out:
	close(busy);
	tx = (struct timex){ .modes = ADJ_STATUS, .status = STA_UNSYNC };
	adjtimex(&tx);
}

TEST_HARNESS_MAIN
