// SPDX-License-Identifier: GPL-2.0-only
/*
 * First in, first out: timers with the same deadline come in the order in which they were
 * armed, and a few records come by deadline. The order of ticks, and that of equal deadlines at
 * all distances, is tested in order.c, which sets the clock; here it goes on as usual.
 *
 * All timers are armed on one CPU, since the promise holds for each CPU by itself.
 */
#include "twheel_test.h"

#define TIMERS		400
/* So many records with later deadlines does one pass: see struct twheel_event. */
#define PASSED		32

static struct twheel_arm arms[TIMERS];
static struct twheel_event events[TIMERS];

FIXTURE(fifo)
{
	int fd;
	__u64 tick;
};

FIXTURE_SETUP(fifo)
{
	ASSERT_OPEN(self->fd);
	self->tick = tw_info(self->fd).tick_ns;
	ASSERT_TRUE(tw_pin(tw_nth_cpu(0)));
}

FIXTURE_TEARDOWN(fifo)
{
	close(self->fd);
}

/* Has timer @i armed, or re-armed, for @expires by the next arm(). */
static void plan(int i, __u64 expires)
{
	arms[i] = tw_request_for(arms[i].handle, expires, TWHEEL_ARM_ABS, i);
}

/* Arms @n timers in a batch, of which the first has number @first. */
static bool arm(int fd, int first, int n)
{
	int i;

	if (tw_arm_batch(fd, arms + first, n) != n)
		return false;
	for (i = first; i < first + n; i++)
		if (arms[i].result)
			return false;
	return true;
}

/* Counts the records, of @n, that come before a record with an earlier deadline or number. */
static int misplaced(int n)
{
	int i, count = 0;

	for (i = 1; i < n; i++)
		count += events[i].deadline < events[i - 1].deadline ||
			 (events[i].deadline == events[i - 1].deadline &&
			  events[i].user_data < events[i - 1].user_data);
	return count;
}

/* Expects the records of @n timers in order. */
static void expect_in_order(struct __test_metadata *_metadata, FIXTURE_DATA(fifo) * self, int n)
{
	ASSERT_EQ(n, tw_collect(self->fd, events, n));
	EXPECT_EQ(0, misplaced(n));
}

/* As tasks that sleep do: each arms by itself, and relative to its own present. */
TEST_F(fifo, sleeps)
{
	int i, round;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < 10; i++)
			ASSERT_NE(0, tw_arm(self->fd, 50 * TW_MSEC, 0, i));
		ASSERT_EQ(10, tw_collect(self->fd, events, 10));
		for (i = 0; i < 10; i++)
			EXPECT_EQ(i, events[i].user_data);
	}
}

/* A cancelled timer leaves no gap, and one that is armed in its place is the last. */
TEST_F(fifo, armed_again)
{
	__u64 expires = tw_now(CLOCK_MONOTONIC) + 4000 * TW_MSEC;
	int i, n = 0;

	for (i = 0; i < TIMERS / 2; i++)
		plan(i, expires);
	ASSERT_TRUE(arm(self->fd, 0, TIMERS / 2));
	for (i = 0; i < TIMERS / 2; i += 1 + i % 3) {
		ASSERT_EQ(0, tw_cancel(self->fd, arms[i].handle));
		plan(TIMERS / 2 + n, expires);
		ASSERT_TRUE(arm(self->fd, TIMERS / 2 + n, 1));
		n++;
	}
	expect_in_order(_metadata, self, TIMERS / 2);
}

/* Re-armed to an earlier deadline, the same for all, from the last to the first. */
TEST_F(fifo, moved_up)
{
	__u64 now = tw_now(CLOCK_MONOTONIC);
	int i;

	for (i = 0; i < TIMERS; i++)
		plan(i, now + TW_FAR + i);
	ASSERT_TRUE(arm(self->fd, 0, TIMERS));
	for (i = TIMERS; i--;) {
		plan(i, now + 4000 * TW_MSEC);
		arms[i].user_data = TIMERS - i;
		ASSERT_TRUE(arm(self->fd, i, 1));
	}
	expect_in_order(_metadata, self, TIMERS);
}

/* Pushed back together they stay in the order in which they were. */
TEST_F(fifo, pushed_back)
{
	__u64 expires = tw_now(CLOCK_MONOTONIC) + 4000 * TW_MSEC;
	int i, round;

	for (round = 0; round < 4; round++) {
		for (i = 0; i < TIMERS; i++)
			plan(i, expires);
		ASSERT_TRUE(arm(self->fd, 0, TIMERS));
		expires += round * 60 * TW_MSEC;
	}
	expect_in_order(_metadata, self, TIMERS);
}

/* Within a tick as many as one record passes come by deadline, whatever came first. */
TEST_F(fifo, by_deadline_within_a_tick)
{
	__u64 end = (tw_now(CLOCK_MONOTONIC) / self->tick + 1) * self->tick;
	int i, k;

	end += (100 * TW_MSEC / self->tick) * self->tick;
	for (i = 0; i < PASSED; i++) {
		/* All numbers below 32 once, up and down, and each deadline twice. */
		k = i * 13 % PASSED;
		plan(i, end - k / 2 * (self->tick / PASSED));
	}
	ASSERT_TRUE(arm(self->fd, 0, PASSED));
	expect_in_order(_metadata, self, PASSED);
}

/* The deadline of a lease is the one in its word, and not the one that it was armed with. */
TEST_F(fifo, leases_by_their_words)
{
	const size_t size = 4096;
	__u64 end = (tw_now(CLOCK_MONOTONIC) / self->tick + 1) * self->tick;
	uint64_t *words;
	int i;

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
	words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, words);
	/* So far ahead that all are extended in time. */
	end += (1000 * TW_MSEC / self->tick) * self->tick;
	for (i = 0; i < PASSED; i++) {
		plan(i, end - 2 * self->tick);
		arms[i].flags |= TWHEEL_ARM_LEASE;
	}
	ASSERT_TRUE(arm(self->fd, 0, PASSED));
	for (i = 0; i < PASSED; i++) {
		ASSERT_GT(size / sizeof(*words), arms[i].word);
		EXPECT_TRUE(tw_lease_extend(&words[arms[i].word],
					    end - i * 13 % PASSED * (self->tick / PASSED)));
	}
	/* The module may look at some of them later. */
	ASSERT_TRUE(tw_wait_ready(self->fd, PASSED));
	expect_in_order(_metadata, self, PASSED);
	munmap(words, size);
}

/* Timers that are due when they are armed: each passes as many records as it is said to. */
TEST_F(fifo, passes_no_more_than_it_may)
{
	int i, n = 3 * PASSED;

	for (i = 0; i < PASSED; i++)
		plan(i, 1000 - i);
	ASSERT_TRUE(arm(self->fd, 0, PASSED));
	expect_in_order(_metadata, self, PASSED);

	for (i = 0; i < n; i++)
		plan(i, 1000 + i);
	/* Their handles have ended. */
	for (i = 0; i < TIMERS; i++)
		arms[i].handle = 0;
	plan(n, 1);
	plan(n + 1, 1);
	ASSERT_TRUE(arm(self->fd, 0, n + 2));
	ASSERT_EQ(n + 2, tw_collect(self->fd, events, n + 2));
	for (i = 0; i < n; i++)
		EXPECT_EQ(i, events[i < n - PASSED ? i : i + 2].user_data);
	EXPECT_EQ(n, events[n - PASSED].user_data);
	EXPECT_EQ(n + 1, events[n - PASSED + 1].user_data);
}

TEST_HARNESS_MAIN
