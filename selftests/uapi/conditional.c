// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arming on a condition: only if the timer is pending, or only if there is none. With
 * handles and keys, with leases and without.
 */
#include "twheel_test.h"

#define KEY	42

FIXTURE(cond)
{
	int fd;
	bool keyed;
	/* TWHEEL_ARM_LEASE or 0; every arming has this flag. */
	__u32 lease;
	uint64_t *words;
};

FIXTURE_VARIANT(cond)
{
	__u32 config;
};

VARIANT(cond, handles) { .config = 0 };
VARIANT(cond, keys) { .config = TWHEEL_CONFIG_KEYED };
VARIANT(cond, leases) { .config = TWHEEL_CONFIG_LEASE };
VARIANT(cond, keyed_leases) { .config = TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE };

FIXTURE_SETUP(cond)
{
	ASSERT_OPEN(self->fd);
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, variant->config));
	self->keyed = variant->config & TWHEEL_CONFIG_KEYED;
	if (variant->config & TWHEEL_CONFIG_LEASE) {
		self->lease = TWHEEL_ARM_LEASE;
		self->words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
				   self->fd, 0);
		ASSERT_NE(MAP_FAILED, self->words);
	}
}

FIXTURE_TEARDOWN(cond)
{
	close(self->fd);
}

/*
 * Makes a request for a timer of this kind. It makes a new timer, unless keys name timers.
 */
static struct twheel_arm request(const FIXTURE_DATA(cond) * self, __u64 expires,
				 __u32 flags, __u64 user_data)
{
	return tw_request_for(self->keyed ? KEY : 0, expires, flags | self->lease, user_data);
}

/*
 * Arms a timer of this kind unconditionally. Stores its handle in *@handle and the index of
 * its word in *@word.
 */
static int arm_one(const FIXTURE_DATA(cond) * self, __u64 expires, __u64 user_data,
		   __u64 *handle, __u32 *word)
{
	struct twheel_arm arm = request(self, expires, 0, user_data);
	int ret = tw_call(self->fd, TWHEEL_IOC_ARM, &arm);

	*handle = arm.handle;
	*word = self->lease ? arm.word : 0;
	return ret;
}

/*
 * Expects that @request fails with @error, alone and in a batch, and changes nothing else.
 */
#define EXPECT_ERROR(error, fd, request) do { \
	const struct twheel_arm *__request = (request); \
	struct twheel_arm __arm = *__request; \
	int __error = (error), __fd = (fd); \
	struct twheel_info __before = tw_info(__fd), __after; \
	EXPECT_EQ(__error, tw_call(__fd, TWHEEL_IOC_ARM, &__arm)); \
	EXPECT_EQ(__error, __arm.result); \
	EXPECT_EQ(__request->handle, __arm.handle); \
	EXPECT_EQ(__request->flags, __arm.flags); \
	EXPECT_EQ(0, __arm.old_state); \
	EXPECT_EQ(0, __arm.old_remaining); \
	__arm = *__request; \
	EXPECT_EQ(1, tw_arm_batch(__fd, &__arm, 1)); \
	EXPECT_EQ(__error, __arm.result); \
	EXPECT_EQ(0, __arm.old_state); \
	__after = tw_info(__fd); \
	EXPECT_EQ(__before.pending, __after.pending); \
	EXPECT_EQ(__before.ready, __after.ready); \
} while (0)

TEST_F(cond, both_at_once_are_refused)
{
	__u32 both = TWHEEL_ARM_IF_PENDING | TWHEEL_ARM_IF_NONE;
	struct twheel_arm arm = request(self, TW_FAR, both, 1);
	__u64 handle;
	__u32 word;

	EXPECT_ERROR(-EINVAL, self->fd, &arm);
	ASSERT_EQ(0, arm_one(self, TW_FAR, 1, &handle, &word));
	arm.handle = handle;
	EXPECT_ERROR(-EINVAL, self->fd, &arm);
}

TEST_F(cond, if_pending_rearms)
{
	struct twheel_timer_info info;
	struct twheel_arm arm;
	__u64 handle;
	__u32 word;
	int i;

	ASSERT_EQ(0, arm_one(self, TW_FAR, 1, &handle, &word));
	for (i = 0; i < 2; i++) {
		/* Once to a later deadline, once to an earlier one. */
		arm = request(self, (2 - i) * TW_FAR, TWHEEL_ARM_IF_PENDING, 2 + i);
		arm.handle = handle;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		EXPECT_EQ(handle, arm.handle);
		EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
		EXPECT_LT(0, arm.old_remaining);
		/* That of a lease is rounded up. */
		EXPECT_GE((1 + i) * TW_FAR + 1023, arm.old_remaining);
		ASSERT_EQ(0, tw_get(self->fd, handle, &info));
		EXPECT_EQ(2 + i, info.user_data);
		/* The condition is not stored as a flag of the timer. */
		EXPECT_EQ(self->lease, info.flags);
		if (self->words)
			EXPECT_EQ(info.deadline, tw_lease_deadline(&self->words[word]));
	}
	EXPECT_EQ(1, tw_info(self->fd).pending);
}

TEST_F(cond, if_pending_does_not_make)
{
	struct twheel_arm arm = request(self, TW_FAR, TWHEEL_ARM_IF_PENDING, 1);
	struct twheel_event event;
	__u64 handle;
	__u32 word;

	EXPECT_ERROR(-ENOENT, self->fd, &arm);
	/* The failed calls have not settled the context. */
	EXPECT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, tw_info(self->fd).config));

	ASSERT_EQ(0, arm_one(self, TW_FAR, 1, &handle, &word));
	ASSERT_EQ(0, tw_cancel(self->fd, handle));
	arm.handle = handle;
	EXPECT_ERROR(-ENOENT, self->fd, &arm);

	ASSERT_EQ(0, arm_one(self, 0, 2, &handle, &word));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	arm.handle = handle;
	EXPECT_ERROR(-ENOENT, self->fd, &arm);
	if (self->words)
		EXPECT_NE(0, self->words[word] & TWHEEL_LEASE_EXPIRED);

	/* Handle 0 names no timer. */
	arm.handle = 0;
	EXPECT_ERROR(-ENOENT, self->fd, &arm);
	EXPECT_EQ(0, tw_info(self->fd).pending + tw_info(self->fd).ready);
}

TEST_F(cond, if_pending_leaves_what_has_expired)
{
	struct twheel_arm arm = request(self, TW_FAR, TWHEEL_ARM_IF_PENDING, 2);
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 handle, value = 0;
	__u32 word;

	ASSERT_EQ(0, arm_one(self, TW_MSEC, 1, &handle, &word));
	ASSERT_TRUE(tw_wait_ready(self->fd, 1));
	if (self->words)
		value = self->words[word];
	arm.handle = handle;
	EXPECT_ERROR(-ENOENT, self->fd, &arm);
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(TWHEEL_STATE_READY, info.state);
	EXPECT_EQ(1, info.user_data);
	if (self->words)
		EXPECT_EQ(value, self->words[word]);

	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(1, event.user_data);
	EXPECT_EQ(handle, event.handle);
	EXPECT_EQ(info.deadline, event.deadline);
}

TEST_F(cond, if_pending_between_rounds)
{
	struct twheel_arm arm = request(self, 0, 0, 1);
	struct twheel_event event;
	__u64 handle;

	arm.flags &= ~TWHEEL_ARM_LEASE;
	arm.interval = TW_FAR;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	handle = arm.handle;
	arm = request(self, 2 * TW_FAR, TWHEEL_ARM_IF_PENDING, 2);
	arm.handle = handle;
	/* By the grid the next round has begun, but a record is unread. */
	EXPECT_ERROR(-ENOENT, self->fd, &arm);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(1, event.user_data);
	EXPECT_EQ(0, event.flags);
	EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
}

TEST_F(cond, if_none_makes)
{
	struct twheel_arm arm = request(self, TW_FAR, TWHEEL_ARM_IF_NONE, 1);
	struct twheel_timer_info info;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(TWHEEL_STATE_NONE, arm.old_state);
	EXPECT_EQ(0, arm.old_remaining);
	if (self->keyed)
		EXPECT_EQ(KEY, arm.handle);
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(1, info.user_data);
	EXPECT_EQ(self->lease, info.flags);
	if (self->words) {
		EXPECT_EQ(arm.word, info.word);
		EXPECT_EQ(info.deadline, tw_lease_deadline(&self->words[arm.word]));
	}

	/* Once that timer has ended the condition holds again, but its handle names no timer. */
	ASSERT_EQ(0, tw_cancel(self->fd, arm.handle));
	EXPECT_EQ(self->keyed ? 0 : -ENOENT, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	arm.handle = 0;
	EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(TWHEEL_STATE_NONE, arm.old_state);
}

TEST_F(cond, if_none_leaves_what_there_is)
{
	struct twheel_arm arm = request(self, 3 * TW_FAR, TWHEEL_ARM_IF_NONE, 2);
	struct twheel_timer_info before, after;
	__u64 handle, value = 0;
	struct twheel_event event;
	__u32 word;
	int ready;

	for (ready = 0; ready < 2; ready++) {
		ASSERT_EQ(0, arm_one(self, ready ? TW_MSEC : TW_FAR, 1, &handle, &word));
		if (ready)
			ASSERT_TRUE(tw_wait_ready(self->fd, 1));
		ASSERT_EQ(0, tw_get(self->fd, handle, &before));
		if (self->words)
			value = self->words[word];
		arm.handle = handle;
		EXPECT_ERROR(-EEXIST, self->fd, &arm);
		ASSERT_EQ(0, tw_get(self->fd, handle, &after));
		before.remaining = after.remaining;
		EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
		if (self->words)
			EXPECT_EQ(value, self->words[word]);
	}
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(1, event.user_data);
	EXPECT_EQ(handle, event.handle);
}

TEST_F(cond, what_is_wrong_otherwise_comes_first)
{
	static const __u32 conditions[] = { TWHEEL_ARM_IF_PENDING, TWHEEL_ARM_IF_NONE };
	struct twheel_arm arm;
	__u64 handle;
	__u32 word;
	size_t i;

	ASSERT_EQ(0, arm_one(self, TW_FAR, 1, &handle, &word));
	for (i = 0; i < ARRAY_SIZE(conditions); i++) {
		arm = request(self, 1ULL << 63, conditions[i], 2);
		EXPECT_ERROR(-EINVAL, self->fd, &arm);
		arm.handle = handle;
		EXPECT_ERROR(-EINVAL, self->fd, &arm);
	}
}

/* At the limit there is no room for another timer, but the existing one is still found. */
TEST_F(cond, at_the_limit)
{
	struct twheel_config config = { .flags = tw_info(self->fd).config, .limit = 1 };
	struct twheel_arm arm;
	__u64 handle;
	__u32 word;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CONFIG, &config));
	ASSERT_EQ(0, arm_one(self, TW_FAR, 1, &handle, &word));
	arm = request(self, TW_FAR, TWHEEL_ARM_IF_NONE, 2);
	arm.handle = handle;
	EXPECT_ERROR(-EEXIST, self->fd, &arm);
	arm.handle = self->keyed ? KEY + 1 : 0;
	EXPECT_ERROR(-ENOSPC, self->fd, &arm);
	arm.flags &= ~TWHEEL_ARM_IF_NONE;
	EXPECT_ERROR(-ENOSPC, self->fd, &arm);
	arm.handle = handle;
	EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
	arm = request(self, TW_FAR, TWHEEL_ARM_IF_PENDING, 2);
	arm.handle = handle;
	EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	arm.handle = handle + 1;
	EXPECT_ERROR(-ENOENT, self->fd, &arm);
	/* A cancel makes room. */
	EXPECT_EQ(0, tw_cancel(self->fd, handle));
	arm = request(self, TW_FAR, 0, 2);
	arm.handle = self->keyed ? KEY + 1 : 0;
	EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(TWHEEL_STATE_NONE, arm.old_state);
}

TEST_F(tw, in_a_batch_each_for_itself)
{
	static const struct {
		__u64 key;
		__u32 flags;
		int result;
	} entries[] = {
		{ 1, TWHEEL_ARM_IF_PENDING, -ENOENT },
		{ 1, TWHEEL_ARM_IF_NONE, 0 },
		{ 1, TWHEEL_ARM_IF_NONE, -EEXIST },
		{ 1, TWHEEL_ARM_IF_PENDING, 0 },
		{ 2, TWHEEL_ARM_IF_PENDING, -ENOENT },
		{ 2, 0, 0 },
		{ 2, TWHEEL_ARM_IF_PENDING, 0 },
	};
	struct twheel_arm arms[ARRAY_SIZE(entries)];
	struct twheel_timer_info info;
	size_t i;

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
	for (i = 0; i < ARRAY_SIZE(arms); i++)
		arms[i] = tw_request_for(entries[i].key, TW_FAR, entries[i].flags, i);
	ASSERT_EQ(ARRAY_SIZE(arms), tw_arm_batch(self->fd, arms, ARRAY_SIZE(arms)));
	for (i = 0; i < ARRAY_SIZE(arms); i++)
		EXPECT_EQ(entries[i].result, arms[i].result);
	EXPECT_EQ(2, tw_info(self->fd).pending);
	ASSERT_EQ(0, tw_get(self->fd, 1, &info));
	EXPECT_EQ(3, info.user_data);
	ASSERT_EQ(0, tw_get(self->fd, 2, &info));
	EXPECT_EQ(6, info.user_data);
}

TEST_HARNESS_MAIN
