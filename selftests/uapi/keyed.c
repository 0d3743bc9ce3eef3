// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers that are named by keys instead of handles: arming is an upsert, and all other
 * calls take the key.
 */
#include <stdio.h>

#include "twheel_test.h"

/* Upserts @key. Returns the state of the timer that was replaced, or -errno. */
static int put(int fd, __u64 key, __u64 expires, __u64 user_data)
{
	struct twheel_arm arm = tw_request_for(key, expires, 0, user_data);
	int ret = tw_call(fd, TWHEEL_IOC_ARM, &arm);

	if (ret)
		return ret;
	/* The call must return the key unchanged. */
	return arm.handle == key ? (int)arm.old_state : -EBADMSG;
}

FIXTURE(keyed)
{
	int fd;
};

FIXTURE_SETUP(keyed)
{
	ASSERT_OPEN(self->fd);
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
	ASSERT_EQ(TWHEEL_CONFIG_KEYED, tw_info(self->fd).config);
}

FIXTURE_TEARDOWN(keyed)
{
	close(self->fd);
}

TEST_F(keyed, upsert)
{
	struct twheel_timer_info info;
	struct twheel_event events[2];
	struct twheel_arm arm;

	EXPECT_EQ(TWHEEL_STATE_NONE, put(self->fd, 42, TW_FAR, 1));
	EXPECT_EQ(1, tw_info(self->fd).pending);

	arm = tw_request_for(42, 2 * TW_FAR, 0, 2);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(42, arm.handle);
	EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
	EXPECT_GE(TW_FAR, arm.old_remaining);
	EXPECT_LT(TW_FAR - TW_LIMIT_MS * TW_MSEC, arm.old_remaining);
	EXPECT_EQ(1, tw_info(self->fd).pending);
	ASSERT_EQ(0, tw_get(self->fd, 42, &info));
	EXPECT_EQ(42, info.handle);
	EXPECT_EQ(2, info.user_data);

	/* The upsert withdraws an unread record. */
	EXPECT_EQ(TWHEEL_STATE_PENDING, put(self->fd, 42, 0, 3));
	ASSERT_TRUE(tw_wait_ready(self->fd, 1));
	EXPECT_EQ(TWHEEL_STATE_READY, put(self->fd, 42, TW_FAR, 4));
	EXPECT_EQ(0, tw_info(self->fd).ready);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, events, sizeof(events)));

	/* After the record was read the key is free. */
	EXPECT_EQ(TWHEEL_STATE_PENDING, put(self->fd, 42, TW_MSEC, 5));
	ASSERT_EQ(1, tw_collect(self->fd, events, 1));
	EXPECT_EQ(42, events[0].handle);
	EXPECT_EQ(5, events[0].user_data);
	EXPECT_EQ(TWHEEL_EVENT_LAST, events[0].flags);
	EXPECT_EQ(-ENOENT, tw_get(self->fd, 42, &info));
	EXPECT_EQ(TWHEEL_STATE_NONE, put(self->fd, 42, TW_FAR, 6));
}

TEST_F(keyed, any_number_is_a_key)
{
	static const __u64 keys[] = {
		0, 1, 63, 64, 1ULL << 31, 1ULL << 32, (1ULL << 32) + 1, 1ULL << 63, ~0ULL - 1,
		~0ULL,
	};
	struct twheel_event events[ARRAY_SIZE(keys)];
	struct twheel_timer_info info;
	unsigned int seen = 0;
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		EXPECT_EQ(-ENOENT, tw_get(self->fd, keys[i], &info));
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		EXPECT_EQ(TWHEEL_STATE_NONE, put(self->fd, keys[i], TW_FAR, i));
	EXPECT_EQ(ARRAY_SIZE(keys), tw_info(self->fd).pending);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		EXPECT_EQ(0, tw_get(self->fd, keys[i], &info));
		EXPECT_EQ(keys[i], info.handle);
		EXPECT_EQ(i, info.user_data);
	}
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		EXPECT_EQ(0, tw_cancel(self->fd, keys[i]));
		EXPECT_EQ(-ENOENT, tw_cancel(self->fd, keys[i]));
		EXPECT_EQ(ARRAY_SIZE(keys) - 1 - i, tw_info(self->fd).pending);
	}
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		EXPECT_EQ(TWHEEL_STATE_NONE, put(self->fd, keys[i], TW_MSEC, i));
	n = tw_collect(self->fd, events, ARRAY_SIZE(keys));
	ASSERT_EQ(ARRAY_SIZE(keys), n);
	for (i = 0; i < n; i++) {
		ASSERT_GT(ARRAY_SIZE(keys), events[i].user_data);
		EXPECT_EQ(keys[events[i].user_data], events[i].handle);
		seen |= 1U << events[i].user_data;
	}
	EXPECT_EQ((1U << ARRAY_SIZE(keys)) - 1, seen);
}

/* Before the first timer there is not even a table of keys. */
TEST_F(keyed, nothing_is_there)
{
	struct twheel_timer_info info;
	struct twheel_cancel cancel;

	EXPECT_EQ(-ENOENT, tw_get(self->fd, 7, &info));
	cancel = tw_cancel_request(7);
	EXPECT_EQ(-ENOENT, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
	EXPECT_EQ(-ENOENT, cancel.result);
	EXPECT_EQ(7, cancel.handle);
	EXPECT_EQ(0, cancel.old_state);
	EXPECT_EQ(0, cancel.old_remaining);
	EXPECT_EQ(TWHEEL_STATE_NONE, put(self->fd, 8, TW_FAR, 0));
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, 7));
	EXPECT_EQ(0, tw_cancel(self->fd, 8));
	EXPECT_EQ(TWHEEL_STATE_NONE, put(self->fd, 8, 0, 0));
	cancel = tw_cancel_request(8);
	EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
	EXPECT_EQ(TWHEEL_STATE_READY, cancel.old_state);
}

TEST_F(keyed, a_periodic_timer_keeps_its_key)
{
	struct twheel_arm arm = tw_request(TW_MSEC, 0, 9);
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 left = 3;

	arm.handle = 11;
	arm.interval = TW_MSEC;
	arm.count = left;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	while (left) {
		ASSERT_EQ(0, tw_get(self->fd, 11, &info));
		EXPECT_EQ(left, info.count);
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(11, event.handle);
		ASSERT_GE(left, event.expirations);
		left -= event.expirations;
		EXPECT_EQ(left ? 0 : TWHEEL_EVENT_LAST, event.flags);
	}
	EXPECT_EQ(-ENOENT, tw_get(self->fd, 11, &info));
	EXPECT_EQ(TWHEEL_STATE_NONE, put(self->fd, 11, TW_FAR, 0));
}

/* Entries are handled in order, so later ones find the timers that earlier ones left. */
TEST_F(keyed, batches)
{
	struct twheel_cancel cancels[3] = { { .handle = 0 }, { .handle = 5 }, { .handle = 0 } };
	struct twheel_arm arms[4];
	struct twheel_event events[2];
	int i;

	for (i = 0; i < 4; i++)
		arms[i] = tw_request_for(i == 2 ? 5 : 0, TW_FAR, 0, i);
	ASSERT_EQ(4, tw_arm_batch(self->fd, arms, 4));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, arms[i].result);
		EXPECT_EQ(i == 2 ? 5 : 0, arms[i].handle);
		EXPECT_EQ(i % 2 ? TWHEEL_STATE_PENDING : TWHEEL_STATE_NONE, arms[i].old_state);
	}
	EXPECT_EQ(2, tw_info(self->fd).pending);

	ASSERT_EQ(3, tw_batch(self->fd, TWHEEL_IOC_CANCEL_BATCH, cancels, 3));
	EXPECT_EQ(0, cancels[0].result);
	EXPECT_EQ(0, cancels[1].result);
	EXPECT_EQ(-ENOENT, cancels[2].result);
	EXPECT_EQ(0, tw_info(self->fd).pending);

	/* Of several entries for one key the last one wins, and makes the only record. */
	for (i = 0; i < 4; i++)
		arms[i] = tw_request_for(77, TW_MSEC, 0, 10 + i);
	ASSERT_EQ(4, tw_arm_batch(self->fd, arms, 4));
	ASSERT_EQ(1, tw_collect(self->fd, events, 1));
	EXPECT_EQ(77, events[0].handle);
	EXPECT_EQ(13, events[0].user_data);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, events, sizeof(events)));
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

TEST_F(keyed, bad_requests)
{
	struct twheel_timer_info info;
	struct twheel_arm arm;

	ASSERT_EQ(TWHEEL_STATE_NONE, put(self->fd, 1, TW_FAR, 5));
	arm = tw_request_for(1, TW_FAR, 1U << 15, 0);
	EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	arm.handle = 2;
	EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	/* This context has no leases. */
	arm = tw_request_for(2, TW_FAR, TWHEEL_ARM_LEASE, 0);
	EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, tw_get(self->fd, 1, &info));
	EXPECT_EQ(5, info.user_data);
	EXPECT_EQ(-ENOENT, tw_get(self->fd, 2, &info));
	EXPECT_EQ(1, tw_info(self->fd).pending);
}

TEST_F(keyed, until_the_first_timer_it_can_be_left)
{
	struct twheel_arm arm = tw_request(TW_FAR, 0, 0);
	int i;

	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC,
					  i % 2 ? TWHEEL_CONFIG_KEYED : 0));
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, 0));
	/* With handles again: 5 was never given out, and 0 makes a new timer each time. */
	EXPECT_EQ(-ENOENT, put(self->fd, 5, TW_FAR, 0));
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_NE(0, arm.handle);
	EXPECT_EQ(-EBUSY, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
}

/* Returns the @i-th key of a @pattern. */
static __u64 key_of(int pattern, __u64 i)
{
	__u64 state = i + 1;

	switch (pattern) {
	case 0:
		tw_random(&state);
		tw_random(&state);
		return tw_random(&state);
	case 1:
		return i;
	case 2:
		return i << 12;
	case 3:
		return i << 32;
	case 4:
		return i << 48;
	case 5:
		return ~i;
	case 6:
		return __builtin_bswap64(i);
	case 7:
		/* The two halves are equal, and cancel out if they are xored. */
		return i << 32 | i;
	case 8:
		/* A plain hash_64() would put all of these into one bucket. */
		return i * 0x0e217c1e66c88cc3ULL;
	default:
		/* These look like pointers to objects of a slab. */
		return 0xffff888000000000ULL + i * 192;
	}
}

/* Arms @n keys in batches. Returns how many found @state as the old state. */
static long put_many(int fd, int pattern, long n, enum twheel_state state)
{
	static struct twheel_arm arms[1000];
	long i, j, part, found = 0;

	for (i = 0; i < n; i += part) {
		part = n - i < 1000 ? n - i : 1000;
		for (j = 0; j < part; j++)
			arms[j] = tw_request_for(key_of(pattern, i + j), TW_FAR, 0, i + j);
		if (tw_arm_batch(fd, arms, part) != part)
			break;
		for (j = 0; j < part; j++)
			found += !arms[j].result && arms[j].old_state == state;
	}
	return found;
}

/*
 * If some pattern defeated the hash, each look-up would pass half of all keys: a thousand
 * times the cost with random keys, which come first as the measure.
 */
TEST_F_TIMEOUT(keyed, no_pattern_of_keys_is_worse_than_another, 120)
{
	enum { N = 16384, PATTERNS = 10, WORSE = 20 };
	struct twheel_timer_info info;
	__u64 begin, cost, random = 0;
	int pattern, i;

	for (pattern = 0; pattern < PATTERNS; pattern++) {
		begin = tw_now(CLOCK_MONOTONIC);
		ASSERT_EQ(N, put_many(self->fd, pattern, N, TWHEEL_STATE_NONE));
		ASSERT_EQ(N, put_many(self->fd, pattern, N, TWHEEL_STATE_PENDING));
		for (i = 0; i < N; i++) {
			ASSERT_EQ(0, tw_get(self->fd, key_of(pattern, i), &info));
			ASSERT_EQ(i, info.user_data);
		}
		for (i = 0; i < N; i++)
			ASSERT_EQ(0, tw_cancel(self->fd, key_of(pattern, i)));
		cost = tw_now(CLOCK_MONOTONIC) - begin;
		TH_LOG("pattern %d: %llu ns a key", pattern, cost / N);
		ASSERT_EQ(0, tw_info(self->fd).pending);
		if (!pattern)
			random = cost;
		EXPECT_GT(WORSE * random, cost);
	}
}

TEST_F(keyed, a_million_keys)
{
	static struct twheel_timer_info entries[1000];
	struct twheel_list list = {
		.entries = (unsigned long)entries, .count = ARRAY_SIZE(entries),
		.flags = TWHEEL_LIST_DRAIN,
	};
	long n = tw_debug_kernel() ? 100000 : 1000000, drained = 0, i;
	struct twheel_timer_info info;
	unsigned char *seen;
	int ret;

	if (tw_info(self->fd).limit < (__u64)n)
		SKIP(return, "the limits of this machine allow too few timers");
	seen = calloc(n, 1);
	ASSERT_NE(NULL, seen);
	ASSERT_EQ(n, put_many(self->fd, 0, n, TWHEEL_STATE_NONE));
	EXPECT_EQ(n, tw_info(self->fd).pending);
	EXPECT_EQ(n, put_many(self->fd, 0, n, TWHEEL_STATE_PENDING));
	EXPECT_EQ(n, tw_info(self->fd).pending);
	for (i = 0; i < n; i += 997) {
		ASSERT_EQ(0, tw_get(self->fd, key_of(0, i), &info));
		ASSERT_EQ(i, info.user_data);
	}
	while ((ret = tw_call(self->fd, TWHEEL_IOC_LIST, &list)) > 0) {
		for (i = 0; i < ret; i++) {
			ASSERT_GT(n, entries[i].user_data);
			ASSERT_EQ(key_of(0, entries[i].user_data), entries[i].handle);
			ASSERT_EQ(0, seen[entries[i].user_data]++);
		}
		drained += ret;
	}
	EXPECT_EQ(0, ret);
	EXPECT_EQ(n, drained);
	EXPECT_EQ(0, tw_info(self->fd).pending);
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, key_of(0, n / 2)));
	EXPECT_EQ(TWHEEL_STATE_NONE, put(self->fd, key_of(0, n / 2), TW_FAR, 0));
	free(seen);
}

TEST_HARNESS_MAIN
