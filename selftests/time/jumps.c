// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jumps: time passes while timers are not served, or wall time is stepped, by up to
 * decades. The cost depends on the timers and not on the time: each timer is looked at
 * once, a thousand in an interrupt. All timers that are due come in the order of their
 * ticks.
 */
#include "virtual.h"

#define TIMERS		5000
#define CLOCKS		3
#define ABSENCE		"/sys/module/absence/parameters/ns"

/* How many timers one interrupt looks at. */
#define A_RUN		1024
/* Two ticks of this kernel. After that it has noticed that the clock was set. */
#define A_TICK		(20 * TW_MSEC)

static const clockid_t clocks[CLOCKS] = {
	CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME,
};

FIXTURE(jump)
{
	int fd[CLOCKS];
	__u64 tick_ns, levels;
	__u64 deadlines[CLOCKS][TIMERS];
	bool came[CLOCKS][TIMERS];
};

static bool open_all(FIXTURE_DATA(jump) * self)
{
	int c;

	memset(self->came, 0, sizeof(self->came));
	for (c = 0; c < CLOCKS; c++) {
		self->fd[c] = tw_open();
		if (self->fd[c] < 0 || tw_configure(self->fd[c], clocks[c], 0))
			return false;
	}
	return true;
}

static void close_all(FIXTURE_DATA(jump) * self)
{
	int c;

	for (c = 0; c < CLOCKS; c++)
		close(self->fd[c]);
}

FIXTURE_SETUP(jump)
{
	struct twheel_info info;

	ASSERT_TRUE(open_all(self));
	info = tw_info(self->fd[0]);
	self->tick_ns = info.tick_ns;
	self->levels = info.levels;
}

FIXTURE_TEARDOWN(jump)
{
	close_all(self);
}

/* Arms timers on clock @c, from @from to @to ahead, as many at each magnitude. */
static bool arm_all(FIXTURE_DATA(jump) * self, int c, __u64 from, __u64 to)
{
	__u64 now = tw_now(clocks[c]), state = 11 + c;
	int i;

	for (i = 0; i < TIMERS; i++) {
		__u64 ahead = to >> (tw_random(&state) % 40);

		ahead = ahead > from ? ahead : from;
		ahead += tw_random(&state) % ahead;
		self->deadlines[c][i] = now + ahead;
		if (!tw_arm(self->fd[c], now + ahead, TWHEEL_ARM_ABS, i))
			return false;
	}
	return true;
}

/*
 * Reads the records of all timers that had to expire by @now, which come in order. Others
 * must not have expired.
 */
static int take_due(struct __test_metadata *_metadata, FIXTURE_DATA(jump) * self,
		    int c, __u64 now)
{
	int i, n = 0, due = 0, misplaced = 0;
	struct twheel_event events[64];
	__u64 latest = 0, its;
	ssize_t got;

	while ((got = tw_read(self->fd[c], events, sizeof(events))) > 0) {
		for (i = 0; i < got / RECORD; i++, n++) {
			__u64 number = events[i].user_data;

			ASSERT_GT(TIMERS, number);
			EXPECT_FALSE(self->came[c][number]);
			self->came[c][number] = true;
			EXPECT_EQ(self->deadlines[c][number], events[i].deadline);
			its = virtual_due(events[i].deadline, self->tick_ns);
			EXPECT_LE(its, events[i].expired);
			misplaced += its < latest;
			latest = its > latest ? its : latest;
		}
	}
	EXPECT_EQ(-EAGAIN, got);
	EXPECT_EQ(0, misplaced);
	for (i = 0; i < TIMERS; i++) {
		if (virtual_due(self->deadlines[c][i], self->tick_ns) > now)
			continue;
		due++;
		EXPECT_TRUE(self->came[c][i]);
	}
	EXPECT_GE(TIMERS, due);
	return n;
}

/* Waits for work that interrupts have left to other contexts. */
static void settle(long ns)
{
	struct timespec moment = { 0, ns };

	nanosleep(&moment, NULL);
}

/* Lets @ns pass on all clocks while no timer is served. */
static void be_absent(struct __test_metadata *_metadata,
		      FIXTURE_DATA(jump) * self, __u64 ns)
{
	struct virtual_cost before, cost;
	__u64 begin, away, looks;
	int c, due = 0, n;
	char text[32];

	for (c = 0; c < CLOCKS; c++)
		ASSERT_TRUE(arm_all(self, c, 10 * TW_MSEC, 10 * YEAR));
	snprintf(text, sizeof(text), "%llu", ns);

	before = virtual_cost(&(struct virtual_cost) { });
	begin = tw_now(CLOCK_MONOTONIC);
	ASSERT_EQ(0, tw_write_file(ABSENCE, text));
	away = tw_now(CLOCK_MONOTONIC) - begin;
	settle(1000);
	cost = virtual_cost(&before);
	EXPECT_LE(ns, away);

	for (c = 0; c < CLOCKS; c++) {
		n = take_due(_metadata, self, c, tw_now(clocks[c]) - VIRTUAL_WORK);
		EXPECT_LT(0, n);
		due += n;
	}
	looks = cost.expired + cost.moved;
	TH_LOG("away for %llu s: %d due, %llu moved, %llu interrupts", ns / TW_SEC,
	       due, cost.moved, cost.interrupts);
	EXPECT_EQ(due, cost.expired);
	/*
	 * Each timer was looked at once for each level. On each clock the last run may be
	 * short.
	 */
	EXPECT_GE(CLOCKS * TIMERS * self->levels, looks);
	EXPECT_GE(CLOCKS * 2 + looks / A_RUN, cost.interrupts);
}

TEST_F(jump, absence)
{
	static const __u64 away[] = { 2 * TW_SEC, MINUTE, HOUR, 12 * HOUR };
	int i;

	for (i = 0; i < ARRAY_SIZE(away); i++) {
		be_absent(_metadata, self, away[i]);
		/* Start with new contexts, as if nothing had happened. */
		close_all(self);
		ASSERT_TRUE(open_all(self));
	}
}

static int set_wall_time(__u64 ns)
{
	struct timespec ts = { .tv_sec = ns / TW_SEC, .tv_nsec = ns % TW_SEC };

	return clock_settime(CLOCK_REALTIME, &ts);
}

TEST_F(jump, steps_of_wall_time)
{
	static const struct { const char *what; __s64 by; } steps[] = {
		{ "a minute on", MINUTE },
		{ "a day on", DAY },
		{ "a year back", -(__s64)YEAR },
		{ "two years on", 2 * YEAR },
		{ "ten years on", 10 * YEAR },
		{ "thirty years back", -30 * (__s64)YEAR },
		{ "fifty years on", 50 * YEAR },
		{ "ninety years on", 90 * YEAR },
	};
	__u64 begin = tw_now(CLOCK_REALTIME), latest = begin;
	/* Rows may come up meanwhile anyway, the most if all timers are on one level. */
	__u64 turns = A_TICK / self->tick_ns;
	int i, n, c = CLOCKS - 1, left = TIMERS;

	ASSERT_TRUE(arm_all(self, c, TW_SEC, 50 * YEAR));
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		struct virtual_cost before = virtual_cost(&(struct virtual_cost) { }), cost;
		__u64 now = tw_now(CLOCK_REALTIME) + steps[i].by;

		ASSERT_EQ(0, set_wall_time(now));
		settle(A_TICK);
		cost = virtual_cost(&before);
		n = take_due(_metadata, self, c, now);
		TH_LOG("%s: %d due, %llu moved, %llu interrupts", steps[i].what, n,
		       cost.moved, cost.interrupts);
		/* Timers expire only if the clock is later than ever before. */
		EXPECT_EQ(now > latest, n > 0);
		EXPECT_EQ(n, cost.expired);
		EXPECT_GE(left * self->levels + 2 * turns, cost.expired + cost.moved);
		EXPECT_GE(2 + turns + (cost.expired + cost.moved) / A_RUN, cost.interrupts);
		latest = now > latest ? now : latest;
		left -= n;
	}
	EXPECT_EQ(0, left);
	ASSERT_EQ(0, set_wall_time(begin));
}

TEST_HARNESS_MAIN
