// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rounds of periodic timers: fixed delay, and the answers that <linux/twheel.h> gives in
 * the description of struct twheel_arm, with a test for each sentence. Whether periodic
 * timers keep to their grid is tested in arm.c.
 */
#include <stdio.h>

#include "clk.h"

#define RECORD	sizeof(struct twheel_event)

VARIANT(clk, realtime) { .clock = CLOCK_REALTIME };

/*
 * Makes a request for a periodic timer whose first round ends in @first from now: for a new one
 * or, if @handle is not 0, for that one.
 */
static struct twheel_arm periodic(__u64 handle, clockid_t clock, __u64 first, __u64 interval,
				  __u32 count, __u32 flags)
{
	struct twheel_arm arm = tw_request_for(handle, tw_now(clock) + first,
					       TWHEEL_ARM_ABS | flags, 5);

	arm.interval = interval;
	arm.count = count;
	return arm;
}

/* Waits for the record, then lets @ns pass without reading it. */
static bool stall(int fd, __u64 ns)
{
	return tw_wait_ready(fd, 1) && tw_pass(ns);
}

TEST_F(clk, fixed_delay_counts_from_the_read)
{
	const __u64 interval = 5 * TW_MSEC;
	struct twheel_arm arm = periodic(0, self->clock, interval, interval, 0,
					 TWHEEL_ARM_FIXED_DELAY);
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 low, high;
	int i;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	low = arm.expires;
	high = arm.expires;
	for (i = 0; i < 30; i++) {
		ASSERT_TRUE(stall(self->fd, i % 3 * 7 * TW_MSEC));
		EXPECT_EQ(0, tw_info(self->fd).pending);
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
		EXPECT_EQ(TWHEEL_STATE_READY, info.state);
		EXPECT_EQ(TWHEEL_ARM_FIXED_DELAY, info.flags);
		EXPECT_LE(low, info.deadline);
		EXPECT_GE(high, info.deadline);

		low = tw_now(self->clock) + interval;
		ASSERT_EQ(RECORD, tw_read(self->fd, &event, RECORD));
		high = tw_now(self->clock) + interval;
		EXPECT_EQ(arm.handle, event.handle);
		EXPECT_EQ(5, event.user_data);
		EXPECT_EQ(info.deadline, event.deadline);
		EXPECT_LE(event.deadline, event.expired);
		/* With a fixed delay no round is missed, however late the read is. */
		EXPECT_EQ(1, event.expirations);
		EXPECT_EQ(0, event.flags);

		/*
		 * The next round is pending already, and ends an interval after the read.
		 */
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
		EXPECT_LE(low, info.deadline);
		EXPECT_GE(high, info.deadline);
		EXPECT_EQ(interval, info.interval);
		EXPECT_EQ(0, info.count);
	}
	EXPECT_EQ(0, tw_cancel(self->fd, arm.handle));
	ASSERT_TRUE(tw_pass(2 * interval));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

TEST_F(clk, fixed_delay_ends_after_its_count)
{
	struct twheel_arm arm = periodic(0, self->clock, 0, TW_MSEC, 5, TWHEEL_ARM_FIXED_DELAY);
	struct twheel_timer_info info;
	struct twheel_event event;
	int i;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	for (i = 1; i <= 5; i++) {
		/* The stall is long enough to miss all rounds, if there were a grid. */
		ASSERT_TRUE(stall(self->fd, 20 * TW_MSEC));
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
		EXPECT_EQ(6 - i, info.count);
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(1, event.expirations);
		EXPECT_EQ(i == 5 ? TWHEEL_EVENT_LAST : 0, event.flags);
	}
	EXPECT_EQ(-ENOENT, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(0, tw_info(self->fd).pending);
	ASSERT_TRUE(tw_pass(20 * TW_MSEC));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

/*
 * While a record is unread GET and CANCEL describe that record. The round under way can be
 * computed from them.
 */
TEST_F(clk, what_is_left_while_a_record_is_unread)
{
	struct twheel_arm arm = tw_request(1, TWHEEL_ARM_ABS, 7);
	struct twheel_timer_info info, next;
	struct twheel_cancel cancel = { };
	struct twheel_event event;
	__u64 n;

	arm.interval = TW_SEC;
	/* Try again if a round has ended between the two calls. */
	do {
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
		EXPECT_EQ(TWHEEL_STATE_READY, info.state);
		EXPECT_EQ(1, info.deadline);
		EXPECT_EQ(0, info.remaining);
		n = (tw_now(self->clock) - info.deadline) / info.interval + 1;
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &next));
	} while (event.expirations != n || next.state != TWHEEL_STATE_PENDING);
	EXPECT_EQ(info.deadline + n * info.interval, next.deadline);

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	cancel.handle = arm.handle;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
	EXPECT_EQ(TWHEEL_STATE_READY, cancel.old_state);
	EXPECT_EQ(0, cancel.old_remaining);
}

TEST_F(clk, rearm_between_grid_and_delay)
{
	struct twheel_arm arm = periodic(0, self->clock, 0, TW_MSEC, 0, TWHEEL_ARM_FIXED_DELAY);
	struct twheel_timer_info info;
	struct twheel_event event;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_TRUE(stall(self->fd, 20 * TW_MSEC));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(1, event.expirations);

	arm = periodic(arm.handle, self->clock, 0, TW_MSEC, 0, 0);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(0, info.flags);
	ASSERT_TRUE(stall(self->fd, 20 * TW_MSEC));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(arm.expires, event.deadline);
	EXPECT_LE(20, event.expirations);

	arm = periodic(arm.handle, self->clock, 0, TW_MSEC, 0, TWHEEL_ARM_FIXED_DELAY);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_TRUE(stall(self->fd, 20 * TW_MSEC));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(arm.expires, event.deadline);
	EXPECT_EQ(1, event.expirations);
}

/*
 * A re-arm replaces everything, the round under way included: the next expiration is at the
 * new expires, rounds of the new interval follow, and count begins again.
 */
TEST_F(clk, rearm_in_mid_round)
{
	const __u64 interval = 3 * TW_MSEC;
	struct twheel_arm arm = periodic(0, self->clock, 10 * TW_MSEC, TW_FAR, 9, 0);
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 rounds = 0;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(arm.expires + TW_FAR, info.deadline);
	EXPECT_EQ(8, info.count);

	/* Re-arm it during the round that lasts TW_FAR. */
	arm = periodic(arm.handle, self->clock, 20 * TW_MSEC, interval, 4, 0);
	arm.user_data = 6;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(4, info.count);
	while (rounds < 4) {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(6, event.user_data);
		EXPECT_EQ(arm.expires + rounds * interval, event.deadline);
		EXPECT_LE(event.deadline, event.expired);
		rounds += event.expirations;
		EXPECT_EQ(rounds < 4 ? 0 : TWHEEL_EVENT_LAST, event.flags);
	}
	EXPECT_EQ(4, rounds);
}

/*
 * An interval cannot be changed alone: if the new deadline has passed the round is over at
 * once, and nothing of the old grid is left.
 */
TEST_F(clk, a_changed_interval_needs_a_new_deadline)
{
	struct twheel_arm arm = periodic(0, self->clock, TW_FAR, TW_FAR, 0, 0);
	struct twheel_timer_info info;
	struct twheel_event event;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	arm = periodic(arm.handle, self->clock, 0, 2 * TW_FAR, 0, 0);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(arm.expires, event.deadline);
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(arm.expires + 2 * TW_FAR, info.deadline);
	EXPECT_EQ(2 * TW_FAR, info.interval);
}

/*
 * A new interval that takes effect after this round: the re-arm names the end of the round
 * under way as its deadline.
 */
TEST_F(clk, a_changed_interval_after_this_round)
{
	struct twheel_arm arm = periodic(0, self->clock, 0, 50 * TW_MSEC, 0, 0);
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 second;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	second = info.deadline;
	arm.expires = second;
	arm.interval = TW_FAR;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(second, event.deadline);
	EXPECT_EQ(1, event.expirations);
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(second + TW_FAR, info.deadline);
}

/* When a handler sees the record, the next round is already pending on its grid. */
TEST_F(clk, rearm_from_the_handler)
{
	struct twheel_arm arm = periodic(0, self->clock, 0, TW_FAR, 0, 0);
	struct twheel_timer_info info;
	struct twheel_info counts;
	struct twheel_event event;
	__u64 first = arm.expires;
	int i;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(first, event.deadline);
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
		EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
		EXPECT_EQ(first + TW_FAR, info.deadline);

		/* The re-arm replaces that round, which leaves no second record. */
		arm = periodic(arm.handle, self->clock, 4 * TW_MSEC, TW_FAR, 0, 0);
		first = arm.expires;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
		EXPECT_LT(0, arm.old_remaining);
		counts = tw_info(self->fd);
		EXPECT_EQ(1, counts.pending + counts.ready);
	}
	ASSERT_EQ(0, tw_cancel(self->fd, arm.handle));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

/* A timer that has ended with its record cannot be re-armed. */
TEST_F(clk, rearm_from_the_handler_of_the_last_record)
{
	static const struct {
		__u64 interval;
		__u32 count, flags;
	} last[] = {
		{ 0, 0, 0 }, { TW_FAR, 1, 0 }, { TW_FAR, 1, TWHEEL_ARM_FIXED_DELAY },
	};
	struct twheel_event event;
	struct twheel_arm arm;
	__u64 handle;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(last); i++) {
		arm = periodic(0, self->clock, 0, last[i].interval, last[i].count, last[i].flags);
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		handle = arm.handle;
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(TWHEEL_EVENT_LAST, event.flags);
		arm.old_state = 0xcccc;
		arm.old_remaining = 0xcccccccc;
		EXPECT_EQ(-ENOENT, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		EXPECT_EQ(handle, arm.handle);
		EXPECT_EQ(-ENOENT, arm.result);
		EXPECT_EQ(TWHEEL_STATE_NONE, arm.old_state);
		EXPECT_EQ(0, arm.old_remaining);
		EXPECT_EQ(-ENOENT, tw_cancel(self->fd, handle));
		EXPECT_EQ(0, tw_info(self->fd).pending);

		/* A new timer has to be armed instead. */
		arm.handle = 0;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		EXPECT_NE(handle, arm.handle);
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(arm.handle, event.handle);
	}
}

/* A re-arm between expiry and read withdraws the record with all its rounds. */
TEST_F(clk, rearm_before_the_read)
{
	struct twheel_arm arm = periodic(0, self->clock, 0, TW_MSEC, 100, 0);
	struct twheel_timer_info info;
	struct twheel_event event;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_TRUE(stall(self->fd, 10 * TW_MSEC));
	arm = periodic(arm.handle, self->clock, 5 * TW_MSEC, TW_FAR, 3, 0);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(TWHEEL_STATE_READY, arm.old_state);
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(3, info.count);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(arm.expires, event.deadline);
	EXPECT_EQ(1, event.expirations);
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(2, info.count);
}

/* After a stall there is one record, which counts all rounds that were over at the read. */
TEST_F(clk, a_stall_is_one_record)
{
	const __u64 interval = 3 * TW_MSEC;
	struct twheel_arm arm = periodic(0, self->clock, interval, interval, 0, 0);
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 before, after, rounds = 0;
	int i;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	for (i = 0; i < 4; i++) {
		ASSERT_TRUE(stall(self->fd, (i * 50 + 20) * TW_MSEC));
		EXPECT_EQ(1, tw_info(self->fd).ready);
		EXPECT_EQ(0, tw_info(self->fd).pending);
		before = tw_now(self->clock);
		/*
		 * The buffer has room for one record, as the next round may end before a
		 * larger buffer is full.
		 */
		ASSERT_EQ(RECORD, tw_read(self->fd, &event, sizeof(event)));
		after = tw_now(self->clock);
		EXPECT_EQ(arm.expires + rounds * interval, event.deadline);
		EXPECT_LE(event.deadline, event.expired);
		EXPECT_GE(before, event.expired);
		EXPECT_LE((before - event.deadline) / interval + 1,
			  event.expirations);
		EXPECT_GE((after - event.deadline) / interval + 1,
			  event.expirations);
		rounds += event.expirations;
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
		EXPECT_EQ(arm.expires + rounds * interval, info.deadline);
	}
}

/*
 * The field count counts expirations, those that a late read finds missed included. The
 * last record counts the ones that were left.
 */
TEST_F(clk, count_counts_expirations)
{
	const __u64 interval = 4 * TW_MSEC;
	struct twheel_arm arm = periodic(0, self->clock, interval, interval, 250, 0);
	struct twheel_timer_info info;
	struct twheel_event event;
	__u32 left = 250;
	int records = 0;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	do {
		/*
		 * Each stall is longer than the one before, so the last one outlasts the
		 * rounds that are left.
		 */
		ASSERT_TRUE(stall(self->fd, (20 << records) * TW_MSEC));
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
		EXPECT_EQ(left, info.count);
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		records++;
		/* The rounds before may have left a single one. */
		EXPECT_LE(left > 1 ? 2 : 1, event.expirations);
		ASSERT_GE(left, event.expirations);
		left -= event.expirations;
		EXPECT_EQ(left ? 0 : TWHEEL_EVENT_LAST, event.flags);
	} while (left);
	EXPECT_GT(20, records);
	EXPECT_EQ(-ENOENT, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, arm.handle));
	EXPECT_EQ(0, tw_info(self->fd).pending);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

TEST_HARNESS_MAIN
