// SPDX-License-Identifier: GPL-2.0-only
/*
 * Periodic timers in virtual time: for a year they stay on their grid and expire on the
 * tick, and no round is missed or comes twice.
 *
 * Timers that expire often cost many system calls, so they are watched for
 * TWHEEL_TIME_FAST_DAYS (2), and the others for TWHEEL_TIME_DAYS (365).
 */
#include "virtual.h"

#define MANY	16

struct series {
	__u64 interval;
	__u64 next;
	__u64 rounds;
	__u64 handle;
};

static const __u64 fast[] = {
	TW_SEC, 7 * TW_SEC, 999999937,
};

static const __u64 slow[] = {
	61803398875, HOUR, HOUR + 7, DAY, DAY - 61, 7 * DAY, 30 * DAY + 123456789,
};

FIXTURE(grid)
{
	int fd;
	__u64 tick_ns;
	struct series series[MANY];
};

FIXTURE_VARIANT(grid)
{
	clockid_t clock;
	__u32 config;
};

VARIANT(grid, monotonic) { .clock = CLOCK_MONOTONIC };
VARIANT(grid, realtime_keyed) { .clock = CLOCK_REALTIME, .config = TWHEEL_CONFIG_KEYED };

FIXTURE_SETUP(grid)
{
	ASSERT_OPEN(self->fd);
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_RDWR));
	ASSERT_EQ(0, tw_configure(self->fd, variant->clock, variant->config));
	self->tick_ns = tw_info(self->fd).tick_ns;
}

FIXTURE_TEARDOWN(grid)
{
	close(self->fd);
}

/* Arms timers with these intervals, and checks their records for @days. */
static void watch(struct __test_metadata *_metadata,
		  FIXTURE_DATA(grid) * self, const FIXTURE_VARIANT(grid) * variant,
		  const __u64 *intervals, int n, __u64 days)
{
	__u64 begin = tw_now(variant->clock), end = begin + days * DAY, rounds = 0;
	struct virtual_cost before = virtual_cost(&(struct virtual_cost) { }), cost;
	struct twheel_event events[MANY];
	bool over = false;
	int i;

	for (i = 0; i < n; i++) {
		struct twheel_arm arm = tw_request(begin + intervals[i],
						   TWHEEL_ARM_ABS, i);

		arm.interval = intervals[i];
		/* The key, if there are keys. */
		if (variant->config & TWHEEL_CONFIG_KEYED)
			arm.handle = 1000 + i;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		self->series[i] = (struct series) {
			.interval = intervals[i],
			.next = arm.expires,
			.handle = arm.handle,
		};
	}

	while (!over) {
		ssize_t got = tw_read(self->fd, events, sizeof(events));

		ASSERT_LE(RECORD, got);
		for (i = 0; i < got / RECORD; i++) {
			struct series *s = &self->series[events[i].user_data];

			ASSERT_GT(n, events[i].user_data);
			ASSERT_EQ(s->handle, events[i].handle);
			ASSERT_EQ(s->next, events[i].deadline) {
				TH_LOG("interval %llu: %lld ns off after %llu rounds",
				       s->interval, events[i].deadline - s->next, s->rounds);
			}
			ASSERT_EQ(1, events[i].expirations);
			ASSERT_EQ(0, events[i].flags);
			ASSERT_TRUE(virtual_on_tick(&events[i], self->tick_ns)) {
				TH_LOG("interval %llu: %llu ns after its tick", s->interval,
				       events[i].expired - virtual_due(s->next, self->tick_ns));
			}
			s->next += s->interval;
			s->rounds++;
			over |= events[i].deadline >= end;
		}
	}
	cost = virtual_cost(&before);

	for (i = 0; i < n; i++) {
		struct series *s = &self->series[i];

		EXPECT_LE(days * DAY / s->interval, s->rounds);
		EXPECT_GE(days * DAY / s->interval + 1, s->rounds);
		rounds += s->rounds;
		ASSERT_EQ(0, tw_cancel(self->fd, s->handle));
	}
	/* All timers that expired were read. */
	EXPECT_EQ(rounds, cost.expired);
	TH_LOG("%llu days: %llu rounds, each on its tick; %llu interrupts, %llu moves",
	       days, rounds, cost.interrupts, cost.moved);
}

TEST_F(grid, fast)
{
	/* A round that ends within the tick of the one before would be counted by its record. */
	if (self->tick_ns > TW_SEC / 2)
		SKIP(return, "the wheel's tick is too long for rounds of a second");

	watch(_metadata, self, variant, fast, ARRAY_SIZE(fast),
	      virtual_days("TWHEEL_TIME_FAST_DAYS", 2));
}

TEST_F(grid, slow)
{
	watch(_metadata, self, variant, slow, ARRAY_SIZE(slow),
	      virtual_days("TWHEEL_TIME_DAYS", 365));
}

TEST_HARNESS_MAIN
