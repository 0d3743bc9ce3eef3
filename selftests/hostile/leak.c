// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel memory: no byte that the kernel did not mean to return may reach a program.
 *
 * All outputs are compared as a whole with the expected ones. The structures have no holes,
 * which is asserted. Before each call their memory is poisoned, with two values in turn,
 * and so is the memory around them, which must not change. Free kernel memory is filled
 * with a pattern, so that bytes that the kernel did not write itself can be noticed. It is
 * better still to boot with slub_debug=FZPU page_poison=1 init_on_alloc=0, as the suite
 * does.
 */
#include <assert.h>
#include <stddef.h>
#include <sys/uio.h>

#include "hostile.h"

#define PAGE	4096UL
#define AROUND	256

/* Asserts that a structure has nothing between its fields. */
#define NO_HOLES(type, sum) static_assert(sizeof(struct type) == (sum), #type)
NO_HOLES(twheel_info, 8 + 2 * 8 + 4 * 4 + 7 * 8);
NO_HOLES(twheel_arm, 5 * 8 + 4 * 4 + 8);
NO_HOLES(twheel_cancel, 8 + 4 * 4 + 8);
NO_HOLES(twheel_timer_info, 6 * 8 + 4 * 4);
NO_HOLES(twheel_list, 2 * 8 + 2 * 4);
NO_HOLES(twheel_event, 5 * 8 + 2 * 4);

/* Fills free pages, and slab objects of all sizes, with @pattern. */
static void dirty(unsigned char pattern)
{
	static unsigned char buf[PAGE];
	int socks[2], pipes[64][2], i, k;

	memset(buf, pattern, sizeof(buf));
	for (i = 0; i < 64; i++) {
		if (pipe2(pipes[i], O_NONBLOCK))
			break;
		for (k = 0; k < 16; k++)
			(void)!write(pipes[i][1], buf, PAGE);
	}
	while (i--) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
	for (i = 32; i <= (int)PAGE; i *= 2) {
		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, socks))
			return;
		for (k = 0; k < 256 && send(socks[0], buf, i - 16, 0) > 0; k++)
			;
		close(socks[0]);
		close(socks[1]);
	}
}

FIXTURE(leak)
{
	int fd;
	unsigned char *mem;
	void *arg;
};

FIXTURE_VARIANT(leak)
{
	unsigned char poison;
};

VARIANT(leak, a5) { .poison = 0xa5 };
VARIANT(leak, 3c) { .poison = 0x3c };

FIXTURE_SETUP(leak)
{
	ASSERT_TRUE(geteuid() != 0 || become(NOBODY));
	dirty(~variant->poison);
	ASSERT_OPEN(self->fd);
	self->mem = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	memset(self->mem, variant->poison, 16 * PAGE);
	self->arg = self->mem + AROUND;
}

FIXTURE_TEARDOWN(leak)
{
	close(self->fd);
}

/*
 * Returns whether nothing but the @size bytes at @arg was written to. Poisons everything
 * again.
 */
static bool only(const FIXTURE_DATA(leak) * self, unsigned char poison, size_t size)
{
	size_t i;
	bool ok = true;

	for (i = 0; i < 16 * PAGE; i++)
		if ((i < AROUND || i >= AROUND + size) && self->mem[i] != poison)
			ok = false;
	memset(self->mem, poison, 16 * PAGE);
	return ok;
}

/* Returns whether @ns is a time between @from and now. */
static bool is_since(__u64 ns, __u64 from)
{
	return ns >= from && ns <= tw_now(CLOCK_MONOTONIC);
}

/* Returns whether @ns is the time that was left of @most at some moment since @from. */
static bool is_left(__u64 ns, __u64 most, __u64 from)
{
	return ns <= most && ns >= most - (tw_now(CLOCK_MONOTONIC) - from);
}

/* Sets the output fields of an arming that has replaced nothing. */
static void set_outcome(struct twheel_arm *want, int result)
{
	want->result = result;
	want->old_state = 0;
	want->old_remaining = 0;
	want->word = 0;
	want->tag = 0;
}

/* Puts poison into the output fields of @arm, but for the handle. */
static void spoil(struct twheel_arm *arm, unsigned char poison)
{
	memset(&arm->word, poison, sizeof(arm->word));
	memset(&arm->tag, poison, sizeof(arm->tag));
	memset(&arm->result, poison, sizeof(*arm) - offsetof(struct twheel_arm, result));
}

#define EXPECT_ONLY(self, size) EXPECT_TRUE(only(self, variant->poison, size))

/* Puts a request where calls take their argument from, with poison in the output fields. */
static struct twheel_arm *put_arm(const FIXTURE_DATA(leak) * self, unsigned char poison,
				  __u64 handle, __u64 expires, __u16 flags)
{
	struct twheel_arm *arm = self->arg;

	*arm = tw_request(expires, flags, 0x0123456789abcdef);
	arm->handle = handle;
	spoil(arm, poison);
	return arm;
}

TEST_F(leak, info)
{
	struct twheel_info want = {
		.abi_version = TWHEEL_ABI_VERSION, .clock = CLOCK_MONOTONIC, .pending = 1,
		.ready = 1,
	}, *got = self->arg;
	struct twheel_info other = tw_info(self->fd);
	__u64 begin = tw_now(CLOCK_MONOTONIC), deadline = begin + TW_FAR;
	__u32 flags;

	ASSERT_NE(0, tw_arm(self->fd, deadline, TWHEEL_ARM_ABS, 1));
	ASSERT_NE(0, tw_arm(self->fd, 0, 0, 2));
	want.features = other.features;
	want.tick_ns = other.tick_ns;
	want.slots = other.slots;
	want.levels = other.levels;
	want.limit = other.limit;
	want.user_limit = other.user_limit;
	want.user_timers = other.user_timers + 2;
	EXPECT_GT(2 * TWHEEL_FEATURE_PUSH, other.features);
	EXPECT_GE(4096, other.slots);
	EXPECT_GE(64, other.levels);
	for (flags = 0; flags <= TWHEEL_INFO_NEXT; flags++) {
		got->flags = flags;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_GET_INFO, got));
		want.flags = flags;
		want.next_expiry = flags ? deadline : 0;
		EXPECT_TRUE(is_since(got->now, begin));
		want.now = got->now;
		EXPECT_EQ(0, memcmp(&want, got, sizeof(want)));
		EXPECT_ONLY(self, sizeof(want));
	}
}

TEST_F(leak, arm)
{
	__u64 begin = tw_now(CLOCK_MONOTONIC), handle;
	struct twheel_arm want, *got;

	/* Arm a new timer. */
	got = put_arm(self, variant->poison, 0, TW_FAR, 0);
	want = *got;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, got));
	/* This is the first handle of a new context: generation 1, index 1. */
	handle = 1ULL << 32 | 1;
	want.handle = handle;
	set_outcome(&want, 0);
	EXPECT_EQ(0, memcmp(&want, got, sizeof(want)));
	EXPECT_ONLY(self, sizeof(want));

	/* Re-arm that timer. */
	got = put_arm(self, variant->poison, handle, 2 * TW_FAR, 0);
	want = *got;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, got));
	set_outcome(&want, 0);
	want.old_state = TWHEEL_STATE_PENDING;
	EXPECT_TRUE(is_left(got->old_remaining, TW_FAR, begin));
	want.old_remaining = got->old_remaining;
	EXPECT_EQ(0, memcmp(&want, got, sizeof(want)));
	EXPECT_ONLY(self, sizeof(want));

	/* Two calls are refused. */
	got = put_arm(self, variant->poison, handle + 1, TW_FAR, 0);
	want = *got;
	ASSERT_EQ(-ENOENT, tw_call(self->fd, TWHEEL_IOC_ARM, got));
	set_outcome(&want, -ENOENT);
	EXPECT_EQ(0, memcmp(&want, got, sizeof(want)));
	EXPECT_ONLY(self, sizeof(want));
	got = put_arm(self, variant->poison, 0, TW_FAR, 1U << 14);
	want = *got;
	ASSERT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM, got));
	set_outcome(&want, -EINVAL);
	EXPECT_EQ(0, memcmp(&want, got, sizeof(want)));
	EXPECT_ONLY(self, sizeof(want));
}

TEST_F(leak, cancel)
{
	__u64 begin = tw_now(CLOCK_MONOTONIC), handle = tw_arm(self->fd, TW_FAR, 0, 1);
	struct twheel_cancel want, *got = self->arg;
	__u32 flags, round;

	for (round = 0; round < 3; round++) {
		flags = round == 2;
		got->handle = handle;
		got->flags = flags;
		got->reserved = 0;
		want = (struct twheel_cancel) { .handle = handle, .flags = flags };
		want.result = flags ? -EINVAL : round ? -ENOENT : 0;
		ASSERT_EQ(want.result, tw_call(self->fd, TWHEEL_IOC_CANCEL, got));
		if (!round) {
			want.old_state = TWHEEL_STATE_PENDING;
			EXPECT_TRUE(is_left(got->old_remaining, TW_FAR, begin));
			want.old_remaining = got->old_remaining;
		}
		EXPECT_EQ(0, memcmp(&want, got, sizeof(want)));
		EXPECT_ONLY(self, sizeof(want));
	}
}

/* The batch itself is only read, and so is the memory behind its last entry. */
TEST_F(leak, batches)
{
	struct twheel_batch batch, copy;
	struct twheel_arm want[100], *arms = self->arg;
	struct twheel_cancel expect, *cancels = self->arg;
	int i, n = ARRAY_SIZE(want);

	/* The handles of one CPU follow each other. */
	ASSERT_TRUE(tw_stay());
	for (i = 0; i < n; i++) {
		arms[i] = tw_request(TW_FAR + i, i % 3 ? 0 : 1U << 15, i);
		spoil(&arms[i], variant->poison);
		want[i] = arms[i];
	}
	batch = (struct twheel_batch) { .entries = (unsigned long)arms, .count = n };
	copy = batch;
	ASSERT_EQ(n, tw_call(self->fd, TWHEEL_IOC_ARM_BATCH, &batch));
	EXPECT_EQ(0, memcmp(&copy, &batch, sizeof(copy)));
	for (i = 0; i < n; i++) {
		/* A chunk has 63 timers, and counts its generations from 1. */
		__u64 nr = i - i / 3 - 1;

		want[i].handle = i % 3 ? (nr % 63 + 1) << 32 | (nr + nr / 63 + 1) : 0;
		set_outcome(&want[i], i % 3 ? 0 : -EINVAL);
		EXPECT_EQ(0, memcmp(&want[i], &arms[i], sizeof(want[i])));
	}
	EXPECT_ONLY(self, sizeof(want));

	for (i = 0; i < n; i++)
		cancels[i] = (struct twheel_cancel) { .handle = want[i].handle };
	batch.entries = (unsigned long)cancels;
	ASSERT_EQ(n, tw_call(self->fd, TWHEEL_IOC_CANCEL_BATCH, &batch));
	for (i = 0; i < n; i++) {
		expect = (struct twheel_cancel) { .handle = want[i].handle };
		expect.result = want[i].handle ? 0 : -ENOENT;
		expect.old_state = want[i].handle ? TWHEEL_STATE_PENDING : 0;
		if (want[i].handle) {
			EXPECT_GE(TW_FAR + i, cancels[i].old_remaining);
			EXPECT_LT(TW_FAR / 2, cancels[i].old_remaining);
			expect.old_remaining = cancels[i].old_remaining;
		}
		EXPECT_EQ(0, memcmp(&expect, &cancels[i], sizeof(expect)));
	}
	EXPECT_ONLY(self, n * sizeof(*cancels));
}

TEST_F(leak, get_and_list)
{
	__u64 begin = tw_now(CLOCK_MONOTONIC), deadline = begin + TW_FAR, tick;
	struct twheel_timer_info want = { }, *got = self->arg;
	struct twheel_arm arm = tw_request(deadline, TWHEEL_ARM_ABS | TWHEEL_ARM_FIXED_DELAY, 5);
	struct twheel_list list;
	int round;

	tick = tw_info(self->fd).tick_ns;
	arm.interval = 7;
	arm.count = 9;
	arm.slack = 3 * tick + 1;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	want = (struct twheel_timer_info) {
		.handle = arm.handle, .user_data = 5, .deadline = deadline, .interval = 7,
		.slack = 3 * tick, .count = 9, .state = TWHEEL_STATE_PENDING,
		.flags = TWHEEL_ARM_FIXED_DELAY,
	};
	got->handle = arm.handle;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_GET, got));
	EXPECT_TRUE(is_left(got->remaining, TW_FAR, begin));
	want.remaining = got->remaining;
	EXPECT_EQ(0, memcmp(&want, got, sizeof(want)));
	EXPECT_ONLY(self, sizeof(want));

	/* A call that fails returns nothing. */
	got->handle = arm.handle + 1;
	ASSERT_EQ(-ENOENT, tw_call(self->fd, TWHEEL_IOC_GET, got));
	EXPECT_EQ(arm.handle + 1, got->handle);
	got->handle = 0;
	memset(got, variant->poison, sizeof(got->handle));
	EXPECT_ONLY(self, 0);

	/* Walk, then walk on at the end, then drain, with room for more timers than there are. */
	for (round = 0; round < 3; round++) {
		list = (struct twheel_list) {
			.entries = (unsigned long)got, .count = 10, .cursor = round == 1 ?
			list.cursor : 0, .flags = round == 2 ? TWHEEL_LIST_DRAIN : 0,
		};
		ASSERT_EQ(round != 1, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
		/* The cursor stands at the end of the first chunk, whose indices go up to 64. */
		EXPECT_EQ(64ULL << 32, list.cursor & ~0xffffffffULL);
		EXPECT_GE(64, list.cursor & 0xffffffff);
		EXPECT_EQ((unsigned long)got, list.entries);
		EXPECT_EQ(10, list.count);
		if (round == 1) {
			EXPECT_ONLY(self, 0);
			continue;
		}
		EXPECT_TRUE(is_left(got->remaining, TW_FAR, begin));
		want.remaining = got->remaining;
		EXPECT_EQ(0, memcmp(&want, got, sizeof(want)));
		EXPECT_ONLY(self, sizeof(want));
	}
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

TEST_F(leak, records)
{
	struct twheel_event want = { .user_data = 11, .deadline = 1, .expirations = 1 };
	__u64 begin = tw_now(CLOCK_MONOTONIC);
	struct twheel_event *got = self->arg;
	struct twheel_arm arm;
	struct iovec iov[3];
	int i;

	want.flags = TWHEEL_EVENT_LAST;
	want.handle = tw_arm(self->fd, 1, TWHEEL_ARM_ABS, 11);
	/* The buffer has room for one and a half records. */
	ASSERT_EQ(sizeof(*got), tw_read(self->fd, got, sizeof(*got) * 3 / 2));
	EXPECT_TRUE(is_since(got->expired, begin));
	want.expired = got->expired;
	EXPECT_EQ(0, memcmp(&want, got, sizeof(want)));
	EXPECT_ONLY(self, sizeof(*got));
	/* These reads fail, as there is no record or no room for one. */
	ASSERT_EQ(-EAGAIN, tw_read(self->fd, got, 4 * sizeof(*got)));
	ASSERT_EQ(-EINVAL, tw_read(self->fd, got, sizeof(*got) - 1));
	EXPECT_ONLY(self, 0);

	/* Read a periodic timer into a buffer in three pieces. */
	arm = tw_request(1, TWHEEL_ARM_ABS, 12);
	arm.interval = ~0ULL >> 1;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	for (i = 0; i < 3; i++)
		iov[i] = (struct iovec) { (char *)got + 16 * i, 16 };
	ASSERT_EQ(sizeof(*got), readv(self->fd, iov, 3));
	want.handle = arm.handle;
	want.user_data = 12;
	want.flags = 0;
	EXPECT_TRUE(is_since(got->expired, begin));
	want.expired = got->expired;
	EXPECT_EQ(0, memcmp(&want, got, sizeof(want)));
	EXPECT_ONLY(self, sizeof(*got));

	/* A read that faults half way must leave the record to be read again. */
	ASSERT_NE(0, tw_arm(self->fd, 1, TWHEEL_ARM_ABS, 13));
	iov[0] = (struct iovec) { got, 16 };
	iov[1] = (struct iovec) { NULL, 32 };
	ASSERT_EQ(-1, readv(self->fd, iov, 2));
	ASSERT_EQ(EFAULT, errno);
	EXPECT_EQ(1, tw_info(self->fd).ready);
	EXPECT_ONLY(self, 16);
}

/* Requests that only read, and unknown ones, write nothing. */
TEST_F(leak, read_only_requests)
{
	struct twheel_config *config = self->arg;
	unsigned int nr, dir;

	*config = (struct twheel_config) { .clock = CLOCK_BOOTTIME, .limit = 7 };
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CONFIG, config));
	EXPECT_EQ(CLOCK_BOOTTIME, config->clock);
	EXPECT_EQ(7, config->limit);
	EXPECT_ONLY(self, sizeof(*config));
	for (nr = 0; nr < 256; nr++)
		for (dir = 0; dir < 4; dir++)
			ASSERT_EQ(-ENOTTY, tw_call(self->fd, _IOC(dir, TWHEEL_IOC_MAGIC, nr, 8),
						   self->arg));
	EXPECT_ONLY(self, 0);
}

/* Looks at whole pages of words, of which few are in use, with one page and two in turn. */
TEST_F(leak, words)
{
	__u64 deadline = tw_now(CLOCK_MONOTONIC) + TW_FAR, *words;
	struct twheel_arm arm;
	int fd, round, i, pages;
	__u32 word = 0;

	ASSERT_TRUE(tw_stay());
	for (round = 0; round < 20; round++) {
		ASSERT_OPEN(fd);
		ASSERT_EQ(0, tw_configure(fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
		words = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ASSERT_NE(MAP_FAILED, words);
		/*
		 * 504 timers have their words in one page, so one more needs a second page.
		 */
		for (i = 0; i <= 504 * (round & 1); i++) {
			arm = tw_request(deadline, TWHEEL_ARM_ABS | TWHEEL_ARM_LEASE, 1);
			ASSERT_EQ(0, tw_call(fd, TWHEEL_IOC_ARM, &arm));
			word = arm.word;
			ASSERT_EQ(tw_lease_value(1, deadline), words[word]);
			words[word] = TWHEEL_LEASE_EXPIRED;
		}
		pages = 1 + word / (PAGE / sizeof(*words));
		EXPECT_EQ(1 + (round & 1), pages);
		for (i = 0; i < (int)(pages * PAGE / sizeof(*words)); i++)
			ASSERT_EQ(TWHEEL_LEASE_EXPIRED, words[i]);
		/* The next owner of the page must not find this. */
		memset(words, variant->poison, pages * PAGE);
		munmap(words, 4 * PAGE);
		close(fd);
	}
}

TEST_F(leak, fdinfo)
{
	char path[64], text[512], want[512], *own;
	ssize_t n;
	int fd;

	ASSERT_NE(0, tw_arm(self->fd, TW_FAR, 0, 1));
	ASSERT_NE(0, tw_arm(self->fd, 0, 0, 2));
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->fd);
	fd = open(path, O_RDONLY);
	ASSERT_LE(0, fd);
	n = read(fd, text, sizeof(text) - 1);
	ASSERT_LT(0, n);
	close(fd);
	text[n] = 0;
	EXPECT_EQ(n, strlen(text));
	/* Compare the lines behind those that all files have. */
	own = strstr(text, "clock:");
	ASSERT_NE(NULL, own);
	snprintf(want, sizeof(want), "clock:\t1\nconfig:\t0x0\npending:\t1\nready:\t1\n"
		 "limit:\t%llu\n", tw_info(self->fd).limit);
	EXPECT_STREQ(want, own);
}

TEST_HARNESS_MAIN
