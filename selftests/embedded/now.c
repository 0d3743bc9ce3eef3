// SPDX-License-Identifier: GPL-2.0-only
/*
 * A context whose clock the program sets: nothing waits for time to pass.
 */
#include <pthread.h>
#include <unistd.h>

#include "alarms.h"
#include "lib_util.h"

#define HOUR	(3600 * SEC)
#define START	(1000 * HOUR)
/* No tick is longer. */
#define TICK	(1ULL << 20)

FIXTURE(now) {
	struct twheel *tw;
};

FIXTURE_VARIANT(now) {
	uint32_t clock;
	uint32_t flags;
};

VARIANT(now, monotonic) {};
VARIANT(now, realtime) { .clock = TWHEEL_CLOCK_REALTIME, .flags = TWHEEL_CONFIG_CANCEL_ON_SET };
VARIANT(now, leases) { .flags = TWHEEL_CONFIG_LEASE };

FIXTURE_SETUP(now)
{
	struct twheel_config config = { .clock = variant->clock, .flags = variant->flags };

	ASSERT_EQ(0, twheel_open(&self->tw, NULL, TWHEEL_OPEN_CLOEXEC | TWHEEL_OPEN_EMBEDDED,
				 &config));
	ASSERT_EQ(0, twheel_set_now(self->tw, 1));
	/* Not a step, as it goes forward; the one before was. */
	ASSERT_EQ(0, twheel_set_now(self->tw, START));
	if (variant->flags & TWHEEL_CONFIG_CANCEL_ON_SET) {
		struct twheel_event event;

		ASSERT_EQ(-ECANCELED, twheel_read(self->tw, &event, 1));
	}
}

FIXTURE_TEARDOWN(now)
{
	twheel_close(self->tw);
}

TEST_F(now, bad_times)
{
	EXPECT_EQ(-EINVAL, twheel_set_now(self->tw, 0));
	EXPECT_EQ(-EINVAL, twheel_set_now(self->tw, INT64_MAX + 1ULL));
	EXPECT_EQ(START, twheel_now(self->tw));
	EXPECT_EQ(0, twheel_set_now(self->tw, INT64_MAX));
	EXPECT_EQ(INT64_MAX, twheel_now(self->tw));
}

/* What a push has moved is late by its slack again, as what an arm has. */
TEST_F(now, a_push_keeps_the_slack)
{
	struct twheel_arm arm = {
		.expires = START + HOUR, .flags = TWHEEL_ARM_ABS, .slack = HOUR / 2,
	};

	ASSERT_EQ(0, twheel_arm(self->tw, &arm));
	ASSERT_EQ(0, twheel_push(self->tw, arm.handle, START + 2 * HOUR));
	ASSERT_EQ(0, twheel_set_now(self->tw, START + 2 * HOUR + TICK));
	EXPECT_EQ(0, readable(self->tw, 0));
	ASSERT_EQ(0, twheel_set_now(self->tw, START + 2 * HOUR + HOUR / 2 + TICK));
	EXPECT_EQ(1, readable(self->tw, 0));
}

/* The clock stands still, and all that is due in a day comes at once and in order. */
TEST_F(now, in_order)
{
	struct twheel_event events[24];
	struct twheel_info info;
	int i;

	for (i = 23; i >= 0; i--) {
		struct twheel_arm arm = {
			.expires = START + (i + 1) * HOUR, .flags = TWHEEL_ARM_ABS, .user_data = i,
		};

		ASSERT_EQ(0, twheel_arm(self->tw, &arm));
	}
	usleep(20000);
	EXPECT_EQ(0, readable(self->tw, 0));
	ASSERT_EQ(0, twheel_set_now(self->tw, START + HOUR - 1));
	EXPECT_EQ(0, readable(self->tw, 0));
	ASSERT_EQ(0, twheel_set_now(self->tw, START + 24 * HOUR + TICK));
	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(24, info.ready);
	EXPECT_EQ(START + 24 * HOUR + TICK, info.now);
	EXPECT_EQ(1, readable(self->tw, 0));
	ASSERT_EQ(24, twheel_read(self->tw, events, 24));
	EXPECT_EQ(0, readable(self->tw, 0));
	for (i = 0; i < 24; i++) {
		EXPECT_EQ(i, events[i].user_data);
		EXPECT_EQ(START + (i + 1) * HOUR, events[i].deadline);
		EXPECT_EQ(info.now, events[i].expired);
	}
}

TEST_F(now, periodic)
{
	struct twheel_arm arm = {
		.expires = START + SEC, .interval = SEC, .flags = TWHEEL_ARM_ABS,
	};
	struct twheel_event event;

	ASSERT_EQ(0, twheel_arm(self->tw, &arm));
	ASSERT_EQ(0, twheel_set_now(self->tw, START + 10 * SEC + TICK));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(10, event.expirations);
	EXPECT_EQ(0, readable(self->tw, 0));
	ASSERT_EQ(0, twheel_set_now(self->tw, START + 11 * SEC + TICK));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(1, event.expirations);
	EXPECT_EQ(START + 11 * SEC, event.deadline);
}

/* When the time goes back what is armed then is due by the new time. */
TEST_F(now, back)
{
	struct twheel_arm arm = { .expires = START - HOUR, .flags = TWHEEL_ARM_ABS };
	struct twheel_event event;

	ASSERT_EQ(0, twheel_set_now(self->tw, START - 2 * HOUR));
	if (variant->flags & TWHEEL_CONFIG_CANCEL_ON_SET) {
		EXPECT_EQ(1, readable(self->tw, 0));
		EXPECT_EQ(-ECANCELED, twheel_read(self->tw, &event, 1));
	}
	ASSERT_EQ(0, twheel_arm(self->tw, &arm));
	EXPECT_EQ(0, readable(self->tw, 0));
	ASSERT_EQ(0, twheel_set_now(self->tw, START - HOUR + TICK));
	EXPECT_EQ(1, readable(self->tw, 0));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
}

static void count(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	++*(int *)arg;
}

/* What is queued counts from the call, as if it had been made: what has expired stays expired. */
TEST_F(now, back_with_a_queue)
{
	struct twheel_arm arm = { .expires = START + HOUR, .flags = TWHEEL_ARM_ABS };
	struct twheel_timer *timers[2];
	int i, calls = 0;

	ASSERT_EQ(0, twheel_timer_defer(self->tw, 1));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, twheel_timer_new(&timers[i], self->tw, count, &calls));
		ASSERT_EQ(0, twheel_timer_arm(timers[i], &arm, NULL));
	}
	arm.expires = START - SEC;
	ASSERT_EQ(0, twheel_timer_arm(timers[0], &arm, NULL));
	arm.expires = START - HOUR + SEC;
	ASSERT_EQ(0, twheel_set_now(self->tw, START - HOUR));
	ASSERT_EQ(0, twheel_timer_arm(timers[1], &arm, NULL));
	if (variant->flags & TWHEEL_CONFIG_CANCEL_ON_SET)
		EXPECT_EQ(-ECANCELED, twheel_dispatch(self->tw));
	EXPECT_EQ(1, twheel_dispatch_timeout(self->tw, 0));
	EXPECT_EQ(1, calls);
	EXPECT_EQ(0, twheel_timer_armed(timers[0]));
	/* And so does what goes forward. */
	ASSERT_EQ(0, twheel_timer_arm(timers[1], &arm, NULL));
	ASSERT_EQ(0, twheel_set_now(self->tw, START));
	EXPECT_EQ(1, readable(self->tw, 0));
	EXPECT_EQ(1, twheel_dispatch_timeout(self->tw, 0));
	EXPECT_EQ(2, calls);
}

static void *read_one(void *arg)
{
	struct twheel_event event;
	ssize_t n = twheel_read(arg, &event, 1);

	return (void *)(n == 1 ? (uintptr_t)event.user_data : 0);
}

/* A thread that waits is woken, whether it waits already or only now. */
TEST_F(now, wakes)
{
	pthread_t thread;
	void *ret;
	int i;

	for (i = 1; i <= 100; i++) {
		struct twheel_arm arm = {
			.expires = START + i * HOUR, .flags = TWHEEL_ARM_ABS, .user_data = i,
		};

		ASSERT_EQ(0, twheel_arm(self->tw, &arm));
		ASSERT_EQ(0, pthread_create(&thread, NULL, read_one, self->tw));
		if (i % 2)
			usleep(1000);
		ASSERT_EQ(0, twheel_set_now(self->tw, START + i * HOUR + TICK));
		ASSERT_EQ(0, pthread_join(thread, &ret));
		EXPECT_EQ((void *)(uintptr_t)i, ret);
	}
}

/* A thread waits by the real clock when it is stopped, for a time that is long after that. */
TEST(wakes_who_waits_for_a_real_time)
{
	struct twheel_arm arm = { .expires = HOUR, .user_data = 7 };
	struct twheel *tw;
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_CLOEXEC | TWHEEL_OPEN_EMBEDDED, NULL));
	ASSERT_EQ(0, twheel_arm(tw, &arm));
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_one, tw));
	usleep(20000);
	ASSERT_EQ(0, twheel_set_now(tw, twheel_now(tw) + 2 * HOUR));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ((void *)7, ret);
	twheel_close(tw);
}

/* Timer objects follow the same clock, by calls and by words. */
static void note_time(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	(void)timer;
	*(uint64_t *)arg = event->deadline;
}

TEST_F(now, timer_objects)
{
	struct twheel_timer *timer;
	struct twheel_arm setting = { .expires = START + HOUR, .flags = TWHEEL_ARM_ABS };
	uint64_t called = 0;

	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, note_time, &called));
	ASSERT_EQ(0, twheel_timer_arm(timer, &setting, NULL));
	ASSERT_EQ(0, twheel_set_now(self->tw, START + HOUR / 2));
	setting.expires = START + 3 * HOUR / 2;
	ASSERT_EQ(0, twheel_timer_arm(timer, &setting, NULL));
	ASSERT_EQ(0, twheel_set_now(self->tw, START + HOUR + TICK));
	EXPECT_EQ(0, readable(self->tw, 0));
	ASSERT_EQ(0, twheel_set_now(self->tw, START + 2 * HOUR));
	ASSERT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_LE(START + 3 * HOUR / 2, called);
	EXPECT_GT(START + 3 * HOUR / 2 + TICK, called);
}

FIXTURE(cached) {
	struct twheel *tw;
	uint64_t opened;
};

FIXTURE_SETUP(cached)
{
	ASSERT_EQ(0, twheel_open(&self->tw, NULL, TWHEEL_OPEN_CLOEXEC | TWHEEL_OPEN_EMBEDDED |
				 TWHEEL_OPEN_CACHE_NOW, NULL));
	self->opened = twheel_now(self->tw);
	usleep(2000);
}

FIXTURE_TEARDOWN(cached)
{
	twheel_close(self->tw);
}

/* Calls do not update the time, and go by it. */
TEST_F(cached, stands_still)
{
	struct twheel_arm arm = { .expires = HOUR };
	struct twheel_timer_info timer;
	struct twheel_info info;
	struct twheel_old old;

	ASSERT_EQ(0, twheel_arm(self->tw, &arm));
	ASSERT_EQ(0, twheel_get(self->tw, arm.handle, &timer));
	EXPECT_EQ(self->opened + HOUR, timer.deadline);
	ASSERT_EQ(0, twheel_push(self->tw, arm.handle, self->opened + 2 * HOUR));
	usleep(1000);
	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(self->opened, info.now);
	ASSERT_EQ(0, twheel_cancel(self->tw, arm.handle, &old));
	EXPECT_EQ(2 * HOUR, old.remaining);
	EXPECT_EQ(self->opened, twheel_now(self->tw));
}

/* What has come up is still pending, and its descriptor is readable. */
TEST_F(cached, update)
{
	struct twheel_arm arm = { .expires = MSEC }, later = { .expires = HOUR };
	struct twheel_info info;

	ASSERT_EQ(0, twheel_arm(self->tw, &arm));
	ASSERT_EQ(0, twheel_arm(self->tw, &later));
	usleep(2000);
	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(2, info.pending);
	EXPECT_EQ(1, readable(self->tw, 0));
	EXPECT_EQ(0, twheel_update_now(self->tw));
	EXPECT_LE(self->opened + 4 * MSEC, twheel_now(self->tw));
	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(1, info.pending);
	EXPECT_EQ(1, info.ready);
	EXPECT_EQ(1, readable(self->tw, 0));
}

/* A read updates it when it begins, and again when it has waited. */
TEST_F(cached, reads)
{
	struct twheel_arm arm = { .expires = MSEC };
	struct twheel_event event;
	uint64_t read;

	ASSERT_EQ(0, twheel_arm(self->tw, &arm));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	read = twheel_now(self->tw);
	EXPECT_LE(self->opened + 2 * MSEC, read);
	EXPECT_EQ(self->opened + MSEC, event.deadline);
	EXPECT_LE(self->opened + 2 * MSEC, event.expired);

	arm = (struct twheel_arm){ .expires = 20 * MSEC };
	ASSERT_EQ(0, twheel_arm(self->tw, &arm));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(read + 20 * MSEC, event.deadline);
	EXPECT_LE(event.deadline, event.expired);
	EXPECT_LE(event.expired, twheel_now(self->tw));
	EXPECT_EQ(0, twheel_read_timeout(self->tw, &event, 1, 5 * MSEC));
	EXPECT_LE(read + 25 * MSEC, twheel_now(self->tw));
}

/* And when a signal has ended the wait. */
TEST_F(cached, reads_that_a_signal_ends)
{
	struct twheel_event event;

	alarm_every(20000, 0);
	EXPECT_EQ(-EINTR, twheel_read_timeout(self->tw, &event, 1, HOUR));
	alarm_every(0, 0);
	EXPECT_LE(self->opened + 22 * MSEC, twheel_now(self->tw));
}

struct noted {
	struct twheel	*tw;
	uint64_t	now;
};

static void note_now(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	struct noted *noted = arg;

	(void)event;
	noted->now = twheel_now(noted->tw);
	usleep(1000);
	twheel_timer_start(timer, HOUR, 0);
}

/* A dispatch updates it, once for all functions that it calls. */
TEST_F(cached, dispatches)
{
	struct noted noted = { .tw = self->tw };
	struct twheel_timer *timer;

	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, note_now, &noted));
	ASSERT_EQ(0, twheel_timer_start(timer, MSEC, 0));
	ASSERT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_LE(self->opened + 2 * MSEC, noted.now);
	EXPECT_EQ(noted.now, twheel_now(self->tw));
	EXPECT_EQ(HOUR, twheel_timer_remaining(timer));
}

static void note_now_and_dispatch(struct twheel_timer *timer, const struct twheel_event *event,
				  void *arg)
{
	struct noted *noted = arg;

	note_now(timer, event, arg);
	twheel_dispatch(noted->tw);
}

/* So does one that handles what another has left. */
TEST_F(cached, dispatches_the_rest)
{
	struct noted first = { .tw = self->tw }, second = { .tw = self->tw };
	struct twheel_timer *timers[2];

	ASSERT_EQ(0, twheel_timer_new(&timers[0], self->tw, note_now_and_dispatch, &first));
	ASSERT_EQ(0, twheel_timer_new(&timers[1], self->tw, note_now, &second));
	ASSERT_EQ(0, twheel_timer_start(timers[0], MSEC, 0));
	ASSERT_EQ(0, twheel_timer_start(timers[1], MSEC, 0));
	ASSERT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_LE(self->opened + 2 * MSEC, first.now);
	EXPECT_LE(first.now + MSEC, second.now);
}

/* And so does one that only tells which queued call has failed. */
TEST(cached_is_updated_by_a_dispatch_that_fails)
{
	struct twheel_arm past = { .expires = 1, .flags = TWHEEL_ARM_ABS };
	struct twheel_config config = { .limit = 1 };
	struct twheel_timer *timer;
	struct twheel_event event;
	struct twheel *tw;
	uint64_t before;

	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_CACHE_NOW,
				 &config));
	ASSERT_EQ(0, twheel_timer_defer(tw, 1));
	ASSERT_EQ(0, twheel_timer_new(&timer, tw, note_now, NULL));
	ASSERT_EQ(0, twheel_timer_arm(timer, &past, NULL));
	/* The library does not learn that the timer has ended. */
	ASSERT_EQ(1, twheel_read(tw, &event, 1));
	ASSERT_EQ(0, twheel_timer_start(timer, HOUR, 0));
	ASSERT_EQ(0, twheel_arm_after(tw, HOUR, 0, NULL));
	before = twheel_now(tw);
	usleep(1000);
	EXPECT_EQ(-ENOSPC, twheel_dispatch(tw));
	EXPECT_LE(before + MSEC, twheel_now(tw));
	twheel_close(tw);
}

/* The clock may be set, and then stands still. */
TEST_F(cached, set)
{
	ASSERT_EQ(0, twheel_set_now(self->tw, START));
	ASSERT_EQ(0, twheel_update_now(self->tw));
	EXPECT_EQ(START, twheel_now(self->tw));
}

TEST_HARNESS_MAIN
