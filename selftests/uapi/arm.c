// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of one timer: armed, re-armed, cancelled, expired and read, once or
 * periodically, on either clock. Handles that name no timer are in hostile/forge.c.
 */
#include <stdio.h>

#include "clk.h"

#define MAX_TIME	0x7fffffffffffffffULL

/* Reads the only record of a one-shot timer. */
#define ASSERT_ONE_SHOT(event, want_handle, want_data) do { \
	struct twheel_event *__event = (event); \
	memset(__event, 0xcc, sizeof(*__event)); \
	ASSERT_EQ(1, tw_collect(self->fd, __event, 1)); \
	EXPECT_EQ(want_handle, __event->handle); \
	EXPECT_EQ(want_data, __event->user_data); \
	EXPECT_EQ(1, __event->expirations); \
	EXPECT_EQ(TWHEEL_EVENT_LAST, __event->flags); \
	EXPECT_EQ(0, __event->reserved); \
	EXPECT_LE(__event->deadline, __event->expired); \
	EXPECT_GE(tw_now(self->clock), __event->expired); \
} while (0)

TEST_F(clk, relative)
{
	static const __u64 delays[] = { 30 * TW_MSEC, 0 };
	struct twheel_event event;
	__u64 handle, before, after;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(delays); i++) {
		before = tw_now(self->clock);
		handle = tw_arm(self->fd, delays[i], 0, 0xfeedULL << 40);
		after = tw_now(self->clock);
		ASSERT_NE(0, handle);
		ASSERT_ONE_SHOT(&event, handle, 0xfeedULL << 40);
		EXPECT_LE(before + delays[i], event.deadline);
		EXPECT_GE(after + delays[i], event.deadline);
		EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
	}
}

TEST_F(clk, absolute)
{
	__u64 deadline = tw_now(self->clock) + 30 * TW_MSEC;
	struct twheel_event event;
	__u64 handle;

	ASSERT_ARMED(handle, self->fd, deadline, TWHEEL_ARM_ABS, ~0ULL);
	ASSERT_ONE_SHOT(&event, handle, ~0ULL);
	EXPECT_EQ(deadline, event.deadline);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
}

TEST_F(clk, deadlines_in_the_past)
{
	__u64 now = tw_now(self->clock);
	__u64 past[] = { now, now - 1, now - TW_SEC, now / 2, 1, 0 };
	struct twheel_event event;
	__u64 handle;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(past); i++) {
		ASSERT_ARMED(handle, self->fd, past[i], TWHEEL_ARM_ABS, i);
		ASSERT_ONE_SHOT(&event, handle, i);
		EXPECT_EQ(past[i], event.deadline);
		EXPECT_LE(now, event.expired);
	}
}

TEST_F(clk, overflow_is_cut_not_wrapped)
{
	static const struct {
		__u64 expires;
		__u32 flags;
	} far[] = {
		{ MAX_TIME, 0 }, { MAX_TIME, TWHEEL_ARM_ABS },
		{ MAX_TIME - 1, 0 },
	};
	struct twheel_timer_info info;
	struct twheel_cancel cancel;
	struct twheel_event event;
	__u64 handle;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(far); i++) {
		ASSERT_ARMED(handle, self->fd, far[i].expires, far[i].flags, i);
		ASSERT_EQ(0, tw_get(self->fd, handle, &info));
		EXPECT_EQ(MAX_TIME, info.deadline);
		EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
		EXPECT_GE(MAX_TIME, info.remaining);
		EXPECT_LE(MAX_TIME - tw_now(self->clock), info.remaining);
	}
	/* If a deadline had wrapped it would lie in the past, and the timer would expire now. */
	ASSERT_TRUE(tw_pass(20 * TW_MSEC));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
	EXPECT_EQ(ARRAY_SIZE(far), tw_info(self->fd).pending);
	memset(&cancel, 0, sizeof(cancel));
	cancel.handle = handle;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
	EXPECT_LE(MAX_TIME - tw_now(self->clock), cancel.old_remaining);
}

/* A difference below zero becomes a huge unsigned number, which every field refuses. */
TEST_F(clk, negative_times_are_refused)
{
	static const __u64 negative[] = { ~0ULL, -TW_SEC, -TW_FAR, MAX_TIME + 2, MAX_TIME + 1 };
	__u64 deadline = tw_now(self->clock) + TW_FAR;
	struct twheel_arm live = tw_request(deadline, TWHEEL_ARM_ABS, 7), arm;
	struct twheel_timer_info before, after;
	unsigned int field, again;
	size_t i;

	live.interval = TW_SEC;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &live));
	ASSERT_EQ(0, tw_get(self->fd, live.handle, &before));
	for (i = 0; i < ARRAY_SIZE(negative); i++) {
		for (field = 0; field < 4; field++) {
			for (again = 0; again < 2; again++) {
				arm = tw_request_for(again ? live.handle : 0, 0,
						     field == 1 ? TWHEEL_ARM_ABS : 0, 8);
				if (field < 2)
					arm.expires = negative[i];
				else
					*(field == 2 ? &arm.interval : &arm.slack) = negative[i];
				EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM, &arm)) {
					TH_LOG("field %u: %llx", field, negative[i]);
				}
				EXPECT_EQ(0, arm.old_state);
				EXPECT_EQ(0, arm.old_remaining);
				EXPECT_EQ(1, tw_arm_batch(self->fd, &arm, 1));
				EXPECT_EQ(-EINVAL, arm.result);
			}
		}
	}
	/* The calls have neither changed that timer nor made another one. */
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_info(self->fd).ready);
	ASSERT_EQ(0, tw_get(self->fd, live.handle, &after));
	after.remaining = before.remaining;
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
}

TEST_F(clk, rearm_later)
{
	struct twheel_event event;
	struct twheel_arm arm;
	__u64 handle, deadline;

	ASSERT_ARMED(handle, self->fd, 20 * TW_MSEC, 0, 1);
	deadline = tw_now(self->clock) + 200 * TW_MSEC;
	arm = tw_request_for(handle, deadline, TWHEEL_ARM_ABS, 2);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(handle, arm.handle);
	EXPECT_EQ(0, arm.result);
	EXPECT_NE(TWHEEL_STATE_NONE, arm.old_state);
	EXPECT_GE(20 * TW_MSEC, arm.old_remaining);
	ASSERT_ONE_SHOT(&event, handle, 2);
	EXPECT_EQ(deadline, event.deadline);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
}

TEST_F(clk, rearm_earlier)
{
	struct twheel_event event;
	struct twheel_arm arm;
	__u64 handle, deadline;

	ASSERT_ARMED(handle, self->fd, TW_FAR, 0, 1);
	deadline = tw_now(self->clock) + 20 * TW_MSEC;
	arm = tw_request_for(handle, deadline, TWHEEL_ARM_ABS, 2);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(handle, arm.handle);
	EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
	EXPECT_GE(TW_FAR, arm.old_remaining);
	EXPECT_LT(TW_FAR - 3600 * TW_SEC, arm.old_remaining);
	ASSERT_ONE_SHOT(&event, handle, 2);
	EXPECT_EQ(deadline, event.deadline);
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

TEST_F(clk, rearm_withdraws_an_unread_record)
{
	struct twheel_event event;
	struct twheel_arm arm;
	__u64 handle;

	ASSERT_ARMED(handle, self->fd, 0, 0, 1);
	ASSERT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
	arm = tw_request_for(handle, TW_FAR, 0, 2);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(handle, arm.handle);
	EXPECT_EQ(TWHEEL_STATE_READY, arm.old_state);
	EXPECT_EQ(0, arm.old_remaining);
	EXPECT_EQ(0, tw_poll(self->fd, 0));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_info(self->fd).ready);

	/* The new arming behaves like any other. */
	arm = tw_request_for(handle, 0, 0, 3);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
	ASSERT_ONE_SHOT(&event, handle, 3);
}

TEST_F(clk, rearm_takes_all_settings)
{
	struct twheel_timer_info info;
	struct twheel_arm arm = tw_request(TW_FAR, 0, 1);
	__u64 tick = tw_info(self->fd).tick_ns;
	__u64 handle, deadline;

	arm.interval = 5;
	arm.count = 6;
	arm.slack = 7 * tick;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	handle = arm.handle;
	deadline = tw_now(self->clock) + 2 * TW_FAR;
	arm = tw_request_for(handle, deadline, TWHEEL_ARM_ABS, 2);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(2, info.user_data);
	EXPECT_EQ(deadline, info.deadline);
	EXPECT_EQ(0, info.interval);
	EXPECT_EQ(0, info.slack);
	EXPECT_GE(1, info.count);

	arm = tw_request_for(handle, TW_FAR, 0, 3);
	arm.interval = TW_SEC;
	arm.slack = 2 * tick;
	arm.count = 0;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(3, info.user_data);
	EXPECT_EQ(TW_SEC, info.interval);
	EXPECT_EQ(2 * tick, info.slack);
	EXPECT_EQ(0, info.count);
}

TEST_F(clk, cancel_pending)
{
	struct twheel_cancel cancel;
	struct twheel_event event;
	struct twheel_timer_info info;
	__u64 handle;

	ASSERT_ARMED(handle, self->fd, TW_FAR, 0, 1);
	cancel = tw_cancel_request(handle);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
	EXPECT_EQ(handle, cancel.handle);
	EXPECT_EQ(0, cancel.result);
	EXPECT_EQ(TWHEEL_STATE_PENDING, cancel.old_state);
	EXPECT_GE(TW_FAR, cancel.old_remaining);
	EXPECT_LT(TW_FAR - 3600 * TW_SEC, cancel.old_remaining);
	EXPECT_EQ(0, tw_info(self->fd).pending);

	EXPECT_EQ(-ENOENT, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
	EXPECT_EQ(-ENOENT, cancel.result);
	EXPECT_EQ(TWHEEL_STATE_NONE, cancel.old_state);
	EXPECT_EQ(0, cancel.old_remaining);
	EXPECT_EQ(-ENOENT, tw_get(self->fd, handle, &info));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
}

TEST_F(clk, cancel_ready)
{
	struct twheel_cancel cancel = { };
	struct twheel_event event;

	ASSERT_ARMED(cancel.handle, self->fd, 0, 0, 1);
	ASSERT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
	EXPECT_EQ(TWHEEL_STATE_READY, cancel.old_state);
	EXPECT_EQ(0, cancel.old_remaining);
	EXPECT_EQ(0, tw_poll(self->fd, 0));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
	EXPECT_EQ(0, tw_info(self->fd).ready);
	EXPECT_EQ(-ENOENT, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
}

TEST_F(clk, periodic_keeps_to_its_grid)
{
	const __u64 interval = 7777777;
	struct twheel_arm arm = tw_request(0, TWHEEL_ARM_ABS, 5);
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 first, rounds = 0;
	int i;

	first = tw_now(self->clock) + 12345678;
	arm.expires = first;
	arm.interval = interval;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(arm.handle, event.handle);
		EXPECT_EQ(5, event.user_data);
		EXPECT_EQ(first + rounds * interval, event.deadline);
		EXPECT_LE(event.deadline, event.expired);
		EXPECT_LE(1, event.expirations);
		EXPECT_EQ(0, event.flags);
		rounds += event.expirations;
		/* No round is counted before it is over. */
		EXPECT_LE(first + (rounds - 1) * interval, tw_now(self->clock));
	}
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(first + rounds * interval, info.deadline);
	EXPECT_EQ(interval, info.interval);
	EXPECT_EQ(0, info.count);
	EXPECT_EQ(0, tw_cancel(self->fd, arm.handle));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
}

TEST_F(clk, interval_of_a_nanosecond)
{
	struct twheel_arm arm = tw_request(0, TWHEEL_ARM_ABS, 0);
	__u64 first = tw_now(self->clock), rounds = 0;
	struct twheel_event event;
	int i;

	arm.expires = first;
	arm.interval = 1;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(first + rounds, event.deadline);
		rounds += event.expirations;
		EXPECT_GE(tw_now(self->clock), first + rounds - 1);
	}
	EXPECT_EQ(0, tw_cancel(self->fd, arm.handle));

	/* At this pace a count of ~0U rounds takes 4.3 s. */
	arm = tw_request(1, TWHEEL_ARM_ABS, 0);
	arm.interval = 1;
	arm.count = ~0U;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	rounds = 0;
	do {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		rounds += event.expirations;
	} while (!(event.flags & TWHEEL_EVENT_LAST));
	EXPECT_EQ(~0U, rounds);
}

/* An interval that ends beyond the largest time must not wrap. */
TEST_F(clk, huge_intervals)
{
	static const __u64 intervals[] = { MAX_TIME, MAX_TIME - 1, MAX_TIME / 2,
					   MAX_TIME, MAX_TIME - 1 };
	struct twheel_timer_info info;
	struct twheel_event event;
	struct twheel_arm arm;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(intervals); i++) {
		arm = tw_request(0, i > 2 ? TWHEEL_ARM_FIXED_DELAY : 0, i);
		arm.interval = intervals[i];
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
		EXPECT_EQ(intervals[i], info.interval);
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(1, event.expirations);
		EXPECT_EQ(0, event.flags);
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
		EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
		EXPECT_EQ(intervals[i] <= MAX_TIME - event.deadline ?
			  event.deadline + intervals[i] : MAX_TIME, info.deadline);
	}
	ASSERT_TRUE(tw_pass(20 * TW_MSEC));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
}

TEST_F(clk, rearm_periodic_to_one_shot_and_back)
{
	struct twheel_arm arm = tw_request(0, 0, 1);
	struct twheel_event event;
	__u64 handle;

	arm.interval = 3 * TW_MSEC;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	handle = arm.handle;
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	arm = tw_request_for(handle, 5 * TW_MSEC, 0, 2);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_ONE_SHOT(&event, handle, 2);

	handle = tw_arm(self->fd, TW_FAR, 0, 3);
	arm = tw_request_for(handle, 0, 0, 4);
	arm.interval = 3 * TW_MSEC;
	arm.count = 2;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(4, event.user_data);
	if (event.expirations == 1) {
		EXPECT_EQ(0, event.flags);
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	}
	EXPECT_EQ(TWHEEL_EVENT_LAST, event.flags);
}

TEST_F(clk, slack_is_kept_in_ticks)
{
	__u64 tick = tw_info(self->fd).tick_ns;
	const struct {
		__u64 asked, kept;
	} cases[] = {
		{ 0, 0 }, { tick - 1, 0 }, { tick, tick }, { tick + 1, tick },
		{ 10 * tick - 1, 9 * tick },
		{ 0xffffffffULL * tick, 0xffffffffULL * tick },
		{ 0x100000000ULL * tick, 0xffffffffULL * tick },
		{ MAX_TIME, 0xffffffffULL * tick },
	};
	struct twheel_timer_info info;
	struct twheel_arm arm;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		arm = tw_request(TW_FAR, 0, i);
		arm.slack = cases[i].asked;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		EXPECT_EQ(cases[i].asked, arm.slack);
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
		EXPECT_EQ(cases[i].kept, info.slack);
		EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
	}
	/* Slack beyond the largest deadline must not wrap either. */
	arm = tw_request(MAX_TIME, TWHEEL_ARM_ABS, 0);
	arm.slack = MAX_TIME;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_TRUE(tw_pass(20 * TW_MSEC));
	EXPECT_EQ(0, tw_poll(self->fd, 0));
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(MAX_TIME, info.deadline);
}

/* While slack holds a timer back, its remaining time is 0 and not negative. */
TEST_F(clk, remaining_within_slack)
{
	struct twheel_arm arm = tw_request(TW_MSEC, 0, 1);
	struct twheel_cancel cancel = { };
	struct twheel_timer_info info;

	arm.slack = TW_FAR;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_TRUE(tw_pass(10 * TW_MSEC));
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
	EXPECT_EQ(0, info.remaining);
	EXPECT_GE(tw_now(self->clock), info.deadline);
	cancel.handle = arm.handle;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
	EXPECT_EQ(TWHEEL_STATE_PENDING, cancel.old_state);
	EXPECT_EQ(0, cancel.old_remaining);
}

/* One that is pending is in abi.c. */
TEST_F(clk, get_of_one_that_is_ready)
{
	__u64 tick = tw_info(self->fd).tick_ns, deadline = tw_now(self->clock);
	struct twheel_arm arm = tw_request(deadline, TWHEEL_ARM_ABS, 99);
	struct twheel_timer_info info;

	arm.interval = 1234567;
	arm.count = 3;
	arm.slack = tick;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(arm.handle, info.handle);
	EXPECT_EQ(99, info.user_data);
	EXPECT_EQ(deadline, info.deadline);
	EXPECT_EQ(0, info.remaining);
	EXPECT_EQ(1234567, info.interval);
	EXPECT_EQ(tick, info.slack);
	EXPECT_EQ(3, info.count);
	EXPECT_EQ(TWHEEL_STATE_READY, info.state);
}

TEST_HARNESS_MAIN
