// SPDX-License-Identifier: GPL-2.0-only
/* Slack lets timers share wake-ups, which the counts of interrupts show. */
#include "twheel_test.h"
#include "twheel_counters.h"

#define TIMERS		50000
#define SPREAD_NS	(5 * TW_SEC)
/* Time to arm all timers before the first is due. */
#define AHEAD_NS	(1 * TW_SEC)

/*
 * Timers without slack among the others show how late the machine is. They are armed first,
 * as a bucket that is late as a whole expires its first timers last.
 */
#define WITNESSES	51
#define WITNESS_NS	(SPREAD_NS / (WITNESSES - 1))

#define ALL		(TIMERS + WITNESSES)

FIXTURE(slack)
{
	int fd;
	int cpu;
	struct twheel_arm *arms;
	struct twheel_event *events;
};

FIXTURE_SETUP(slack)
{
	self->arms = calloc(ALL, sizeof(*self->arms));
	self->events = calloc(ALL, sizeof(*self->events));
	ASSERT_TRUE(self->arms && self->events);
	ASSERT_OPEN(self->fd);
	self->cpu = tw_nth_cpu(0);
	ASSERT_TRUE(tw_pin(self->cpu));
}

FIXTURE_TEARDOWN(slack)
{
	close(self->fd);
	free(self->arms);
	free(self->events);
}

/*
 * Returns the largest number of interrupts that it may take, if each grid point takes one
 * for each level.
 */
static __u64 expected_at_most(const struct twheel_info *info, __u64 slack)
{
	__u64 ticks = slack / info->tick_ns + 1, grid = 1, points;

	/* A window of that many ticks contains a tick of this grid, or of a coarser one. */
	while (grid * 2 <= ticks)
		grid *= 2;
	points = (SPREAD_NS + slack) / info->tick_ns / grid + 2;
	/*
	 * One interrupt expires only some hundred timers, so there may be one more for each
	 * 200. The witnesses take one each.
	 */
	return (points + WITNESSES) * info->levels + TIMERS / 200;
}

/* Arms all timers with @slack and waits for them. Returns how many interrupts that took. */
static __u64 spread(struct __test_metadata *_metadata, FIXTURE_DATA(slack) * self,
		    __u64 slack)
{
	__u64 before = tw_counter(self->cpu, "interrupts");
	__u64 begin = tw_now(CLOCK_MONOTONIC) + AHEAD_NS;
	__u64 state = 161803, witnessed = 0, latest = 0, armed;
	__u64 tick = tw_info(self->fd).tick_ns;
	static bool seen[ALL];
	int i;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < WITNESSES; i++)
		self->arms[i] = tw_request(begin + slack + i * WITNESS_NS,
					   TWHEEL_ARM_ABS, i);
	for (; i < ALL; i++) {
		self->arms[i] = tw_request(begin + tw_random(&state) % SPREAD_NS,
					   TWHEEL_ARM_ABS, i);
		self->arms[i].slack = slack;
	}
	ASSERT_EQ(ALL, tw_arm_batch(self->fd, self->arms, ALL));
	armed = tw_now(CLOCK_MONOTONIC);

	ASSERT_EQ(ALL, tw_collect(self->fd, self->events, ALL));
	for (i = 0; i < ALL; i++) {
		const struct twheel_event *event = &self->events[i];
		bool witness = event->user_data < WITNESSES;
		__u64 latest_due = event->deadline + (witness ? 0 : slack);
		__u64 late = 0;

		ASSERT_GT(ALL, event->user_data);
		ASSERT_FALSE(seen[event->user_data]);
		seen[event->user_data] = true;
		ASSERT_EQ(self->arms[event->user_data].expires, event->deadline);
		ASSERT_LE(event->deadline, event->expired);
		/*
		 * A timer that was due before it could be armed is not late for the time
		 * before that.
		 */
		if (latest_due < armed)
			latest_due = armed;
		if (event->expired > latest_due)
			late = event->expired - latest_due;
		if (witness && late > witnessed)
			witnessed = late;
		if (late > latest)
			latest = late;
	}
	/*
	 * A delay that is shorter than the distance of two witnesses may escape them, and
	 * so may the time that it takes to catch up.
	 */
	EXPECT_LE(latest, witnessed + 2 * WITNESS_NS + tick);
	EXPECT_EQ(0, tw_info(self->fd).pending);
	return tw_counter(self->cpu, "interrupts") - before;
}

TEST_F(slack, interrupts_fall_as_slack_grows)
{
	struct twheel_info info;
	__u64 most, runs;
	int tries;

	if (tw_counter(self->cpu, "interrupts") == ~0ULL)
		SKIP(return, "cannot read " TW_COUNTERS);
	info = tw_info(self->fd);

	most = expected_at_most(&info, TW_SEC);
	runs = spread(_metadata, self, TW_SEC);
	TH_LOG("slack 1 s: %llu interrupts, at most %llu expected", runs, most);
	EXPECT_LT(0, runs);
	EXPECT_LE(runs, most);

	/*
	 * Without slack there have to be more interrupts. If the machine does not keep up,
	 * one interrupt serves many ticks, so there are several tries.
	 */
	for (tries = 0, runs = 0; tries < 5 && runs <= most; tries++) {
		runs = spread(_metadata, self, 0);
		TH_LOG("no slack: %llu interrupts", runs);
		EXPECT_LE(runs, expected_at_most(&info, 0));
	}
	EXPECT_LT(most, runs);
}

TEST_HARNESS_MAIN
