// SPDX-License-Identifier: GPL-2.0-only
/*
 * Order: the records that one CPU expires come in the order of the ticks of their
 * deadlines, however late that CPU is.
 *
 * The tests set CLOCK_REALTIME past all of their timers. These are then due at once, as
 * after a stall. All timers are armed on one CPU, since the promise holds for each CPU by
 * itself. That records come in order where nobody sets the clock is asked by the oracle of
 * selftests/sim and selftests/torture.
 */
#include "wall.h"

#define TIMERS		2000
/* This many timers that are due at once keep a CPU busy for a while. */
#define BACKLOG		100000
/* Timers that are armed while the CPU works on the backlog. */
#define LATECOMERS	100
#define MAX		(BACKLOG + LATECOMERS)

static struct twheel_arm arms[MAX];
static struct twheel_event events[MAX];
/*
 * Whether the timer was due already when the call that armed it returned: it may have
 * become ready at once, out of order.
 */
static bool at_once[MAX];

FIXTURE(order)
{
	FIXTURE_DATA(wall) wall;
	int fd;
	__u64 tick;
	__u64 random;
};

FIXTURE_SETUP(order)
{
	wall_setup(_metadata, &self->wall, NULL);
	self->fd = self->wall.fd;
	self->tick = tw_info(self->fd).tick_ns;
	self->random = 88172645463325252ULL;
	ASSERT_TRUE(tw_pin(tw_nth_cpu(0)));
}

FIXTURE_TEARDOWN(order)
{
	wall_teardown(_metadata, &self->wall, NULL);
}

static __u64 random_below(FIXTURE_DATA(order) * self, __u64 n)
{
	return tw_random(&self->random) % n;
}

/* Prepares timer @i, which is not armed yet, to expire at @expires. */
static void plan(int i, __u64 expires)
{
	arms[i] = tw_request(expires, TWHEEL_ARM_ABS, i);
}

/* Arms or re-arms @n timers, of which the first has number @first. */
static bool arm(int fd, int first, int n)
{
	__u64 now;
	int i;

	if (tw_arm_batch(fd, arms + first, n) != n)
		return false;
	now = wall_now();
	for (i = first; i < first + n; i++) {
		if (arms[i].result)
			return false;
		at_once[i] = arms[i].expires <= now;
	}
	return true;
}

/*
 * Counts the records, of the first @n, that come after a record of a later tick. A timer
 * with slack may expire at any tick within that, and counts only if no such tick would be
 * in order.
 */
static int misplaced(int n, __u64 tick)
{
	__u64 latest = 0, due;
	int i, count = 0;

	for (i = 0; i < n; i++) {
		__u64 nr = events[i].user_data;

		if (nr >= MAX)
			return -1;
		if (at_once[nr])
			continue;
		due = (events[i].deadline + tick - 1) / tick;
		count += due + arms[nr].slack / tick < latest;
		latest = due > latest ? due : latest;
	}
	return count;
}

/* Sets the clock to @off from the true time, and expects @n records in order. */
static void step(struct __test_metadata *_metadata, FIXTURE_DATA(order) * self, __s64 off,
		 int n)
{
	ASSERT_EQ(0, set_clock(self->wall.ahead, off));
	ASSERT_EQ(n, tw_collect(self->fd, events, n));
	EXPECT_EQ(0, misplaced(n, self->tick));
}

/* Arms timers from a tick to 40 years ahead, as many at each magnitude. */
static void arm_all_distances(struct __test_metadata *_metadata, FIXTURE_DATA(order) * self)
{
	__u64 ahead;
	int i;

	for (i = 0; i < TIMERS; i++) {
		ahead = random_below(self, 40 * YEAR) >> random_below(self, 50);
		plan(i, wall_now() + (ahead > self->tick ? ahead : self->tick));
		ASSERT_TRUE(arm(self->fd, i, 1));
	}
}

/* Each step comes while timers expire that the step before has made due. */
TEST_F(order, step_by_step)
{
	__s64 off;

	arm_all_distances(_metadata, self);
	for (off = TW_MSEC; off < 41 * YEAR; off += off / 2)
		ASSERT_EQ(0, set_clock(self->wall.ahead, off));
	step(_metadata, self, 41 * YEAR, TIMERS);
}

/* A timer that is armed during a backlog has to wait for all that were due before it. */
TEST_F(order, backlog)
{
	__u64 begin = wall_now() + HOUR;
	int i;

	for (i = 0; i < BACKLOG; i++)
		plan(i, begin + random_below(self, 16 * self->tick));
	ASSERT_TRUE(arm(self->fd, 0, BACKLOG));
	ASSERT_EQ(0, set_clock(self->wall.ahead, 2 * HOUR));
	ASSERT_TRUE(tw_wait_ready(self->fd, 1));
	for (; i < MAX; i++) {
		plan(i, wall_now() + (i % 3 + 1) * self->tick);
		ASSERT_TRUE(arm(self->fd, i, 1));
	}
	ASSERT_EQ(MAX, tw_collect(self->fd, events, MAX));
	EXPECT_EQ(0, misplaced(MAX, self->tick));
}

/*
 * Re-armed timers stay in their bucket if its turn comes before their deadline, and are
 * moved otherwise.
 */
TEST_F(order, pushed_back)
{
	__u64 begin = wall_now() + TW_SEC;
	int i, round;

	for (i = 0; i < TIMERS; i++)
		plan(i, begin + random_below(self, 4 * TW_SEC));
	for (round = 0; round < 3; round++) {
		ASSERT_TRUE(arm(self->fd, 0, TIMERS));
		for (i = 0; i < TIMERS; i++) {
			arms[i].expires += random_below(self, HOUR) >> random_below(self, 30);
			if (!random_below(self, 4))
				arms[i].expires = begin + random_below(self, HOUR);
		}
	}
	ASSERT_TRUE(arm(self->fd, 0, TIMERS));
	step(_metadata, self, 5 * HOUR, TIMERS);
}

/*
 * Four timers each have the same deadline, from a tick to 40 years ahead. They come in the order
 * in which they were armed, however often they have moved down.
 */
TEST_F(order, equal_deadlines)
{
	static __u64 last[TIMERS / 4];
	int i, turned = 0;

	for (i = 0; i < TIMERS; i += 4) {
		__u64 ahead = random_below(self, 40 * YEAR) >> random_below(self, 50);
		__u64 expires = wall_now() + TW_SEC + ahead;
		int k;

		for (k = i; k < i + 4; k++)
			plan(k, expires);
	}
	ASSERT_TRUE(arm(self->fd, 0, TIMERS));
	step(_metadata, self, 41 * YEAR, TIMERS);
	for (i = 0; i < TIMERS; i++) {
		__u64 nr = events[i].user_data;

		turned += nr < last[nr / 4];
		last[nr / 4] = nr;
	}
	EXPECT_EQ(0, turned);
}

/* The last deadline in the word of a lease is the one that counts. */
TEST_F(order, leases)
{
	const size_t size = 4 * TIMERS * sizeof(uint64_t);
	__u64 begin = wall_now() + TW_SEC;
	uint64_t *words;
	int i;

	close(self->fd);
	self->wall.fd = open_wall(TWHEEL_CONFIG_LEASE);
	ASSERT_LE(0, self->wall.fd);
	self->fd = self->wall.fd;
	words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, words);
	for (i = 0; i < TIMERS; i++) {
		plan(i, begin + random_below(self, 4 * TW_SEC));
		arms[i].flags |= TWHEEL_ARM_LEASE;
	}
	ASSERT_TRUE(arm(self->fd, 0, TIMERS));
	for (i = 0; i < TIMERS; i++) {
		__u64 by = random_below(self, HOUR) >> random_below(self, 30);

		ASSERT_GT(size / sizeof(*words), arms[i].word);
		if (i % 4)
			tw_lease_extend(&words[arms[i].word], arms[i].expires + by);
	}
	step(_metadata, self, 2 * HOUR, TIMERS);
	munmap(words, size);
}

/* Periodic timers keep the order among others, and again in their next rounds. */
TEST_F(order, periodic)
{
	__u64 begin = wall_now() + TW_SEC;
	int i;

	for (i = 0; i < TIMERS; i++) {
		plan(i, begin + random_below(self, HOUR));
		if (i % 2)
			continue;
		arms[i].interval = HOUR / 2 + random_below(self, HOUR);
		arms[i].flags |= i % 4 ? TWHEEL_ARM_FIXED_DELAY : 0;
	}
	ASSERT_TRUE(arm(self->fd, 0, TIMERS));
	step(_metadata, self, 2 * HOUR, TIMERS);
	step(_metadata, self, 5 * HOUR, TIMERS / 2);
}

/*
 * Those with the same deadlines come in the order in which they were armed, round after round. An
 * hour for each, so that however slow the reader is all are read, and armed again, in one round.
 */
TEST_F(order, equal_rounds)
{
	__u64 begin = wall_now() + HOUR;
	int i, round, n = 100, turned;

	for (i = 0; i < n; i++) {
		plan(i, begin);
		arms[i].interval = HOUR;
		arms[i].count = 1000;
	}
	ASSERT_TRUE(arm(self->fd, 0, n));
	for (round = 1; round <= 8; round++) {
		step(_metadata, self, round * HOUR + 60 * TW_SEC, n);
		for (i = 0, turned = 0; i < n; i++)
			turned += events[i].user_data != i;
		EXPECT_EQ(0, turned);
	}
}

TEST_F(order, slack)
{
	__u64 begin = wall_now() + TW_SEC;
	int i;

	for (i = 0; i < TIMERS; i++) {
		plan(i, begin + random_below(self, 4 * TW_SEC));
		if (i % 2)
			arms[i].slack = random_below(self, TW_SEC) >> random_below(self, 20);
	}
	ASSERT_TRUE(arm(self->fd, 0, TIMERS));
	step(_metadata, self, HOUR, TIMERS);
}

TEST_HARNESS_MAIN
