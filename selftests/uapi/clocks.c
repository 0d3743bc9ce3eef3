// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines in wall time while the clock is set: forward and back, by a second or by fifty
 * years, also while timers expire. Many steps at random are in selftests/sim and selftests/torture.
 *
 * Each test puts the machine's clock back.
 */
#include "twheel_counters.h"
#include "wall.h"

#define RECORD		sizeof(struct twheel_event)

TEST_F(wall, absolute_deadline)
{
	__u64 deadline = wall_now() + 30 * TW_MSEC, before, now;
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 handle;

	before = wall_now();
	now = tw_info(self->fd).now;
	EXPECT_LE(before, now);
	EXPECT_GE(wall_now(), now);
	EXPECT_EQ(TWHEEL_CLOCK_REALTIME, tw_info(self->fd).clock);

	ASSERT_ARMED(handle, self->fd, deadline, TWHEEL_ARM_ABS, 7);
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(deadline, info.deadline);
	EXPECT_GE(30 * TW_MSEC, info.remaining);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(7, event.user_data);
	EXPECT_EQ(handle, event.handle);
	EXPECT_EQ(deadline, event.deadline);
	EXPECT_LE(deadline, event.expired);
	EXPECT_GE(wall_now(), event.expired);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));

	/* A deadline at the start of 1970 is due at once. */
	ASSERT_NE(0, tw_arm(self->fd, 0, TWHEEL_ARM_ABS, 8));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(0, event.deadline);
}

/* There are deadlines at distances that a wheel keeps in different levels. */
TEST_F(wall, fifty_years_forward)
{
	static const __s64 passed[] = {
		(__s64)TW_SEC * 60, HOUR / 4, HOUR, 24 * HOUR, YEAR / 12,
		YEAR, 10 * YEAR, 49 * YEAR, 50 * YEAR - HOUR,
	};
	static const __s64 ahead[] = {
		50 * YEAR + HOUR, 51 * YEAR, 100 * YEAR, 200 * YEAR,
	};
	enum { EACH = 64, DUE = EACH * ARRAY_SIZE(passed),
	       LATER = EACH * ARRAY_SIZE(ahead) };
	static __u64 deadlines[DUE + LATER];
	static struct twheel_event events[DUE];
	static unsigned int seen[DUE];
	struct twheel_timer_info infos[16];
	struct twheel_list list = {
		.entries = (unsigned long)infos, .count = ARRAY_SIZE(infos),
	};
	__u64 base = wall_now(), stepped;
	int i, n, listed = 0;

	for (i = 0; i < DUE; i++)
		deadlines[i] = base + passed[i / EACH] + i;
	for (; i < DUE + LATER; i++)
		deadlines[i] = base + ahead[(i - DUE) / EACH] + i;
	ASSERT_TRUE(tw_arm_everywhere(self->fd, deadlines, DUE + LATER));
	ASSERT_EQ(DUE + LATER, tw_info(self->fd).pending);

	ASSERT_EQ(0, set_clock(self->ahead, 50 * YEAR));
	stepped = wall_now();
	ASSERT_EQ(DUE, tw_collect(self->fd, events, DUE));
	for (i = 0; i < DUE; i++) {
		ASSERT_GT(DUE, events[i].user_data);
		EXPECT_EQ(1, ++seen[events[i].user_data]);
		EXPECT_EQ(deadlines[events[i].user_data], events[i].deadline);
		/* Before the step the clock never showed these times. */
		EXPECT_LE(base + 50 * YEAR, events[i].expired);
		EXPECT_GE(wall_now(), events[i].expired);
	}
	EXPECT_LE(base + 50 * YEAR, stepped);

	ASSERT_TRUE(tw_pass(50 * TW_MSEC));
	EXPECT_EQ(0, tw_info(self->fd).ready);
	EXPECT_EQ(LATER, tw_info(self->fd).pending);
	while ((n = tw_call(self->fd, TWHEEL_IOC_LIST, &list)) > 0) {
		for (i = 0; i < n; i++, listed++) {
			ASSERT_GT(DUE + LATER, infos[i].user_data);
			EXPECT_EQ(deadlines[infos[i].user_data], infos[i].deadline);
			EXPECT_GE(infos[i].deadline - stepped, infos[i].remaining);
		}
	}
	EXPECT_EQ(0, n);
	EXPECT_EQ(LATER, listed);

	/* A timer that is armed after the step expires at its time. */
	deadlines[0] = wall_now() + 50 * TW_MSEC;
	ASSERT_NE(0, tw_arm(self->fd, deadlines[0], TWHEEL_ARM_ABS, 0));
	ASSERT_EQ(1, tw_collect(self->fd, events, 1));
	EXPECT_EQ(deadlines[0], events[0].deadline);
	EXPECT_LE(deadlines[0], events[0].expired);
}

TEST_F(wall, a_step_back_postpones)
{
	enum { N = 300 };
	static __u64 deadlines[N];
	static struct twheel_event events[N];
	static unsigned int seen[N];
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 base, handle, now;
	int i;

	/* The deadlines are far enough ahead that all are armed before the first is due. */
	base = wall_now() + 20 * TW_SEC;
	for (i = 0; i < N; i++)
		deadlines[i] = base + i * TW_MSEC / 4;
	ASSERT_TRUE(tw_arm_everywhere(self->fd, deadlines, N));
	ASSERT_ARMED(handle, self->fd, base, TWHEEL_ARM_ABS, N);

	/* Step to shortly before the deadlines, then far back. */
	ASSERT_EQ(0, set_clock(self->ahead, 10 * TW_SEC));
	ASSERT_EQ(0, set_clock(self->ahead, -HOUR));
	ASSERT_EQ(0, tw_info(self->fd).ready);
	now = wall_now();
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(base, info.deadline);
	EXPECT_LE(HOUR, info.remaining);
	EXPECT_GE(base - now, info.remaining);
	ASSERT_EQ(0, tw_cancel(self->fd, handle));
	ASSERT_TRUE(tw_pass(600 * TW_MSEC));
	EXPECT_EQ(N, tw_info(self->fd).pending);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));

	/* A timer due soon does not wait for those armed before the step. */
	now = wall_now() + 20 * TW_MSEC;
	ASSERT_NE(0, tw_arm(self->fd, now, TWHEEL_ARM_ABS, N));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(N, event.user_data);
	EXPECT_EQ(now, event.deadline);
	EXPECT_LE(now, event.expired);

	/* These timers expire when the clock reaches their deadlines again. */
	ASSERT_EQ(0, set_clock(self->ahead, 60 * TW_SEC));
	ASSERT_EQ(N, tw_collect(self->fd, events, N));
	for (i = 0; i < N; i++) {
		ASSERT_GT(N, events[i].user_data);
		EXPECT_EQ(1, ++seen[events[i].user_data]);
		EXPECT_EQ(deadlines[events[i].user_data], events[i].deadline);
		EXPECT_LE(events[i].deadline, events[i].expired);
	}
}

/*
 * A deadline has passed, and nobody has looked, when the clock is set to before it. The device has
 * expired the timer. An embedded wheel may let it come when its time comes again, but does not
 * spin until then.
 */
TEST_F(wall, a_step_back_over_a_deadline)
{
	__u64 deadline = wall_now() + 20 * TW_MSEC;
	struct twheel_event event;
	int ret;

	ASSERT_NE(0, tw_arm(self->fd, deadline, TWHEEL_ARM_ABS, 7));
	if (TW_EMBEDDED)
		usleep(60000);
	else
		ASSERT_EQ(TW_READABLE, tw_poll(self->fd, TW_LIMIT_MS));
	ASSERT_EQ(0, set_clock(self->ahead, -(__s64)TW_SEC));
	ret = tw_read(self->fd, &event, RECORD);
	if (TW_EMBEDDED && ret == -EAGAIN) {
		EXPECT_TRUE(!tw_poll(self->fd, 0) || wall_now() >= deadline);
		ASSERT_EQ(TW_READABLE, tw_poll(self->fd, TW_LIMIT_MS));
		ret = tw_read(self->fd, &event, RECORD);
	}
	ASSERT_EQ(RECORD, ret);
	EXPECT_EQ(deadline, event.deadline);
	EXPECT_LE(deadline, event.expired);
}

/*
 * The clock goes back and forth three times, with timers armed on both sides of the step.
 */
TEST_F(wall, fifty_years_back_and_forth)
{
	enum { N = 200 };
	static __u64 now_ones[N], old_ones[N];
	static struct twheel_event events[N];
	__u64 base = wall_now() + 3600 * TW_SEC, old;
	int i, round;

	for (i = 0; i < N; i++)
		now_ones[i] = base + i * TW_MSEC;
	ASSERT_TRUE(tw_arm_everywhere(self->fd, now_ones, N));

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, set_clock(self->ahead, -50 * YEAR));
		old = wall_now() + 20 * TW_MSEC;
		for (i = 0; i < N; i++)
			old_ones[i] = old + i * TW_MSEC / 2;
		ASSERT_TRUE(tw_arm_everywhere(self->fd, old_ones, N));
		ASSERT_EQ(N, tw_collect(self->fd, events, N));
		for (i = 0; i < N; i++) {
			ASSERT_GT(N, events[i].user_data);
			EXPECT_EQ(old_ones[events[i].user_data], events[i].deadline);
			EXPECT_LE(events[i].deadline, events[i].expired);
			old_ones[events[i].user_data] = 0;
		}
		EXPECT_EQ(N, tw_info(self->fd).pending);
		ASSERT_EQ(0, set_clock(self->ahead, 0));
		ASSERT_TRUE(tw_pass(20 * TW_MSEC));
		EXPECT_EQ(0, tw_info(self->fd).ready);
	}

	ASSERT_EQ(0, set_clock(self->ahead, 2 * HOUR));
	ASSERT_EQ(N, tw_collect(self->fd, events, N));
	for (i = 0; i < N; i++) {
		ASSERT_GT(N, events[i].user_data);
		EXPECT_EQ(now_ones[events[i].user_data], events[i].deadline);
		EXPECT_LE(base, events[i].expired);
		now_ones[events[i].user_data] = 0;
	}
}

TEST_F(wall, expired_stays_expired)
{
	__u64 deadline = wall_now() + HOUR;
	struct twheel_event event;

	ASSERT_NE(0, tw_arm(self->fd, deadline, TWHEEL_ARM_ABS, 1));
	ASSERT_EQ(0, set_clock(self->ahead, 2 * HOUR));
	ASSERT_TRUE(tw_wait_ready(self->fd, 1));
	ASSERT_EQ(0, set_clock(self->ahead, -50 * YEAR));
	EXPECT_EQ(1, tw_info(self->fd).ready);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(deadline, event.deadline);
	EXPECT_LE(deadline, event.expired);
	EXPECT_EQ(1, event.expirations);
	EXPECT_EQ(TWHEEL_EVENT_LAST, event.flags);
}

TEST_F(wall, periodic_over_steps)
{
	struct twheel_arm arm = tw_request(0, TWHEEL_ARM_ABS, 5);
	__u64 first = wall_now() + HOUR;
	struct twheel_timer_info info;
	struct twheel_event event;

	arm.expires = first;
	arm.interval = HOUR;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));

	/* Ten rounds in one step are one record, and the timer stays on its grid. */
	ASSERT_EQ(0, set_clock(self->ahead, 10 * HOUR + HOUR / 2));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(first, event.deadline);
	EXPECT_LE(first + 9 * HOUR, event.expired);
	EXPECT_EQ(10, event.expirations);
	EXPECT_EQ(0, event.flags);
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(first + 10 * HOUR, info.deadline);

	/* Rounds that were counted already are not counted again. */
	ASSERT_EQ(0, set_clock(self->ahead, 0));
	ASSERT_EQ(0, set_clock(self->ahead, 10 * HOUR + HOUR / 2));
	ASSERT_TRUE(tw_pass(30 * TW_MSEC));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	ASSERT_EQ(0, set_clock(self->ahead, 11 * HOUR + HOUR / 2));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(first + 10 * HOUR, event.deadline);
	EXPECT_EQ(1, event.expirations);

	/* A step back does not withdraw an unread record. */
	ASSERT_EQ(0, set_clock(self->ahead, 12 * HOUR + HOUR / 2));
	ASSERT_TRUE(tw_wait_ready(self->fd, 1));
	ASSERT_EQ(0, set_clock(self->ahead, -HOUR));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(first + 11 * HOUR, event.deadline);
	EXPECT_EQ(1, event.expirations);
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(first + 12 * HOUR, info.deadline);
	EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);

	/*
	 * A step past the end of a finite timer counts the rounds that it has left, and no
	 * more.
	 */
	arm = tw_request(wall_now() + HOUR, TWHEEL_ARM_ABS, 6);
	arm.interval = HOUR;
	arm.count = 1000;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, set_clock(self->ahead, 3 * HOUR));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(6, event.user_data);
	EXPECT_EQ(4, event.expirations);
	EXPECT_EQ(0, event.flags);
	ASSERT_EQ(0, set_clock(self->ahead, 50 * YEAR));
	do {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	} while (event.user_data != 6);
	EXPECT_EQ(996, event.expirations);
	EXPECT_EQ(TWHEEL_EVENT_LAST, event.flags);
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, arm.handle));
}

/* The cost of a step depends on the levels of a wheel, not on how many ticks it passes. */
TEST_F(wall, the_cost_of_a_step_is_bounded)
{
	static const __s64 offs[] = {
		(__s64)TW_SEC, 0, HOUR, 0, 50 * YEAR, 0, -50 * YEAR, 0,
	};
	enum { N = 1000 };
	static __u64 deadlines[N];
	__u64 base = wall_now(), state = 3, interrupts, cascaded, bound;
	int i;

	if (tw_counter(TW_ALL_CPUS, "interrupts") == ~0ULL)
		SKIP(return, "no " TW_COUNTERS);
	/* None of the timers comes due during the test. */
	for (i = 0; i < N; i++)
		deadlines[i] = base + 60 * YEAR + tw_random(&state) % (100 * YEAR);
	ASSERT_TRUE(tw_arm_everywhere(self->fd, deadlines, N));
	ASSERT_TRUE(tw_pass(50 * TW_MSEC));
	/*
	 * There is one run for each level on each CPU, and those of the timer in tw_pass().
	 */
	bound = sysconf(_SC_NPROCESSORS_ONLN) * (tw_info(self->fd).levels + 1) + 10;
	for (i = 0; i < ARRAY_SIZE(offs); i++) {
		interrupts = tw_counter(TW_ALL_CPUS, "interrupts");
		cascaded = tw_counter(TW_ALL_CPUS, "cascaded");
		ASSERT_EQ(0, set_clock(self->ahead, offs[i]));
		ASSERT_TRUE(tw_pass(100 * TW_MSEC));
		interrupts = tw_counter(TW_ALL_CPUS, "interrupts") - interrupts;
		cascaded = tw_counter(TW_ALL_CPUS, "cascaded") - cascaded;
		EXPECT_GE(bound, interrupts);
		EXPECT_GE(N * tw_info(self->fd).levels, cascaded);
		EXPECT_EQ(N, tw_info(self->fd).pending);
		TH_LOG("to %lld s off: %llu interrupts, %llu timers moved",
		       offs[i] / (__s64)TW_SEC, interrupts, cascaded);
	}
}

/*
 * Waits until timers interrupt no CPU any more, since a step may leave wheels with timers
 * to sort anew. Returns whether that happened.
 */
static bool falls_silent(void)
{
	__u64 limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC, before;

	do {
		before = tw_counter(TW_ALL_CPUS, "interrupts");
		if (!tw_pass(100 * TW_MSEC))
			return false;
		if (tw_counter(TW_ALL_CPUS, "interrupts") - before < 10)
			return true;
	} while (tw_now(CLOCK_MONOTONIC) < limit);
	return false;
}

/*
 * Tens of thousands of timers are due at once, and expire in runs with pauses between. Meanwhile
 * the clock goes back to before their deadlines. The CPU that expires them began its run at a time
 * that is then in the future. It has to notice that, and to be silent until the timers that are
 * left are due again.
 */
TEST_F(wall, a_step_back_in_a_run)
{
	static struct twheel_arm arms[100000];
	/* On an emulated debug kernel all of them may take 40 seconds. */
	unsigned int n = ARRAY_SIZE(arms) / (tw_debug_kernel() ? 5 : 1), i;
	__u64 deadline = wall_now() + HOUR, ready;
	int here = tw_nth_cpu(0), other = tw_nth_cpu(1), round, hits = 0;

	if (tw_counter(TW_ALL_CPUS, "interrupts") == ~0ULL)
		SKIP(return, "needs " TW_COUNTERS);
	/* A bug may keep the timers' CPU busy for good, so this thread stays on another one. */
	for (round = 0; round < 20 && hits < 8; round++) {
		for (i = 0; i < n; i++)
			arms[i] = tw_request(deadline, TWHEEL_ARM_ABS, i);
		if (other >= 0)
			ASSERT_TRUE(tw_pin(other));
		ASSERT_EQ(n, tw_arm_batch(self->fd, arms, n));
		ASSERT_TRUE(tw_pin(here));
		ASSERT_EQ(0, set_clock(self->ahead, 3 * HOUR));
		ASSERT_TRUE(tw_wait_ready(self->fd, 1));
		ASSERT_EQ(0, set_clock(self->ahead, 0));
		/* One run lasts for a millisecond at most. */
		ASSERT_TRUE(tw_pass(100 * TW_MSEC));
		ready = tw_info(self->fd).ready;
		ASSERT_TRUE(falls_silent());
		/* One batch may have been under way on a virtual CPU that stood still. */
		EXPECT_GE(ready + 32, tw_info(self->fd).ready);
		hits += ready < n;
		ASSERT_EQ(0, set_clock(self->ahead, 3 * HOUR));
		ASSERT_TRUE(tw_wait_ready(self->fd, n));
		ASSERT_EQ(0, set_clock(self->ahead, 0));
		close(self->fd);
		self->fd = open_wall(0);
		ASSERT_LE(0, self->fd);
	}
	EXPECT_LT(0, hits);
}

TEST_HARNESS_MAIN
