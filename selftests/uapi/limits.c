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
 * Arms up to @n timers that are far ahead. Returns how many were armed, and stores the last
 * error in @error.
 */
static int arm_many(int fd, int n, int *error)
{
	struct twheel_arm arm;
	int i, ret;

	*error = 0;
	for (i = 0; i < n; i++) {
		arm = tw_request(TW_FAR, 0, i);
		ret = tw_call(fd, TWHEEL_IOC_ARM, &arm);
		if (ret) {
			*error = ret;
			break;
		}
	}
	return i;
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

FIXTURE(limits)
{
	long long max_user, max_fd;
};

FIXTURE_SETUP(limits)
{
	if (obstacle())
		SETUP_SKIP("%s", obstacle());
	self->max_user = parameter("max_user_timers");
	self->max_fd = parameter("max_fd_timers");
}

FIXTURE_TEARDOWN(limits)
{
	set_parameter("max_user_timers", self->max_user);
	set_parameter("max_fd_timers", self->max_fd);
}

TEST_F(tw, per_descriptor)
{
	struct twheel_event event;
	struct twheel_arm arm;
	__u64 handle;
	int error;

	ASSERT_EQ(0, tw_config(self->fd, CLOCK_MONOTONIC, 10));
	ASSERT_ARMED(handle, self->fd, TW_FAR, 0, 0);
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
	arm = tw_request_for(handle, TW_FAR, 0, 0);
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

	ASSERT_EQ(0, set_parameter("max_fd_timers", 5));
	ASSERT_OPEN(fd);
	EXPECT_EQ(5, tw_info(fd).limit);
	EXPECT_EQ(-EINVAL, tw_config(fd, CLOCK_MONOTONIC, 6));
	EXPECT_EQ(0, tw_config(fd, CLOCK_MONOTONIC, 5));
	EXPECT_EQ(5, arm_many(fd, 10, &error));
	EXPECT_EQ(-ENOSPC, error);
	close(fd);

	ASSERT_EQ(0, set_parameter("max_fd_timers", 0));
	ASSERT_OPEN(fd);
	EXPECT_EQ(0, arm_many(fd, 1, &error));
	EXPECT_EQ(-ENOSPC, error);
	close(fd);
}

TEST_F(limits, per_user)
{
	struct twheel_event event;
	__u64 handle;
	int a, b, error;

	a = open_as(SOMEONE);
	b = open_as(SOMEONE);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	ASSERT_EQ(0, set_parameter("max_user_timers", 10));
	EXPECT_EQ(10, tw_info(a).user_limit);
	EXPECT_EQ(0, tw_info(a).user_timers);
	ASSERT_ARMED(handle, a, TW_FAR, 0, 0);
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
	EXPECT_TRUE(tw_await(tw_info(b).user_timers == 4));
	EXPECT_EQ(6, arm_many(b, 20, &error));
	EXPECT_EQ(-EDQUOT, error);
	close(b);
}

/* What twheel(4) says of the memory of a user's contexts. */
#define BUDGET(timers)	(96 * (timers) + 16 * 4096)

/*
 * All of a chunk counts, even if a program keeps only a few of its timers, here one in fifty.
 */
TEST_F(limits, memory_all_but_empty)
{
	enum { MAX = 6300, EACH = 50, CHUNKS = MAX / 63, ROOM = BUDGET(MAX) / 4096 - CHUNKS };
	static __u64 handles[MAX];
	int a, b, i, n, error;

	/* The timers of a chunk are to come one behind the other. */
	ASSERT_TRUE(tw_stay());
	a = open_as(SOMEONE);
	b = open_as(SOMEONE);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	ASSERT_EQ(0, set_parameter("max_user_timers", MAX));
	for (i = 0; i < MAX; i++)
		ASSERT_ARMED(handles[i], a, TW_FAR, 0, i);
	for (i = 0; i < MAX; i++)
		if (i % EACH)
			ASSERT_EQ(0, tw_cancel(a, handles[i]));

	/* The contexts and the tables of chunks take a few pages. */
	n = arm_many(b, MAX, &error);
	EXPECT_GE(ROOM * 63, n);
	EXPECT_LE((ROOM - 6) * 63, n);
	EXPECT_EQ(-EDQUOT, error);
	EXPECT_GT(MAX, tw_info(b).user_timers);
	/*
	 * The other descriptor can still fill the chunks that it has, as these are counted
	 * already.
	 */
	EXPECT_EQ(10, arm_many(a, 10, &error));

	close(a);
	EXPECT_TRUE(tw_await((int)tw_info(b).user_timers == n));
	EXPECT_EQ(MAX - n, arm_many(b, MAX, &error));
	EXPECT_EQ(-EDQUOT, error);
	close(b);
}

/* Arms @n timers of the kind that a context with @config has, and ends all of them. */
static bool leave_tables(int fd, __u32 config, int n, int *error)
{
	struct twheel_timer_info *drained = calloc(n, sizeof(*drained));
	struct twheel_list list = {
		.entries = (unsigned long)drained, .count = n, .flags = TWHEEL_LIST_DRAIN,
	};
	int armed, ended, tries = 0;

	if (!drained)
		return false;
	do {
		armed = arm_kind(fd, config, 0x1000, n, error);
		list.cursor = 0;
		ended = tw_call(fd, TWHEEL_IOC_LIST, &list);
	} while (armed != n && try_when_freed(*error, &tries));
	free(drained);
	return armed == n && ended == n;
}

FIXTURE(leftovers)
{
	long long max_user;
};

/* How many contexts that have had timers, and have none any more, there may be */
FIXTURE_VARIANT(leftovers)
{
	__u32 config;
	int at_least;
	int at_most;
};

/* A context and a small block of the table of chunks; a chunk without a timer is taken back */
VARIANT(leftovers, plain) { .config = 0, .at_least = 64, .at_most = 200 };

/* The blocks of the table of keys */
VARIANT(leftovers, keyed) { .config = TWHEEL_CONFIG_KEYED, .at_least = 6, .at_most = 15 };

/* Two pages of words more */
VARIANT(leftovers, lease) { .config = TWHEEL_CONFIG_LEASE, .at_least = 5, .at_most = 14 };

FIXTURE_SETUP(leftovers)
{
	if (obstacle())
		SETUP_SKIP("%s", obstacle());
	self->max_user = parameter("max_user_timers");
}

FIXTURE_TEARDOWN(leftovers)
{
	set_parameter("max_user_timers", self->max_user);
}

/*
 * Tables and words stay with a descriptor when its timers have ended, and still count. The
 * limit is the same again when such descriptors are closed.
 */
TEST_F(leftovers, are_counted)
{
	enum { MAX = 1000, EACH = 510 };
	int fds[256], round, i, n, error = 0, first = 0;

	if (getpagesize() != 4096)
		SKIP(return, "pages of words are larger here");
	/* Each CPU on which a descriptor has armed may keep a chunk. */
	ASSERT_TRUE(tw_stay());
	ASSERT_EQ(0, set_parameter("max_user_timers", MAX));
	for (round = 0; round < 20; round++) {
		for (n = 0; n < (int)ARRAY_SIZE(fds); n++) {
			fds[n] = open_when_freed(SOMEONE);
			ASSERT_LE(0, fds[n]);
			ASSERT_EQ(0, tw_configure(fds[n], CLOCK_MONOTONIC, variant->config));
			if (!leave_tables(fds[n], variant->config, EACH, &error))
				break;
		}
		ASSERT_GT((int)ARRAY_SIZE(fds), n);
		EXPECT_EQ(-EDQUOT, error);
		if (!round) {
			first = n;
			EXPECT_LE(variant->at_least, n);
			EXPECT_GE(variant->at_most, n);
			/* What the last one could not keep is free again for the others. */
			EXPECT_TRUE(leave_tables(fds[0], variant->config, 50, &error));
		}
		EXPECT_EQ(first, n);
		for (i = 0; i <= n; i++)
			close(fds[i]);
	}
	TH_LOG("%d contexts", first);
}

/* How many contexts with a timer each may @uid have? */
static int room_for_contexts(uid_t uid)
{
	int fds[64], n, i, error;

	for (n = 0; n < (int)ARRAY_SIZE(fds); n++) {
		fds[n] = open_as(uid);
		if (fds[n] < 0 || arm_many(fds[n], 1, &error) != 1)
			break;
	}
	for (i = 0; i < (int)ARRAY_SIZE(fds) && i <= n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return n;
}

/*
 * When the first arming of a context fails half-way, for want of memory for words, the settings
 * may still be changed. Whatever they are in the end, all that was counted is given back.
 */
TEST_F(leftovers, of_a_first_arming_that_fails)
{
	static const __u32 configs[] = {
		0, TWHEEL_CONFIG_KEYED, TWHEEL_CONFIG_LEASE,
		TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE,
	};
	enum { MAX = 100, ROUNDS = 100 };
	int filler[64], fd, i, n, k, error = 0, room;

	ASSERT_EQ(0, set_parameter("max_user_timers", MAX));
	for (k = 0; k < ROUNDS; k++) {
		/* Each round leaves a different part of a first arming without room. */
		for (n = 0; n < (int)ARRAY_SIZE(filler); n++) {
			filler[n] = open_as(SOMEONE);
			if (filler[n] < 0)
				break;
			if (n < k % 13 && arm_many(filler[n], 1, &error) != 1)
				break;
			fd = open_as(SOMEONE);
			if (fd < 0)
				continue;
			ASSERT_EQ(0, tw_configure(fd, CLOCK_MONOTONIC, variant->config));
			if (arm_kind(fd, variant->config, 1, 1, &error) == 1) {
				/* The settings are settled now. */
				EXPECT_EQ(-EBUSY, tw_configure(fd, CLOCK_MONOTONIC, 0));
			} else {
				EXPECT_EQ(-EDQUOT, error);
				EXPECT_EQ(0, tw_configure(fd, CLOCK_MONOTONIC,
							  configs[k % ARRAY_SIZE(configs)]));
			}
			close(fd);
		}
		for (i = 0; i < n; i++)
			close(filler[i]);
		if (n < (int)ARRAY_SIZE(filler) && filler[n] >= 0)
			close(filler[n]);
	}
	/* In the end a user who did all that has as much room as another one. */
	room = room_for_contexts(SOMEONE_ELSE);
	EXPECT_GT((int)ARRAY_SIZE(filler), room);
	EXPECT_TRUE(tw_await(room_for_contexts(SOMEONE) == room));
}

/* Timers count for the user who opened the descriptor, no matter who uses it. */
TEST_F(limits, the_opener_counts)
{
	int fd, own, error;
	pid_t pid;

	fd = open_as(SOMEONE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, set_parameter("max_user_timers", 10));
	ASSERT_EQ(10, arm_many(fd, 10, &error));
	ASSERT_FORKED(pid);
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
	EXPECT_EQ(0, tw_status_of(pid));
	close(fd);
}

TEST_F(limits, lowered_below_what_is_there)
{
	struct twheel_event event;
	struct twheel_arm arm;
	__u64 handle;
	int fd, error;

	fd = open_as(SOMEONE);
	ASSERT_LE(0, fd);
	ASSERT_ARMED(handle, fd, TW_FAR, 0, 77);
	ASSERT_EQ(50, arm_many(fd, 50, &error));
	ASSERT_EQ(0, set_parameter("max_user_timers", 20));
	EXPECT_EQ(51, tw_info(fd).pending);
	EXPECT_EQ(20, tw_info(fd).user_limit);
	EXPECT_EQ(0, arm_many(fd, 1, &error));
	EXPECT_EQ(-EDQUOT, error);
	/* Timers that are live can still be re-armed, and still expire. */
	arm = tw_request_for(handle, 20 * TW_MSEC, 0, 78);
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

	fd = open_as(SOMEONE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(1, arm_many(fd, 1, &error));
	ASSERT_EQ(0, set_parameter("max_user_timers", 0));
	EXPECT_EQ(0, arm_many(fd, 1, &error));
	EXPECT_EQ(-EDQUOT, error);
	EXPECT_EQ(1, tw_info(fd).pending);
	close(fd);
}

/* Each open counts, even if no timer is ever armed there. */
TEST_F(limits, opens_are_counted)
{
	enum { MAX = 100 };
	int fds[BUDGET(MAX) / 256], n, i;

	ASSERT_EQ(0, set_parameter("max_user_timers", MAX));
	for (n = 0; n < (int)ARRAY_SIZE(fds); n++) {
		fds[n] = open_as(SOMEONE);
		if (fds[n] < 0)
			break;
	}
	TH_LOG("%d contexts, %d bytes each", n, BUDGET(MAX) / n);
	ASSERT_GT((int)ARRAY_SIZE(fds), n);
	EXPECT_EQ(-EDQUOT, fds[n]);
	EXPECT_LT(BUDGET(MAX) / 8192, n);
	/* Others can still open it, and so can this user when there is room again. */
	i = open_as(SOMEONE_ELSE);
	EXPECT_LE(0, i);
	close(i);
	for (i = 0; i < n; i++)
		close(fds[i]);
	i = open_when_freed(SOMEONE);
	EXPECT_LE(0, i);
	close(i);
}

TEST_F(limits, parameters_belong_to_root)
{
	static const char * const fixed[] = { "tick_ns", "slots" };
	struct stat st;
	char path[128];
	pid_t pid;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fixed); i++) {
		snprintf(path, sizeof(path), TW_PARAMETERS "%s", fixed[i]);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(0, st.st_mode & 0222);
	}
	ASSERT_FORKED(pid);
	if (pid == 0) {
		if (!become(SOMEONE))
			_exit(1);
		_exit(set_parameter("max_user_timers", 1) == -EACCES &&
		      set_parameter("max_fd_timers", 1) == -EACCES ? 0 : 2);
	}
	EXPECT_EQ(0, tw_status_of(pid));
	EXPECT_EQ(self->max_user, parameter("max_user_timers"));
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

VARIANT(memcg, plain) { .config = 0, .bytes = 64 };

/* A page for 56 timers, and 8 bytes each in the table that leads to the keys */
VARIANT(memcg, keyed) { .config = TWHEEL_CONFIG_KEYED, .bytes = 64 + 16 };
VARIANT(memcg, lease) { .config = TWHEEL_CONFIG_LEASE, .bytes = 64 + 8 };

FIXTURE_SETUP(memcg)
{
}

FIXTURE_TEARDOWN(memcg)
{
	memcg_remove(&self->group);
}

TEST_F(memcg, timers_are_charged)
{
	long long before, after, left, unused;
	int fd, n = 200000, pair[2], error;
	pid_t pid;

	if (!has_memcg(_metadata, &self->group, "max"))
		return;
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	ASSERT_FORKED(pid);
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
		ASSERT_EQ(4, tw_status_of(pid));
		SKIP(return, "the limits of this machine allow too few timers");
	}
	after = memcg_value(&self->group, "memory.current", NULL);
	/* Each CPU may have had 64 pages that are charged and not used yet. */
	unused = 64LL * getpagesize() * sysconf(_SC_NPROCESSORS_ONLN);
	EXPECT_LE(before + (long long)n * variant->bytes, after + unused) {
		TH_LOG("%lld bytes for %d timers", after - before, n);
	}
	ASSERT_TRUE(tell(pair[0]));
	ASSERT_TRUE(hear(pair[0]));
	EXPECT_TRUE(tw_await((left = memcg_value(&self->group, "memory.current", NULL)) <=
			     before + (after - before) / 4));
	ASSERT_TRUE(tell(pair[0]));
	EXPECT_EQ(0, tw_status_of(pid));
	TH_LOG("%lld bytes a timer, %lld left after close", (after - before) / n, left - before);
}

TEST_HARNESS_MAIN
