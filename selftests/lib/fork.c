// SPDX-License-Identifier: GPL-2.0-only
/* libtwheel across fork(): which process the timers belong to. */
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "child.h"
#include "lib_util.h"
#include "twheel_util.h"

static void on_expiry(struct twheel_timer *timer, const struct twheel_event *event,
		      void *arg)
{
	unsigned int *called = arg;

	++*called;
}

FIXTURE(fork) {
	struct twheel *tw;
	struct twheel_timer *timer;
	unsigned int called;
};

FIXTURE_SETUP(fork)
{
	ASSERT_EQ(0, twheel_open(&self->tw, NULL, NONBLOCK, NULL));
	ASSERT_EQ(0, twheel_timer_new(&self->timer, self->tw, on_expiry, &self->called));
}

FIXTURE_TEARDOWN(fork)
{
	twheel_close(self->tw);
}

/* A child's calls neither take nor cancel what the parent has armed. */
TEST_F(fork, child_is_refused)
{
	struct twheel_group *group;
	struct twheel_arm setting = { .expires = FAR };
	struct twheel_timer *far;
	struct twheel_timer *none;
	pid_t pid;

	ASSERT_EQ(0, twheel_timer_new(&far, self->tw, on_expiry, &self->called));
	ASSERT_EQ(0, twheel_timer_new(&none, self->tw, on_expiry, &self->called));
	ASSERT_EQ(0, twheel_timer_start(far, FAR, 0));
	ASSERT_EQ(0, twheel_timer_start(self->timer, 0, 0));
	ASSERT_EQ(0, twheel_group_new(&group, self->tw));
	ASSERT_EQ(0, twheel_timer_set_group(far, group));
	ASSERT_TRUE(wait_ready(self->tw, 1));

	ASSERT_FORKED(pid);
	if (!pid) {
		struct twheel_timer_info info;
		struct twheel_timer *new;
		struct twheel_group *more;
		uint64_t cursor = 0;

		CHECK(twheel_dispatch(self->tw) == -ECHILD);
		CHECK(twheel_timer_new(&new, self->tw, on_expiry, NULL) == -ECHILD);
		CHECK(twheel_timer_start(far, 1, 0) == -ECHILD);
		CHECK(twheel_timer_arm(none, &setting, NULL) == -ECHILD);
		CHECK(twheel_timer_cancel(far, NULL) == -ECHILD);
		CHECK(twheel_timer_cancel(none, NULL) == -ECHILD);
		CHECK(twheel_timer_cancel_all(self->tw) == -ECHILD);
		CHECK(twheel_timer_get(far, &info) == -ECHILD);
		CHECK(twheel_timer_again(far) == -ECHILD);
		CHECK(twheel_timer_push(far, 0, 0) == -ECHILD);
		CHECK(twheel_timer_push(none, 0, 0) == -ECHILD);
		CHECK(twheel_timer_set_group(far, NULL) == -ECHILD);
		CHECK(twheel_group_new(&more, self->tw) == -ECHILD);
		CHECK(twheel_group_cancel(group) == -ECHILD);
		CHECK(twheel_dispatch_timeout(self->tw, FAR) == -ECHILD);
		CHECK(twheel_cancel_all(self->tw) == -ECHILD);
		CHECK(twheel_drain(self->tw, &cursor, &info, 1) == -ECHILD);
		twheel_group_free(group);
		CHECK(!twheel_timer_remaining(far));
		CHECK(!twheel_timer_armed(far));
		CHECK(!twheel_timer_armed(self->timer));
		twheel_timer_free(far);
		twheel_timer_free(self->timer);
		CHECK(live(self->tw) == (TW_EMBEDDED ? UINT64_MAX : 2));
		twheel_close(self->tw);
		CHECK(!self->called);
		_exit(0);
	}
	EXPECT_TRUE(well(pid));

	EXPECT_EQ(2, live(self->tw));
	EXPECT_EQ(1, twheel_timer_armed(far));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, self->called);
	EXPECT_EQ(TWHEEL_STATE_PENDING, REPLACED(twheel_timer_cancel, far));
}

/* A child is refused even if the parent has not made a timer object yet. */
TEST_F(fork, child_is_refused_the_first_object)
{
	struct twheel *tw;
	pid_t pid;

	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_NONBLOCK, NULL));
	ASSERT_EQ(0, twheel_arm_after(tw, 0, 1, NULL));
	ASSERT_TRUE(wait_ready(tw, 1));
	ASSERT_FORKED(pid);
	if (!pid) {
		struct twheel_timer *timer;

		CHECK(twheel_timer_new(&timer, tw, on_expiry, NULL) == -ECHILD);
		CHECK(twheel_dispatch(tw) == -ECHILD);
		_exit(0);
	}
	EXPECT_TRUE(well(pid));
	EXPECT_EQ(1, live(tw));
	twheel_close(tw);
}

/* The C library may be older than _Fork(), which calls no handlers of pthread_atfork(). */
pid_t _Fork(void) __attribute__((weak));

static pid_t bare_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* A child is a child, also if the library is not called at the fork. */
TEST_F(fork, child_without_handlers)
{
	pid_t (*const ways[])(void) = { bare_clone, _Fork };
	pid_t pid, grandchild;
	size_t i;

	ASSERT_EQ(0, twheel_timer_start(self->timer, 0, 0));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!ways[i])
			continue;
		pid = ways[i]();
		ASSERT_LE(0, pid);
		if (!pid) {
			struct twheel *own;

			CHECK(twheel_dispatch(self->tw) == -ECHILD);
			CHECK(twheel_timer_start(self->timer, FAR, 0) == -ECHILD);
			/* That the child has a context of its own changes nothing. */
			CHECK(!twheel_open(&own, NULL, TWHEEL_OPEN_NONBLOCK, NULL));
			CHECK(!twheel_dispatch(own));
			CHECK(twheel_dispatch(self->tw) == -ECHILD);
			grandchild = ways[i]();
			CHECK(grandchild >= 0);
			if (!grandchild) {
				CHECK(twheel_dispatch(own) == -ECHILD);
				CHECK(twheel_dispatch(self->tw) == -ECHILD);
				twheel_take_over(own);
				CHECK(!twheel_dispatch(own));
				CHECK(twheel_dispatch(self->tw) == -ECHILD);
				_exit(0);
			}
			CHECK(well(grandchild));
			_exit(0);
		}
		EXPECT_TRUE(well(pid));
	}
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, self->called);
}

/* Calls without timer objects work on both sides, as the descriptor is shared. */
TEST_F(fork, plain_calls_are_shared)
{
	struct twheel_timer_info info;
	struct twheel_event event;
	uint64_t handle;
	pid_t pid;

	ASSERT_EQ(0, twheel_arm_after(self->tw, FAR, 5, &handle));
	ASSERT_FORKED(pid);
	if (!pid) {
		CHECK(!twheel_get(self->tw, handle, &info) && info.user_data == 5);
		CHECK(!twheel_rearm_after(self->tw, handle, 2 * FAR, 6, NULL));
		CHECK(!twheel_arm_after(self->tw, 0, 7, NULL));
		CHECK(wait_ready(self->tw, 1));
		CHECK(twheel_read(self->tw, &event, 1) == 1 && event.user_data == 7);
		CHECK(!twheel_arm_after(self->tw, 0, 8, NULL));
		_exit(0);
	}
	EXPECT_TRUE(well(pid));
	ASSERT_EQ(0, twheel_get(self->tw, handle, &info));
	EXPECT_EQ(6, info.user_data);
	ASSERT_TRUE(wait_ready(self->tw, 1));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(8, event.user_data);
}

/* A drain works on both sides, too, in a context without timer objects. */
TEST_F(fork, drain_without_objects)
{
	struct twheel *tw;
	pid_t pid;

	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_NONBLOCK, NULL));
	ASSERT_EQ(0, twheel_arm_after(tw, FAR, 5, NULL));
	ASSERT_FORKED(pid);
	if (!pid) {
		struct twheel_timer_info info;
		uint64_t cursor = 0;

		CHECK(twheel_drain(tw, &cursor, &info, 1) == 1 && info.user_data == 5);
		_exit(0);
	}
	EXPECT_TRUE(well(pid));
	EXPECT_EQ(0, live(tw));
	twheel_close(tw);
}

/* A child can have a context of its own beside that of its parent. */
TEST_F(fork, own_context_of_a_child)
{
	pid_t pid;

	ASSERT_EQ(0, twheel_timer_start(self->timer, FAR, 0));
	ASSERT_FORKED(pid);
	if (!pid) {
		unsigned int called = 0;
		struct twheel_timer *timer;
		struct twheel *own;

		twheel_close(self->tw);
		CHECK(!twheel_open(&own, NULL, 0, NULL));
		CHECK(!twheel_timer_new(&timer, own, on_expiry, &called));
		CHECK(!twheel_timer_start(timer, MSEC, 0));
		CHECK(twheel_dispatch(own) == 1);
		CHECK(called == 1);
		twheel_close(own);
		_exit(0);
	}
	EXPECT_TRUE(well(pid));
	EXPECT_EQ(1, live(self->tw));
	EXPECT_EQ(TWHEEL_STATE_PENDING, REPLACED(twheel_timer_cancel, self->timer));
}

/*
 * The parent closes the context, and the child takes it over and goes on. A grandchild is
 * then refused like any child.
 */
TEST_F(fork, child_takes_over)
{
	int closed[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(closed));
	ASSERT_EQ(0, twheel_timer_start(self->timer, 0, 0));
	ASSERT_FORKED(pid);
	if (!pid) {
		struct twheel_timer *timer;
		pid_t grandchild;
		char byte;

		close(closed[1]);
		CHECK(!read(closed[0], &byte, 1));
		twheel_take_over(self->tw);
		CHECK(twheel_timer_armed(self->timer));
		CHECK(wait_ready(self->tw, 1));
		CHECK(twheel_dispatch(self->tw) == 1);
		CHECK(self->called == 1);
		CHECK(!twheel_timer_new(&timer, self->tw, on_expiry, &self->called));
		CHECK(!twheel_timer_start(timer, FAR, 0));

		grandchild = fork();
		CHECK(grandchild >= 0);
		if (!grandchild) {
			CHECK(twheel_timer_cancel(timer, NULL) == -ECHILD);
			_exit(0);
		}
		CHECK(well(grandchild));
		CHECK(!twheel_timer_cancel(timer, NULL));
		twheel_close(self->tw);
		_exit(0);
	}
	twheel_close(self->tw);
	self->tw = NULL;
	close(closed[0]);
	close(closed[1]);
	EXPECT_TRUE(well(pid));
}

/*
 * For the process that made the context taking it over changes nothing, before or after a
 * fork.
 */
TEST_F(fork, parent_takes_over)
{
	pid_t pid;

	twheel_take_over(self->tw);
	ASSERT_FORKED(pid);
	if (!pid)
		_exit(twheel_dispatch(self->tw) == -ECHILD ? 0 : 1);
	EXPECT_TRUE(well(pid));
	twheel_take_over(self->tw);
	ASSERT_EQ(0, twheel_timer_start(self->timer, 0, 0));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, self->called);
}

/* How often a function was called in this process. */
static unsigned int calls;
/* The child that the first of these calls has forked, or 0 in the child. */
static pid_t forked;

static void fork_at_first(struct twheel_timer *timer, const struct twheel_event *event,
			  void *arg)
{
	struct twheel *tw = arg;

	if (calls++)
		return;
	forked = fork();
	if (forked)
		return;
	/* The records that were read before the fork are in the child's memory as well. */
	CHECK(twheel_dispatch(tw) == -ECHILD);
	twheel_take_over(tw);
	CHECK(twheel_dispatch(tw) == 7);
	CHECK(calls == 8);
	_exit(0);
}

static void fork_and_return(struct twheel_timer *timer, const struct twheel_event *event,
			    void *arg)
{
	if (!calls++)
		forked = fork();
}

static void take_over_and_return(struct twheel_timer *timer, const struct twheel_event *event,
				 void *arg)
{
	fork_and_return(timer, event, arg);
	twheel_take_over(arg);
}

/* Makes eight timers that call @fn, and waits until all are ready. */
static int make_ready(struct twheel *tw, twheel_timer_fn *fn)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		struct twheel_timer *timer;

		if (twheel_timer_new(&timer, tw, fn, tw) || twheel_timer_start(timer, 0, 0))
			return 0;
	}
	return wait_ready(tw, 8);
}

TEST_F(fork, in_a_function)
{
	ASSERT_TRUE(make_ready(self->tw, fork_at_first));
	EXPECT_EQ(8, twheel_dispatch(self->tw));
	EXPECT_EQ(8, calls);
	ASSERT_LT(0, forked);
	EXPECT_TRUE(well(forked));
}

/* Records that were read before the fork belong to the parent, which gets each of them once. */
TEST_F(fork, in_a_function_that_returns_in_the_child)
{
	int ret;

	ASSERT_TRUE(make_ready(self->tw, fork_and_return));
	ret = twheel_dispatch(self->tw);
	ASSERT_LE(0, forked);
	if (!forked) {
		CHECK(ret == -ECHILD);
		CHECK(calls == 1);
		_exit(0);
	}
	EXPECT_EQ(8, ret);
	EXPECT_EQ(8, calls);
	EXPECT_TRUE(well(forked));
}

/* A child that takes the context over goes on with the records that were read before. */
TEST_F(fork, in_a_function_that_takes_over)
{
	int ret;

	ASSERT_TRUE(make_ready(self->tw, take_over_and_return));
	ret = twheel_dispatch(self->tw);
	ASSERT_LE(0, forked);
	if (!forked) {
		CHECK(ret == 8);
		CHECK(calls == 8);
		_exit(0);
	}
	EXPECT_TRUE(well(forked));
}

TEST_HARNESS_MAIN
