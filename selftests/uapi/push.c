// SPDX-License-Identifier: GPL-2.0-only
/*
 * write(): timers are pushed back, and keep their settings.
 */
#include <sys/uio.h>

#include "twheel_test.h"

#define PUSH	sizeof(struct twheel_push)
#define FAR	(3600 * TW_SEC)

/* Returns what write() returns, or -errno. */
static ssize_t push_all(int fd, const struct twheel_push *pushes, size_t n)
{
	ssize_t ret = write(fd, pushes, n * PUSH);

	return ret < 0 ? -errno : ret;
}

static ssize_t push(int fd, __u64 handle, __u64 expires)
{
	struct twheel_push one = { .handle = handle, .expires = expires };

	return push_all(fd, &one, 1);
}

/* The deadline of a timer; 0 if it is not pending. */
static __u64 deadline_of(int fd, __u64 handle)
{
	struct twheel_timer_info info;

	return tw_get(fd, handle, &info) || info.state != TWHEEL_STATE_PENDING ? 0 : info.deadline;
}

TEST_F(tw, nothing_but_the_deadline_changes)
{
	__u64 far = tw_now(CLOCK_MONOTONIC) + FAR;
	/* Later in place, later by far, and earlier. */
	const __u64 deadlines[] = { far + TW_SEC, far + 1000 * FAR, far - TW_SEC };
	struct twheel_arm arm = tw_request(far, TWHEEL_ARM_ABS | TWHEEL_ARM_FIXED_DELAY, 42);
	struct twheel_timer_info before, after;
	size_t i;

	arm.interval = 7 * TW_MSEC;
	arm.count = 5;
	arm.slack = 3 * TW_SEC;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &before));
	for (i = 0; i < ARRAY_SIZE(deadlines); i++) {
		ASSERT_EQ(PUSH, push(self->fd, arm.handle, deadlines[i]));
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &after));
		EXPECT_EQ(deadlines[i], after.deadline);
		after.deadline = before.deadline;
		after.remaining = before.remaining;
		EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	}
	EXPECT_EQ(1, tw_info(self->fd).pending);
}

TEST_F(tw, a_timer_expires_when_it_was_pushed_to)
{
	__u64 now = tw_now(CLOCK_MONOTONIC), handle = tw_arm(self->fd, FAR, 0, 42);
	struct twheel_event event;

	ASSERT_NE(0, handle);
	/* Earlier, later than that, and then a time that has passed */
	ASSERT_EQ(PUSH, push(self->fd, handle, now + TW_SEC));
	ASSERT_EQ(PUSH, push(self->fd, handle, now + 2 * TW_SEC));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(handle, event.handle);
	EXPECT_EQ(42, event.user_data);
	EXPECT_EQ(now + 2 * TW_SEC, event.deadline);
	EXPECT_LE(event.deadline, event.expired);

	handle = tw_arm(self->fd, FAR, 0, 43);
	ASSERT_EQ(PUSH, push(self->fd, handle, now));
	EXPECT_EQ(1, tw_info(self->fd).ready);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(43, event.user_data);
	EXPECT_EQ(now, event.deadline);
}

/* Not at the end of the tick in which the timer was due, and neither by a call for several. */
TEST_F(tw, a_timer_that_is_nearly_due_expires_at_once)
{
	__u64 now, far = tw_arm(self->fd, FAR, 0, 1), handle;
	struct twheel_event event;
	size_t round, n;

	ASSERT_NE(0, far);
	for (round = 0; round < 100; round++) {
		struct twheel_push pushes[2];

		/* Before it is armed: else it may be due by then, and waits for its tick. */
		now = tw_now(CLOCK_MONOTONIC);
		pushes[0] = (struct twheel_push){ far, now + FAR };
		n = 1 + round % ARRAY_SIZE(pushes);
		ASSERT_ARMED(handle, self->fd, TW_MSEC / 10, 0, 42);
		pushes[n - 1] = (struct twheel_push){ handle, now };
		/* It may have expired meanwhile. */
		EXPECT_TRUE(push_all(self->fd, pushes, n) < (ssize_t)(n * PUSH) ||
			    tw_info(self->fd).ready == 1);
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(42, event.user_data);
	}
}

TEST_F(tw, a_time_that_has_passed_is_not_put_off_by_slack)
{
	struct twheel_push pushes[2];
	struct twheel_event event;
	struct twheel_arm arm;
	__u64 now;
	size_t n;

	/* By a call for one, and by one for several */
	for (n = 1; n <= ARRAY_SIZE(pushes); n++) {
		now = tw_now(CLOCK_MONOTONIC);
		pushes[1] = (struct twheel_push){ tw_arm(self->fd, FAR, 0, 1), now + FAR };
		arm = tw_request(now + 2 * TW_SEC, TWHEEL_ARM_ABS, 42);
		arm.slack = FAR;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		pushes[0] = (struct twheel_push){ arm.handle, now };
		ASSERT_EQ(n * PUSH, push_all(self->fd, pushes, n));
		EXPECT_EQ(1, tw_info(self->fd).ready);
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(42, event.user_data);
		EXPECT_EQ(now, event.deadline);
	}
}

TEST_F(tw, rounds_go_on_from_there)
{
	struct twheel_arm arm = tw_request(FAR, 0, 1);
	__u64 first = tw_now(CLOCK_MONOTONIC) + 200 * TW_MSEC;
	struct twheel_event event;
	__u64 seen = 0;

	arm.interval = 2 * TW_MSEC;
	arm.count = 4;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(PUSH, push(self->fd, arm.handle, first));
	while (seen < 4) {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(first + seen * arm.interval, event.deadline);
		seen += event.expirations;
	}
	EXPECT_EQ(4, seen);
	EXPECT_EQ(-ENOENT, push(self->fd, arm.handle, first + FAR));
}

TEST_F(tw, entries_are_carried_out_up_to_the_first_that_fails)
{
	__u64 far = tw_now(CLOCK_MONOTONIC) + FAR;
	struct twheel_push pushes[3];
	__u64 handles[3];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(handles); i++) {
		handles[i] = tw_arm(self->fd, far, TWHEEL_ARM_ABS, i);
		pushes[i] = (struct twheel_push){ handles[i], far + 1 };
	}
	ASSERT_EQ(0, tw_cancel(self->fd, handles[1]));
	EXPECT_EQ(PUSH, push_all(self->fd, pushes, 3));
	EXPECT_EQ(far + 1, deadline_of(self->fd, handles[0]));
	EXPECT_EQ(far, deadline_of(self->fd, handles[2]));
	EXPECT_EQ(-ENOENT, push_all(self->fd, pushes + 1, 2));
	EXPECT_EQ(far, deadline_of(self->fd, handles[2]));
	EXPECT_EQ(PUSH, push_all(self->fd, pushes + 2, 1));
	EXPECT_EQ(far + 1, deadline_of(self->fd, handles[2]));

	pushes[0].expires = 1ULL << 63;
	EXPECT_EQ(-EINVAL, push_all(self->fd, pushes, 1));
	pushes[0].expires--;
	EXPECT_EQ(PUSH, push_all(self->fd, pushes, 1));
	EXPECT_EQ((1ULL << 63) - 1, deadline_of(self->fd, handles[0]));
}

TEST_F(tw, half_an_entry_is_refused)
{
	__u64 far = tw_now(CLOCK_MONOTONIC) + FAR;
	__u64 handle = tw_arm(self->fd, far, TWHEEL_ARM_ABS, 0);
	struct twheel_push pushes[2] = { { handle, far + 1 }, { handle, far + 2 } };
	size_t size;

	for (size = 1; size < sizeof(pushes); size++) {
		if (size == PUSH)
			continue;
		EXPECT_EQ(-1, write(self->fd, pushes, size));
		EXPECT_EQ(EINVAL, errno);
	}
	EXPECT_EQ(far, deadline_of(self->fd, handle));
	EXPECT_EQ(0, write(self->fd, pushes, 0));
	EXPECT_EQ(sizeof(pushes), write(self->fd, pushes, sizeof(pushes)));
	EXPECT_EQ(far + 2, deadline_of(self->fd, handle));
}

TEST_F(tw, memory_that_ends_early)
{
	char *end = tw_guarded(1) + sysconf(_SC_PAGESIZE);
	__u64 far = tw_now(CLOCK_MONOTONIC) + FAR;
	__u64 handle = tw_arm(self->fd, far, TWHEEL_ARM_ABS, 0);
	struct twheel_push *pushes = (struct twheel_push *)(end - PUSH);

	pushes[0] = (struct twheel_push){ handle, far + 1 };
	EXPECT_EQ(PUSH, write(self->fd, pushes, 3 * PUSH));
	EXPECT_EQ(far + 1, deadline_of(self->fd, handle));
	EXPECT_EQ(-1, write(self->fd, end, PUSH));
	EXPECT_EQ(EFAULT, errno);
	/* All of the first entry, or nothing */
	EXPECT_EQ(-1, write(self->fd, end - PUSH / 2, PUSH));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(far + 1, deadline_of(self->fd, handle));
}

TEST_F(tw, a_record_is_not_withdrawn)
{
	__u64 handle = tw_arm(self->fd, 0, 0, 42);
	struct twheel_event event;

	ASSERT_TRUE(tw_wait_ready(self->fd, 1));
	EXPECT_EQ(-ENOENT, push(self->fd, handle, tw_now(CLOCK_MONOTONIC) + FAR));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(42, event.user_data);
	EXPECT_EQ(-ENOENT, push(self->fd, 0, tw_now(CLOCK_MONOTONIC) + FAR));
	EXPECT_EQ(-ENOENT, push(self->fd, ~0ULL, tw_now(CLOCK_MONOTONIC) + FAR));
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

TEST_F(tw, many_at_once)
{
	enum { MANY = 1000 };
	__u64 far = tw_now(CLOCK_MONOTONIC) + FAR;
	struct twheel_push *pushes = calloc(MANY, PUSH);
	int i;

	ASSERT_NE(NULL, pushes);
	for (i = 0; i < MANY; i++) {
		pushes[i].handle = tw_arm(self->fd, far, TWHEEL_ARM_ABS, i);
		/* Every third one goes to an earlier tick. */
		pushes[i].expires = i % 3 ? far + i * TW_MSEC : far - i * TW_MSEC;
	}
	EXPECT_EQ(MANY * PUSH, push_all(self->fd, pushes, MANY));
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(pushes[i].expires, deadline_of(self->fd, pushes[i].handle));
	free(pushes);
}

/* Keys that have a timer already: some between others, and many one after another */
static bool has_timer(int key)
{
	return key % 7 > 4 || (key > 100 && key < 180);
}

TEST_F(tw, keys_are_put)
{
	enum { KEYS = 300 };
	__u64 far = tw_now(CLOCK_MONOTONIC) + FAR;
	struct twheel_arm arm = tw_request(far, TWHEEL_ARM_ABS, 42);
	struct twheel_push pushes[KEYS];
	struct twheel_timer_info info;
	int i;

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
	for (i = 0; i < KEYS; i++) {
		arm.handle = i;
		if (has_timer(i))
			ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	}
	for (i = 0; i < KEYS; i++)
		pushes[i] = (struct twheel_push){ i, far + i };
	EXPECT_EQ(KEYS * PUSH, push_all(self->fd, pushes, KEYS));
	EXPECT_EQ(KEYS, tw_info(self->fd).pending);
	for (i = 0; i < KEYS; i++) {
		ASSERT_EQ(0, tw_get(self->fd, i, &info));
		EXPECT_EQ(far + i, info.deadline);
		EXPECT_EQ(has_timer(i) ? 42 : 0, info.user_data);
		EXPECT_EQ(0, info.interval);
	}

	/* One that has expired goes on, as when it is armed. */
	pushes[7].expires = 0;
	ASSERT_EQ(PUSH, push_all(self->fd, &pushes[7], 1));
	EXPECT_EQ(1, tw_info(self->fd).ready);
	pushes[7].expires = far;
	ASSERT_EQ(PUSH, push_all(self->fd, &pushes[7], 1));
	EXPECT_EQ(0, tw_info(self->fd).ready);
	EXPECT_EQ(far, deadline_of(self->fd, 7));
}

TEST_F(tw, no_more_keys_than_the_limit)
{
	struct twheel_config config = {
		.clock = CLOCK_MONOTONIC, .flags = TWHEEL_CONFIG_KEYED, .limit = 2,
	};
	__u64 far = tw_now(CLOCK_MONOTONIC) + FAR;
	struct twheel_push pushes[] = { { 1, far }, { 2, far }, { 3, far }, { 1, far + 1 } };

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CONFIG, &config));
	EXPECT_EQ(2 * PUSH, push_all(self->fd, pushes, 4));
	EXPECT_EQ(-ENOSPC, push_all(self->fd, pushes + 2, 2));
	EXPECT_EQ(PUSH, push_all(self->fd, pushes + 3, 1));
	EXPECT_EQ(far + 1, deadline_of(self->fd, 1));
}

TEST_F(tw, a_lease_stays_one)
{
	__u64 far = tw_lease_round(tw_now(CLOCK_MONOTONIC) + FAR);
	struct twheel_arm arm = tw_request(far, TWHEEL_ARM_ABS | TWHEEL_ARM_LEASE, 1);
	uint64_t *words, *word;

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
	words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, words);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	word = &words[arm.word];
	ASSERT_EQ(PUSH, push(self->fd, arm.handle, far + TW_SEC));
	EXPECT_EQ(tw_lease_round(far + TW_SEC), tw_lease_deadline(word));
	EXPECT_EQ(arm.tag, tw_lease_tag(word));
	EXPECT_FALSE(tw_lease_expired(word));
	EXPECT_TRUE(tw_lease_extend(word, far + 2 * TW_SEC));
	ASSERT_EQ(PUSH, push(self->fd, arm.handle, 1));
	EXPECT_TRUE(tw_lease_expired(word));
	EXPECT_EQ(1, tw_info(self->fd).ready);
	munmap(words, 4096);
}

/* Entries that lie in several pieces of memory, and a call that must not wait */
TEST_F(tw, vectors_and_nowait)
{
	__u64 far = tw_now(CLOCK_MONOTONIC) + FAR;
	struct twheel_push pushes[2] = { { 1, far + 1 }, { 2, far + 2 } };
	struct iovec pieces[] = {
		{ pushes, 5 }, { (char *)pushes + 5, PUSH },
		{ (char *)pushes + 5 + PUSH, PUSH - 5 },
	};
	struct iovec both = { pushes, sizeof(pushes) };

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
	EXPECT_EQ(sizeof(pushes), writev(self->fd, pieces, 3));
	EXPECT_EQ(far + 1, deadline_of(self->fd, 1));
	EXPECT_EQ(far + 2, deadline_of(self->fd, 2));
	pushes[0].expires += TW_SEC;
	pushes[1].handle = 3;
	EXPECT_EQ(sizeof(pushes), pwritev2(self->fd, &both, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(far + 1 + TW_SEC, deadline_of(self->fd, 1));
	EXPECT_EQ(far + 2, deadline_of(self->fd, 3));
}

TEST_HARNESS_MAIN
