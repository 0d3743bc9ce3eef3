// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that is told another time than the kernel's, as under faketime: timers follow the
 * program's time, which may go faster or jump, and no timerfd tells of that.
 */
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "lib_util.h"
#include "wrapped.h"

/* How far the program's time is ahead, in seconds */
static int ahead;

/* If not 0: after so many readings one is ahead by this much more. */
static int readings, step;

/* Whether the timerfd was set to a point in time */
static bool absolute;

/* What the library calls: see the Makefile. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	int ret = __real_clock_gettime(clock, ts);

	ts->tv_sec += __atomic_load_n(&ahead, __ATOMIC_RELAXED);
	if (readings && !--readings)
		ts->tv_sec += step;
	return ret;
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *to,
			   struct itimerspec *from)
{
	absolute = flags & TFD_TIMER_ABSTIME;
	return __real_timerfd_settime(fd, flags, to, from);
}

FIXTURE(faked) {
	struct twheel *tw;
};

FIXTURE_SETUP(faked)
{
	ahead = 3600;
	ASSERT_EQ(0, twheel_open(&self->tw, NULL, TWHEEL_OPEN_EMBEDDED, NULL));
}

FIXTURE_TEARDOWN(faked)
{
	twheel_close(self->tw);
}

/* Where it goes as fast as the kernel's, the descriptor tells without a call. */
TEST_F(faked, goes_as_the_kernels)
{
	struct twheel_event event;
	uint64_t deadline = twheel_now(self->tw) + 20 * MSEC;

	ASSERT_EQ(0, twheel_arm_at(self->tw, deadline, 1, NULL));
	/* On a busy machine its time may have come by now. */
	EXPECT_TRUE(!readable(self->tw, 0) || deadline <= twheel_now(self->tw));
	ASSERT_EQ(1, readable(self->tw, 60000));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_LE(deadline, twheel_now(self->tw));
}

TEST_F(faked, jumps)
{
	struct twheel_event event;

	ASSERT_EQ(0, twheel_arm_after(self->tw, 30 * SEC, 1, NULL));
	ahead += 60;
	ASSERT_EQ(0, twheel_arm_after(self->tw, FAR, 2, NULL));
	EXPECT_EQ(1, readable(self->tw, 0));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(1, event.user_data);
	EXPECT_EQ(0, readable(self->tw, 0));
}

static void jump(int signal)
{
	(void)signal;
	__atomic_fetch_add(&ahead, 60, __ATOMIC_RELAXED);
}

/* A read that a signal ends has seen the new time, and no other call has. */
TEST_F(faked, jumps_in_a_read)
{
	struct itimerval soon = { .it_value.tv_usec = 20000 };
	struct sigaction action = { .sa_handler = jump };
	struct twheel_event event;
	ssize_t ret;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	do {
		ASSERT_EQ(0, twheel_arm_after(self->tw, 30 * SEC, 1, NULL));
		ASSERT_EQ(0, setitimer(ITIMER_REAL, &soon, NULL));
		/* On a busy machine the signal may come before it waits: then it reads. */
		ret = twheel_read(self->tw, &event, 1);
	} while (ret == 1);
	ASSERT_EQ(-EINTR, ret);
	EXPECT_EQ(1, readable(self->tw, 0));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(0, readable(self->tw, 0));
}

/* The descriptor waits until a deadline for as long as it is from now, not from a cached time. */
TEST(cached_waits_from_now)
{
	struct twheel_event event;
	struct twheel *tw;
	uint64_t deadline;

	ahead = 3600;
	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_CACHE_NOW, NULL));
	deadline = twheel_now(tw) + FAR;
	ahead += FAR / SEC;
	ASSERT_EQ(0, twheel_arm_at(tw, deadline, 1, NULL));
	ASSERT_EQ(1, readable(tw, 60000));
	ASSERT_EQ(1, twheel_read(tw, &event, 1));
	EXPECT_LE(deadline, twheel_now(tw));
	twheel_close(tw);
}

/* The program's wall time */
static uint64_t wall(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SEC + (uint64_t)now.tv_nsec;
}

/* Wall time is not cached, as it may be set back: what is armed then is not early. */
TEST(cached_is_no_wall_time)
{
	struct twheel_config configs[] = {
		{ .clock = TWHEEL_CLOCK_REALTIME }, { .clock = CLOCK_REALTIME },
	};
	struct twheel_event event;
	struct twheel *tw;
	uint64_t now;
	int i;

	for (i = 0; i < 2; i++) {
		ahead = 3600;
		ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_CACHE_NOW |
					 (i ? TWHEEL_OPEN_CLOCK : 0), &configs[i]));
		now = twheel_now(tw);
		ahead -= 50;
		EXPECT_GT(now, twheel_now(tw));
		ASSERT_EQ(0, twheel_arm_at(tw, wall() + 30 * SEC, 1, NULL));
		EXPECT_EQ(0, twheel_read_timeout(tw, &event, 1, 0));
		ahead += 40;
		EXPECT_EQ(1, twheel_read_timeout(tw, &event, 1, 0));
		twheel_close(tw);
	}
}

/* If the clock is just set while a context is opened it is not faked: the timerfd follows it. */
TEST(set_at_the_opening)
{
	struct twheel_config config = { .clock = TWHEEL_CLOCK_REALTIME };
	struct twheel *tw;
	int i;

	for (i = 2; !readings; i++) {
		readings = i / 2;
		step = i % 2 ? 3600 : -3600;
		absolute = false;
		ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED, &config));
		ASSERT_EQ(0, twheel_arm_at(tw, twheel_now(tw) + FAR, 1, NULL));
		EXPECT_TRUE(absolute)
			TH_LOG("reading %d", i / 2);
		twheel_close(tw);
	}
	EXPECT_LT(10, i);
}

TEST_HARNESS_MAIN
