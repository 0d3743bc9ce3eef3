// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface itself: the layout and the numbers of its structures, how strictly it
 * checks arguments, bad pointers, and settings.
 *
 * This file is also built as a 32-bit program, which has to see the same numbers and the
 * same behaviour.
 */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <termios.h>

#include "users.h"

#define SAME(type, field, offset) \
	static_assert(offsetof(struct type, field) == (offset), #type "." #field)
#define SIZE(type, size) static_assert(sizeof(struct type) == (size), #type)
#define NUMBER(name, value) static_assert(TWHEEL_##name == (value), #name)

SIZE(twheel_info, 96);
SAME(twheel_info, flags, 0);
SAME(twheel_info, abi_version, 4);
SAME(twheel_info, features, 8);
SAME(twheel_info, tick_ns, 16);
SAME(twheel_info, slots, 24);
SAME(twheel_info, levels, 28);
SAME(twheel_info, clock, 32);
SAME(twheel_info, config, 36);
SAME(twheel_info, now, 40);
SAME(twheel_info, limit, 48);
SAME(twheel_info, user_limit, 56);
SAME(twheel_info, user_timers, 64);
SAME(twheel_info, pending, 72);
SAME(twheel_info, ready, 80);
SAME(twheel_info, next_expiry, 88);

SIZE(twheel_config, 32);
SAME(twheel_config, clock, 0);
SAME(twheel_config, flags, 4);
SAME(twheel_config, limit, 8);
SAME(twheel_config, reserved, 16);

SIZE(twheel_arm, 64);
SAME(twheel_arm, handle, 0);
SAME(twheel_arm, user_data, 8);
SAME(twheel_arm, expires, 16);
SAME(twheel_arm, interval, 24);
SAME(twheel_arm, slack, 32);
SAME(twheel_arm, count, 40);
SAME(twheel_arm, word, 44);
SAME(twheel_arm, flags, 48);
SAME(twheel_arm, tag, 50);
SAME(twheel_arm, result, 52);
SAME(twheel_arm, old_state, 54);
SAME(twheel_arm, old_remaining, 56);

SIZE(twheel_cancel, 32);
SAME(twheel_cancel, handle, 0);
SAME(twheel_cancel, flags, 8);
SAME(twheel_cancel, reserved, 12);
SAME(twheel_cancel, result, 16);
SAME(twheel_cancel, old_state, 20);
SAME(twheel_cancel, old_remaining, 24);

SIZE(twheel_push, 16);
SAME(twheel_push, handle, 0);
SAME(twheel_push, expires, 8);

SIZE(twheel_batch, 16);
SAME(twheel_batch, entries, 0);
SAME(twheel_batch, count, 8);
SAME(twheel_batch, flags, 12);

SIZE(twheel_timer_info, 64);
SAME(twheel_timer_info, handle, 0);
SAME(twheel_timer_info, user_data, 8);
SAME(twheel_timer_info, deadline, 16);
SAME(twheel_timer_info, remaining, 24);
SAME(twheel_timer_info, interval, 32);
SAME(twheel_timer_info, slack, 40);
SAME(twheel_timer_info, count, 48);
SAME(twheel_timer_info, state, 52);
SAME(twheel_timer_info, flags, 56);
SAME(twheel_timer_info, tag, 58);
SAME(twheel_timer_info, word, 60);

SIZE(twheel_list, 24);
SAME(twheel_list, cursor, 0);
SAME(twheel_list, entries, 8);
SAME(twheel_list, count, 16);
SAME(twheel_list, flags, 20);

SIZE(twheel_event, 48);
SAME(twheel_event, user_data, 0);
SAME(twheel_event, handle, 8);
SAME(twheel_event, deadline, 16);
SAME(twheel_event, expired, 24);
SAME(twheel_event, expirations, 32);
SAME(twheel_event, flags, 40);
SAME(twheel_event, reserved, 44);

NUMBER(IOC_GET_INFO, 0xc060f700);
NUMBER(IOC_CONFIG, 0x4020f701);
NUMBER(IOC_ARM, 0xc040f708);
NUMBER(IOC_ARM_BATCH, 0x4010f709);
NUMBER(IOC_CANCEL, 0xc020f704);
NUMBER(IOC_CANCEL_BATCH, 0x4010f705);
NUMBER(IOC_GET, 0xc040f706);
NUMBER(IOC_LIST, 0xc018f707);

NUMBER(ABI_VERSION, 2);
NUMBER(FEATURE_BOOTTIME, 1);
NUMBER(FEATURE_BATCH, 2);
NUMBER(FEATURE_INTERVAL, 4);
NUMBER(FEATURE_SLACK, 8);
NUMBER(FEATURE_LIST, 16);
NUMBER(FEATURE_REALTIME, 32);
NUMBER(FEATURE_FIXED_DELAY, 64);
NUMBER(FEATURE_KEYED, 128);
NUMBER(FEATURE_LEASE, 256);
NUMBER(FEATURE_CONDITIONAL, 512);
NUMBER(FEATURE_PUSH, 1024);
NUMBER(INFO_NEXT, 1);
NUMBER(NO_EXPIRY, 0xffffffffffffffffULL);
NUMBER(CLOCK_REALTIME, 0x10000);
NUMBER(CONFIG_KEYED, 1);
NUMBER(CONFIG_LEASE, 2);
NUMBER(CONFIG_CANCEL_ON_SET, 4);
NUMBER(ARM_ABS, 1);
NUMBER(ARM_FIXED_DELAY, 2);
NUMBER(ARM_LEASE, 4);
NUMBER(ARM_IF_PENDING, 8);
NUMBER(ARM_IF_NONE, 16);
NUMBER(LEASE_EXPIRED, 0x8000000000000000ULL);
NUMBER(LEASE_TAG_SHIFT, 53);
NUMBER(LEASE_TAG_MASK, 1023);
NUMBER(LEASE_UNIT_SHIFT, 10);
NUMBER(LEASE_UNITS_MASK, 0x1fffffffffffffULL);
NUMBER(STATE_NONE, 0);
NUMBER(STATE_PENDING, 1);
NUMBER(STATE_READY, 2);
NUMBER(LIST_DRAIN, 1);
NUMBER(EVENT_LAST, 1);

/* A handle that names no timer. No other argument of a call can cause the error that it does. */
#define BAD_HANDLE	0x7fffffff12345678ULL

static const struct {
	const char *name;
	unsigned long cmd;
	size_t size;
} calls[] = {
	{ "GET_INFO", TWHEEL_IOC_GET_INFO, sizeof(struct twheel_info) },
	{ "CONFIG", TWHEEL_IOC_CONFIG, sizeof(struct twheel_config) },
	{ "ARM", TWHEEL_IOC_ARM, sizeof(struct twheel_arm) },
	{ "ARM_BATCH", TWHEEL_IOC_ARM_BATCH, sizeof(struct twheel_batch) },
	{ "CANCEL", TWHEEL_IOC_CANCEL, sizeof(struct twheel_cancel) },
	{ "CANCEL_BATCH", TWHEEL_IOC_CANCEL_BATCH, sizeof(struct twheel_batch) },
	{ "GET", TWHEEL_IOC_GET, sizeof(struct twheel_timer_info) },
	{ "LIST", TWHEEL_IOC_LIST, sizeof(struct twheel_list) },
};

static bool power_of_two(__u64 n)
{
	return n && !(n & (n - 1));
}

/*
 * Collects addresses outside of the memory of programs, if a pointer of this program can
 * hold them.
 */
static size_t bad_pointers(void **pointers, size_t size)
{
	static const __u64 wanted[] = {
		0, 1, 0xfff, 0xfffff000, 0xffffffff,
		0x00007ffffffff000, 0x0000800000000000, 0x8000000000000000,
		0xffff800000000000, 0xffff888000000000, 0xffffc90000000000,
		0xffffffff81000000, 0xffffffffff600000, 0xffffffffffffffff,
	};
	char *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i, n = 0;

	for (i = 0; i < ARRAY_SIZE(wanted) && n < size; i++)
		if ((__u64)(unsigned long)wanted[i] == wanted[i])
			pointers[n++] = (void *)(unsigned long)wanted[i];
	if (n < size)
		pointers[n++] = hole;
	return n;
}

TEST_F(tw, device_node)
{
	struct stat st;

	ASSERT_EQ(0, fstat(self->fd, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(0666, st.st_mode & 07777);
}

TEST_F(tw, info_of_a_new_context)
{
	struct twheel_info info;
	__u64 before, after;
	__u32 bits;

	memset(&info, 0xcc, sizeof(info));
	info.flags = 0;
	before = tw_now(CLOCK_MONOTONIC);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_GET_INFO, &info));
	after = tw_now(CLOCK_MONOTONIC);

	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(2, info.abi_version);
	EXPECT_EQ(0x7ff, info.features);
	EXPECT_TRUE(power_of_two(info.tick_ns));
	EXPECT_TRUE(power_of_two(info.slots));
	EXPECT_LE(4, info.slots);
	EXPECT_GE(4096, info.slots);
	/*
	 * Each level reaches half the slots times as far as the one below, and the last one
	 * reaches 2^61 ns, which are 73 years.
	 */
	bits = __builtin_ctz(info.slots);
	EXPECT_LE(61, __builtin_ctzll(info.tick_ns) + bits + (info.levels - 1) * (bits - 1));
	EXPECT_GT(61, __builtin_ctzll(info.tick_ns) + bits + (info.levels - 2) * (bits - 1));
	EXPECT_EQ(CLOCK_MONOTONIC, info.clock);
	EXPECT_EQ(0, info.config);
	EXPECT_LE(before, info.now);
	EXPECT_GE(after, info.now);
	EXPECT_LT(0, info.limit);
	EXPECT_LT(0, info.user_limit);
	EXPECT_LE(info.user_timers, info.user_limit);
	EXPECT_EQ(0, info.pending);
	EXPECT_EQ(0, info.ready);
	EXPECT_EQ(0, info.next_expiry);
}

TEST_F(tw, info_agrees_with_the_parameters)
{
	struct twheel_info info = tw_info(self->fd);

	if (access(TW_PARAMETERS, F_OK))
		SKIP(return, "no " TW_PARAMETERS);
	EXPECT_EQ(parameter("slots"), info.slots);
	EXPECT_EQ(parameter("max_user_timers"), info.user_limit);
	EXPECT_EQ(parameter("max_fd_timers"), info.limit);
	/* The tick is the parameter rounded up to a power of two. */
	EXPECT_LE(parameter("tick_ns"), info.tick_ns);
	EXPECT_GT(2 * parameter("tick_ns"), info.tick_ns);
}

TEST_F(tw, info_counts)
{
	struct twheel_info info = { .flags = TWHEEL_INFO_NEXT };
	__u64 base = tw_info(self->fd).user_timers;
	__u64 deadline = tw_now(CLOCK_MONOTONIC) + TW_FAR;
	struct twheel_event event;
	__u64 handle;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_GET_INFO, &info));
	EXPECT_EQ(TWHEEL_NO_EXPIRY, info.next_expiry);

	ASSERT_NE(0, tw_arm(self->fd, deadline + TW_SEC, TWHEEL_ARM_ABS, 1));
	ASSERT_ARMED(handle, self->fd, deadline, TWHEEL_ARM_ABS, 2);
	ASSERT_NE(0, tw_arm(self->fd, 0, 0, 3));
	ASSERT_TRUE(tw_wait_ready(self->fd, 1));

	memset(&info, 0xcc, sizeof(info));
	info.flags = TWHEEL_INFO_NEXT;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_GET_INFO, &info));
	EXPECT_EQ(2, info.pending);
	EXPECT_EQ(1, info.ready);
	EXPECT_EQ(base + 3, info.user_timers);
	EXPECT_EQ(deadline, info.next_expiry);
	/*
	 * Without TWHEEL_INFO_NEXT the field is 0: only callers that ask for it pay for it.
	 */
	EXPECT_EQ(0, tw_info(self->fd).next_expiry);

	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	ASSERT_EQ(0, tw_cancel(self->fd, handle));
	memset(&info, 0, sizeof(info));
	info.flags = TWHEEL_INFO_NEXT;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_GET_INFO, &info));
	EXPECT_EQ(1, info.pending);
	EXPECT_EQ(0, info.ready);
	EXPECT_EQ(base + 1, info.user_timers);
	EXPECT_EQ(deadline + TW_SEC, info.next_expiry);
}

TEST_F(tw, info_refuses_unknown_bits)
{
	struct twheel_info info, copy;
	int bit;

	for (bit = 0; bit < 32; bit++) {
		memset(&info, 0xcc, sizeof(info));
		info.flags = 1U << bit;
		copy = info;
		if (info.flags != TWHEEL_INFO_NEXT) {
			EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_GET_INFO, &info));
			EXPECT_EQ(0, memcmp(&info, &copy, sizeof(info)));
		}
	}
}

/*
 * What one call has written the next one takes: the same structure for a second GET_INFO, and
 * its clock, config and limit for the CONFIG of another context.
 */
TEST_F(tw, info_is_valid_input)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };
	static const __u32 flags[] = { 0, TWHEEL_CONFIG_KEYED, TWHEEL_CONFIG_CANCEL_ON_SET };
	struct twheel_info info, again;
	struct twheel_config config;
	__u64 now;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		ASSERT_OPEN(fd);
		ASSERT_EQ(0, tw_configure(fd, clocks[i], flags[i]));
		memset(&info, 0xcc, sizeof(info));
		info.flags = TWHEEL_INFO_NEXT;
		ASSERT_EQ(0, tw_call(fd, TWHEEL_IOC_GET_INFO, &info));
		ASSERT_EQ(0, tw_call(fd, TWHEEL_IOC_GET_INFO, &info));
		EXPECT_EQ(flags[i], info.config);
		EXPECT_EQ(tw_config_clock(clocks[i]), info.clock);
		EXPECT_EQ(TWHEEL_INFO_NEXT, info.flags);
		close(fd);

		config = (struct twheel_config){
			.clock = info.clock, .flags = info.config, .limit = info.limit,
		};
		ASSERT_OPEN(fd);
		ASSERT_EQ(0, tw_call(fd, TWHEEL_IOC_CONFIG, &config));
		now = tw_now(clocks[i]);
		again = tw_info(fd);
		EXPECT_EQ(info.clock, again.clock);
		EXPECT_EQ(info.config, again.config);
		EXPECT_EQ(info.limit, again.limit);
		/* It is that clock, and not only called so. */
		EXPECT_LE(now, again.now);
		EXPECT_GE(tw_now(clocks[i]), again.now);
		close(fd);
	}
}

TEST_F(tw, config_refuses_unknown_bits)
{
	struct twheel_config config;
	int bit;

	for (bit = 0; bit < 64; bit++) {
		memset(&config, 0, sizeof(config));
		config.clock = CLOCK_BOOTTIME;
		config.limit = 1;
		config.reserved[0] = 1ULL << bit;
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_CONFIG, &config));
		config.reserved[0] = 0;
		config.reserved[1] = 1ULL << bit;
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_CONFIG, &config));
		config.reserved[1] = 0;
		if (bit >= 3 && bit < 32) {
			config.flags = 1U << bit;
			EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_CONFIG, &config));
			config.clock = TWHEEL_CLOCK_REALTIME;
			EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_CONFIG, &config));
		}
	}
	EXPECT_EQ(CLOCK_MONOTONIC, tw_info(self->fd).clock);
	EXPECT_EQ(0, tw_info(self->fd).config);
	EXPECT_LT(1, tw_info(self->fd).limit);
}

TEST_F(tw, config_flags)
{
	static const __u32 clocks[] = {
		CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME,
	};
	__u32 flags;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		for (flags = 0; flags < 8; flags++) {
			ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, 0));
			if (flags & TWHEEL_CONFIG_CANCEL_ON_SET &&
			    clocks[i] != CLOCK_REALTIME) {
				EXPECT_EQ(-EINVAL, tw_configure(self->fd, clocks[i], flags));
				EXPECT_EQ(CLOCK_MONOTONIC, tw_info(self->fd).clock);
				EXPECT_EQ(0, tw_info(self->fd).config);
			} else {
				EXPECT_EQ(0, tw_configure(self->fd, clocks[i], flags));
				EXPECT_EQ(tw_config_clock(clocks[i]), tw_info(self->fd).clock);
				EXPECT_EQ(flags, tw_info(self->fd).config);
			}
		}
	}
}

TEST_F(tw, config_clocks)
{
	__u32 clock;
	int bit;

	for (clock = 0; clock < 40; clock++)
		if (clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME &&
		    clock != CLOCK_REALTIME)
			EXPECT_EQ(-EINVAL, tw_config(self->fd, clock, 0));
	for (bit = 4; bit < 32; bit++)
		EXPECT_EQ(-EINVAL, tw_config(self->fd, CLOCK_MONOTONIC | 1U << bit, 0));
	for (bit = 0; bit < 32; bit++)
		if (TWHEEL_CLOCK_REALTIME != 1U << bit)
			EXPECT_EQ(-EINVAL, tw_config(self->fd,
						     TWHEEL_CLOCK_REALTIME | 1U << bit, 0));
	EXPECT_EQ(-EINVAL, tw_config(self->fd, ~0U, 0));
	EXPECT_EQ(CLOCK_MONOTONIC, tw_info(self->fd).clock);
}

/*
 * The default clock is CLOCK_MONOTONIC and has number 0, which is CLOCK_REALTIME elsewhere.
 */
TEST_F(tw, config_of_zeros_is_that_of_a_new_context)
{
	static const __u32 flags[] = {
		0, TWHEEL_CONFIG_KEYED, TWHEEL_CONFIG_LEASE,
		TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE,
	};
	struct twheel_info new = tw_info(self->fd), info;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		struct twheel_config config = { .flags = flags[i] };
		struct twheel_arm arm = tw_request(TW_FAR, 0, 0);
		int fd = tw_open();

		ASSERT_LE(0, fd);
		/* A configuration of zeros replaces the previous settings. */
		ASSERT_EQ(0, tw_config(fd, CLOCK_REALTIME, 5));
		EXPECT_EQ(0, tw_call(fd, TWHEEL_IOC_CONFIG, &config));
		info = tw_info(fd);
		EXPECT_EQ(CLOCK_MONOTONIC, info.clock);
		EXPECT_EQ(flags[i], info.config);
		EXPECT_EQ(new.limit, info.limit);
		EXPECT_EQ(0, tw_call(fd, TWHEEL_IOC_ARM, &arm));
		EXPECT_EQ(1, tw_info(fd).pending);
		close(fd);
	}
}

TEST_F(tw, config_of_zeros_is_not_wall_time)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_CANCEL_ON_SET };

	EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_CONFIG, &config));
	config.clock = CLOCK_REALTIME;
	EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_CONFIG, &config));
	EXPECT_EQ(0, tw_info(self->fd).config);

	config.clock = TWHEEL_CLOCK_REALTIME;
	EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CONFIG, &config));
	EXPECT_EQ(TWHEEL_CLOCK_REALTIME, tw_info(self->fd).clock);
	/* The number is not one that clock_gettime() takes. */
	EXPECT_EQ(-1, clock_gettime(TWHEEL_CLOCK_REALTIME, &(struct timespec) { }));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(tw, config_limits_and_the_last_one_wins)
{
	__u64 max = tw_info(self->fd).limit;

	EXPECT_EQ(0, tw_config(self->fd, CLOCK_BOOTTIME, 5));
	EXPECT_EQ(5, tw_info(self->fd).limit);
	EXPECT_EQ(CLOCK_BOOTTIME, tw_info(self->fd).clock);

	EXPECT_EQ(-EINVAL, tw_config(self->fd, CLOCK_MONOTONIC, max + 1));
	EXPECT_EQ(-EINVAL, tw_config(self->fd, CLOCK_MONOTONIC, ~0ULL));
	EXPECT_EQ(-EINVAL, tw_config(self->fd, CLOCK_TAI, 7));
	EXPECT_EQ(5, tw_info(self->fd).limit);
	EXPECT_EQ(CLOCK_BOOTTIME, tw_info(self->fd).clock);

	EXPECT_EQ(0, tw_config(self->fd, CLOCK_MONOTONIC, max));
	EXPECT_EQ(max, tw_info(self->fd).limit);
	EXPECT_EQ(CLOCK_MONOTONIC, tw_info(self->fd).clock);

	EXPECT_EQ(0, tw_config(self->fd, CLOCK_MONOTONIC, 1));
	EXPECT_EQ(0, tw_config(self->fd, CLOCK_MONOTONIC, 0));
	EXPECT_EQ(max, tw_info(self->fd).limit);
}

TEST_F(tw, config_is_settled_by_the_first_timer)
{
	struct twheel_arm arm = tw_request(0, 1U << 15, 0);
	struct twheel_event event;
	__u64 handle;

	/* Calls that fail do not settle the configuration. */
	ASSERT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(1, tw_arm_batch(self->fd, &arm, 1));
	ASSERT_EQ(-EINVAL, arm.result);
	arm = tw_request_for(BAD_HANDLE, 0, 0, 0);
	ASSERT_EQ(-ENOENT, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(-ENOENT, tw_cancel(self->fd, BAD_HANDLE));
	EXPECT_EQ(0, tw_config(self->fd, CLOCK_BOOTTIME, 3));

	ASSERT_ARMED(handle, self->fd, TW_FAR, 0, 0);
	EXPECT_EQ(-EBUSY, tw_config(self->fd, CLOCK_MONOTONIC, 0));
	ASSERT_EQ(0, tw_cancel(self->fd, handle));
	EXPECT_EQ(-EBUSY, tw_config(self->fd, CLOCK_MONOTONIC, 0));
	ASSERT_NE(0, tw_arm(self->fd, 0, 0, 0));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(-EBUSY, tw_config(self->fd, CLOCK_BOOTTIME, 3));
	EXPECT_EQ(3, tw_info(self->fd).limit);
	EXPECT_EQ(CLOCK_BOOTTIME, tw_info(self->fd).clock);
}

TEST_F(tw, arm_refuses_unknown_bits)
{
	struct twheel_arm arm;
	__u64 handle = tw_arm(self->fd, TW_FAR, 0, 77);
	struct twheel_timer_info info;
	int bit, again;

	ASSERT_NE(0, handle);
	/* The bits 1 and 2 are known, but need an interval and a context with leases. */
	for (bit = 1; bit < 16; bit++) {
		if (1U << bit & (TWHEEL_ARM_IF_PENDING | TWHEEL_ARM_IF_NONE))
			continue;
		for (again = 0; again < 2; again++) {
			arm = tw_request_for(again ? handle : 0, 0, 1U << bit, 5);
			EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
			EXPECT_EQ(again ? handle : 0, arm.handle);
			EXPECT_EQ(-EINVAL, arm.result);
			EXPECT_EQ(0, arm.old_state);
			EXPECT_EQ(0, arm.old_remaining);
			EXPECT_EQ(5, arm.user_data);
			EXPECT_EQ(1U << bit, arm.flags);
		}
	}
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_info(self->fd).ready);
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(77, info.user_data);
}

TEST_F(tw, arm_count_needs_an_interval)
{
	static const __u32 counts[] = { 2, 3, 1U << 31, ~0U };
	struct twheel_arm arm;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		arm = tw_request(TW_FAR, 0, 0);
		arm.count = counts[i];
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		EXPECT_EQ(-EINVAL, arm.result);
		EXPECT_EQ(0, arm.handle);
	}
	EXPECT_EQ(0, tw_info(self->fd).pending);
	arm = tw_request(TW_FAR, 0, 0);
	arm.count = 1;
	EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
}

/* Expects that @request is refused, for a new timer and for @live, alone and in a batch. */
#define EXPECT_REFUSED(fd, live, request) do { \
	const struct twheel_arm *__request = (request); \
	__u64 __live = (live); \
	int __fd = (fd); \
	struct twheel_arm __arm; \
	int __again; \
	for (__again = 0; __again < 2; __again++) { \
		__arm = *__request; \
		__arm.handle = __again ? __live : 0; \
		EXPECT_EQ(-EINVAL, tw_call(__fd, TWHEEL_IOC_ARM, &__arm)); \
		EXPECT_EQ(-EINVAL, __arm.result); \
		EXPECT_EQ(__again ? __live : 0, __arm.handle); \
		EXPECT_EQ(__request->count, __arm.count); \
		EXPECT_EQ(0, __arm.word); \
		EXPECT_EQ(0, __arm.tag); \
		EXPECT_EQ(0, __arm.old_state); \
		__arm.result = 0; \
		EXPECT_EQ(1, tw_arm_batch(__fd, &__arm, 1)); \
		EXPECT_EQ(-EINVAL, __arm.result); \
	} \
	EXPECT_EQ(1, tw_info(__fd).pending); \
	EXPECT_EQ(0, tw_info(__fd).ready); \
} while (0)

TEST_F(tw, arm_fixed_delay_needs_an_interval)
{
	__u64 handle = tw_arm(self->fd, TW_FAR, 0, 0);
	struct twheel_arm arm = tw_request(TW_FAR, TWHEEL_ARM_FIXED_DELAY, 0);

	ASSERT_NE(0, handle);
	EXPECT_REFUSED(self->fd, handle, &arm);
	arm.count = 1;
	EXPECT_REFUSED(self->fd, handle, &arm);
	arm.interval = 1;
	EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
}

TEST_F(tw, arm_lease_is_one_shot_and_for_contexts_with_leases)
{
	struct twheel_arm arm = tw_request(TW_FAR, TWHEEL_ARM_LEASE, 0);
	__u64 handle;
	int fd;

	ASSERT_ARMED(handle, self->fd, TW_FAR, 0, 0);
	EXPECT_REFUSED(self->fd, handle, &arm);

	ASSERT_OPEN(fd);
	ASSERT_EQ(0, tw_configure(fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
	ASSERT_ARMED(handle, fd, TW_FAR, 0, 0);
	arm.interval = TW_SEC;
	EXPECT_REFUSED(fd, handle, &arm);
	arm.flags |= TWHEEL_ARM_FIXED_DELAY;
	EXPECT_REFUSED(fd, handle, &arm);
	arm.interval = 0;
	EXPECT_REFUSED(fd, handle, &arm);
	arm.flags = TWHEEL_ARM_LEASE;
	arm.count = 2;
	EXPECT_REFUSED(fd, handle, &arm);
	arm.count = ~0U;
	EXPECT_REFUSED(fd, handle, &arm);
	arm.count = 1;
	EXPECT_EQ(0, tw_call(fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(1, arm.count);
	close(fd);
}

TEST_F(tw, arm_on_wall_time_is_absolute)
{
	struct twheel_arm arm = tw_request(TW_FAR, 0, 0);
	__u64 handle;

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_REALTIME, 0));
	/* A call that fails does not settle the context. */
	EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_REALTIME, 0));

	ASSERT_ARMED(handle, self->fd, tw_now(CLOCK_REALTIME) + TW_FAR, TWHEEL_ARM_ABS, 0);
	EXPECT_REFUSED(self->fd, handle, &arm);
	arm.interval = TW_SEC;
	EXPECT_REFUSED(self->fd, handle, &arm);
}

TEST_F(tw, arm_writes_every_out_field)
{
	struct twheel_arm arm = tw_request(TW_FAR, 0, 9), copy = arm;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_NE(0, arm.handle);
	EXPECT_EQ(0, arm.result);
	EXPECT_EQ(TWHEEL_STATE_NONE, arm.old_state);
	EXPECT_EQ(0, arm.old_remaining);
	/* The call wrote no other field. */
	copy.handle = arm.handle;
	copy.word = 0;
	copy.tag = 0;
	copy.result = 0;
	copy.old_state = 0;
	copy.old_remaining = 0;
	EXPECT_EQ(0, memcmp(&arm, &copy, sizeof(arm)));
}

TEST_F(tw, cancel_refuses_unknown_bits)
{
	__u64 handle = tw_arm(self->fd, TW_FAR, 0, 0);
	struct twheel_cancel cancel;
	int bit, field;

	ASSERT_NE(0, handle);
	for (bit = 0; bit < 32; bit++) {
		for (field = 0; field < 2; field++) {
			memset(&cancel, 0xcc, sizeof(cancel));
			cancel.handle = handle;
			cancel.flags = field ? 0 : 1U << bit;
			cancel.reserved = field ? 1U << bit : 0;
			EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
			EXPECT_EQ(-EINVAL, cancel.result);
			EXPECT_EQ(0, cancel.old_state);
			EXPECT_EQ(0, cancel.old_remaining);
			EXPECT_EQ(handle, cancel.handle);
		}
	}
	EXPECT_EQ(1, tw_info(self->fd).pending);
}

TEST_F(tw, batch_refuses_unknown_bits_and_counts)
{
	static const __u32 counts[] = { 1U << 31, (1U << 31) + 1, ~0U };
	struct twheel_arm arm = tw_request(TW_FAR, 0, 0), copy = arm;
	struct twheel_batch batch = {
		.entries = (unsigned long)&arm, .count = 1,
	};
	size_t i;
	int bit;

	for (bit = 0; bit < 32; bit++) {
		batch.flags = 1U << bit;
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM_BATCH, &batch));
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_CANCEL_BATCH, &batch));
	}
	batch.flags = 0;
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		batch.count = counts[i];
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM_BATCH, &batch));
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_CANCEL_BATCH, &batch));
	}
	EXPECT_EQ(0, memcmp(&arm, &copy, sizeof(arm)));
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

TEST_F(tw, list_refuses_unknown_bits_and_counts)
{
	static const __u32 counts[] = { 0, 1U << 31, ~0U };
	struct twheel_timer_info info;
	struct twheel_list list = { .entries = (unsigned long)&info };
	size_t i;
	int bit;

	ASSERT_NE(0, tw_arm(self->fd, TW_FAR, 0, 0));
	list.count = 1;
	for (bit = 1; bit < 32; bit++) {
		list.flags = 1U << bit;
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
		list.flags |= TWHEEL_LIST_DRAIN;
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
	}
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		list.count = counts[i];
		list.flags = 0;
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
		list.flags = TWHEEL_LIST_DRAIN;
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
	}
	EXPECT_EQ(1, tw_info(self->fd).pending);
}

TEST_F(tw, get_writes_every_field)
{
	struct twheel_arm arm = tw_request(TW_FAR, 0, 0x1122334455667788);
	struct twheel_timer_info info;
	__u64 tick = tw_info(self->fd).tick_ns;

	arm.interval = 123456789;
	arm.slack = 3 * tick + tick / 2;
	arm.count = 42;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(arm.handle, info.handle);
	EXPECT_EQ(0x1122334455667788, info.user_data);
	EXPECT_LE(TW_FAR, info.deadline);
	EXPECT_GE(TW_FAR + tw_now(CLOCK_MONOTONIC), info.deadline);
	EXPECT_LT(TW_FAR / 2, info.remaining);
	EXPECT_GE(TW_FAR, info.remaining);
	EXPECT_EQ(123456789, info.interval);
	EXPECT_EQ(3 * tick, info.slack);
	EXPECT_EQ(42, info.count);
	EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(0, info.word);
	EXPECT_EQ(0, info.tag);

	arm.flags = TWHEEL_ARM_FIXED_DELAY;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(TWHEEL_ARM_FIXED_DELAY, info.flags);

	EXPECT_EQ(-ENOENT, tw_get(self->fd, 0, &info));
	EXPECT_EQ(-ENOENT, tw_get(self->fd, BAD_HANDLE, &info));
}

TEST_F(tw, unknown_ioctls)
{
	static const unsigned long foreign[] = {
		TCGETS, TIOCGWINSZ, 0x80081272 /* BLKGETSIZE64 */, 0, 1, 0x7fffffff,
		_IOR('f', 1, long), _IO('T', 0),
		/* What armed timers in version 1 of the interface */
		_IOWR(0xf7, 2, struct twheel_arm), _IOW(0xf7, 3, struct twheel_batch),
	};
	char buf[256] = "";
	int dir, nr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(foreign); i++)
		EXPECT_EQ(-ENOTTY, tw_call(self->fd, foreign[i], buf));
	/*
	 * Numbers, directions and sizes that no request has, with the magic of the device.
	 */
	for (nr = 10; nr < 256; nr++)
		for (dir = 0; dir < 4; dir++)
			EXPECT_EQ(-ENOTTY, tw_call(self->fd, _IOC(dir, 0xf7, nr, 64), buf));
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		unsigned int cmd = calls[i].cmd;

		for (dir = 0; dir < 4; dir++)
			if (dir != (int)_IOC_DIR(cmd))
				EXPECT_EQ(-ENOTTY, tw_call(self->fd,
							   _IOC(dir, 0xf7, _IOC_NR(cmd),
								calls[i].size), buf));
		EXPECT_EQ(-ENOTTY, tw_call(self->fd, cmd + (8 << 16), buf));
		EXPECT_EQ(-ENOTTY, tw_call(self->fd, cmd - (8 << 16), buf));
		EXPECT_EQ(-ENOTTY, tw_call(self->fd, cmd ^ 0x100, buf));
	}
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

TEST_F(tw, pointers_that_lead_nowhere)
{
	__u64 handle = tw_arm(self->fd, TW_FAR, 0, 0);
	void *pointers[16];
	struct twheel_batch batch = { .count = 1 };
	struct twheel_list list = { .count = 1 };
	size_t i, j, n = bad_pointers(pointers, ARRAY_SIZE(pointers));

	ASSERT_NE(0, handle);
	for (i = 0; i < n; i++) {
		for (j = 0; j < ARRAY_SIZE(calls); j++) {
			EXPECT_EQ(-EFAULT, tw_call(self->fd, calls[j].cmd, pointers[i])) {
				TH_LOG("%s of %p", calls[j].name, pointers[i]);
			}
		}
		batch.entries = (unsigned long)pointers[i];
		EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_ARM_BATCH, &batch));
		EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_CANCEL_BATCH, &batch));
		list.entries = (unsigned long)pointers[i];
		list.cursor = 0;
		list.flags = 0;
		EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
		list.cursor = 0;
		list.flags = TWHEEL_LIST_DRAIN;
		EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
	}
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_cancel(self->fd, handle));
}

/* A 32-bit program cannot get past the check with addresses above its own 4 GiB, either. */
TEST_F(tw, entries_at_kernel_addresses)
{
	static const __u64 addresses[] = {
		0x100000000, 0x00007ffffffff000, 0x0000800000000000,
		0x8000000000000000, 0xffff800000000000, 0xffff888000000000,
		0xffffc90000000000, 0xffffffff81000000, 0xffffffffffffffc0,
	};
	struct twheel_batch batch = { .count = 1 };
	struct twheel_list list = { .count = 1 };
	size_t i;

	ASSERT_NE(0, tw_arm(self->fd, TW_FAR, 0, 0));
	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		batch.entries = addresses[i];
		EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_ARM_BATCH, &batch));
		EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_CANCEL_BATCH, &batch));
		list.entries = addresses[i];
		list.cursor = 0;
		list.flags = i % 2 ? TWHEEL_LIST_DRAIN : 0;
		EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
	}
	/* A length that would wrap round the end of the address space. */
	batch.count = 0x7fffffff;
	EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_ARM_BATCH, &batch));
	EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_CANCEL_BATCH, &batch));
	EXPECT_EQ(1, tw_info(self->fd).pending);
}

TEST_F(tw, arguments_that_end_in_the_void)
{
	size_t page = sysconf(_SC_PAGESIZE), cut, i;
	__u64 handle = tw_arm(self->fd, TW_FAR, 0, 0);
	char *end = tw_guarded(1);

	ASSERT_NE(0, handle);
	ASSERT_NE(NULL, end);
	end += page;
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		for (cut = 1; cut < calls[i].size; cut++) {
			memset(end - page, 0, page);
			EXPECT_EQ(-EFAULT, tw_call(self->fd, calls[i].cmd,
						   end - calls[i].size + cut));
		}
	}
	EXPECT_EQ(1, tw_info(self->fd).pending);
}

/* The outcome cannot be stored, so the call must not have done anything. */
TEST_F(tw, arguments_in_read_only_memory)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct twheel_timer_info info;
	struct twheel_cancel *cancel;
	struct twheel_arm *arm;
	__u64 handle;
	void *mem;

	mem = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	arm = mem;
	cancel = mem;
	ASSERT_ARMED(handle, self->fd, TW_FAR, 0, 1);

	*arm = tw_request(0, 0, 2);
	ASSERT_EQ(0, mprotect(mem, page, PROT_READ));
	EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_ARM, arm));
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_info(self->fd).ready);

	ASSERT_EQ(0, mprotect(mem, page, PROT_READ | PROT_WRITE));
	arm->handle = handle;
	ASSERT_EQ(0, mprotect(mem, page, PROT_READ));
	EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_ARM, arm));
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(1, info.user_data);

	ASSERT_EQ(0, mprotect(mem, page, PROT_READ | PROT_WRITE));
	memset(mem, 0, page);
	cancel->handle = handle;
	ASSERT_EQ(0, mprotect(mem, page, PROT_READ));
	EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_CANCEL, mem));
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_GET, mem));

	ASSERT_EQ(0, mprotect(mem, page, PROT_READ | PROT_WRITE));
	memset(mem, 0, page);
	ASSERT_EQ(0, mprotect(mem, page, PROT_READ));
	EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_GET_INFO, mem));
}

/* One that reaches into a page that cannot be written, or read, changes nothing. */
TEST_F(tw, half_an_entry_changes_nothing)
{
	static const int behind[] = { PROT_READ, PROT_NONE };
	size_t page = sysconf(_SC_PAGESIZE), inside;
	struct twheel_timer_info info = { };
	struct twheel_cancel cancel = { };
	struct twheel_arm arm;
	__u64 handle;
	char *mem;
	int i;

	mem = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	ASSERT_ARMED(handle, self->fd, TW_FAR, 0, 1);
	cancel.handle = handle;
	arm = tw_request_for(handle, TW_FAR, 0, 2);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, mprotect(mem + page, page, behind[i]));
		for (inside = 1; inside < sizeof(arm); inside++) {
			memcpy(mem + page - inside, &arm, inside);
			EXPECT_EQ(-EFAULT, tw_call(self->fd, TWHEEL_IOC_ARM, mem + page - inside));
		}
		for (inside = 1; inside < sizeof(cancel); inside++) {
			memcpy(mem + page - inside, &cancel, inside);
			EXPECT_EQ(-EFAULT,
				  tw_call(self->fd, TWHEEL_IOC_CANCEL, mem + page - inside));
		}
		ASSERT_EQ(0, tw_get(self->fd, handle, &info));
		EXPECT_EQ(1, info.user_data);
		EXPECT_EQ(1, tw_info(self->fd).pending);
	}
}

TEST_F(tw, arguments_need_no_alignment)
{
	char buf[256];
	struct twheel_arm arm;
	struct twheel_info info;
	size_t shift;

	for (shift = 1; shift < 8; shift++) {
		arm = tw_request(TW_FAR, 0, shift);
		memcpy(buf + shift, &arm, sizeof(arm));
		EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, buf + shift));
		memcpy(&arm, buf + shift, sizeof(arm));
		EXPECT_EQ(0, arm.result);
		memset(buf, 0, sizeof(buf));
		EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_GET_INFO, buf + shift));
		memcpy(&info, buf + shift, sizeof(info));
		EXPECT_EQ(shift, info.pending);
	}
}

TEST_HARNESS_MAIN
