// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many timers there may be: per descriptor, per user and per memory cgroup.
 *
 * Most tests change parameters of the module and user IDs, and so need root. The parameters
 * are put back after every test.
 */
#include <sys/socket.h>

#include "users.h"

/* User IDs that nobody else on the machine has. */
#define SOMEONE		61234
#define SOMEONE_ELSE	61235

/*
 * Arms up to @n timers that are far ahead, with @flags. Returns how many were armed, and
 * stores the last error in @error.
 */
static int arm_with(int fd, __u32 flags, int n, int *error)
{
	struct twheel_arm arm;
	int i, ret;

	*error = 0;
	for (i = 0; i < n; i++) {
		arm = tw_request(TW_FAR, flags, i);
		ret = tw_call(fd, TWHEEL_IOC_ARM, &arm);
		if (ret) {
			*error = ret;
			break;
		}
	}
	return i;
}

static int arm_many(int fd, int n, int *error)
{
	return arm_with(fd, 0, n, error);
}

FIXTURE(limits)
{
	long long max_user, max_fd;
	int fd;
};

FIXTURE_SETUP(limits)
{
	self->max_user = parameter("max_user_timers");
	self->max_fd = parameter("max_fd_timers");
	self->fd = tw_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(limits)
{
	close(self->fd);
	if (geteuid() == 0 && self->max_user >= 0) {
		set_parameter("max_user_timers", self->max_user);
		set_parameter("max_fd_timers", self->max_fd);
	}
}

/* Returns why the tests that change parameters cannot run here, or NULL. */
static const char *obstacle(void)
{
	if (geteuid() != 0)
		return "needs root";
	if (access(TW_PARAMETERS, F_OK))
		return "no " TW_PARAMETERS;
	return NULL;
}

TEST_F(limits, per_descriptor)
{
	struct twheel_event event;
	struct twheel_arm arm;
	__u64 handle;
	int error;

	ASSERT_EQ(0, tw_config(self->fd, CLOCK_MONOTONIC, 10));
	handle = tw_arm(self->fd, TW_FAR, 0, 0);
	ASSERT_NE(0, handle);
	EXPECT_EQ(9, arm_many(self->fd, 20, &error));
	EXPECT_EQ(-ENOSPC, error);
	EXPECT_EQ(10, tw_info(self->fd).pending);

	/* A refused call still writes all its output fields. */
	arm = tw_request(TW_FAR, 0, 0);
	EXPECT_EQ(-ENOSPC, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(-ENOSPC, arm.result);
	EXPECT_EQ(0, arm.handle);
	EXPECT_EQ(0, arm.old_state);
	EXPECT_EQ(0, arm.old_remaining);

	/* Re-arming takes no room, and cancelling makes room. */
	arm = tw_request(TW_FAR, 0, 0);
	arm.handle = handle;
	EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(0, tw_cancel(self->fd, handle));

	/* Reading a record makes room, too. Expiry alone does not. */
	ASSERT_NE(0, tw_arm(self->fd, 0, 0, 0));
	ASSERT_TRUE(tw_wait_ready(self->fd, 1));
	EXPECT_EQ(0, arm_many(self->fd, 1, &error));
	EXPECT_EQ(-ENOSPC, error);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(1, arm_many(self->fd, 2, &error));
	EXPECT_EQ(-ENOSPC, error);
	EXPECT_EQ(10, tw_info(self->fd).pending);
}

TEST_F(limits, per_descriptor_by_parameter)
{
	int fd, error;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	ASSERT_EQ(0, set_parameter("max_fd_timers", 5));
	fd = tw_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(5, tw_info(fd).limit);
	EXPECT_EQ(-EINVAL, tw_config(fd, CLOCK_MONOTONIC, 6));
	EXPECT_EQ(0, tw_config(fd, CLOCK_MONOTONIC, 5));
	EXPECT_EQ(5, arm_many(fd, 10, &error));
	EXPECT_EQ(-ENOSPC, error);
	close(fd);

	ASSERT_EQ(0, set_parameter("max_fd_timers", 0));
	fd = tw_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, arm_many(fd, 1, &error));
	EXPECT_EQ(-ENOSPC, error);
	close(fd);
}

TEST_F(limits, per_user)
{
	struct twheel_event event;
	__u64 handle;
	int a, b, error;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	a = open_as(SOMEONE);
	b = open_as(SOMEONE);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	ASSERT_EQ(0, set_parameter("max_user_timers", 10));
	EXPECT_EQ(10, tw_info(a).user_limit);
	EXPECT_EQ(0, tw_info(a).user_timers);
	handle = tw_arm(a, TW_FAR, 0, 0);
	ASSERT_NE(0, handle);
	EXPECT_EQ(5, arm_many(a, 5, &error));
	EXPECT_EQ(4, arm_many(b, 20, &error));
	EXPECT_EQ(-EDQUOT, error);
	EXPECT_EQ(0, arm_many(a, 1, &error));
	EXPECT_EQ(-EDQUOT, error);
	EXPECT_EQ(10, tw_info(a).user_timers);
	EXPECT_EQ(10, tw_info(b).user_timers);
	EXPECT_EQ(6, tw_info(a).pending);

	/* Timers that one descriptor gives back can be armed by the other one. */
	EXPECT_EQ(0, tw_cancel(a, handle));
	EXPECT_EQ(9, tw_info(b).user_timers);
	ASSERT_NE(0, tw_arm(b, 0, 0, 0));
	EXPECT_EQ(0, arm_many(a, 1, &error));
	ASSERT_EQ(1, tw_collect(b, &event, 1));
	EXPECT_EQ(1, arm_many(a, 2, &error));
	EXPECT_EQ(-EDQUOT, error);
	close(a);
	/* It may take a moment until the timers are freed. */
	handle = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	while (tw_info(b).user_timers != 4 && tw_now(CLOCK_MONOTONIC) < handle)
		sched_yield();
	EXPECT_EQ(4, tw_info(b).user_timers);
	EXPECT_EQ(6, arm_many(b, 20, &error));
	EXPECT_EQ(-EDQUOT, error);
	close(b);
}

/*
 * A chunk counts as if all of it were in use, even if a program keeps only a few of its
 * timers, here one in fifty.
 */
TEST_F(limits, memory_all_but_empty)
{
	enum { MAX = 630, EACH = 50 };
	static __u64 handles[MAX];
	int a, b, i, n, error;
	__u64 limit;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	a = open_as(SOMEONE);
	b = open_as(SOMEONE);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	ASSERT_EQ(0, set_parameter("max_user_timers", MAX));
	for (i = 0; i < MAX; i++) {
		handles[i] = tw_arm(a, TW_FAR, 0, i);
		ASSERT_NE(0, handles[i]);
	}
	for (i = 0; i < MAX; i++)
		if (i % EACH)
			ASSERT_EQ(0, tw_cancel(a, handles[i]));

	/* Some room is left, as each descriptor may have a chunk that is not full. */
	n = arm_many(b, MAX, &error);
	EXPECT_LT(0, n);
	EXPECT_GT(MAX / 2, n);
	EXPECT_EQ(-EDQUOT, error);
	EXPECT_GT(MAX, tw_info(b).user_timers);
	/*
	 * The other descriptor can still fill the chunks that it has, as these are counted
	 * already.
	 */
	EXPECT_EQ(10, arm_many(a, 10, &error));

	close(a);
	limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	while (tw_info(b).user_timers != n && tw_now(CLOCK_MONOTONIC) < limit)
		sched_yield();
	EXPECT_EQ(MAX - n, arm_many(b, MAX, &error));
	EXPECT_EQ(-EDQUOT, error);
	close(b);
}

/* Words stay with a descriptor when its leases are gone, and still count. */
TEST_F(limits, words_without_leases)
{
	enum { MAX = 630 };
	static struct twheel_timer_info drained[MAX];
	struct twheel_list list = {
		.entries = (unsigned long)drained, .count = MAX, .flags = TWHEEL_LIST_DRAIN,
	};
	int a, b, n, error;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	if (!(tw_info(self->fd).features & TWHEEL_FEATURE_LEASE))
		SKIP(return, "no leases in this kernel");
	a = open_as(SOMEONE);
	b = open_as(SOMEONE);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	ASSERT_EQ(0, tw_configure(a, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
	ASSERT_EQ(0, tw_configure(b, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
	ASSERT_EQ(0, set_parameter("max_user_timers", MAX));
	ASSERT_EQ(MAX, arm_with(a, TWHEEL_ARM_LEASE, MAX, &error));
	ASSERT_EQ(MAX, tw_call(a, TWHEEL_IOC_LIST, &list));
	ASSERT_EQ(0, tw_info(a).user_timers);

	n = arm_with(b, TWHEEL_ARM_LEASE, MAX, &error);
	EXPECT_LT(0, n);
	EXPECT_GT(MAX, n);
	EXPECT_EQ(-EDQUOT, error);
	EXPECT_EQ(n, tw_info(b).user_timers);
	/* Another lease of the same descriptor can use the words of those that are gone. */
	EXPECT_EQ(1, arm_with(a, TWHEEL_ARM_LEASE, 1, &error));
	close(a);
	close(b);
}

/* As arm_many(), with the keys from 0 on. */
static int put_many(int fd, int n, int *error)
{
	struct twheel_arm arm;
	int i;

	for (i = 0, *error = 0; i < n; i++) {
		arm = tw_request(TW_FAR, 0, 0);
		arm.handle = i;
		*error = tw_call(fd, TWHEEL_IOC_ARM, &arm);
		if (*error)
			break;
	}
	return i;
}

/* Have @put make @n timers of @fd, and end them all: their tables stay. Returns how many. */
static int leave_tables(int fd, int n, int (*put)(int fd, int n, int *error))
{
	struct twheel_timer_info *drained = calloc(n, sizeof(*drained));
	struct twheel_list list = {
		.entries = (unsigned long)drained, .count = n, .flags = TWHEEL_LIST_DRAIN,
	};
	int error, ret = drained ? put(fd, n, &error) : -1;

	if (ret == n)
		ret = tw_call(fd, TWHEEL_IOC_LIST, &list);
	free(drained);
	return ret;
}

/*
 * So do the pages in which chunks are looked up, of 512 chunks each. Each descriptor may have
 * one that is not counted.
 */
TEST_F(limits, tables_without_timers)
{
	enum { PAGE = 512 * 63, MORE = PAGE + 1000, MAX = 2 * PAGE + 5000 };
	int fds[3], i, error;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	ASSERT_EQ(0, set_parameter("max_user_timers", MAX));
	for (i = 0; i < 2; i++) {
		fds[i] = open_as(SOMEONE);
		ASSERT_LE(0, fds[i]);
		ASSERT_EQ(MORE, leave_tables(fds[i], MORE, arm_many));
		ASSERT_EQ(0, tw_info(fds[i]).user_timers);
	}

	/* Two of their four pages count, and a third one would be above the limit. */
	fds[2] = open_as(SOMEONE);
	ASSERT_LE(0, fds[2]);
	EXPECT_EQ(PAGE, arm_many(fds[2], MORE, &error));
	EXPECT_EQ(-EDQUOT, error);
	/* A descriptor can still use the pages that it has. */
	EXPECT_EQ(1000, arm_many(fds[1], 1000, &error));
	close(fds[0]);
	EXPECT_EQ(MORE - PAGE, arm_many(fds[2], MORE - PAGE, &error));
	close(fds[1]);
	close(fds[2]);
}

/* So do the pages in which keys are looked up, of 1024 buckets each, two for a timer. */
TEST_F(limits, keys_without_timers)
{
	enum { PAGE = 512, MORE = 5 * PAGE, MAX = 9 * PAGE };
	int fds[3], i, error;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	for (i = 0; i < 3; i++) {
		fds[i] = open_as(SOMEONE);
		ASSERT_LE(0, fds[i]);
		ASSERT_EQ(0, tw_configure(fds[i], CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
	}
	ASSERT_EQ(0, set_parameter("max_user_timers", MAX));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(MORE, leave_tables(fds[i], MORE, put_many));
		ASSERT_EQ(0, tw_info(fds[i]).user_timers);
	}

	/* Of their ten pages and two more, three do not count: one for each descriptor. */
	EXPECT_EQ(2 * PAGE, put_many(fds[2], MORE, &error));
	EXPECT_EQ(-EDQUOT, error);
	/* A descriptor can still use the pages that it has. */
	EXPECT_EQ(MORE, put_many(fds[1], MORE, &error));
	close(fds[0]);
	close(fds[1]);
	EXPECT_EQ(MORE, put_many(fds[2], MORE, &error));
	close(fds[2]);
}

TEST_F(limits, users_do_not_share)
{
	int a, b, error;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	a = open_as(SOMEONE);
	b = open_as(SOMEONE_ELSE);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	ASSERT_EQ(0, set_parameter("max_user_timers", 10));
	EXPECT_EQ(10, arm_many(a, 20, &error));
	EXPECT_EQ(-EDQUOT, error);
	EXPECT_EQ(0, tw_info(b).user_timers);
	EXPECT_EQ(10, arm_many(b, 20, &error));
	EXPECT_EQ(-EDQUOT, error);
	EXPECT_EQ(10, tw_info(a).user_timers);
	EXPECT_EQ(10, tw_info(b).user_timers);
	close(a);
	close(b);
}

/* Timers count for the user who opened the descriptor, no matter who uses it. */
TEST_F(limits, the_opener_counts)
{
	int fd, own, error;
	pid_t pid;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	fd = open_as(SOMEONE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_parameter("max_user_timers", 10));
	ASSERT_EQ(10, arm_many(fd, 10, &error));
	pid = fork();
	ASSERT_LE(0, pid);
	if (pid == 0) {
		if (!become(SOMEONE_ELSE))
			_exit(1);
		if (arm_many(fd, 1, &error) != 0 || error != -EDQUOT)
			_exit(2);
		own = tw_open();
		if (own < 0 || tw_info(own).user_timers != 0 ||
		    arm_many(own, 20, &error) != 10 || error != -EDQUOT)
			_exit(3);
		_exit(tw_info(fd).user_timers == 10 ? 0 : 4);
	}
	EXPECT_EQ(0, status_of(pid));
	close(fd);
}

TEST_F(limits, batches_are_counted_too)
{
	struct twheel_arm arms[20];
	struct twheel_batch batch = {
		.entries = (unsigned long)arms, .count = ARRAY_SIZE(arms),
	};
	int fd, i;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	fd = open_as(SOMEONE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_parameter("max_user_timers", 10));
	for (i = 0; i < 20; i++)
		arms[i] = tw_request(TW_FAR, 0, i);
	ASSERT_EQ(20, tw_call(fd, TWHEEL_IOC_ARM_BATCH, &batch));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(i < 10 ? 0 : -EDQUOT, arms[i].result);
		EXPECT_EQ(i < 10, arms[i].handle != 0);
		EXPECT_EQ(0, arms[i].old_state);
		EXPECT_EQ(0, arms[i].old_remaining);
	}
	EXPECT_EQ(10, tw_info(fd).pending);
	close(fd);
}

TEST_F(limits, lowered_below_what_is_there)
{
	struct twheel_event event;
	struct twheel_arm arm;
	__u64 handle;
	int fd, error;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	fd = open_as(SOMEONE);
	ASSERT_LE(0, fd);
	handle = tw_arm(fd, 100 * TW_MSEC, 0, 77);
	ASSERT_NE(0, handle);
	ASSERT_EQ(50, arm_many(fd, 50, &error));
	ASSERT_EQ(0, set_parameter("max_user_timers", 20));
	EXPECT_EQ(51, tw_info(fd).pending);
	EXPECT_EQ(20, tw_info(fd).user_limit);
	EXPECT_EQ(0, arm_many(fd, 1, &error));
	EXPECT_EQ(-EDQUOT, error);
	/* Timers that are live can still be re-armed, and still expire. */
	arm = tw_request(20 * TW_MSEC, 0, 78);
	arm.handle = handle;
	EXPECT_EQ(0, tw_call(fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(1, tw_collect(fd, &event, 1));
	EXPECT_EQ(78, event.user_data);
	EXPECT_EQ(0, arm_many(fd, 1, &error));
	EXPECT_EQ(-EDQUOT, error);
	/* After the limit was raised there is room again. */
	ASSERT_EQ(0, set_parameter("max_user_timers", 60));
	EXPECT_EQ(10, arm_many(fd, 20, &error));
	EXPECT_EQ(-EDQUOT, error);
	close(fd);
}

TEST_F(limits, zero_means_no_new_timers)
{
	int fd, error;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	fd = open_as(SOMEONE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(1, arm_many(fd, 1, &error));
	ASSERT_EQ(0, set_parameter("max_user_timers", 0));
	EXPECT_EQ(0, arm_many(fd, 1, &error));
	EXPECT_EQ(-EDQUOT, error);
	EXPECT_EQ(1, tw_info(fd).pending);
	close(fd);
}

/* If the first arming fails for want of room, the configuration is not settled. */
TEST_F(limits, a_refused_first_timer_settles_nothing)
{
	int fd, error;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	fd = open_as(SOMEONE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_parameter("max_user_timers", 0));
	EXPECT_EQ(0, arm_many(fd, 1, &error));
	EXPECT_EQ(-EDQUOT, error);
	EXPECT_EQ(0, tw_config(fd, CLOCK_BOOTTIME, 0));
	close(fd);
}

TEST_F(limits, parameters_belong_to_root)
{
	static const char * const fixed[] = { "tick_ns", "slots" };
	struct stat st;
	char path[128];
	pid_t pid;
	size_t i;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	for (i = 0; i < ARRAY_SIZE(fixed); i++) {
		snprintf(path, sizeof(path), TW_PARAMETERS "%s", fixed[i]);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(0, st.st_mode & 0222);
	}
	pid = fork();
	ASSERT_LE(0, pid);
	if (pid == 0) {
		if (!become(SOMEONE))
			_exit(1);
		_exit(set_parameter("max_user_timers", 1) == -EACCES &&
		      set_parameter("max_fd_timers", 1) == -EACCES ? 0 : 2);
	}
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(self->max_user, parameter("max_user_timers"));
}

TEST_F(limits, for_everyone)
{
	struct twheel_event event;
	int fd;
	pid_t pid;

	if (obstacle())
		SKIP(return, "%s", obstacle());
	pid = fork();
	ASSERT_LE(0, pid);
	if (pid == 0) {
		if (!become(SOMEONE))
			_exit(1);
		fd = tw_open();
		if (fd < 0)
			_exit(2);
		if (!tw_arm(fd, 10 * TW_MSEC, 0, 3) || tw_collect(fd, &event, 1) != 1)
			_exit(3);
		_exit(event.user_data == 3 ? 0 : 4);
	}
	EXPECT_EQ(0, status_of(pid));
}

FIXTURE(memcg)
{
	struct memcg group;
};

FIXTURE_VARIANT(memcg)
{
	__u32 config;
	/* The least number of bytes that a timer takes. */
	int bytes;
};

FIXTURE_VARIANT_ADD(memcg, plain)
{
	.config = 0,
	.bytes = 64,
};

/* The table that leads to the keys is not charged, as the kernel's workers allocate it. */
FIXTURE_VARIANT_ADD(memcg, keyed)
{
	.config = TWHEEL_CONFIG_KEYED,
	.bytes = 64 + 16,
};

FIXTURE_VARIANT_ADD(memcg, lease)
{
	.config = TWHEEL_CONFIG_LEASE,
	.bytes = 64 + 8,
};

FIXTURE_SETUP(memcg)
{
}

FIXTURE_TEARDOWN(memcg)
{
	memcg_remove(&self->group);
}

TEST_F(memcg, timers_are_charged)
{
	const char *reason = memcg_make(&self->group, "max");
	long long before, after, left;
	int fd, n = 200000, pair[2], error;
	__u64 limit;
	pid_t pid;

	if (reason)
		SKIP(return, "%s", reason);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid = fork();
	ASSERT_LE(0, pid);
	if (pid == 0) {
		if (!memcg_enter(&self->group))
			_exit(1);
		fd = tw_open();
		/*
		 * The first timers cause costs of their own, so these are armed before the
		 * measurement.
		 */
		if (fd < 0 || tw_configure(fd, CLOCK_MONOTONIC, variant->config) ||
		    arm_kind(fd, variant->config, 1, 1000, &error) != 1000)
			_exit(2);
		if (!tell(pair[1]) || !hear(pair[1]))
			_exit(3);
		if (tw_info(fd).limit < (__u64)n + 1000 ||
		    arm_kind(fd, variant->config, 1001, n, &error) != n)
			_exit(4);
		if (!tell(pair[1]) || !hear(pair[1]))
			_exit(5);
		close(fd);
		if (!tell(pair[1]) || !hear(pair[1]))
			_exit(6);
		_exit(0);
	}
	close(pair[1]);
	ASSERT_TRUE(hear(pair[0]));
	before = memcg_value(&self->group, "memory.current", NULL);
	ASSERT_TRUE(tell(pair[0]));
	if (!hear(pair[0])) {
		ASSERT_EQ(4, status_of(pid));
		SKIP(return, "the limits of this machine allow too few timers");
	}
	after = memcg_value(&self->group, "memory.current", NULL);
	EXPECT_LE(before + (long long)n * variant->bytes, after) {
		TH_LOG("%lld bytes for %d timers", after - before, n);
	}
	ASSERT_TRUE(tell(pair[0]));
	ASSERT_TRUE(hear(pair[0]));
	limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	do {
		left = memcg_value(&self->group, "memory.current", NULL);
	} while (left > before + (after - before) / 4 && tw_now(CLOCK_MONOTONIC) < limit);
	EXPECT_GE(before + (after - before) / 4, left);
	ASSERT_TRUE(tell(pair[0]));
	EXPECT_EQ(0, status_of(pid));
	TH_LOG("%lld bytes a timer, %lld left after close", (after - before) / n, left - before);
}

/* A program that is out of memory gets ENOMEM, and nobody else notices. */
TEST_F(memcg, memory_runs_out)
{
	const char *reason = memcg_make(&self->group, "8388608");
	int fd, error;
	pid_t pid;

	if (reason)
		SKIP(return, "%s", reason);
	fd = open_as(SOMEONE_ELSE);
	ASSERT_LE(0, fd);
	if (tw_info(fd).limit < 300000)
		SKIP(return, "the limits of this machine allow too few timers");
	pid = fork();
	ASSERT_LE(0, pid);
	if (pid == 0) {
		if (!memcg_enter(&self->group))
			_exit(1);
		close(fd);
		fd = open_as(SOMEONE);
		error = tw_configure(fd, CLOCK_MONOTONIC, variant->config);
		if (!error)
			arm_kind(fd, variant->config, 1, 300000, &error);
		_exit(error == -ENOMEM ? 0 : 2);
	}
	/* The child got ENOMEM and was not killed. */
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(100, arm_many(fd, 100, &error));
	close(fd);
	fd = open_as(SOMEONE);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(tw_all_given_back(fd));
	close(fd);
}

TEST_HARNESS_MAIN
