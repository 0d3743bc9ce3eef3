// SPDX-License-Identifier: GPL-2.0-only
/*
 * libtwheel's timer objects: which calls reach the device at once, which later, and which
 * never.
 */
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "child.h"
#include "lib_calls.h"
#include "lib_util.h"
#include "twheel_util.h"

/* As many re-arms, and as many cancels, fit in the queue. */
#define QUEUE	256

/* How many functions were called. */
static unsigned int called;

static void on_expiry(struct twheel_timer *timer, const struct twheel_event *event,
		      void *arg)
{
	called++;
}

/* Makes a timer. If @expires is not 0, arms it for that time. Returns NULL after a failure. */
static struct twheel_timer *new_timer(struct twheel *tw, uint64_t expires)
{
	struct twheel_arm setting = { .expires = expires, .flags = TWHEEL_ARM_ABS };
	struct twheel_timer *timer;

	if (twheel_timer_new(&timer, tw, on_expiry, NULL))
		return NULL;
	if (expires && twheel_timer_arm(timer, &setting, NULL))
		return NULL;
	return timer;
}

/* Arms a timer for a point in time. */
static int arm_at(struct twheel_timer *timer, uint64_t expires)
{
	struct twheel_arm setting = { .expires = expires, .flags = TWHEEL_ARM_ABS };

	return twheel_timer_arm(timer, &setting, NULL);
}

/* Arms a timer for after all others, and tells what was replaced. */
static int start_later(struct twheel_timer *timer, struct twheel_old *old)
{
	struct twheel_arm setting = { .expires = 3 * FAR };

	return twheel_timer_arm(timer, &setting, old);
}

/* When a timer is due, or 0 if it is not armed. */
static uint64_t deadline_of(const struct twheel_timer *timer)
{
	struct twheel_timer_info info;

	return twheel_timer_get(timer, &info) ? 0 : info.deadline;
}

/* Calls a function and evaluates to the number of ioctls that it has made, or to its error. */
#define IOCTLS(call) \
({ \
	unsigned int before_ = calls.ioctls; \
	int ret_ = (call); \
	ret_ ? ret_ : (int)(calls.ioctls - before_); \
})

/*
 * Words
 */

FIXTURE(words) {
	struct twheel *tw;
	uint64_t far;
};

FIXTURE_VARIANT(words) {
	bool deferred;
};

VARIANT(words, direct) {};
VARIANT(words, deferred) { .deferred = true };

FIXTURE_SETUP(words)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_LEASE };

	ASSERT_EQ(0, twheel_open(&self->tw, NULL, NONBLOCK, &config));
	if (variant->deferred)
		ASSERT_EQ(0, twheel_timer_defer(self->tw, 1));
	self->far = rounded(twheel_now(self->tw) + FAR);
}

FIXTURE_TEARDOWN(words)
{
	twheel_close(self->tw);
}

TEST_F(words, a_push_back_makes_no_call)
{
	enum { MANY = 100000 };
	static struct twheel_timer *timers[MANY];
	unsigned int before;
	unsigned int failed = 0;
	size_t i;

	for (i = 0; i < MANY; i++) {
		timers[i] = new_timer(self->tw, self->far);
		ASSERT_NE(NULL, timers[i]);
	}
	before = calls.ioctls;
	for (i = 0; i < MANY; i++) {
		failed += !!arm_at(timers[i], self->far + i * UNIT);
		failed += !!twheel_timer_start(timers[i], FAR + FAR, 0);
		failed += REPLACED(start_later, timers[i]) != TWHEEL_STATE_PENDING;
	}
	EXPECT_EQ(before, calls.ioctls);
	EXPECT_EQ(0, failed);
	for (i = 0; i < MANY; i += 999)
		EXPECT_LE(self->far + 2 * FAR, deadline_of(timers[i]));
	EXPECT_EQ(MANY, live(self->tw));
}

/* The program may wait after a call that makes a timer earlier: the device knows. */
TEST_F(words, of_the_calls_by_name)
{
	struct twheel_timer *timer = new_timer(self->tw, 0);

	ASSERT_NE(NULL, timer);
	ASSERT_EQ(0, twheel_timer_start(timer, FAR, 0));
	EXPECT_EQ(0, IOCTLS(twheel_timer_again(timer)));
	EXPECT_EQ(0, IOCTLS(twheel_timer_push(timer, 2 * FAR, 0)));
	EXPECT_EQ(0, IOCTLS(twheel_timer_push(timer, self->far + 2 * FAR, TWHEEL_ARM_ABS)));
	EXPECT_EQ(self->far + 2 * FAR, deadline_of(timer));
	EXPECT_EQ(1, IOCTLS(twheel_timer_push(timer, self->far, TWHEEL_ARM_ABS)));
	EXPECT_EQ(self->far, deadline_of(timer));
	EXPECT_EQ(0, IOCTLS(twheel_timer_push(timer, 2 * FAR, 0)));
}

TEST_F(words, sooner_is_told_at_once)
{
	struct twheel_timer *timer = new_timer(self->tw, self->far);

	ASSERT_NE(NULL, timer);
	EXPECT_EQ(0, IOCTLS(arm_at(timer, self->far + FAR)));
	if (variant->deferred) {
		EXPECT_EQ(0, IOCTLS(twheel_timer_start(timer, 10 * MSEC, 0)));
		EXPECT_EQ(1, IOCTLS(twheel_timer_flush(self->tw)));
	} else {
		EXPECT_EQ(1, IOCTLS(twheel_timer_start(timer, 10 * MSEC, 0)));
		EXPECT_EQ(0, IOCTLS(twheel_timer_flush(self->tw)));
	}
	ASSERT_TRUE(wait_readable(self->tw));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, called);
}

/* What a push back may not decide, the device does. */
TEST_F(words, not_every_call_is_a_push_back)
{
	struct twheel_arm setting = { .expires = self->far + 2 * UNIT, .flags = TWHEEL_ARM_ABS };
	struct twheel_timer *timer = new_timer(self->tw, self->far);
	struct twheel_arm bad;
	struct twheel_timer_info info;

	ASSERT_NE(NULL, timer);
	bad = setting;
	bad.count = 2;
	EXPECT_EQ(-EINVAL, twheel_timer_arm(timer, &bad, NULL));
	bad = setting;
	bad.expires = 1ULL << 63;
	EXPECT_EQ(-EINVAL, twheel_timer_arm(timer, &bad, NULL));
	bad = setting;
	bad.slack = UINT64_MAX;
	EXPECT_EQ(-EINVAL, twheel_timer_arm(timer, &bad, NULL));
	bad = setting;
	bad.flags |= 1U << 15;
	EXPECT_EQ(-EINVAL, twheel_timer_arm(timer, &bad, NULL));
	bad.flags = TWHEEL_ARM_ABS | TWHEEL_ARM_LEASE;
	EXPECT_EQ(-EINVAL, twheel_timer_arm(timer, &bad, NULL));
	bad.flags = TWHEEL_ARM_ABS | TWHEEL_ARM_IF_PENDING | TWHEEL_ARM_IF_NONE;
	EXPECT_EQ(-EINVAL, twheel_timer_arm(timer, &bad, NULL));
	bad.flags = TWHEEL_ARM_ABS | TWHEEL_ARM_IF_NONE;
	EXPECT_EQ(-EEXIST, twheel_timer_arm(timer, &bad, NULL));
	bad.flags = TWHEEL_ARM_ABS | TWHEEL_ARM_FIXED_DELAY;
	EXPECT_EQ(-EINVAL, twheel_timer_arm(timer, &bad, NULL));
	EXPECT_EQ(self->far, deadline_of(timer));

	setting.flags |= TWHEEL_ARM_IF_PENDING;
	EXPECT_EQ(0, IOCTLS(twheel_timer_arm(timer, &setting, NULL)));
	EXPECT_EQ(self->far + 2 * UNIT, deadline_of(timer));
	/* Another slack is another setting. */
	setting.slack = SEC;
	setting.expires += UNIT;
	ASSERT_EQ(0, twheel_timer_arm(timer, &setting, NULL));
	ASSERT_EQ(0, twheel_timer_get(timer, &info));
	EXPECT_EQ(self->far + 3 * UNIT, info.deadline);
	EXPECT_LT(0, info.slack);
	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(0, info.word);
	EXPECT_EQ(0, info.tag);
	setting.slack = 0;
	setting.expires += UNIT;
	ASSERT_EQ(0, twheel_timer_arm(timer, &setting, NULL));
	ASSERT_EQ(0, twheel_timer_get(timer, &info));
	EXPECT_EQ(self->far + 4 * UNIT, info.deadline);
	EXPECT_EQ(0, info.slack);
	/* The sum is capped. */
	EXPECT_EQ(0, IOCTLS(twheel_timer_start(timer, TWHEEL_LEASE_EXPIRED - 1, 0)));
	EXPECT_EQ(TWHEEL_LEASE_EXPIRED - UNIT, deadline_of(timer));
}

/* A timer that repeats has no word, and may become one that has. */
TEST_F(words, change_of_kind)
{
	struct twheel_timer *timer = new_timer(self->tw, self->far);
	struct twheel_timer_info info;

	ASSERT_NE(NULL, timer);
	EXPECT_EQ(1, IOCTLS(twheel_timer_start(timer, 2 * FAR, SEC)));
	EXPECT_EQ(1, IOCTLS(twheel_timer_start(timer, 3 * FAR, SEC)));
	ASSERT_EQ(0, twheel_timer_get(timer, &info));
	EXPECT_EQ(SEC, info.interval);
	ASSERT_EQ(0, arm_at(timer, self->far + 4 * FAR));
	ASSERT_EQ(0, twheel_timer_get(timer, &info));
	EXPECT_EQ(0, info.interval);
	EXPECT_EQ(0, IOCTLS(arm_at(timer, self->far + 5 * FAR)));
	EXPECT_EQ(self->far + 5 * FAR, deadline_of(timer));
}

/* The word of a timer whose last record was read belongs to another timer soon. */
#define PAIRS	32

static struct twheel_timer *firsts[PAIRS];
static struct twheel_timer *seconds[PAIRS];
static uint64_t hour;
static unsigned int moved;

static void take_words(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	size_t i;

	if (called++)
		return;
	for (i = 0; i < PAIRS; i++)
		seconds[i] = new_timer(arg, hour);
	for (i = 0; i < PAIRS; i++)
		if (firsts[i] != timer && arm_at(firsts[i], hour + FAR))
			moved++;
	for (i = 0; i < PAIRS; i++)
		if (deadline_of(seconds[i]) != hour)
			moved++;
}

TEST_F(words, of_others_are_left_alone)
{
	size_t i;

	hour = self->far;
	for (i = 0; i < PAIRS; i++) {
		ASSERT_EQ(0, twheel_timer_new(&firsts[i], self->tw, take_words, self->tw));
		ASSERT_EQ(0, arm_at(firsts[i], 1));
	}
	ASSERT_TRUE(wait_ready(self->tw, PAIRS));
	EXPECT_EQ(PAIRS, twheel_dispatch(self->tw));
	EXPECT_EQ(1, called);
	EXPECT_EQ(0, moved);
	EXPECT_EQ(2 * PAIRS - 1, live(self->tw));
}

/* Where words cannot be mapped, calls do it. */
TEST_F(words, no_room_to_map)
{
	struct twheel_timer *timer;
	struct rlimit none;
	struct rlimit old;
	int ret;

	timer = new_timer(self->tw, 0);
	ASSERT_NE(NULL, timer);
	ASSERT_EQ(0, getrlimit(RLIMIT_AS, &old));
	none = old;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &none));
	ret = arm_at(timer, self->far);
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &old));
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, arm_at(timer, self->far + FAR));
	EXPECT_EQ(self->far + FAR, deadline_of(timer));
	/* It is not tried again. */
	EXPECT_EQ(!variant->deferred, IOCTLS(arm_at(timer, self->far + FAR + UNIT)));
	EXPECT_EQ(TWHEEL_STATE_PENDING, REPLACED(start_later, timer));
	ASSERT_EQ(0, arm_at(timer, 1));
	EXPECT_EQ(0, twheel_timer_flush(self->tw));
	ASSERT_TRUE(wait_readable(self->tw));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, called);
}

/* In a context on wall time deadlines are points in time for a push back as well. */
TEST_F(words, wall_time)
{
	struct twheel_config config = {
		.clock = TWHEEL_CLOCK_REALTIME, .flags = TWHEEL_CONFIG_LEASE,
	};
	struct twheel_timer *timer;
	struct twheel *tw;
	uint64_t far;

	ASSERT_EQ(0, twheel_open(&tw, NULL, NONBLOCK, &config));
	far = rounded(twheel_now(tw) + FAR);
	timer = new_timer(tw, far);
	ASSERT_NE(NULL, timer);
	EXPECT_EQ(-EINVAL, twheel_timer_start(timer, 2 * FAR, 0));
	EXPECT_EQ(0, IOCTLS(arm_at(timer, far + FAR)));
	EXPECT_EQ(far + FAR, deadline_of(timer));
	twheel_close(tw);
}

static pid_t fork_into_new_times(void)
{
	pid_t pid;

	if (unshare(CLONE_NEWTIME) ||
	    tw_write_file("/proc/self/timens_offsets", "monotonic 1000000 0\n"))
		return -1;
	pid = fork();
	return pid;
}

/*
 * Words are on the clock of the namespace in which the context was configured. A process
 * in another one must neither push a timer by its own clock nor fail.
 */
TEST_F(words, another_time_namespace)
{
	struct twheel_timer *mine = new_timer(self->tw, self->far);
	pid_t pid;

	ASSERT_NE(NULL, mine);
	pid = fork_into_new_times();
	if (pid < 0 && (errno == EINVAL || errno == EPERM))
		SKIP(return, "no time namespaces, or no right to make one");
	ASSERT_LE(0, pid);
	if (!pid) {
		struct twheel_timer *timer;
		struct twheel *tw;
		uint64_t far;

		CHECK(!twheel_adopt(&tw, dup(twheel_fd(self->tw))));
		far = rounded(twheel_now(tw) + FAR);
		CHECK(far > self->far + 900000 * SEC);
		timer = new_timer(tw, far);
		CHECK(timer);
		CHECK(!arm_at(timer, far + 2 * SEC));
		CHECK(deadline_of(timer) == far + 2 * SEC);
		CHECK(!twheel_timer_cancel(timer, NULL));

		/* The timer that it takes over is armed by its own clock from now on. */
		CHECK(arm_at(mine, far) == -ECHILD);
		twheel_take_over(self->tw);
		CHECK(!arm_at(mine, far + 2 * SEC));
		CHECK(deadline_of(mine) == far + 2 * SEC);
		CHECK(!arm_at(mine, far + 4 * SEC));
		CHECK(deadline_of(mine) == far + 4 * SEC);
		_exit(0);
	}
	EXPECT_TRUE(well(pid));
}

/* A child shares the words, but may not use them before it takes over. */
TEST_F(words, of_a_child)
{
	struct twheel_timer *timer = new_timer(self->tw, self->far);
	pid_t pid;

	ASSERT_NE(NULL, timer);
	ASSERT_FORKED(pid);
	if (!pid) {
		CHECK(arm_at(timer, self->far + FAR) == -ECHILD);
		CHECK(twheel_timer_flush(self->tw) == -ECHILD);
		CHECK(twheel_timer_defer(self->tw, 1) == -ECHILD);
		twheel_close(self->tw);
		_exit(0);
	}
	ASSERT_TRUE(well(pid));
	EXPECT_EQ(self->far, deadline_of(timer));

	ASSERT_FORKED(pid);
	if (!pid) {
		twheel_take_over(self->tw);
		CHECK(!arm_at(timer, self->far + FAR));
		CHECK(!arm_at(timer, self->far + FAR + UNIT));
		CHECK(IOCTLS(arm_at(timer, self->far + FAR + 2 * UNIT)) == 0);
		CHECK(deadline_of(timer) == self->far + FAR + 2 * UNIT);
		_exit(0);
	}
	ASSERT_TRUE(well(pid));
	EXPECT_EQ(self->far + FAR + 2 * UNIT, deadline_of(timer));
}

/*
 * Queues
 */

FIXTURE(queue) {
	struct twheel *tw;
	uint64_t far;
	struct twheel_timer *timers[3 * QUEUE];
};

FIXTURE_SETUP(queue)
{
	size_t i;

	ASSERT_EQ(0, twheel_open(&self->tw, NULL, NONBLOCK, NULL));
	self->far = twheel_now(self->tw) + FAR;
	EXPECT_EQ(0, IOCTLS(twheel_timer_defer(self->tw, 1)));
	for (i = 0; i < ARRAY_SIZE(self->timers); i++) {
		self->timers[i] = new_timer(self->tw, self->far);
		ASSERT_NE(NULL, self->timers[i]);
	}
}

FIXTURE_TEARDOWN(queue)
{
	twheel_close(self->tw);
}

/* What is queued is told before a timer is pushed or a group is cancelled. */
TEST_F(queue, of_the_calls_by_name)
{
	struct twheel_timer **timers = self->timers;
	struct twheel_group *group;
	unsigned int before;
	size_t i;

	EXPECT_EQ(0, IOCTLS(arm_at(timers[0], self->far + 1)));
	EXPECT_EQ(2, IOCTLS(twheel_timer_push(timers[0], self->far + FAR, TWHEEL_ARM_ABS)));
	EXPECT_EQ(self->far + FAR, deadline_of(timers[0]));
	EXPECT_EQ(0, IOCTLS(twheel_timer_start(timers[0], FAR, 0)));
	EXPECT_EQ(0, IOCTLS(twheel_timer_again(timers[0])));

	ASSERT_EQ(0, twheel_group_new(&group, self->tw));
	for (i = 0; i < QUEUE; i++)
		ASSERT_EQ(0, twheel_timer_set_group(timers[i], group));
	/* The re-arm, and 64 timers with each call */
	EXPECT_EQ(1 + QUEUE / 64, IOCTLS(twheel_group_cancel(group)));
	EXPECT_EQ(2 * QUEUE, live(self->tw));
	EXPECT_EQ(0, twheel_timer_armed(timers[0]));
	EXPECT_EQ(0, IOCTLS(twheel_group_cancel(group)));
	/* Nobody has to be asked for one that is not armed. */
	before = calls.ioctls;
	EXPECT_EQ(-ENOENT, twheel_timer_push(timers[0], FAR, 0));
	EXPECT_EQ(before, calls.ioctls);
}

/* Calls are collected, and reach the device as two batches. */
TEST_F(queue, is_flushed)
{
	size_t i;

	for (i = 0; i < QUEUE; i++) {
		EXPECT_EQ(0, IOCTLS(arm_at(self->timers[i], self->far + i)));
		EXPECT_EQ(0, IOCTLS(twheel_timer_cancel(self->timers[QUEUE + i], NULL)));
		EXPECT_EQ(1, twheel_timer_armed(self->timers[i]));
		EXPECT_EQ(0, twheel_timer_armed(self->timers[QUEUE + i]));
	}
	/* A timer that is queued already takes no more room. */
	for (i = 0; i < QUEUE; i++)
		EXPECT_EQ(0, IOCTLS(arm_at(self->timers[i], self->far + FAR + i)));
	EXPECT_EQ(3 * QUEUE, live(self->tw));
	EXPECT_EQ(2, IOCTLS(twheel_timer_flush(self->tw)));
	EXPECT_EQ(0, IOCTLS(twheel_timer_flush(self->tw)));
	EXPECT_EQ(2 * QUEUE, live(self->tw));
	for (i = 0; i < QUEUE; i++)
		EXPECT_EQ(self->far + FAR + i, deadline_of(self->timers[i]));
}

TEST_F(queue, is_flushed_when_full)
{
	unsigned int before = calls.ioctls;
	size_t i;

	for (i = 0; i < 3 * QUEUE; i++)
		EXPECT_EQ(0, arm_at(self->timers[i], self->far + i));
	EXPECT_EQ(2, calls.ioctls - before);
	EXPECT_EQ(1, IOCTLS(twheel_timer_flush(self->tw)));
	for (i = 0; i < 3 * QUEUE; i++)
		EXPECT_EQ(self->far + i, deadline_of(self->timers[i]));
	before = calls.ioctls;
	for (i = 0; i < 3 * QUEUE; i++)
		twheel_timer_free(self->timers[i]);
	EXPECT_EQ(2, calls.ioctls - before);
	EXPECT_EQ(QUEUE, live(self->tw));
	EXPECT_EQ(1, IOCTLS(twheel_timer_flush(self->tw)));
	EXPECT_EQ(0, live(self->tw));
}

/* Re-arms are taken out of the queue from the middle, too. */
TEST_F(queue, forgets_the_re_arms_of_what_is_cancelled)
{
	size_t i;

	for (i = 0; i < QUEUE; i++)
		EXPECT_EQ(0, arm_at(self->timers[i], self->far + i));
	for (i = 0; i < QUEUE; i += 3)
		twheel_timer_free(self->timers[i]);
	for (i = 1; i < QUEUE; i += 3)
		EXPECT_EQ(0, twheel_timer_cancel(self->timers[i], NULL));
	EXPECT_EQ(2, IOCTLS(twheel_timer_flush(self->tw)));
	for (i = 1; i < QUEUE; i += 3) {
		EXPECT_EQ(0, twheel_timer_armed(self->timers[i]));
		EXPECT_EQ(1, twheel_timer_armed(self->timers[i + 1]));
		EXPECT_EQ(self->far + i + 1, deadline_of(self->timers[i + 1]));
	}
	EXPECT_EQ(2 * QUEUE + QUEUE / 3, live(self->tw));
}

/* A call that tells what it replaces or finds out something has to tell the device first. */
TEST_F(queue, is_flushed_by_who_asks)
{
	struct twheel_timer **timers = self->timers;
	struct twheel_arm later = { .expires = 3 * FAR, .flags = TWHEEL_ARM_IF_PENDING };
	struct twheel_timer_info info[4];
	struct twheel_old old;
	uint64_t cursor = 0;

	ASSERT_EQ(0, twheel_timer_start(timers[0], 2 * FAR, 0));
	EXPECT_LT(self->far + FAR - LIMIT, deadline_of(timers[0]));

	ASSERT_EQ(0, twheel_timer_start(timers[1], 2 * FAR, 0));
	EXPECT_EQ(0, twheel_timer_cancel(timers[1], &old));
	EXPECT_EQ(TWHEEL_STATE_PENDING, old.state);
	EXPECT_LT(2 * FAR - LIMIT, old.remaining);

	ASSERT_EQ(0, twheel_timer_start(timers[2], 2 * FAR, 0));
	EXPECT_EQ(0, twheel_timer_arm(timers[2], &later, &old));
	EXPECT_EQ(TWHEEL_STATE_PENDING, old.state);
	EXPECT_LT(2 * FAR - LIMIT, old.remaining);

	/* A condition is decided at once. */
	ASSERT_EQ(0, twheel_timer_start(timers[3], 0, 0));
	EXPECT_EQ(-ENOENT, twheel_timer_arm(timers[3], &later, NULL));

	ASSERT_EQ(0, twheel_timer_cancel(timers[4], NULL));
	EXPECT_EQ(4, twheel_drain(self->tw, &cursor, info, 4));
	EXPECT_EQ(3 * QUEUE - 2 - 4, live(self->tw));
	ASSERT_EQ(0, twheel_timer_start(timers[100], 2 * FAR, 0));
	EXPECT_EQ(0, twheel_timer_cancel_all(self->tw));
	EXPECT_EQ(0, live(self->tw));
	EXPECT_EQ(0, twheel_timer_armed(timers[100]));
	EXPECT_EQ(0, twheel_dispatch(self->tw));
	EXPECT_EQ(0, called);
}

/* The device believes that these timers are due, and the program knows better. */
TEST_F(queue, makes_cancels_final)
{
	size_t i;

	for (i = 0; i < QUEUE; i++)
		ASSERT_EQ(0, arm_at(self->timers[i], 1));
	ASSERT_EQ(0, twheel_timer_flush(self->tw));
	ASSERT_TRUE(wait_ready(self->tw, QUEUE));
	for (i = 0; i < QUEUE; i++)
		EXPECT_EQ(0, IOCTLS(i % 2 ? twheel_timer_cancel(self->timers[i], NULL) :
					    arm_at(self->timers[i], self->far)));
	EXPECT_EQ(QUEUE, live(self->tw) - 2 * QUEUE);
	EXPECT_EQ(0, twheel_dispatch(self->tw));
	EXPECT_EQ(0, called);
	EXPECT_EQ(2 * QUEUE + QUEUE / 2, live(self->tw));
}

/* What functions have queued is flushed before the call returns. */
static void rearm_next(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	called++;
	CHECK(IOCTLS(twheel_timer_start(arg, 10 * MSEC, 0)) == 0);
}

TEST_F(queue, is_flushed_after_functions)
{
	struct twheel_timer *first;

	ASSERT_EQ(0, twheel_timer_new(&first, self->tw, rearm_next, self->timers[0]));
	ASSERT_EQ(0, twheel_timer_start(first, 0, 0));
	ASSERT_TRUE(wait_readable(self->tw));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, called);
	ASSERT_TRUE(wait_readable(self->tw));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(2, called);
}

TEST_F(queue, ends)
{
	ASSERT_EQ(0, twheel_timer_cancel(self->timers[0], NULL));
	ASSERT_EQ(0, arm_at(self->timers[1], self->far + 1));
	EXPECT_EQ(0, twheel_timer_defer(self->tw, 1));
	EXPECT_EQ(3 * QUEUE, live(self->tw));
	EXPECT_EQ(2, IOCTLS(twheel_timer_defer(self->tw, 0)));
	EXPECT_EQ(3 * QUEUE - 1, live(self->tw));
	EXPECT_EQ(1, IOCTLS(twheel_timer_cancel(self->timers[1], NULL)));
	EXPECT_EQ(1, IOCTLS(arm_at(self->timers[2], self->far + 1)));
	EXPECT_EQ(0, twheel_timer_defer(self->tw, 0));
}

/* What a batch has not come to is no success, of re-arms and of a group. */
TEST_F(queue, batch_that_breaks_off)
{
	struct twheel_timer **timers = self->timers;
	struct twheel_group *group;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, arm_at(timers[i], self->far + 1 + i));
	calls.breaks = TWHEEL_IOC_ARM_BATCH;
	EXPECT_EQ(-EFAULT, twheel_timer_flush(self->tw));
	calls.breaks = 0;
	EXPECT_EQ(self->far + 1, deadline_of(timers[0]));
	EXPECT_TRUE(twheel_timer_armed(timers[0]));
	EXPECT_FALSE(twheel_timer_armed(timers[1]));
	EXPECT_FALSE(twheel_timer_armed(timers[2]));

	ASSERT_EQ(0, twheel_group_new(&group, self->tw));
	for (i = 3; i < 5; i++)
		ASSERT_EQ(0, twheel_timer_set_group(timers[i], group));
	calls.breaks = TWHEEL_IOC_CANCEL_BATCH;
	EXPECT_EQ(-EFAULT, twheel_group_cancel(group));
	calls.breaks = 0;
	EXPECT_EQ(1, twheel_timer_armed(timers[3]) + twheel_timer_armed(timers[4]));
	EXPECT_EQ(0, twheel_group_cancel(group));
	EXPECT_FALSE(twheel_timer_armed(timers[3]) || twheel_timer_armed(timers[4]));
}

/* twheel_release() leaves armed what the program has armed, as it has armed it. */
TEST_F(queue, is_flushed_at_the_end)
{
	struct twheel *adopted;
	int fd;

	ASSERT_EQ(0, twheel_timer_cancel(self->timers[0], NULL));
	fd = twheel_release(self->tw);
	ASSERT_EQ(0, twheel_adopt(&adopted, fd));
	self->tw = adopted;
	EXPECT_EQ(3 * QUEUE - 1, live(self->tw));
}

/* The queue of a child is a copy, which it flushes only if it takes over. */
TEST_F(queue, of_a_child)
{
	pid_t pid;

	ASSERT_EQ(0, twheel_timer_cancel(self->timers[0], NULL));
	ASSERT_EQ(0, arm_at(self->timers[1], self->far + 1));
	ASSERT_FORKED(pid);
	if (!pid) {
		CHECK(twheel_timer_flush(self->tw) == -ECHILD);
		CHECK(twheel_dispatch(self->tw) == -ECHILD);
		twheel_close(self->tw);
		_exit(0);
	}
	ASSERT_TRUE(well(pid));
	EXPECT_EQ(3 * QUEUE, live(self->tw));

	ASSERT_FORKED(pid);
	if (!pid) {
		struct twheel_timer *timer;

		/*
		 * A timer that was freed as the child's copy is not the child's to re-arm, and not
		 * that which takes its place.
		 */
		twheel_timer_free(self->timers[1]);
		twheel_take_over(self->tw);
		timer = new_timer(self->tw, 0);
		CHECK(timer == self->timers[1] && !twheel_timer_armed(timer));
		CHECK(IOCTLS(twheel_timer_flush(self->tw)) == 1);
		CHECK(live(self->tw) == 3 * QUEUE - 1);
		_exit(0);
	}
	EXPECT_TRUE(well(pid));
}

/* A step back must not make what has passed the future again, so it does not wait for a flush. */
TEST(what_has_passed_is_told_at_once)
{
	struct twheel_config config = { .clock = TWHEEL_CLOCK_REALTIME };
	struct twheel_timer *timer;
	struct twheel *tw;
	uint64_t now;

	ASSERT_EQ(0, twheel_open(&tw, NULL, NONBLOCK, &config));
	ASSERT_EQ(0, twheel_timer_defer(tw, 1));
	now = twheel_now(tw);
	timer = new_timer(tw, now + FAR);
	ASSERT_NE(NULL, timer);
	EXPECT_EQ(0, IOCTLS(arm_at(timer, now + 2 * FAR)));
	/* Which flushes its re-arm first. */
	EXPECT_EQ(2, IOCTLS(arm_at(timer, now)));
	called = 0;
	ASSERT_TRUE(wait_readable(tw));
	EXPECT_EQ(1, twheel_dispatch(tw));
	EXPECT_EQ(1, called);
	twheel_close(tw);
}

TEST(not_for_keys)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_KEYED };
	struct twheel *tw;

	ASSERT_EQ(0, twheel_open(&tw, NULL, NONBLOCK, &config));
	EXPECT_EQ(-EINVAL, twheel_timer_defer(tw, 1));
	EXPECT_EQ(0, twheel_timer_flush(tw));
	twheel_close(tw);
}

/* A context of @limit timers with a queue. */
static struct twheel *open_small(uint64_t limit)
{
	struct twheel_config config = { .limit = limit };
	struct twheel *tw;

	return twheel_open(&tw, NULL, NONBLOCK, &config) || twheel_timer_defer(tw, 1) ?
	       NULL : tw;
}

/* Timers whose cancels are queued do not stand in the way of new ones. */
TEST(cancels_make_room)
{
	struct twheel *tw = open_small(2);
	struct twheel_timer *timers[2];
	struct twheel_timer *third;

	ASSERT_NE(NULL, tw);
	timers[0] = new_timer(tw, TWHEEL_LEASE_EXPIRED - 1);
	timers[1] = new_timer(tw, TWHEEL_LEASE_EXPIRED - 1);
	third = new_timer(tw, 0);
	ASSERT_TRUE(timers[0] && timers[1] && third);
	EXPECT_EQ(-ENOSPC, twheel_timer_start(third, FAR, 0));
	EXPECT_EQ(0, twheel_timer_armed(third));
	EXPECT_EQ(0, twheel_timer_cancel(timers[0], NULL));
	EXPECT_EQ(0, twheel_timer_start(third, FAR, 0));
	EXPECT_EQ(0, twheel_timer_cancel(third, NULL));
	EXPECT_EQ(0, twheel_timer_start(third, FAR, 0));
	EXPECT_EQ(2, live(tw));
	twheel_close(tw);
}

/**
 * struct crowd - two timers in a context with room for two
 * @tw: the context
 * @timers: the timers
 * @ret: what it returned to arm the second one when there was no room
 */
static struct crowd {
	struct twheel		*tw;
	struct twheel_timer	*timers[2];
	int			ret;
} crowd;

/* The record of the other timer was read, too. To arm that timer takes a new one. */
static void crowd_and_rearm(struct twheel_timer *timer, const struct twheel_event *event,
			    void *arg)
{
	size_t i;

	if (called++)
		return;
	for (i = 0; i < 2; i++)
		CHECK(!twheel_arm_after(crowd.tw, FAR, 0, NULL));
	crowd.ret = twheel_timer_start(crowd.timers[timer == crowd.timers[0]], FAR, 0);
}

/* A call that may fail is made at once, and leaves the timer as it was if it does. */
TEST(errors_are_told_at_once)
{
	size_t i;

	crowd.tw = open_small(2);
	ASSERT_NE(NULL, crowd.tw);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, twheel_timer_new(&crowd.timers[i], crowd.tw, crowd_and_rearm, NULL));
		ASSERT_EQ(0, arm_at(crowd.timers[i], 1));
	}
	ASSERT_TRUE(wait_ready(crowd.tw, 2));
	EXPECT_EQ(2, twheel_dispatch(crowd.tw));
	EXPECT_EQ(-ENOSPC, crowd.ret);
	EXPECT_EQ(2, called);
	twheel_close(crowd.tw);
}

/*
 * If another process has read a timer's last record a queued re-arm makes a new timer. If it
 * cannot, the program learns it once.
 */
TEST(errors_are_told_later)
{
	struct twheel *tw = open_small(2);
	struct twheel_event event;
	struct twheel_timer *timer;
	uint64_t others[2];

	ASSERT_NE(NULL, tw);
	timer = new_timer(tw, 1);
	ASSERT_NE(NULL, timer);
	ASSERT_EQ(0, twheel_timer_start(timer, FAR, 0));
	ASSERT_TRUE(wait_ready(tw, 1));
	ASSERT_EQ(1, twheel_read(tw, &event, 1));
	ASSERT_EQ(0, twheel_timer_flush(tw));
	EXPECT_EQ(1, live(tw));
	EXPECT_LT(FAR, deadline_of(timer));

	ASSERT_EQ(0, arm_at(timer, 1));
	ASSERT_EQ(0, twheel_timer_flush(tw));
	ASSERT_EQ(0, twheel_timer_start(timer, FAR, 0));
	ASSERT_EQ(1, twheel_read(tw, &event, 1));
	ASSERT_EQ(0, twheel_arm_after(tw, FAR, 0, &others[0]));
	ASSERT_EQ(0, twheel_arm_after(tw, FAR, 0, &others[1]));
	EXPECT_EQ(1, twheel_timer_armed(timer));
	EXPECT_EQ(-ENOSPC, twheel_dispatch(tw));
	EXPECT_EQ(0, twheel_timer_armed(timer));
	EXPECT_EQ(0, twheel_dispatch(tw));
	EXPECT_EQ(0, twheel_timer_flush(tw));
	twheel_close(tw);
}

TEST_HARNESS_MAIN
