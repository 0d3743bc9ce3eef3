// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines in virtual time: near ones, and those at the edges of what each level of the
 * wheel and each of its buckets reaches, up to TWHEEL_TIME_FAR_DAYS (3650) ahead. Each timer
 * expires on its tick, and is looked at once for each level.
 */
#include "virtual.h"

#define MANY		1024
#define KINDS		3
#define WORDS_SIZE	(MANY * 2 * sizeof(uint64_t))

/* The kinds of timers, each with a context and a clock of its own. */
static const struct kind {
	clockid_t clock;
	__u32 config;
	__u32 flags;
} kinds[KINDS] = {
	{ CLOCK_MONOTONIC, 0, 0 },
	{ CLOCK_BOOTTIME, TWHEEL_CONFIG_KEYED, 0 },
	{ CLOCK_REALTIME, TWHEEL_CONFIG_LEASE, TWHEEL_ARM_LEASE },
};

FIXTURE(far)
{
	int fd[KINDS];
	__u64 tick_ns, slots, levels;
	__u64 deadlines[KINDS][MANY];
	int came[KINDS][MANY];
};

static __u64 furthest(void)
{
	return virtual_days("TWHEEL_TIME_FAR_DAYS", 3650) * DAY;
}

/* Returns how far @level of a wheel reaches, in ns, but at most @max. */
static __u64 reach(__u64 tick_ns, __u64 slots, __u64 level, __u64 max)
{
	__u64 ns = tick_ns * slots;

	while (level-- && ns < max)
		ns *= slots / 2;
	return ns < max ? ns : max;
}

FIXTURE_SETUP(far)
{
	struct twheel_info info;
	int k;

	for (k = 0; k < KINDS; k++) {
		ASSERT_OPEN(self->fd[k]);
		ASSERT_EQ(0, tw_configure(self->fd[k], kinds[k].clock, kinds[k].config));
	}
	info = tw_info(self->fd[0]);
	self->tick_ns = info.tick_ns;
	self->slots = info.slots;
	/* Only as many levels as the furthest of these deadlines needs. */
	self->levels = 1;
	while (reach(info.tick_ns, info.slots, self->levels - 1, furthest()) < furthest())
		self->levels++;
	ASSERT_GE(info.levels, self->levels);
}

FIXTURE_TEARDOWN(far)
{
	int k;

	for (k = 0; k < KINDS; k++)
		close(self->fd[k]);
}

/* Fills @distances with up to MANY critical distances, up to @max. */
static int choose(__u64 tick_ns, __u64 slots, __u64 levels, __u64 max, __u64 *distances)
{
	__u64 state = 7, level, ns = 0;
	int n = 0, i;

	for (level = 0; level < levels; level++) {
		ns = reach(tick_ns, slots, level, max);
		for (i = -2; i <= 2; i++)
			distances[n++] = ns + i * (__s64)tick_ns + 1;
		for (i = 0; i < 8; i++)
			distances[n++] = tw_random(&state) % ns;
	}
	/* Add some distances in between. */
	for (i = 1; i <= 20; i++) {
		distances[n++] = tw_random(&state) % max;
		distances[n++] = max / 20 * i;
	}
	for (i = 0; i < n;) {
		if (distances[i] <= max)
			i++;
		else
			distances[i] = distances[--n];
	}
	qsort(distances, n, sizeof(*distances), tw_compare);
	return n;
}

/* Returns where the next bucket of @level begins, if there is such a level. */
static __u64 edge(__u64 expires, __u64 tick_ns, __u64 slots, __u64 level)
{
	__u64 granularity = tick_ns;

	while (level--)
		granularity *= slots / 2;
	return (expires / granularity + 1) * granularity;
}

/* Reads all records. Returns how many there were, or -1 if one is wrong. */
static int take(struct __test_metadata *_metadata, FIXTURE_DATA(far) * self, int k)
{
	struct twheel_event events[16];
	ssize_t got = tw_read(self->fd[k], events, sizeof(events));
	int i;

	if (got == -EAGAIN)
		return 0;
	EXPECT_LE(RECORD, got) return -1;
	for (i = 0; i < got / RECORD; i++) {
		__u64 due = virtual_due(events[i].deadline, self->tick_ns);

		EXPECT_GT(MANY, events[i].user_data) return -1;
		EXPECT_EQ(1, ++self->came[k][events[i].user_data]);
		EXPECT_EQ(self->deadlines[k][events[i].user_data], events[i].deadline);
		EXPECT_EQ(TWHEEL_EVENT_LAST, events[i].flags);
		EXPECT_TRUE(virtual_on_tick(&events[i], self->tick_ns)) {
			TH_LOG("clock %d: %lld ns after its tick at %llu", kinds[k].clock,
			       events[i].expired - due, due);
		}
	}
	return got / RECORD;
}

TEST_F(far, each_on_its_tick)
{
	__u64 max = furthest(), looks = 0;
	struct virtual_cost before = virtual_cost(&(struct virtual_cost) { }), cost;
	__u64 distances[MANY];
	int n, i, k, got, left;

	n = choose(self->tick_ns, self->slots, self->levels, max, distances);
	for (k = 0; k < KINDS; k++) {
		for (i = 0; i < n; i++) {
			__u64 now = tw_now(kinds[k].clock), expires = now + distances[i];
			struct twheel_arm arm;

			if (i % 2)
				expires = edge(expires, self->tick_ns, self->slots,
					       i % self->levels);
			arm = tw_request(expires, TWHEEL_ARM_ABS | kinds[k].flags, i);
			if (kinds[k].config & TWHEEL_CONFIG_KEYED)
				arm.handle = ~(__u64)i;
			ASSERT_EQ(0, tw_call(self->fd[k], TWHEEL_IOC_ARM, &arm));
			/*
			 * The timer stays in the bucket of the tick before, and is not due
			 * when that is looked at.
			 */
			if (i % 4 == 1) {
				arm.expires = expires += self->tick_ns;
				ASSERT_EQ(0, tw_call(self->fd[k], TWHEEL_IOC_ARM, &arm));
			}
			self->deadlines[k][i] = kinds[k].flags & TWHEEL_ARM_LEASE ?
						tw_lease_round(expires) : expires;
			looks += self->levels + 2;
		}
	}

	for (left = KINDS * n; left > 0;) {
		struct pollfd fds[KINDS];

		for (k = 0; k < KINDS; k++)
			fds[k] = (struct pollfd) { .fd = self->fd[k], .events = POLLIN };
		ASSERT_LT(0, poll(fds, KINDS, -1));
		for (k = 0; k < KINDS; k++) {
			got = take(_metadata, self, k);
			ASSERT_LE(0, got);
			left -= got;
		}
	}
	cost = virtual_cost(&before);

	EXPECT_EQ(KINDS * n, cost.expired);
	/*
	 * The wheel knows when there is something to look at: every interrupt has found a
	 * timer.
	 */
	EXPECT_GE(looks, cost.expired + cost.moved);
	EXPECT_GE(cost.expired + cost.moved, cost.interrupts);
	TH_LOG("%d timers up to %llu days ahead: %llu interrupts, %llu moves (at most %llu)",
	       KINDS * n, max / DAY, cost.interrupts, cost.moved, looks - cost.expired);
}

static int sleep_until(clockid_t clock, __u64 ns)
{
	struct timespec ts = { .tv_sec = ns / TW_SEC, .tv_nsec = ns % TW_SEC };

	return clock_nanosleep(clock, TIMER_ABSTIME, &ts, NULL);
}

/*
 * Leases of a day, each extended every twelve hours as often as its number says. A day and
 * a minute after its last extension a lease has expired, and its word says so.
 */
TEST_F(far, leases_that_are_extended_for_months)
{
	enum { LEASES = 120, LEASE_KIND = 2 };
	clockid_t clock = kinds[LEASE_KIND].clock;
	int fd = self->fd[LEASE_KIND], i, got, came = 0;
	__u64 begin = tw_now(clock), words[LEASES], half = 0;
	uint64_t *word;

	word = mmap(NULL, WORDS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, word);
	for (i = 0; i < LEASES; i++) {
		struct twheel_arm arm = tw_request(begin + DAY + MINUTE + i, TWHEEL_ARM_ABS |
						   TWHEEL_ARM_LEASE, i);

		ASSERT_EQ(0, tw_call(fd, TWHEEL_IOC_ARM, &arm));
		self->deadlines[LEASE_KIND][i] = tw_lease_round(arm.expires);
		words[i] = arm.word;
	}
	while (came < LEASES) {
		half++;
		ASSERT_EQ(0, sleep_until(clock, begin + half * DAY / 2));
		for (i = 0; i < LEASES; i++) {
			__u64 later = begin + half * DAY / 2 + DAY + MINUTE + i;
			bool ends = virtual_due(self->deadlines[LEASE_KIND][i],
						self->tick_ns) <= tw_now(clock);

			if (half > i) {
				EXPECT_EQ(ends, tw_lease_expired(&word[words[i]]));
				continue;
			}
			ASSERT_EQ(1, tw_lease_extend(&word[words[i]], later));
			self->deadlines[LEASE_KIND][i] = tw_lease_round(later);
		}
		do {
			got = take(_metadata, self, LEASE_KIND);
			ASSERT_LE(0, got);
			came += got;
		} while (got);
		/* One more lease is extended for the last time in each round. */
		EXPECT_EQ(half > 2 ? half - 2 : 0, came);
		ASSERT_GT(2 * LEASES, half);
	}
	munmap(word, WORDS_SIZE);
}

TEST_HARNESS_MAIN
