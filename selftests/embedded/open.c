// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which kind of context twheel_open() gives, and what an embedded one refuses.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "child.h"
#include "lib_util.h"
#include "twheel_util.h"
#include "wrapped.h"

/* Opens a context as @backend in the environment says, unless it is NULL. 1 if it is embedded. */
static int opened(const char *backend, const char *path, unsigned int flags)
{
	struct twheel_info info;
	struct twheel *tw;
	int ret;

	if (backend)
		setenv("TWHEEL_BACKEND", backend, 1);
	else
		unsetenv("TWHEEL_BACKEND");
	ret = twheel_open(&tw, path, flags, NULL);
	if (ret)
		return ret;
	ret = twheel_get_info(tw, 0, &info);
	twheel_close(tw);
	return ret ? ret : !!(info.features & TWHEEL_FEATURE_EMBEDDED);
}

static bool has_device(void)
{
	int fd = open(TWHEEL_DEVICE, O_RDWR);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

TEST(by_the_environment)
{
	bool device = has_device();
	int absent = device ? 0 : 1;

	EXPECT_EQ(absent, opened(NULL, NULL, 0));
	EXPECT_EQ(absent, opened("", NULL, 0));
	EXPECT_EQ(absent, opened("auto", NULL, 0));
	EXPECT_EQ(1, opened("embedded", NULL, 0));
	EXPECT_EQ(device ? 0 : -ENOENT, opened("device", NULL, 0));
	EXPECT_EQ(-EINVAL, opened("Embedded", NULL, 0));
	EXPECT_EQ(-EINVAL, opened("wheel", NULL, 0));
}

TEST(by_the_program)
{
	EXPECT_EQ(1, opened(NULL, NULL, TWHEEL_OPEN_EMBEDDED));
	EXPECT_EQ(1, opened("device", NULL, TWHEEL_OPEN_EMBEDDED));
	EXPECT_EQ(-EINVAL, opened(NULL, TWHEEL_DEVICE, TWHEEL_OPEN_EMBEDDED));
	/* A path is that of a device, whatever the environment says. */
	EXPECT_EQ(has_device() ? 0 : -ENOENT, opened("embedded", TWHEEL_DEVICE, 0));
	EXPECT_EQ(-ENOTTY, opened("embedded", "/dev/null", 0));
	EXPECT_EQ(-ENOENT, opened("wheel", "/dev/no-such-wheel", 0));
}

/* Only where there is no device does an embedded wheel take its place. */
TEST(not_when_descriptors_have_run_out)
{
	struct rlimit limit = { 3, 3 };

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	while (dup(0) >= 0)
		;
	EXPECT_EQ(-EMFILE, opened("auto", NULL, 0));
	EXPECT_EQ(-EMFILE, opened("embedded", NULL, 0));
}

/* A context takes three, whatever its clock is, and never more for a moment. */
TEST(three_descriptors_are_enough)
{
	static const uint32_t clocks[] = {
		0, CLOCK_MONOTONIC, CLOCK_BOOTTIME, TWHEEL_CLOCK_REALTIME,
	};
	struct twheel_config config = { };
	struct rlimit limit = { 64, 64 };
	struct twheel *tw;
	size_t i;
	int fd, last = -1;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	while ((fd = dup(0)) >= 0)
		last = fd;
	for (fd = last - 2; fd <= last; fd++)
		close(fd);
	for (i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		config.clock = clocks[i];
		ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED, &config));
		EXPECT_EQ(-1, dup(0));
		twheel_close(tw);
	}
	/* With two there is an error, which leaves both. */
	ASSERT_LE(0, dup(0));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-EMFILE, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED, &config));
	EXPECT_LE(0, dup(0));
	EXPECT_LE(0, dup(0));
	EXPECT_EQ(-1, dup(0));
}

FIXTURE(only) {
	struct twheel *tw;
	uint64_t handle;
};

FIXTURE_SETUP(only)
{
	ASSERT_EQ(0, twheel_open(&self->tw, NULL, TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_NONBLOCK,
				 NULL));
	ASSERT_EQ(0, twheel_arm_after(self->tw, FAR, 5, &self->handle));
}

FIXTURE_TEARDOWN(only)
{
	twheel_close(self->tw);
}

/* What only the device can do is refused, and nothing has changed. */
TEST_F(only, the_device_is_passed_on)
{
	struct twheel_timer_info info;
	struct twheel *other;

	EXPECT_EQ(-EOPNOTSUPP, twheel_release(self->tw));
	EXPECT_EQ(0, twheel_get(self->tw, self->handle, &info));
	EXPECT_EQ(-ENOTTY, twheel_adopt(&other, twheel_fd(self->tw)));
	EXPECT_EQ(0, twheel_get(self->tw, self->handle, &info));
}

static void use_inherited(struct twheel *tw, uint64_t handle)
{
	struct twheel_cancel cancel = { .handle = handle };
	struct twheel_arm arm = { .expires = SEC };
	struct twheel_timer_info info;
	struct twheel_event event;
	struct twheel_lease lease;
	struct twheel_walk *walk;
	struct twheel_info about;

	CHECK(twheel_arm(tw, &arm) == -ECHILD);
	CHECK(twheel_arm_batch(tw, &arm, 1) == -ECHILD);
	CHECK(twheel_arm_after(tw, SEC, 0, NULL) == -ECHILD);
	CHECK(twheel_cancel(tw, handle, NULL) == -ECHILD);
	CHECK(twheel_cancel_batch(tw, &cancel, 1) == -ECHILD);
	CHECK(twheel_get(tw, handle, &info) == -ECHILD);
	CHECK(twheel_get_info(tw, 0, &about) == -ECHILD);
	CHECK(twheel_read(tw, &event, 1) == -ECHILD);
	CHECK(twheel_read_timeout(tw, &event, 1, SEC) == -ECHILD);
	CHECK(twheel_walk_new(&walk, tw) == -ECHILD);
	CHECK(twheel_lease_at(tw, 1, 1, &lease) == -ECHILD);
	twheel_close(tw);
}

TEST_F(only, the_device_is_shared_with_a_child)
{
	struct twheel_event event;
	pid_t pid;

	ASSERT_EQ(0, twheel_arm_after(self->tw, 50 * MSEC, 6, NULL));
	ASSERT_FORKED(pid);
	if (!pid) {
		use_inherited(self->tw, self->handle);
		_exit(0);
	}
	ASSERT_TRUE(well(pid));
	/* That has left the parent's timers, and its descriptor, as they were. */
	ASSERT_TRUE(wait_readable(self->tw));
	EXPECT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(6, event.user_data);
}

TEST_F(only, a_child_may_take_it_over)
{
	struct twheel_event event;
	pid_t pid;

	ASSERT_EQ(0, twheel_arm_after(self->tw, 50 * MSEC, 6, NULL));
	ASSERT_FORKED(pid);
	if (!pid) {
		twheel_take_over(self->tw);
		CHECK(wait_readable(self->tw));
		CHECK(twheel_read(self->tw, &event, 1) == 1 && event.user_data == 6);
		CHECK(!twheel_arm_after(self->tw, 0, 7, NULL));
		CHECK(twheel_read(self->tw, &event, 1) == 1 && event.user_data == 7);
		CHECK(!twheel_cancel(self->tw, self->handle, NULL));
		twheel_close(self->tw);
		_exit(0);
	}
	EXPECT_TRUE(well(pid));
}

/* In a child leases are those that its parent has got before the fork, wherever their words are. */
TEST_F(only, leases_of_a_child)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_LEASE };
	struct twheel_arm arm = { .expires = FAR, .flags = TWHEEL_ARM_LEASE };
	struct twheel_lease lease, other;
	struct twheel *tw;
	uint64_t deadline;
	pid_t pid;

	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED, &config));
	ASSERT_EQ(0, twheel_arm(tw, &arm));
	ASSERT_EQ(0, twheel_lease_at(tw, arm.word, arm.tag, &lease));
	deadline = twheel_lease_deadline(lease) + FAR;
	ASSERT_FORKED(pid);
	if (!pid) {
		CHECK(twheel_lease_at(tw, arm.word, arm.tag, &other) == -ECHILD);
		CHECK(twheel_lease_extend(lease, deadline) == 1);
		twheel_take_over(tw);
		CHECK(!twheel_lease_at(tw, arm.word, arm.tag, &other));
		CHECK(other.word == lease.word);
		_exit(0);
	}
	EXPECT_TRUE(well(pid));
	EXPECT_LE(deadline, twheel_lease_deadline(lease));
	twheel_close(tw);
}

static bool stop;

static void *arm_and_cancel(void *tw)
{
	uint64_t handle;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		if (!twheel_arm_after(tw, FAR, 0, &handle))
			twheel_cancel(tw, handle, NULL);
	return NULL;
}

/* A child may free its copy of a context that another thread was in the midst of changing. */
TEST_F(only, closed_by_a_child_amid_calls)
{
	pthread_t thread;
	int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, arm_and_cancel, self->tw));
	for (i = 0; i < 100; i++) {
		pid_t pid;

		ASSERT_FORKED(pid);
		if (!pid) {
			twheel_close(self->tw);
			_exit(0);
		}
		EXPECT_TRUE(well(pid));
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
}

/* A context on @clock with a timer that is not due, or NULL */
static struct twheel *open_with_timer(uint32_t clock)
{
	struct twheel_config config = { .clock = clock };
	struct twheel *tw;

	if (twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED, &config))
		return NULL;
	return twheel_arm_at(tw, twheel_now(tw) + FAR, 8, NULL) ? NULL : tw;
}

/* Takes @tw over in a child. Returns what a read has returned that does not wait, or 1 or more. */
static int read_in_a_child(struct twheel *tw)
{
	struct twheel_event event;
	pid_t pid = fork();
	int status;

	if (!pid) {
		twheel_take_over(tw);
		_exit((int)-twheel_read_timeout(tw, &event, 1, 0));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 1;
	return -WEXITSTATUS(status);
}

/* Where the clocks are ahead nothing is early: what goes by them stays the parent's. */
TEST_F(only, not_in_other_times)
{
	struct twheel *wall = open_with_timer(TWHEEL_CLOCK_REALTIME);
	struct twheel *uptime = open_with_timer(CLOCK_BOOTTIME);

	ASSERT_NE(NULL, wall);
	ASSERT_NE(NULL, uptime);
	if (unshare(CLONE_NEWUSER | CLONE_NEWTIME) ||
	    tw_write_file("/proc/self/timens_offsets",
			  "monotonic 1000000 0\nboottime 1000000 0\n"))
		SKIP(return, "no time namespaces, or no right to make one");
	EXPECT_EQ(-ECHILD, read_in_a_child(self->tw));
	EXPECT_EQ(-ECHILD, read_in_a_child(uptime));
	EXPECT_EQ(0, read_in_a_child(wall));
	/* A child of such a child has the clocks of its parent. */
	if (!fork()) {
		uptime = open_with_timer(CLOCK_BOOTTIME);
		_exit(uptime ? -read_in_a_child(uptime) : 1);
	} else {
		int status = -1;

		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
	twheel_close(uptime);
	twheel_close(wall);
}

/* Timers count for the process, over all its contexts, and are given back. */
TEST_F(only, counts)
{
	struct twheel_config config = { .limit = 2 };
	struct twheel_info info;
	struct twheel *other;
	uint64_t before;

	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	before = info.user_timers;
	EXPECT_EQ(UINT64_MAX, info.user_limit);
	ASSERT_EQ(0, twheel_open(&other, NULL, TWHEEL_OPEN_EMBEDDED, &config));
	EXPECT_EQ(0, twheel_arm_after(other, FAR, 0, NULL));
	EXPECT_EQ(0, twheel_arm_after(other, FAR, 0, NULL));
	EXPECT_EQ(-ENOSPC, twheel_arm_after(other, FAR, 0, NULL));
	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(before + 2, info.user_timers);
	twheel_close(other);
	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(before, info.user_timers);
}

/* The most bytes that there are in one piece */
static size_t piece = SIZE_MAX;

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return size <= piece ? __real_aligned_alloc(alignment, size) : NULL;
}

/* Memory may come in any number of pieces. */
TEST_F(only, memory_in_small_pieces)
{
	struct twheel_info info;
	int i, ret = 0;

	for (i = 0; i < 60000 && !ret; i++) {
		piece = i < 30000 ? 16384 : SIZE_MAX;
		ret = twheel_arm_after(self->tw, FAR, i, NULL);
	}
	EXPECT_EQ(0, ret);
	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(60001, info.pending);
}

TEST_HARNESS_MAIN
