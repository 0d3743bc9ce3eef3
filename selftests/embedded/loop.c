// SPDX-License-Identifier: GPL-2.0-only
/*
 * The descriptor of an embedded context in event loops: it is readable when, and only when,
 * there is something to read. What a descriptor of the device promises, too, is in uapi/read.c.
 */
#include "lib_util.h"

#ifdef HAVE_LIBURING
#include <liburing.h>
#endif

FIXTURE(fd) {
	struct twheel *tw;
};

FIXTURE_SETUP(fd)
{
	ASSERT_EQ(0, twheel_open(&self->tw, NULL, TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_NONBLOCK,
				 NULL));
}

FIXTURE_TEARDOWN(fd)
{
	twheel_close(self->tw);
}

/* Of many timers that are far apart each wakes the program once, and none in vain. */
TEST_F(fd, no_needless_wake_ups)
{
	enum { N = 200 };
	struct twheel_event event;
	uint64_t now = twheel_now(self->tw), handle;
	int i, ret;

	/* As far as levels 0 to 2 of the wheel, and some that are cancelled or pushed back. */
	for (i = 0; i < N; i++)
		ASSERT_EQ(0, twheel_arm_at(self->tw, now + (uint64_t)i * i * 80000, 0, NULL));
	for (i = 0; i < N; i++) {
		ASSERT_EQ(0, twheel_arm_at(self->tw, now + SEC + i * 7 * MSEC, 1, &handle));
		ret = i % 2 ? twheel_cancel(self->tw, handle, NULL) :
			      twheel_rearm_at(self->tw, handle, now + FAR, 1, NULL);
		ASSERT_EQ(0, ret);
	}
	for (i = 0; i < N; i++) {
		ASSERT_EQ(1, readable(self->tw, 60000));
		ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
		EXPECT_LE(event.deadline, event.expired);
	}
	EXPECT_EQ(0, readable(self->tw, 0));
}

/* The first timer that is due is cancelled or pushed back: its time passes in silence. */
TEST_F(fd, what_is_gone_wakes_nobody)
{
	uint64_t handle;
	int i, ret;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, twheel_arm_after(self->tw, 30 * MSEC, 0, &handle));
		ret = i % 2 ? twheel_cancel(self->tw, handle, NULL) :
			      twheel_rearm_after(self->tw, handle, FAR, 0, NULL);
		/* Otherwise this thread was delayed for too long. */
		if (!ret && readable(self->tw, 0) == 0)
			ASSERT_EQ(0, readable(self->tw, 60));
	}
}

/* The latest deadline that there is, or none at all: on no clock is that in the past. */
TEST_F(fd, what_is_far_ahead_wakes_nobody)
{
	static const struct twheel_config configs[] = {
		{ .clock = CLOCK_MONOTONIC },
		{ .clock = CLOCK_BOOTTIME },
		{ .clock = TWHEEL_CLOCK_REALTIME },
		{ .clock = TWHEEL_CLOCK_REALTIME, .flags = TWHEEL_CONFIG_CANCEL_ON_SET },
	};
	struct twheel_event event;
	struct twheel *tw;
	size_t i;

	for (i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
		ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_NONBLOCK,
					 &configs[i]));
		EXPECT_EQ(0, readable(tw, 20));
		ASSERT_EQ(0, twheel_arm_at(tw, INT64_MAX, 0, NULL));
		EXPECT_EQ(0, readable(tw, 20));
		EXPECT_EQ(-EAGAIN, twheel_read(tw, &event, 1));
		EXPECT_EQ(0, readable(tw, 20));
		twheel_close(tw);
	}
}

/* A lease that was extended wakes the program once, which finds nothing, and then waits. */
TEST_F(fd, an_extended_lease_does_not_spin)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_LEASE };
	struct twheel_event event;
	struct twheel_lease lease;
	uint64_t deadline;
	struct twheel *tw;
	int woken = 0;

	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_NONBLOCK, &config));
	ASSERT_EQ(0, twheel_lease_new(tw, 1000 * MSEC, 0, 3, NULL, &lease, NULL));
	/* Of whole units, as the deadline of a lease is. */
	deadline = twheel_lease_deadline(lease) + 304 * MSEC;
	ASSERT_EQ(1, twheel_lease_extend(lease, deadline));
	do {
		ASSERT_EQ(1, readable(tw, 60000));
		woken++;
	} while (twheel_read(tw, &event, 1) == -EAGAIN);
	/* It is once if this thread has slept over both times. */
	EXPECT_GE(2, woken);
	EXPECT_EQ(deadline, event.deadline);
	EXPECT_LE(deadline, event.expired);
	EXPECT_EQ(1, twheel_lease_expired(lease));
	twheel_close(tw);
}

/* A read that waits is not woken by such a lease, nor by what is cancelled. */
TEST_F(fd, a_read_waits)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_LEASE };
	struct twheel_event event;
	struct twheel_lease lease;
	uint64_t deadline;
	struct twheel *tw;

	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED, &config));
	ASSERT_EQ(0, twheel_lease_new(tw, 1000 * MSEC, 0, 3, NULL, &lease, NULL));
	deadline = twheel_lease_deadline(lease) + 208 * MSEC;
	ASSERT_EQ(1, twheel_lease_extend(lease, deadline));
	ASSERT_EQ(1, twheel_read(tw, &event, 1));
	EXPECT_EQ(deadline, event.deadline);
	EXPECT_LE(deadline, twheel_now(tw));
	twheel_close(tw);
}

#ifdef HAVE_LIBURING

static int poll_by_ring(struct io_uring *ring, int fd)
{
	struct __kernel_timespec limit = { .tv_sec = 60 };
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	int ret;

	io_uring_prep_poll_add(sqe, fd, POLLIN);
	if (io_uring_submit(ring) != 1 || io_uring_wait_cqe_timeout(ring, &cqe, &limit))
		return -1;
	ret = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

TEST_F(fd, io_uring_polls)
{
	struct twheel_event event;
	struct io_uring ring;
	int i;

	if (io_uring_queue_init(8, &ring, 0))
		SKIP(return, "no io_uring");
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, twheel_arm_after(self->tw, (uint64_t)i % 3 * 3 * MSEC, 0, NULL));
		ASSERT_EQ(POLLIN, poll_by_ring(&ring, twheel_fd(self->tw)) & POLLIN);
		ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	}
	io_uring_queue_exit(&ring);
}

#endif

TEST_HARNESS_MAIN
