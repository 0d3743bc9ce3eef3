// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leases: how their words are mapped, and what a word says at which moment.
 *
 * This file is also built for 32 bits, where a word is longer than a pointer.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "twheel_test.h"

/* Enough words for all tests but one. */
#define MAP_SIZE	65536

static uint64_t *map_words(int fd, size_t size, off64_t offset)
{
	return mmap64(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

static sigjmp_buf on_bus_error;

static void jump(int sig)
{
	(void)sig;
	siglongjmp(on_bus_error, 1);
}

/* Returns whether there is a page behind @word. */
static bool is_there(const volatile uint64_t *word)
{
	struct sigaction action = { .sa_handler = jump }, old;
	bool there = false;

	sigaction(SIGBUS, &action, &old);
	if (!sigsetjmp(on_bus_error, 1)) {
		(void)*word;
		there = true;
	}
	sigaction(SIGBUS, &old, NULL);
	return there;
}

/*
 * Arms a lease and stores the index of its word in *@word. Returns its handle, or 0 after a
 * failure.
 */
static __u64 arm_lease(int fd, __u64 expires, __u32 flags, __u32 *word)
{
	struct twheel_arm arm = tw_request(expires, flags | TWHEEL_ARM_LEASE, 7);

	if (tw_call(fd, TWHEEL_IOC_ARM, &arm))
		return 0;
	*word = arm.word;
	return arm.handle;
}

/*
 * A time ahead that a word can say: what a word cannot say is rounded up, but down if the lease is
 * armed too late for it.
 */
static __u64 soon(clockid_t clock)
{
	return tw_lease_round(tw_now(clock) + 30 * TW_MSEC);
}

/* Waits until the word says that the lease is over, as a program that never calls read() may. */
static bool wait_expired(int fd, const uint64_t *word)
{
	__u64 limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;

	while (!tw_lease_expired(word)) {
		if (tw_now(CLOCK_MONOTONIC) > limit)
			return false;
		/* An embedded wheel looks when it is called. */
		if (TW_EMBEDDED)
			tw_info(fd);
		sched_yield();
	}
	return true;
}

FIXTURE(lease)
{
	int fd;
	uint64_t *words;
};

FIXTURE_SETUP(lease)
{
	ASSERT_OPEN(self->fd);
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
	self->words = map_words(self->fd, MAP_SIZE, 0);
	ASSERT_NE(MAP_FAILED, self->words);
}

FIXTURE_TEARDOWN(lease)
{
	munmap(self->words, MAP_SIZE);
	close(self->fd);
}

TEST_F(tw, no_words_without_leases)
{
	EXPECT_EQ(MAP_FAILED, map_words(self->fd, MAP_SIZE, 0));
	EXPECT_EQ(ENODEV, errno);
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
	EXPECT_EQ(MAP_FAILED, map_words(self->fd, MAP_SIZE, 0));
	EXPECT_EQ(ENODEV, errno);
}

TEST_F(lease, kinds_of_mappings)
{
	volatile uint64_t *words;
	__u32 word;

	EXPECT_EQ(MAP_FAILED, mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE,
				   self->fd, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, MAP_SIZE, PROT_READ, MAP_PRIVATE, self->fd, 0));
	EXPECT_EQ(EINVAL, errno);

	/* A program that only looks need not map for writing. */
	words = mmap(NULL, MAP_SIZE, PROT_READ, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, words);
	ASSERT_NE(0, arm_lease(self->fd, 12345 * TW_FAR, TWHEEL_ARM_ABS, &word));
	EXPECT_EQ(tw_lease_value(1, 12345 * TW_FAR), words[word]);
	munmap((void *)words, MAP_SIZE);
}

/* The page of a word is allocated for the first timer that needs it. */
TEST_F(lease, pages_on_demand)
{
	size_t page = sysconf(_SC_PAGESIZE), per_page = page / sizeof(uint64_t), i;
	__u32 word = 0, most = 0;
	uint64_t *far;

	for (i = 0; i < MAP_SIZE / page; i++)
		EXPECT_FALSE(is_there(self->words + i * per_page));

	/* Timers of all kinds have words, but only leases use them. */
	ASSERT_NE(0, arm_lease(self->fd, TW_FAR, 0, &word));
	ASSERT_GT(per_page, word);
	EXPECT_TRUE(is_there(self->words + word));
	EXPECT_TRUE(is_there(self->words + per_page - 1));
	EXPECT_FALSE(is_there(self->words + per_page));

	for (i = 1; i < 2 * per_page; i++) {
		ASSERT_NE(0, arm_lease(self->fd, TW_FAR, 0, &word));
		most = word > most ? word : most;
	}
	/*
	 * The words are close together, in pages that exist, and there is no page after the
	 * last.
	 */
	EXPECT_LE(2 * per_page, most);
	EXPECT_GT(3 * per_page, most);
	EXPECT_TRUE(is_there(self->words + most));
	EXPECT_FALSE(is_there(self->words + 3 * per_page));

	/* This offset is further away than there can be timers. */
	far = map_words(self->fd, page, 1ULL << 40);
	ASSERT_NE(MAP_FAILED, far);
	EXPECT_FALSE(is_there(far));
	munmap(far, page);
}

TEST_F(lease, word_while_it_runs)
{
	__u64 before = tw_now(CLOCK_MONOTONIC), after;
	__u32 word, other;

	ASSERT_NE(0, arm_lease(self->fd, TW_FAR, 0, &word));
	after = tw_now(CLOCK_MONOTONIC);
	EXPECT_LE(before + TW_FAR, tw_lease_deadline(&self->words[word]));
	EXPECT_GE(tw_lease_round(after + TW_FAR), tw_lease_deadline(&self->words[word]));
	ASSERT_NE(0, arm_lease(self->fd, after + TW_FAR, TWHEEL_ARM_ABS, &other));
	EXPECT_NE(word, other);
	EXPECT_EQ(tw_lease_value(1, after + TW_FAR), self->words[other]);
	/*
	 * A deadline that is too large is cut, and changes neither the tag nor the bit of an
	 * expired lease.
	 */
	ASSERT_NE(0, arm_lease(self->fd, TWHEEL_LEASE_EXPIRED - 1, 0, &other));
	EXPECT_EQ(tw_lease_value(1, TWHEEL_LEASE_EXPIRED - 1), self->words[other]);
	EXPECT_EQ(TWHEEL_LEASE_UNITS_MASK, self->words[other] & TWHEEL_LEASE_UNITS_MASK);
	ASSERT_NE(0, arm_lease(self->fd, TWHEEL_LEASE_EXPIRED - 1, TWHEEL_ARM_ABS, &other));
	EXPECT_EQ(tw_lease_value(1, TWHEEL_LEASE_EXPIRED - 1), self->words[other]);
	EXPECT_EQ(TWHEEL_LEASE_UNITS_MASK, self->words[other] & TWHEEL_LEASE_UNITS_MASK);
	EXPECT_EQ(0, arm_lease(self->fd, TWHEEL_LEASE_EXPIRED, TWHEEL_ARM_ABS, &other));
}

TEST_F(lease, word_when_it_expires)
{
	__u64 deadline = soon(CLOCK_MONOTONIC), handle;
	struct twheel_event event;
	__u32 word;

	handle = arm_lease(self->fd, deadline, TWHEEL_ARM_ABS, &word);
	ASSERT_NE(0, handle);
	ASSERT_TRUE(wait_expired(self->fd, &self->words[word]));
	EXPECT_LE(deadline, tw_now(CLOCK_MONOTONIC));
	EXPECT_EQ(tw_lease_value(1, deadline) | TWHEEL_LEASE_EXPIRED, self->words[word]);
	EXPECT_EQ(0, tw_lease_extend(&self->words[word], deadline + TW_FAR));

	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(handle, event.handle);
	EXPECT_EQ(tw_lease_round(deadline), event.deadline);
	EXPECT_LE(event.deadline, event.expired);
	EXPECT_EQ(1, event.expirations);
	EXPECT_EQ(TWHEEL_EVENT_LAST, event.flags);
	EXPECT_EQ(7, event.user_data);
	EXPECT_TRUE(tw_lease_expired(&self->words[word]));
	EXPECT_EQ(0, tw_lease_extend(&self->words[word], deadline + TW_FAR));
}

TEST_F(lease, too_late_from_the_start)
{
	struct twheel_event event;
	__u32 word;

	ASSERT_NE(0, arm_lease(self->fd, 1025, TWHEEL_ARM_ABS, &word));
	EXPECT_TRUE(tw_lease_expired(&self->words[word]));
	EXPECT_EQ(0, tw_lease_extend(&self->words[word], TW_FAR + tw_now(CLOCK_MONOTONIC)));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	/* Rounded down, as it had passed. */
	EXPECT_EQ(1024, event.deadline);
}

/*
 * A lease for this very moment ends at once, although its deadline would be ahead if it were
 * rounded up.
 */
TEST_F(lease, now)
{
	struct twheel_event event;
	__u64 now;
	__u32 word;
	int i;

	for (i = 0; i < 100; i++) {
		now = tw_now(CLOCK_MONOTONIC);
		ASSERT_NE(0, arm_lease(self->fd, 0, 0, &word));
		ASSERT_TRUE(tw_lease_expired(&self->words[word]));
		ASSERT_EQ(sizeof(event), tw_read(self->fd, &event, sizeof(event)));
		ASSERT_GE(event.expired, event.deadline);
		ASSERT_LT(now - 1024, event.deadline);
		ASSERT_EQ(0, event.deadline % 1024);
	}
}

/* The lease is pushed back twenty times, each time before it was due. */
TEST_F(lease, extend)
{
	__u64 step = tw_lease_round(30 * TW_MSEC), deadline = soon(CLOCK_MONOTONIC);
	struct twheel_event event;
	__u32 word;
	int i;

	ASSERT_NE(0, arm_lease(self->fd, deadline, TWHEEL_ARM_ABS, &word));
	for (i = 0; i < 20; i++) {
		ASSERT_TRUE(tw_pass(step / 2));
		/* On a slow machine the extension may come too late. Then the test ends here. */
		if (!tw_lease_extend(&self->words[word], deadline + step))
			break;
		deadline += step;
		EXPECT_EQ(tw_lease_value(1, deadline), self->words[word] & ~TWHEEL_LEASE_EXPIRED);
	}
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(tw_lease_round(deadline), event.deadline);
	EXPECT_LE(event.deadline, event.expired);
	EXPECT_EQ(tw_lease_value(1, deadline) | TWHEEL_LEASE_EXPIRED, self->words[word]);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
	TH_LOG("extended %d times", i);
}

/*
 * The lease is extended so far that it belongs into another bucket. The kernel looks at it
 * at its old deadline.
 */
TEST_F(lease, extended_by_far)
{
	__u64 wait = 25 * TW_MSEC, deadline, handle;
	struct twheel_timer_info info;
	struct twheel_event event;
	int in_time;
	__u32 word;

	do {
		wait *= 2;
		deadline = tw_now(CLOCK_MONOTONIC) + wait;
		handle = arm_lease(self->fd, deadline, TWHEEL_ARM_ABS, &word);
		ASSERT_NE(0, handle);
		in_time = tw_lease_extend(&self->words[word], deadline + TW_FAR);
		/* On a slow machine the kernel may have come first. */
		if (!in_time)
			ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	} while (!in_time && wait < TW_SEC);
	ASSERT_EQ(1, in_time);
	ASSERT_TRUE(tw_pass(2 * wait));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
	EXPECT_EQ(tw_lease_round(deadline + TW_FAR), tw_lease_deadline(&self->words[word]));
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
	EXPECT_EQ(tw_lease_round(deadline + TW_FAR), info.deadline);
}

TEST_F(lease, word_after_cancel_and_drain)
{
	struct twheel_timer_info entry;
	struct twheel_list list = {
		.entries = (unsigned long)&entry, .count = 1, .flags = TWHEEL_LIST_DRAIN,
	};
	__u32 cancelled, drained;
	__u64 handle, said;

	handle = arm_lease(self->fd, TW_FAR, 0, &cancelled);
	ASSERT_NE(0, handle);
	said = self->words[cancelled];
	ASSERT_EQ(0, tw_cancel(self->fd, handle));
	/* Tag and deadline stay. */
	EXPECT_EQ(said | TWHEEL_LEASE_EXPIRED, self->words[cancelled]);
	EXPECT_EQ(0, tw_lease_extend(&self->words[cancelled], 2 * TW_FAR));

	ASSERT_NE(0, arm_lease(self->fd, TW_FAR, 0, &drained));
	said = self->words[drained];
	EXPECT_FALSE(tw_lease_expired(&self->words[drained]));
	ASSERT_EQ(1, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
	EXPECT_EQ(said | TWHEEL_LEASE_EXPIRED, self->words[drained]);
	EXPECT_EQ(0, tw_lease_extend(&self->words[drained], 2 * TW_FAR));
}

/* Extends until that is refused. */
static void *extend_on(void *word)
{
	while (tw_lease_extend(word, tw_lease_deadline(word) + TW_SEC) > 0)
		;
	return NULL;
}

/* A C library of 32 bits joins threads by a call with 32-bit times, which not all kernels have. */
static bool can_join(void)
{
	int one = 1;

	return syscall(SYS_futex, &one, FUTEX_WAIT, 0, NULL) < 0 && errno == EAGAIN;
}

/* What a drain tells is not before the last extension that came in time. */
TEST_F(lease, drained_while_it_is_extended)
{
	struct twheel_timer_info entry;
	__u64 deadline;
	pthread_t thread;
	uint64_t *word;
	__u32 nr;
	int i;

	if (!can_join())
		SKIP(return, "this kernel has no futex for programs of 32 bits");
	for (i = 0; i < 300; i++) {
		struct twheel_list list = {
			.entries = (unsigned long)&entry, .count = 1, .flags = TWHEEL_LIST_DRAIN,
		};

		ASSERT_NE(0, arm_lease(self->fd, TW_FAR, 0, &nr));
		word = &self->words[nr];
		deadline = tw_lease_deadline(word);
		ASSERT_EQ(0, pthread_create(&thread, NULL, extend_on, word));
		while (tw_lease_deadline(word) < deadline + i % 100 * TW_SEC)
			sched_yield();
		EXPECT_EQ(1, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
		pthread_join(thread, NULL);
		ASSERT_EQ(tw_lease_deadline(word), entry.deadline);
	}
}

TEST_F(lease, rearm)
{
	struct twheel_arm arm = tw_request(TW_FAR, TWHEEL_ARM_LEASE, 1);
	__u64 deadline = tw_now(CLOCK_MONOTONIC) + 2 * TW_FAR;
	struct twheel_event event;
	uint64_t *word;
	__u16 tag;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	word = &self->words[arm.word];
	tag = arm.tag;
	EXPECT_EQ(1, tag);
	ASSERT_EQ(1, tw_lease_extend_own(word, tag, deadline));

	/* The time that was left follows from the word, not from the deadline as armed. */
	arm = (struct twheel_arm){
		.handle = arm.handle, .expires = deadline + TW_FAR,
		.flags = TWHEEL_ARM_LEASE | TWHEEL_ARM_ABS, .word = 0xcccccccc, .tag = 0xcccc,
	};
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(word, &self->words[arm.word]);
	EXPECT_EQ(tag, arm.tag);
	EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
	EXPECT_GE(2 * TW_FAR + 1023, arm.old_remaining);
	EXPECT_LT(2 * TW_FAR - TW_LIMIT_MS * TW_MSEC, arm.old_remaining);
	EXPECT_EQ(tw_lease_value(tag, deadline + TW_FAR), *word);

	/*
	 * A re-arm shortens a lease. An extension to an earlier deadline changes nothing.
	 */
	deadline = soon(CLOCK_MONOTONIC);
	EXPECT_EQ(1, tw_lease_extend(word, deadline));
	EXPECT_LT(deadline, tw_lease_deadline(word));
	arm.expires = deadline;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_TRUE(wait_expired(self->fd, word));
	EXPECT_EQ(tw_lease_value(tag, deadline) | TWHEEL_LEASE_EXPIRED, *word);

	/*
	 * The lease has expired, but nobody has read that: the re-arm revives it, whatever
	 * the word says.
	 */
	arm.expires = deadline + TW_FAR;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(TWHEEL_STATE_READY, arm.old_state);
	EXPECT_EQ(0, arm.old_remaining);
	EXPECT_EQ(tw_lease_value(tag, deadline + TW_FAR), *word);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
	EXPECT_EQ(1, tw_lease_extend(word, deadline + 2 * TW_FAR));

	/* Re-arm it to a time in the past. */
	arm.expires = 1024;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(tw_lease_value(tag, 1024) | TWHEEL_LEASE_EXPIRED, *word);
	EXPECT_EQ(0, tw_lease_extend(word, deadline + 2 * TW_FAR));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(1024, event.deadline);
}

TEST_F(lease, rearm_as_something_else)
{
	struct twheel_arm arm = tw_request(TW_FAR, TWHEEL_ARM_LEASE, 1);
	struct twheel_timer_info info;
	uint64_t *word;
	__u64 handle;

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	handle = arm.handle;
	word = &self->words[arm.word];
	arm = tw_request_for(handle, TW_FAR, 0, 2);
	arm.interval = TW_SEC;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
	EXPECT_EQ(0, arm.word);
	EXPECT_EQ(0, arm.tag);
	EXPECT_TRUE(tw_lease_expired(word));
	EXPECT_EQ(1, tw_lease_tag(word));
	EXPECT_EQ(0, tw_lease_extend(word, 3 * TW_FAR));
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(0, info.word);
	EXPECT_EQ(0, info.tag);

	/* The timer is no lease now, so nothing looks at a value stored in the word. */
	*word = tw_lease_value(1, tw_now(CLOCK_MONOTONIC) + 3 * TW_FAR);
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_GE(tw_now(CLOCK_MONOTONIC) + TW_FAR, info.deadline);

	/* Make it a lease again. */
	arm = tw_request_for(handle, 2 * TW_FAR, TWHEEL_ARM_LEASE, 3);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_GE(TW_FAR, arm.old_remaining);
	EXPECT_EQ(word, &self->words[arm.word]);
	EXPECT_FALSE(tw_lease_expired(word));
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(TWHEEL_ARM_LEASE, info.flags);
	EXPECT_EQ(tw_lease_deadline(word), info.deadline);
	EXPECT_EQ(1, info.tag);
}

/*
 * One structure for a lease, a periodic timer with an end, a lease again: what the kernel has
 * written into it for one is not taken for anything by the next call.
 */
TEST_F(lease, one_structure_for_several_calls)
{
	struct twheel_arm arm = tw_request(TW_FAR, TWHEEL_ARM_LEASE, 1);
	struct twheel_timer_info info;
	__u32 word;
	__u16 tag = 1;
	int i;

	for (i = 0; i < 3; i++) {
		/* A new timer each time, and then a re-arm */
		arm.handle = i == 2 ? arm.handle : 0;
		arm.flags = TWHEEL_ARM_LEASE;
		arm.interval = 0;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		EXPECT_NE(0, arm.word);
		EXPECT_EQ(tag, arm.tag);
		word = arm.word;
		tag = arm.tag;
		/* As it is */
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		EXPECT_EQ(word, arm.word);
		EXPECT_EQ(tag, arm.tag);
		EXPECT_EQ(0, arm.count);

		/* An ordinary timer in its place; a periodic one, without an end; a new one */
		arm.flags = 0;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		EXPECT_EQ(0, arm.word);
		EXPECT_EQ(0, arm.tag);
		arm.interval = TW_SEC;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
		EXPECT_EQ(0, info.count);
		EXPECT_EQ(TW_SEC, info.interval);
	}
}

/* What GET tells of a lease can be armed as it is, with the same result. */
TEST_F(lease, armed_as_it_was_described)
{
	struct twheel_arm arm = tw_request(TW_FAR + 1, TWHEEL_ARM_LEASE, 9), again;
	struct twheel_timer_info info, other;

	arm.slack = 5 * TW_SEC;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	again = tw_request(info.deadline, info.flags | TWHEEL_ARM_ABS, info.user_data);
	again.interval = info.interval;
	again.slack = info.slack;
	again.count = info.count;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &again));
	ASSERT_EQ(0, tw_get(self->fd, again.handle, &other));
	EXPECT_EQ(info.deadline, other.deadline);
	EXPECT_EQ(info.slack, other.slack);
	EXPECT_EQ(info.count, other.count);
	EXPECT_EQ(info.flags, other.flags);
	/* And so does a second GET with the same structure. */
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_GET, &other));
	EXPECT_EQ(again.tag, other.tag);
}

/*
 * Ends a lease and arms 1,024 others after it in its word. The program that still has the first
 * one is too late for 1,023 of them. With the last the tag comes again: see
 * TWHEEL_LEASE_TAG_SHIFT.
 */
static bool stale_lease(int fd, uint64_t *words, __u64 key)
{
	struct twheel_arm first = tw_request(TW_FAR, TWHEEL_ARM_LEASE, 1), arm;
	__u64 later = tw_now(CLOCK_MONOTONIC) + 3 * TW_FAR, said, handle;
	struct twheel_timer_info info;
	uint64_t *word;
	bool ok;
	int i;

	first.handle = key;
	if (!tw_stay() || tw_call(fd, TWHEEL_IOC_ARM, &first))
		return false;
	word = &words[first.word];
	ok = tw_lease_extend_own(word, first.tag, later - TW_FAR);
	handle = first.handle;
	for (i = 1; ok && i <= TWHEEL_LEASE_TAG_MASK + 1; i++) {
		/* It ends by a cancel, or expires and is read. */
		if (i % 2) {
			ok = !tw_cancel(fd, handle);
		} else {
			struct twheel_event event;

			arm = tw_request_for(handle, 0, TWHEEL_ARM_LEASE, 2);
			ok = !tw_call(fd, TWHEEL_IOC_ARM, &arm) &&
			     tw_collect(fd, &event, 1) == 1 && event.handle == handle;
		}
		ok = ok && !tw_lease_extend_own(word, first.tag, later);

		/* An ordinary timer may have the place as well. */
		arm = tw_request(TW_FAR, i % 5 || i > TWHEEL_LEASE_TAG_MASK ?
				 TWHEEL_ARM_LEASE : 0, 3);
		arm.handle = key;
		ok = ok && !tw_call(fd, TWHEEL_IOC_ARM, &arm);
		handle = arm.handle;
		said = *word;
		ok = ok && !tw_get(fd, handle, &info) && info.tag == arm.tag;
		if (arm.flags & TWHEEL_ARM_LEASE)
			ok = ok && arm.word == first.word &&
			     arm.tag == ((first.tag + i) & TWHEEL_LEASE_TAG_MASK) &&
			     tw_lease_tag(word) == arm.tag;
		if (i <= TWHEEL_LEASE_TAG_MASK)
			ok = ok && !tw_lease_extend_own(word, first.tag, later) && *word == said;
		else
			ok = ok && tw_lease_extend_own(word, first.tag, later);
		if (!ok)
			ksft_print_msg("timer %d: tag %u, word %llx\n", i, arm.tag, said);
	}
	return ok && !tw_cancel(fd, handle);
}

TEST_F(lease, stale_lease_is_too_late)
{
	EXPECT_TRUE(stale_lease(self->fd, self->words, 0));
}

TEST_F(tw, stale_lease_with_a_key_is_too_late)
{
	uint64_t *words;

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_MONOTONIC,
				  TWHEEL_CONFIG_LEASE | TWHEEL_CONFIG_KEYED));
	words = map_words(self->fd, MAP_SIZE, 0);
	ASSERT_NE(MAP_FAILED, words);
	EXPECT_TRUE(stale_lease(self->fd, words, 77));
	munmap(words, MAP_SIZE);
}

/* A re-arm of an ordinary timer as a lease does not revive the lease that had the word before. */
TEST_F(lease, ordinary_timer_that_becomes_a_lease)
{
	struct twheel_arm arm = tw_request(TW_FAR, TWHEEL_ARM_LEASE, 1);
	__u64 later = tw_now(CLOCK_MONOTONIC) + 3 * TW_FAR;
	uint64_t *word;
	__u16 tag;

	ASSERT_TRUE(tw_stay());
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	word = &self->words[arm.word];
	tag = arm.tag;
	ASSERT_EQ(0, tw_cancel(self->fd, arm.handle));
	arm = tw_request(TW_FAR, 0, 2);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	arm.flags = TWHEEL_ARM_LEASE;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(word, &self->words[arm.word]);
	EXPECT_FALSE(tw_lease_extend_own(word, tag, later));
	EXPECT_TRUE(tw_lease_extend_own(word, arm.tag, later));
}

/* A word that is used again holds nothing of the timer that had it before. */
TEST_F(lease, words_are_used_again)
{
	__u32 word, first;
	__u64 handle;
	int i;

	ASSERT_TRUE(tw_stay());
	handle = arm_lease(self->fd, TW_FAR, 0, &first);
	for (i = 0; i < 200; i++) {
		ASSERT_NE(0, handle);
		ASSERT_EQ(0, tw_cancel(self->fd, handle));
		self->words[first] = i;
		handle = arm_lease(self->fd, TW_FAR, 0, &word);
		EXPECT_EQ(first, word);
		EXPECT_LT(TW_FAR, tw_lease_deadline(&self->words[word]));
	}
	/* The word of a timer that is no lease says so. */
	ASSERT_EQ(0, tw_cancel(self->fd, handle));
	self->words[first] = 1;
	ASSERT_NE(0, tw_arm(self->fd, TW_FAR, 0, 0));
	EXPECT_TRUE(tw_lease_expired(&self->words[first]));
}

TEST_F(lease, what_calls_tell_of_it)
{
	__u64 now = tw_now(CLOCK_MONOTONIC), handle;
	__u64 deadline = tw_lease_round(now) + (TW_FAR & -1024);
	struct twheel_timer_info info, entry;
	struct twheel_list list = { .entries = (unsigned long)&entry, .count = 1 };
	struct twheel_info next = { .flags = TWHEEL_INFO_NEXT };
	struct twheel_cancel cancel;
	__u32 word;

	handle = arm_lease(self->fd, now + TW_FAR / 2, TWHEEL_ARM_ABS, &word);
	ASSERT_NE(0, handle);
	ASSERT_EQ(1, tw_lease_extend(&self->words[word], deadline));
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(deadline, info.deadline);
	EXPECT_GE(TW_FAR, info.remaining);
	EXPECT_LT(TW_FAR - TW_LIMIT_MS * TW_MSEC, info.remaining);
	EXPECT_EQ(TWHEEL_ARM_LEASE, info.flags);
	EXPECT_EQ(word, info.word);
	EXPECT_EQ(1, info.tag);
	EXPECT_EQ(0, info.interval);
	EXPECT_EQ(1, info.count);

	ASSERT_EQ(1, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
	EXPECT_EQ(handle, entry.handle);
	EXPECT_EQ(deadline, entry.deadline);
	EXPECT_EQ(word, entry.word);
	EXPECT_EQ(1, entry.tag);
	EXPECT_EQ(TWHEEL_ARM_LEASE, entry.flags);

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_GET_INFO, &next));
	EXPECT_EQ(deadline, next.next_expiry);

	cancel = (struct twheel_cancel){ .handle = handle };
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
	EXPECT_EQ(TWHEEL_STATE_PENDING, cancel.old_state);
	EXPECT_GE(TW_FAR, cancel.old_remaining);
	EXPECT_LT(TW_FAR - TW_LIMIT_MS * TW_MSEC, cancel.old_remaining);
}

TEST_F(lease, what_calls_tell_when_it_is_over)
{
	__u64 deadline = tw_lease_round(tw_now(CLOCK_MONOTONIC) + 5 * TW_MSEC), handle;
	struct twheel_timer_info info;
	struct twheel_cancel cancel;
	__u32 word;

	handle = arm_lease(self->fd, deadline - TW_MSEC, TWHEEL_ARM_ABS, &word);
	ASSERT_NE(0, handle);
	/* The lease may be over by now. Its word says when it was due. */
	if (!tw_lease_extend(&self->words[word], deadline))
		deadline = tw_lease_deadline(&self->words[word]);
	ASSERT_TRUE(tw_wait_ready(self->fd, 1));
	/* A value that is stored after the end misleads nobody. */
	self->words[word] = tw_lease_value(1, deadline + TW_FAR);
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(TWHEEL_STATE_READY, info.state);
	EXPECT_EQ(deadline, info.deadline);
	EXPECT_EQ(0, info.remaining);
	EXPECT_EQ(word, info.word);
	EXPECT_EQ(1, info.tag);
	cancel = (struct twheel_cancel){ .handle = handle };
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
	EXPECT_EQ(TWHEEL_STATE_READY, cancel.old_state);
	EXPECT_EQ(0, cancel.old_remaining);
}

/*
 * Whatever is stored in the word of a lease that is due, the timer expires or waits, and
 * can be cancelled.
 */
TEST_F(lease, rubbish_in_the_word)
{
	static const uint64_t rubbish[] = {
		0, 1, TWHEEL_LEASE_EXPIRED, TWHEEL_LEASE_EXPIRED + 1, ~0ULL,
		TWHEEL_LEASE_EXPIRED | TW_FAR, TWHEEL_LEASE_EXPIRED - 1,
		TWHEEL_LEASE_EXPIRED - 2, 1ULL << 52,
	};
	__u64 deadline, handle, old, wait = 20 * TW_MSEC;
	struct twheel_timer_info info;
	struct twheel_event event;
	__u32 word;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rubbish); i++) {
		bool ends = rubbish[i] <= 1 || rubbish[i] & TWHEEL_LEASE_EXPIRED;

		deadline = tw_now(CLOCK_MONOTONIC) + wait;
		handle = arm_lease(self->fd, deadline, TWHEEL_ARM_ABS, &word);
		ASSERT_NE(0, handle);
		old = __atomic_exchange_n(&self->words[word], rubbish[i],
					  __ATOMIC_SEQ_CST);
		if (old & TWHEEL_LEASE_EXPIRED) {
			/* On a slow machine the kernel may have come first. */
			ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
			wait *= 2;
			i--;
			continue;
		}
		ASSERT_EQ(0, tw_get(self->fd, handle, &info));
		EXPECT_GT(TWHEEL_LEASE_EXPIRED, info.deadline);
		EXPECT_GT(TWHEEL_LEASE_EXPIRED, info.remaining);
		if (ends) {
			ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
			EXPECT_EQ(handle, event.handle);
			EXPECT_GE(event.expired, event.deadline);
			EXPECT_TRUE(tw_lease_expired(&self->words[word]));
			EXPECT_EQ(-ENOENT, tw_cancel(self->fd, handle));
			continue;
		}
		ASSERT_TRUE(tw_pass(2 * wait));
		EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
		EXPECT_EQ(0, tw_get(self->fd, handle, &info));
		EXPECT_EQ(tw_lease_deadline(&rubbish[i]), info.deadline);
		EXPECT_EQ(0, tw_cancel(self->fd, handle));
	}
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

/* Another process finds the lease by its handle, and extends it; then its lease is over. */
static int find_and_extend(int sock, __u64 handle)
{
	struct twheel_timer_info info;
	uint64_t *words;
	char byte;
	int fd;

	fd = tw_receive_fd(sock, &byte, 0);
	if (fd < 0)
		return 1;
	words = map_words(fd, MAP_SIZE, 0);
	if (words == MAP_FAILED || tw_get(fd, handle, &info))
		return 2;
	if (!tw_lease_extend_own(&words[info.word], info.tag, info.deadline + TW_FAR))
		return 3;
	/* Meanwhile the word gets another lease. */
	if (write(sock, "", 1) != 1 || read(sock, &byte, 1) != 1)
		return 4;
	return tw_lease_extend_own(&words[info.word], info.tag, info.deadline + 2 * TW_FAR) ?
	       5 : 0;
}

TEST_F(lease, found_by_another_process)
{
	struct twheel_arm arm = tw_request(TW_FAR, TWHEEL_ARM_LEASE, 1);
	__u64 said, deadline;
	__u32 word;
	int pair[2];
	pid_t pid;
	char byte;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	ASSERT_TRUE(tw_stay());
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	word = arm.word;
	deadline = tw_lease_deadline(&self->words[word]);
	ASSERT_FORKED(pid);
	if (pid == 0) {
		munmap(self->words, MAP_SIZE);
		close(self->fd);
		close(pair[1]);
		_exit(find_and_extend(pair[0], arm.handle));
	}
	close(pair[0]);
	ASSERT_EQ(0, tw_send_fd(pair[1], self->fd, 0, 0));
	ASSERT_EQ(1, read(pair[1], &byte, 1));
	EXPECT_EQ(tw_lease_round(deadline + TW_FAR), tw_lease_deadline(&self->words[word]));
	ASSERT_EQ(0, tw_cancel(self->fd, arm.handle));
	arm.handle = 0;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(word, arm.word);
	said = self->words[word];
	ASSERT_EQ(1, write(pair[1], "", 1));
	EXPECT_EQ(0, tw_status_of(pid));
	EXPECT_EQ(said, self->words[word]);
	close(pair[1]);
}

/* While there is a mapping the context lives on, with its timers. */
TEST_F(tw, mapping_outlives_close)
{
	__u64 before = tw_info(self->fd).user_timers;
	int fd = tw_open();
	uint64_t *words;
	__u32 word, far;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, tw_configure(fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
	words = map_words(fd, MAP_SIZE, 0);
	ASSERT_NE(MAP_FAILED, words);
	ASSERT_NE(0, arm_lease(fd, TW_FAR, 0, &far));
	ASSERT_NE(0, arm_lease(fd, 50 * TW_MSEC, 0, &word));
	close(fd);
	EXPECT_EQ(before + 2, tw_info(self->fd).user_timers);
	EXPECT_TRUE(wait_expired(self->fd, &words[word]));
	EXPECT_FALSE(tw_lease_expired(&words[far]));
	EXPECT_EQ(1, tw_lease_extend(&words[far], tw_lease_deadline(&words[far]) + 1));
	munmap(words, MAP_SIZE);

	EXPECT_TRUE(tw_await(tw_info(self->fd).user_timers == before));
}

/* Slack may delay the end of a lease, but never makes it come early. */
TEST_F(lease, slack)
{
	__u64 deadline = soon(CLOCK_MONOTONIC);
	struct twheel_arm arm = tw_request(deadline, TWHEEL_ARM_LEASE | TWHEEL_ARM_ABS, 0);
	struct twheel_event event;

	arm.slack = 30 * TW_MSEC;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	if (tw_lease_extend(&self->words[arm.word], deadline + 5 * TW_MSEC))
		deadline += 5 * TW_MSEC;
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(tw_lease_round(deadline), event.deadline);
	EXPECT_LE(event.deadline, event.expired);
}

/* The word counts on the clock of the context, whichever that is. */
TEST_F(tw, clocks)
{
	static const clockid_t clocks[] = { CLOCK_BOOTTIME, CLOCK_REALTIME };
	struct twheel_event event;
	__u64 deadline;
	uint64_t *words;
	__u32 word;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		ASSERT_OPEN(fd);
		ASSERT_EQ(0, tw_configure(fd, clocks[i], TWHEEL_CONFIG_LEASE));
		words = map_words(fd, MAP_SIZE, 0);
		ASSERT_NE(MAP_FAILED, words);
		deadline = soon(clocks[i]);
		ASSERT_NE(0, arm_lease(fd, deadline, TWHEEL_ARM_ABS, &word));
		if (tw_lease_extend(&words[word], deadline + TW_MSEC))
			deadline += TW_MSEC;
		ASSERT_EQ(1, tw_collect(fd, &event, 1));
		EXPECT_EQ(tw_lease_round(deadline), event.deadline);
		EXPECT_LE(event.deadline, event.expired);
		EXPECT_LE(event.expired, tw_now(clocks[i]));
		EXPECT_EQ(tw_lease_value(1, deadline) | TWHEEL_LEASE_EXPIRED, words[word]);
		munmap(words, MAP_SIZE);
		close(fd);
	}
}

TEST_HARNESS_MAIN
