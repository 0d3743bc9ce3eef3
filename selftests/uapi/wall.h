/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fixture with a context on wall time, for tests that set the machine's clock. The clock
 * is put back after each test.
 */
#ifndef TWHEEL_WALL_H
#define TWHEEL_WALL_H

#include "twheel_test.h"

#define HOUR		((__s64)(3600 * TW_SEC))
#define YEAR		(8766 * HOUR)

/* @ahead: how far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC before the test sets it */
FIXTURE(wall)
{
	int fd;
	__s64 ahead;
};

static inline __u64 wall_now(void)
{
	return tw_now(CLOCK_REALTIME);
}

/* Sets the clock to @off from the true time, given by @ahead. Returns 0 or -errno. */
static inline int set_clock(__s64 ahead, __s64 off)
{
	__u64 time = tw_now(CLOCK_MONOTONIC) + ahead + off;
	struct timespec ts = { time / TW_SEC, time % TW_SEC };

	return clock_settime(CLOCK_REALTIME, &ts) ? -errno : 0;
}

/* Opens a context on wall time. */
static inline int open_wall(__u32 flags)
{
	int fd = tw_open(), ret;

	if (fd < 0)
		return fd;
	ret = tw_configure(fd, CLOCK_REALTIME, flags);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

FIXTURE_SETUP(wall)
{
	struct timespec ts;

	self->ahead = wall_now() - tw_now(CLOCK_MONOTONIC);
	clock_gettime(CLOCK_REALTIME, &ts);
	if (clock_settime(CLOCK_REALTIME, &ts) && errno == EPERM)
		SETUP_SKIP("may not set the clock");
	self->fd = open_wall(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(wall)
{
	close(self->fd);
	EXPECT_EQ(0, set_clock(self->ahead, 0));
}

#endif /* TWHEEL_WALL_H */
