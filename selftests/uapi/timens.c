// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time namespaces: each program states and sees points in time on its own clocks.
 *
 * A test makes a namespace and goes in and out of it, and uses the same descriptor on both
 * sides.
 */
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "twheel_test.h"

#define RECORD		sizeof(struct twheel_event)
#define DAY		(24 * 3600LL)
#define MAX_TIME	0x7fffffffffffffffULL
#define PAGE_WORDS	(sysconf(_SC_PAGESIZE) / sizeof(__u64))

/* @offset: by how much the clock is ahead inside the namespace, in ns */
FIXTURE(ns)
{
	clockid_t clock;
	__s64 offset;
	int outside;
	int inside;
	int fd;
};

/* @offset: in seconds. Below 0: as far back as the clock can go, which must stay above 0 */
FIXTURE_VARIANT(ns)
{
	clockid_t clock;
	__s64 offset;
};

VARIANT(ns, monotonic_ahead) { .clock = CLOCK_MONOTONIC, .offset = 10 * DAY };
VARIANT(ns, monotonic_behind) { .clock = CLOCK_MONOTONIC, .offset = -1 };
/* The kernel allows offsets of up to half of the 292 years that fit. */
VARIANT(ns, monotonic_far_ahead) { .clock = CLOCK_MONOTONIC, .offset = 146 * 365 * DAY };
VARIANT(ns, boottime_ahead) { .clock = CLOCK_BOOTTIME, .offset = 10 * DAY };
VARIANT(ns, boottime_behind) { .clock = CLOCK_BOOTTIME, .offset = -1 };
/* There is no offset for this clock: only the other two clocks are ahead in the namespace. */
VARIANT(ns, realtime) { .clock = CLOCK_REALTIME, .offset = 10 * DAY };

static int open_ns(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Makes a namespace in which both clocks are @ns ahead. Returns 0 or -errno. */
static int make_ns(__s64 ns)
{
	__s64 sec = ns / (__s64)TW_SEC, nsec = ns % (__s64)TW_SEC;
	char text[128];

	if (nsec < 0) {
		sec--;
		nsec += TW_SEC;
	}
	if (unshare(CLONE_NEWTIME))
		return -errno;
	snprintf(text, sizeof(text), "monotonic %lld %lld\nboottime %lld %lld\n",
		 sec, nsec, sec, nsec);
	return tw_write_file("/proc/self/timens_offsets", text);
}

static int enter(int ns)
{
	return setns(ns, CLONE_NEWTIME) ? -errno : 0;
}

FIXTURE_SETUP(ns)
{
	__s64 offset = variant->offset * (__s64)TW_SEC;
	int ret;

	self->clock = variant->clock;
	self->outside = open_ns("time");
	if (self->outside < 0)
		SETUP_SKIP("no time namespaces here");
	if (offset < 0)
		offset = -(__s64)(tw_now(CLOCK_MONOTONIC) / 2);
	ret = make_ns(offset);
	if (ret == -EPERM)
		SETUP_SKIP("may not make time namespaces");
	ASSERT_EQ(0, ret);
	self->inside = open_ns("time_for_children");
	ASSERT_LE(0, self->inside);
	self->offset = self->clock == CLOCK_REALTIME ? 0 : offset;
	ASSERT_OPEN(self->fd);
	ASSERT_EQ(0, tw_configure(self->fd, self->clock, 0));
}

FIXTURE_TEARDOWN(ns)
{
	close(self->fd);
}

/* Checks that the namespaces have the clocks that the tests assume. */
TEST_F(ns, the_clock_inside)
{
	__u64 before = tw_now(self->clock), inside;

	ASSERT_EQ(0, enter(self->inside));
	inside = tw_now(self->clock);
	EXPECT_LE(before + self->offset, inside);
	before = inside;
	EXPECT_LE(before, tw_info(self->fd).now);
	EXPECT_GE(tw_now(self->clock), tw_info(self->fd).now - TW_SEC);
	inside = tw_info(self->fd).now;
	EXPECT_GE(tw_now(self->clock), inside);
	ASSERT_EQ(0, enter(self->outside));
	EXPECT_GE(tw_now(self->clock) + self->offset, inside);
}

static __u64 next_expiry(int fd)
{
	struct twheel_info info = { .flags = TWHEEL_INFO_NEXT };

	return tw_call(fd, TWHEEL_IOC_GET_INFO, &info) ? 0 : info.next_expiry;
}

/*
 * Expects that all calls show @want as the deadline, a point in time on the caller's own
 * clock.
 */
#define EXPECT_DEADLINE(want, fd, handle) do { \
	struct twheel_timer_info __info, __entry; \
	struct twheel_list __list = { \
		.entries = (unsigned long)&__entry, .count = 1, \
	}; \
	__u64 __want = (want); \
	int __fd = (fd); \
	EXPECT_EQ(0, tw_get(__fd, handle, &__info)); \
	EXPECT_EQ(__want, __info.deadline); \
	EXPECT_GE(__want - tw_now(self->clock) + TW_SEC * 100, __info.remaining); \
	EXPECT_LE(__want - tw_now(self->clock), __info.remaining); \
	EXPECT_EQ(1, tw_call(__fd, TWHEEL_IOC_LIST, &__list)); \
	EXPECT_EQ(__want, __entry.deadline); \
	EXPECT_EQ(__want, next_expiry(__fd)); \
} while (0)

TEST_F(ns, absolute_seen_from_both_sides)
{
	__u64 deadline, handle;
	struct twheel_push push;

	/* The deadline is stated inside the namespace. */
	ASSERT_EQ(0, enter(self->inside));
	deadline = tw_now(self->clock) + TW_FAR;
	ASSERT_ARMED(handle, self->fd, deadline, TWHEEL_ARM_ABS, 1);
	EXPECT_DEADLINE(deadline, self->fd, handle);
	ASSERT_EQ(0, enter(self->outside));
	EXPECT_DEADLINE(deadline - self->offset, self->fd, handle);
	ASSERT_EQ(0, tw_cancel(self->fd, handle));

	/* The deadline is stated outside. */
	deadline = tw_now(self->clock) + TW_FAR;
	ASSERT_ARMED(handle, self->fd, deadline, TWHEEL_ARM_ABS, 1);
	EXPECT_DEADLINE(deadline, self->fd, handle);
	ASSERT_EQ(0, enter(self->inside));
	EXPECT_DEADLINE(deadline + self->offset, self->fd, handle);

	/* It is pushed back from inside, to a later tick and to an earlier one. */
	push = (struct twheel_push){ handle, deadline + self->offset + TW_SEC };
	ASSERT_EQ(sizeof(push), write(self->fd, &push, sizeof(push)));
	EXPECT_DEADLINE(push.expires, self->fd, handle);
	push.expires -= 2 * TW_SEC;
	ASSERT_EQ(sizeof(push), write(self->fd, &push, sizeof(push)));
	ASSERT_EQ(0, enter(self->outside));
	EXPECT_DEADLINE(deadline - TW_SEC, self->fd, handle);
}

TEST_F(ns, events_on_both_sides)
{
	struct twheel_event event;
	int reader_inside, armed_inside;
	__u64 deadline, shift;

	for (armed_inside = 0; armed_inside < 2; armed_inside++) {
		for (reader_inside = 0; reader_inside < 2; reader_inside++) {
			ASSERT_EQ(0, enter(armed_inside ? self->inside : self->outside));
			deadline = tw_now(self->clock) + 20 * TW_MSEC;
			ASSERT_NE(0, tw_arm(self->fd, deadline, TWHEEL_ARM_ABS, 1));

			ASSERT_EQ(0, enter(reader_inside ? self->inside : self->outside));
			shift = (reader_inside - armed_inside) * self->offset;
			ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
			EXPECT_EQ(deadline + shift, event.deadline);
			EXPECT_LE(event.deadline, event.expired);
			EXPECT_GE(tw_now(self->clock), event.expired);
			ASSERT_EQ(0, enter(self->outside));
		}
	}
}

TEST_F(ns, relative_is_the_same_everywhere)
{
	__u64 before, after;
	struct twheel_arm arm;
	struct twheel_event event;

	ASSERT_EQ(0, enter(self->inside));
	if (self->clock == CLOCK_REALTIME) {
		/* Relative deadlines on wall time are refused in a namespace, too. */
		arm = tw_request(TW_FAR, 0, 1);
		EXPECT_EQ(-EINVAL, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		return;
	}
	before = tw_now(self->clock);
	ASSERT_NE(0, tw_arm(self->fd, 30 * TW_MSEC, 0, 1));
	after = tw_now(self->clock);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_LE(before + 30 * TW_MSEC, event.deadline);
	EXPECT_GE(after + 30 * TW_MSEC, event.deadline);
	EXPECT_LE(event.deadline, event.expired);
	EXPECT_GE(tw_now(self->clock), event.expired);

	/* It does not matter, either, on which side a program asks for the time that was left. */
	arm = tw_request(TW_FAR, 0, 1);
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, enter(self->outside));
	arm.expires = 2 * TW_FAR;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_GE(TW_FAR, arm.old_remaining);
	EXPECT_LT(TW_FAR - 3600 * TW_SEC, arm.old_remaining);
}

TEST_F(ns, rounds_keep_to_the_grid_of_the_program)
{
	const __u64 interval = 5 * TW_MSEC;
	struct twheel_arm arm;
	struct twheel_event event;
	__u64 rounds = 0;
	int i;

	ASSERT_EQ(0, enter(self->inside));
	arm = tw_request(tw_now(self->clock) + interval, TWHEEL_ARM_ABS, 1);
	arm.interval = interval;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(arm.expires + rounds * interval, event.deadline);
		EXPECT_LE(event.deadline, event.expired);
		rounds += event.expirations;
	}
}

/* Times that the clock of the other side cannot express are cut at either end. */
TEST_F(ns, overflow_is_cut_not_wrapped)
{
	static const __u64 far[] = { MAX_TIME, MAX_TIME - 1 };
	struct twheel_timer_info info;
	struct twheel_event event;
	int inside, look;
	__u64 handle, most;
	size_t i;

	for (inside = 0; inside < 2; inside++) {
		for (i = 0; i < ARRAY_SIZE(far); i++) {
			ASSERT_EQ(0, enter(inside ? self->inside : self->outside));
			ASSERT_ARMED(handle, self->fd, far[i], TWHEEL_ARM_ABS, i);
			for (look = 0; look < 2; look++) {
				ASSERT_EQ(0, enter(look ? self->inside : self->outside));
				/*
				 * The largest deadline that can be shown here. It depends
				 * on which of the two clocks ends first.
				 */
				most = MAX_TIME;
				if (look && self->offset < 0)
					most += self->offset;
				if (!look && inside && self->offset > 0)
					most -= self->offset;
				ASSERT_EQ(0, tw_get(self->fd, handle, &info));
				EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
				EXPECT_GE(most, info.deadline);
				EXPECT_LE(most - 1, info.deadline);
				EXPECT_LE(MAX_TIME / 3, info.remaining);
				EXPECT_GE(MAX_TIME, info.remaining);
			}
			/* These are refused even if the other clock could express such a time. */
			ASSERT_EQ(0, enter(inside ? self->inside : self->outside));
			EXPECT_EQ(0, tw_arm(self->fd, MAX_TIME + 1 + i, TWHEEL_ARM_ABS, 0));
			ASSERT_EQ(0, enter(self->outside));
		}
	}
	ASSERT_TRUE(tw_pass(20 * TW_MSEC));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(2 * ARRAY_SIZE(far), tw_info(self->fd).pending);
}

TEST_F(ns, the_past_is_cut_not_wrapped)
{
	static const __u64 past[] = { 0, 1, TW_SEC };
	struct twheel_event event;
	int inside, look;
	size_t i;

	for (inside = 0; inside < 2; inside++) {
		for (look = 0; look < 2; look++) {
			for (i = 0; i < ARRAY_SIZE(past); i++) {
				ASSERT_EQ(0, enter(inside ? self->inside : self->outside));
				if (past[i] > tw_now(self->clock))
					continue;
				ASSERT_NE(0, tw_arm(self->fd, past[i], TWHEEL_ARM_ABS, i));
				ASSERT_EQ(0, enter(look ? self->inside : self->outside));
				ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
				EXPECT_EQ(i, event.user_data);
				EXPECT_LE(event.deadline, event.expired);
				EXPECT_GE(tw_now(self->clock), event.expired);
			}
		}
		ASSERT_EQ(0, enter(self->outside));
	}
}

/*
 * A child of the process that made the namespace is inside from its first instruction on.
 */
TEST_F(ns, a_child_and_its_parent)
{
	__u64 deadline = tw_now(self->clock) + TW_FAR;
	struct twheel_timer_info info;
	__u64 handle;
	pid_t pid;

	ASSERT_ARMED(handle, self->fd, deadline, TWHEEL_ARM_ABS, 1);
	ASSERT_FORKED(pid);
	if (pid == 0) {
		struct twheel_arm arm;

		if (tw_get(self->fd, handle, &info) ||
		    info.deadline != deadline + self->offset)
			_exit(1);
		arm = tw_request_for(handle, deadline + self->offset + 5, TWHEEL_ARM_ABS, 2);
		_exit(tw_call(self->fd, TWHEEL_IOC_ARM, &arm) ? 2 : 0);
	}
	EXPECT_EQ(0, tw_status_of(pid));
	EXPECT_DEADLINE(deadline + 5, self->fd, handle);
}

/* The word of a lease is on the clock of the process that configured the context. */
TEST_F(ns, words_of_leases)
{
	struct twheel_event event;
	struct twheel_arm arm;
	__u64 deadline, later;
	uint64_t *words, *word;
	int inside;

	for (inside = 0; inside < 2; inside++) {
		/*
		 * The lease is armed on the other side, whose clock differs from that of
		 * the word by @offset.
		 */
		ASSERT_EQ(0, enter(inside ? self->inside : self->outside));
		close(self->fd);
		ASSERT_OPEN(self->fd);
		ASSERT_EQ(0, tw_configure(self->fd, self->clock, TWHEEL_CONFIG_LEASE));

		ASSERT_EQ(0, enter(inside ? self->outside : self->inside));
		/* On no whole unit on either side */
		deadline = tw_lease_round(tw_now(self->clock) + TW_FAR) + 1;
		arm = tw_request(deadline, TWHEEL_ARM_ABS | TWHEEL_ARM_LEASE, 1);
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		words = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			     MAP_SHARED, self->fd,
			     arm.word / PAGE_WORDS * sysconf(_SC_PAGESIZE));
		ASSERT_NE(MAP_FAILED, words);
		word = &words[arm.word % PAGE_WORDS];
		deadline += inside ? self->offset : -self->offset;
		EXPECT_EQ(tw_lease_value(arm.tag, deadline),
			  __atomic_load_n(word, __ATOMIC_SEQ_CST));
		deadline = tw_lease_round(deadline);

		/* Extend the lease on the clock of the word. Both sides see the new deadline. */
		later = tw_lease_round(deadline + TW_SEC);
		ASSERT_TRUE(tw_lease_extend_own(word, arm.tag, later));
		ASSERT_EQ(0, enter(inside ? self->inside : self->outside));
		EXPECT_DEADLINE(later, self->fd, arm.handle);
		ASSERT_EQ(0, enter(inside ? self->outside : self->inside));
		EXPECT_DEADLINE(later + (inside ? -self->offset : self->offset),
				self->fd, arm.handle);

		/* The lease ends at the deadline in its word. */
		ASSERT_EQ(0, enter(inside ? self->inside : self->outside));
		deadline = tw_lease_round(tw_now(self->clock) + 30 * TW_MSEC);
		arm.expires = deadline;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		later = tw_lease_round(deadline + 100 * TW_MSEC);
		if (!tw_lease_extend_own(word, arm.tag, later))
			later = deadline;
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		EXPECT_EQ(later, event.deadline);
		EXPECT_LE(later, event.expired);
		EXPECT_EQ(tw_lease_value(arm.tag, later) | TWHEEL_LEASE_EXPIRED,
			  __atomic_load_n(word, __ATOMIC_SEQ_CST));
		munmap(words, sysconf(_SC_PAGESIZE));
	}
}

TEST_HARNESS_MAIN
