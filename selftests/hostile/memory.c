// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory: whatever an ordinary user tries, they reach a limit and are told so, and nobody
 * else notices. The limits themselves are tested by uapi/limits.c.
 */
#include <sys/resource.h>
#include <sys/syscall.h>

#include "hostile.h"

#define LIMIT		8192
/*
 * So many that their memory is some MB, and what a group counts is not exact: each CPU may have
 * 64 pages more, of which it keeps account itself.
 */
#define MANY		(6 * LIMIT)
#define USER_LIMIT	"max_user_timers"

FIXTURE(memory)
{
	struct memcg group;
};

/* Before a test has changed it, which may then have been killed */
static long long max_at_first;

static void __attribute__((__constructor__)) note_max(void)
{
	max_at_first = parameter(USER_LIMIT);
}

FIXTURE_SETUP(memory)
{
	if (obstacle())
		SETUP_SKIP("%s", obstacle());
	ASSERT_LE(0, max_at_first);
}

/*
 * Waits until NOBODY has no timers any more, and until less memory of them is to be freed than
 * a user without timers may have. Returns whether that happened. The limit is 0 then.
 */
static bool all_freed(void)
{
	return set_parameter(USER_LIMIT, 0) == 0 && nothing_left(NOBODY);
}

FIXTURE_TEARDOWN(memory)
{
	EXPECT_TRUE(all_freed());
	set_parameter(USER_LIMIT, max_at_first);
	EXPECT_TRUE(is_served(VICTIM));
	memcg_remove(&self->group);
}

static const struct kind {
	const char *name;
	__u32 config;
} kinds[] = {
	{ "plain", 0 },
	{ "keyed", TWHEEL_CONFIG_KEYED },
	{ "lease", TWHEEL_CONFIG_LEASE },
	{ "both", TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE },
};

/* Calls arm_kind() for *@fd, which is opened first if it is negative. */
static int open_and_arm(__u32 config, int *fd, __u64 key, int n, int *error)
{
	if (*fd < 0) {
		*fd = tw_open();
		*error = *fd < 0 ? *fd : tw_configure(*fd, CLOCK_MONOTONIC, config);
		if (*error)
			return 0;
	}
	return arm_kind(*fd, config, key, n, error);
}

/*
 * Enters the group, if there is one, and locks the memory that this program itself needs.
 * Without that the kernel would rightly kill it.
 */
static bool begin_attack(const FIXTURE_DATA(memory) * self)
{
	return (!self->group.path[0] || memcg_enter(&self->group)) && mlockall(MCL_CURRENT) == 0 &&
	       become(NOBODY);
}

/*
 * One of four processes that fill contexts of all kinds up to the limit of the user or of
 * the group, again and again until they are killed. A process exits when something is
 * wrong.
 */
static void hammer(const FIXTURE_DATA(memory) * self, int reason, int *refused,
		   int *ready)
{
	int i, n, fd, error;
	__u64 before;

	if (!begin_attack(self))
		_exit(1);
	for (__atomic_fetch_add(ready, 1, __ATOMIC_ACQ_REL);
	     __atomic_load_n(ready, __ATOMIC_ACQUIRE) < 4;)
		sched_yield();
	for (i = getpid();; i++) {
		fd = -1;
		n = open_and_arm(kinds[i % ARRAY_SIZE(kinds)].config, &fd, 1, 1 << 24, &error);
		/* The other three processes may have used all of the memory. */
		if (fd < 0 && error == reason)
			continue;
		before = tw_info(fd).pending;
		if (error != reason || before != (__u64)n)
			_exit(2);
		/*
		 * This is refused as well, unless another process has freed some memory,
		 * and changes nothing.
		 */
		open_and_arm(kinds[i % ARRAY_SIZE(kinds)].config, &fd, 1 << 25, 1, &error);
		if ((error && error != reason) || tw_info(fd).pending != before + !error)
			_exit(3);
		__atomic_fetch_add(refused, 1, __ATOMIC_RELAXED);
		close(fd);
	}
}

static void take_all(struct __test_metadata *_metadata, const FIXTURE_DATA(memory) * self,
		     int reason)
{
	int *refused = shared(2 * sizeof(*refused)), *ready = refused + 1, i, status;
	__u64 limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	pid_t pids[4];

	for (i = 0; i < 4; i++) {
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (pids[i] == 0)
			hammer(self, reason, refused, ready);
	}
	/* Meanwhile another user must be served. */
	for (i = 0; i < 20 || __atomic_load_n(refused, __ATOMIC_RELAXED) < 4; i++) {
		ASSERT_TRUE(is_served(VICTIM));
		if (tw_now(CLOCK_MONOTONIC) > limit)
			break;
	}
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, waitpid(pids[i], &status, WNOHANG)) {
			TH_LOG("an attacker ended: %#x", status);
		}
		end_attack(pids[i]);
	}
	EXPECT_LE(1, *refused);
	TH_LOG("came to the limit %d times", *refused);
}

TEST_F(memory, up_to_the_users_limit)
{
	ASSERT_EQ(0, set_parameter(USER_LIMIT, LIMIT));
	take_all(_metadata, self, -EDQUOT);
}

/* The attackers get an error, and are not killed. */
TEST_F(memory, up_to_the_groups_limit)
{
	if (!has_memcg(_metadata, &self->group, "12582912"))
		return;
	ASSERT_EQ(0, set_parameter(USER_LIMIT, 1 << 24));
	take_all(_metadata, self, -ENOMEM);
	EXPECT_EQ(0, memcg_value(&self->group, "memory.events", "oom_kill"));
	EXPECT_LT(0, memcg_value(&self->group, "memory.events", "max"));
}

/*
 * Waits until the group's use of memory no longer changes, and returns it. What is freed after an
 * RCU grace period comes within some of these, however slow the machine is.
 */
static long long settled(const FIXTURE_DATA(memory) * self)
{
	long long last, now = memcg_value(&self->group, "memory.current", NULL);
	int same = 0, i;

	for (i = 0; i < 200 && same < 3; i++) {
		wait_for_rcu();
		last = now;
		now = memcg_value(&self->group, "memory.current", NULL);
		same = now == last ? same + 1 : 0;
	}
	return now;
}

/*
 * The part of a child in nearly_empty_chunks: fills contexts up to the user's limit, and
 * keeps one timer of each chunk, or of each page of words. Exits with 0 if that worked.
 */
static void fill_and_thin(const FIXTURE_DATA(memory) * self, __u32 config, int parent)
{
	struct twheel_arm arm = tw_request(TW_FAR, 0, 0);
	static __u64 handles[MANY];
	int fd = -1, round, n, error;

	if (config & TWHEEL_CONFIG_LEASE)
		arm.flags = TWHEEL_ARM_LEASE;
	if (!memcg_enter(&self->group) || !become(NOBODY))
		_exit(1);
	if (open_and_arm(config, &fd, 1, 63, &error) != 63 || !tell(parent) || !hear(parent))
		_exit(2);
	for (round = 0; round < 6; round++) {
		if (round) {
			fd = tw_open();
			error = fd < 0 ? fd : tw_configure(fd, CLOCK_MONOTONIC, config);
			/* There may be no room even for a context. */
			if (error == -EDQUOT)
				break;
			if (error)
				_exit(5);
		}
		for (n = 0; n < MANY; n++) {
			arm.handle = config & TWHEEL_CONFIG_KEYED ? round * MANY + n + 100 : 0;
			error = tw_call(fd, TWHEEL_IOC_ARM, &arm);
			if (error)
				break;
			handles[n] = arm.handle;
		}
		if (error != -EDQUOT)
			_exit(3);
		if (!round && (!tell(parent) || !hear(parent)))
			_exit(6);
		while (n--)
			if (n % (round & 1 ? 63 : 504))
				tw_cancel(fd, handles[n]);
	}
	_exit(!tell(parent) || !hear(parent) ? 4 : 0);
}

/*
 * One timer of each chunk is kept, or of each page of words, and the next context gets as
 * many timers as there is room for. If timers were counted and not their memory, that could
 * go on for ever.
 */
TEST_F(memory, nearly_empty_chunks)
{
	long long before, full, after;
	int pair[2], k;
	pid_t pid;

	if (!has_memcg(_metadata, &self->group, "max"))
		return;
	for (k = 0; k < (int)ARRAY_SIZE(kinds); k += 3) {
		ASSERT_EQ(0, set_parameter(USER_LIMIT, MANY));
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		ASSERT_FORKED(pid);
		if (pid == 0)
			fill_and_thin(self, kinds[k].config, pair[1]);
		close(pair[1]);
		ASSERT_TRUE(hear(pair[0]));
		before = settled(self);
		ASSERT_TRUE(tell(pair[0]));
		ASSERT_TRUE(hear(pair[0])) {
			TH_LOG("%s: exit status %d", kinds[k].name, tw_status_of(pid));
		}
		full = settled(self) - before;
		ASSERT_TRUE(tell(pair[0]));
		ASSERT_TRUE(hear(pair[0])) {
			TH_LOG("%s: exit status %d", kinds[k].name, tw_status_of(pid));
		}
		after = settled(self) - before;
		TH_LOG("%s: %lld bytes, %lld full", kinds[k].name, after, full);
		EXPECT_GT(2 * full, after);
		EXPECT_TRUE(is_served(VICTIM));
		ASSERT_TRUE(tell(pair[0]));
		EXPECT_EQ(0, tw_status_of(pid));
		close(pair[0]);
		EXPECT_TRUE(all_freed());
	}
}

/*
 * Opens as many contexts as there are descriptors, each with a timer of the most expensive
 * kind.
 */
TEST_F(memory, many_opens)
{
	int pair[2], error, fd, n;
	long long before, after;
	pid_t pid;

	if (!has_memcg(_metadata, &self->group, "max"))
		return;
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	ASSERT_FORKED(pid);
	if (pid == 0) {
		struct rlimit files = { 2000, 2000 };

		if (!memcg_enter(&self->group) || setrlimit(RLIMIT_NOFILE, &files) ||
		    !become(NOBODY))
			_exit(1);
		for (n = 0;; n++) {
			/*
			 * The measurement begins with the second context, as the first one
			 * costs more.
			 */
			if (n == 1 && (!tell(pair[1]) || !hear(pair[1])))
				_exit(2);
			fd = -1;
			if (open_and_arm(kinds[3].config, &fd, 1, 1, &error) != 1)
				break;
		}
		if (error != -EMFILE || n < 1900)
			_exit(3);
		if (!tell(pair[1]) || !hear(pair[1]))
			_exit(4);
		_exit(0);
	}
	close(pair[1]);
	ASSERT_TRUE(hear(pair[0]));
	before = settled(self);
	ASSERT_TRUE(tell(pair[0]));
	ASSERT_TRUE(hear(pair[0])) {
		TH_LOG("exit status %d", tw_status_of(pid));
	}
	after = settled(self);
	TH_LOG("%lld bytes a context with keys and leases", (after - before) / 1990);
	/*
	 * A chunk, its keys and a page of words are charged, but no more than the 16 pages
	 * of a pipe.
	 */
	EXPECT_LT(1900 * (4096 + 1024 + 4096), after - before);
	EXPECT_GT(2000 * 65536, after - before);
	EXPECT_TRUE(is_served(VICTIM));
	ASSERT_TRUE(tell(pair[0]));
	EXPECT_EQ(0, tw_status_of(pid));
}

/*
 * In a user namespace of their own a user may have many user IDs, which an administrator
 * has granted. They still count as one user.
 */
TEST_F(memory, users_in_a_namespace)
{
	int pair[2], error, fd, n = 0;
	char path[64];
	uid_t uid;
	pid_t pid;

	ASSERT_EQ(0, set_parameter(USER_LIMIT, 1000));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	ASSERT_FORKED(pid);
	if (pid == 0) {
		if (!become(NOBODY) || unshare(CLONE_NEWUSER))
			_exit(10);
		/* Before any ID is mapped the user is NOBODY. */
		fd = tw_open();
		if (fd < 0)
			_exit(1);
		if (arm_far(fd, 100, &error) != 100 || tw_info(fd).user_timers != 100)
			_exit(2);
		n += 100;
		if (!tell(pair[1]) || !hear(pair[1]))
			_exit(3);
		/* Under each ID timers count for NOBODY, also in nested namespaces. */
		for (uid = 0; uid < 9; uid++) {
			/* The last ID is used alone, in one more nested namespace. */
			if (setresuid(uid, uid == 8 ? 8 : 0, uid == 8 ? 8 : 0) ||
			    (uid == 8 && unshare(CLONE_NEWUSER)))
				_exit(4);
			fd = tw_open();
			if (fd < 0 || tw_info(fd).user_timers != (__u64)n)
				_exit(5);
			n += arm_far(fd, 100, &error);
		}
		_exit(n == 1000 && arm_far(fd, 1, &error) == 0 && error == -EDQUOT ? 0 : 6);
	}
	close(pair[1]);
	if (!hear(pair[0])) {
		ASSERT_EQ(10, tw_status_of(pid));
		SKIP(return, "no user namespaces for ordinary users here");
	}
	/* This is what newuidmap(1) does for users in /etc/subuid. */
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	ASSERT_EQ(0, tw_write_file(path, "0 65534 1\n1 100000 1000\n"));
	/* Without a mapped group no nested namespace could be made. */
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	ASSERT_EQ(0, tw_write_file(path, "0 65534 1\n"));
	EXPECT_TRUE(is_served(VICTIM));
	ASSERT_TRUE(tell(pair[0]));
	EXPECT_EQ(0, tw_status_of(pid));
}

/*
 * Some descriptors are only in messages that nobody receives, while some of their timers expire.
 * So are those of the sockets.
 */
TEST_F(memory, descriptors_in_flight)
{
	struct twheel_arm like = tw_request(TW_MSEC, 0, 0);
	int socks[2], i, k, fd, error;
	pid_t pid;

	/* The chunks of fifty contexts take most of what that many timers may. */
	ASSERT_EQ(0, set_parameter(USER_LIMIT, 4000));
	ASSERT_FORKED(pid);
	if (pid == 0) {
		int own;

		if (!become(NOBODY))
			_exit(1);
		own = tw_open();
		for (i = 0; i < 10; i++) {
			if (socketpair(AF_UNIX, SOCK_STREAM, 0, socks))
				_exit(2);
			for (k = 0; k < 5; k++) {
				fd = tw_open();
				if (fd < 0 || arm_far(fd, 20, &error) != 20 ||
				    arm_like(fd, &like, 20, &error) != 20 ||
				    tw_send_fd(socks[0], fd, 0, 0))
					_exit(3);
				close(fd);
			}
			/*
			 * The sockets form a circle, which only the kernel's garbage
			 * collector finds.
			 */
			if (tw_send_fd(socks[0], socks[1], 0, 0) ||
			    tw_send_fd(socks[1], socks[0], 0, 0))
				_exit(4);
			if (i % 2)
				usleep(3000);
			/* Timers in such contexts still count, as long as they exist. */
			if (own < 0 || tw_info(own).user_timers < 5 * (20 + 20))
				_exit(5);
			close(socks[0]);
			close(socks[1]);
		}
		_exit(0);
	}
	EXPECT_EQ(0, tw_status_of(pid));
	/* The garbage collector runs when sockets are closed. */
	for (i = 0; i < 50; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, socks) == 0) {
			tw_send_fd(socks[0], socks[1], 0, 0);
			close(socks[0]);
			close(socks[1]);
		}
		usleep(1000);
	}
	EXPECT_TRUE(nothing_left(NOBODY));
}

/* Endless processes share a descriptor, and run programs that inherit it. */
TEST_F(memory, fork_bomb)
{
	static const char * const argv[] = { "true", NULL };
	struct rlimit processes = { 100, 100 };
	int *forks = shared(sizeof(*forks)), error, fd, i;
	pid_t pid;

	ASSERT_EQ(0, set_parameter(USER_LIMIT, LIMIT));
	ASSERT_FORKED(pid);
	if (pid == 0) {
		setpgid(0, 0);
		if (setrlimit(RLIMIT_NPROC, &processes) || !become(NOBODY))
			_exit(1);
		fd = tw_open();
		fcntl(fd, F_SETFD, 0);
		for (;;) {
			if (fork() >= 0)
				__atomic_fetch_add(forks, 1, __ATOMIC_RELAXED);
			arm_far(fd, 100, &error);
			if (getpid() % 8 == 0)
				execv("/bin/true", (char **)argv);
			tw_cancel(fd, 1ULL << 32 | 1);
		}
	}
	for (i = 0; i < 20; i++)
		EXPECT_TRUE(is_served(VICTIM));
	for (i = 0; i < 3000 && __atomic_load_n(forks, __ATOMIC_RELAXED) < 50; i++)
		usleep(10000);
	EXPECT_LE(50, *forks);
	/* Repeat this until no process is left that could have forked meanwhile. */
	do {
		error = kill(-pid, SIGKILL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(1000);
	} while (!error);
	EXPECT_TRUE(nothing_left(NOBODY));
}

/*
 * Chunks are allocated and freed as fast as possible: those that wait for RCU are still
 * charged.
 */
TEST_F(memory, churn)
{
	int *rounds = shared(sizeof(*rounds)), i;
	__u64 begin = tw_now(CLOCK_MONOTONIC);
	pid_t pids[2];

	if (!has_memcg(_metadata, &self->group, "6291456"))
		return;
	for (i = 0; i < 2; i++) {
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (pids[i] == 0) {
			struct twheel_cancel cancels[256];
			struct twheel_arm arms[256];
			int fd, k, n;

			if (!begin_attack(self))
				_exit(1);
			fd = tw_open();
			if (fd < 0)
				_exit(2);
			for (;;) {
				for (k = 0; k < 256; k++)
					arms[k] = tw_request(TW_FAR, 0, k);
				n = tw_arm_batch(fd, arms, 256);
				for (k = 0; k < n; k++) {
					if (arms[k].result && arms[k].result != -ENOMEM)
						_exit(3);
					cancels[k] = (struct twheel_cancel) {
						.handle = arms[k].handle,
					};
				}
				tw_batch(fd, TWHEEL_IOC_CANCEL_BATCH, cancels, n);
				__atomic_fetch_add(rounds, 1, __ATOMIC_RELAXED);
			}
		}
	}
	while (tw_now(CLOCK_MONOTONIC) - begin < 3 * TW_SEC ||
	       __atomic_load_n(rounds, __ATOMIC_RELAXED) < 100) {
		ASSERT_TRUE(is_served(VICTIM));
		ASSERT_GT(TW_LIMIT_MS * TW_MSEC, tw_now(CLOCK_MONOTONIC) - begin);
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, waitpid(pids[i], NULL, WNOHANG));
		end_attack(pids[i]);
	}
	EXPECT_EQ(0, memcg_value(&self->group, "memory.events", "oom_kill"));
}

/*
 * The same with the limit of a user. What waits for RCU counts, so this takes no more memory than
 * the user may have. An arm fails only while RCU is late, as the user has no more timers than that.
 */
TEST_F(memory, churn_at_the_users_limit)
{
	enum { MAX = 256, BUDGET = 96 * MAX + 16 * 4096 };
	int *rounds = shared(2 * sizeof(*rounds)), *begun = rounds + 1;
	long long before, peak = 0, now;
	__u64 begin;
	pid_t pid;

	if (!has_memcg(_metadata, &self->group, "max"))
		return;
	ASSERT_EQ(0, set_parameter(USER_LIMIT, MAX));
	ASSERT_FORKED(pid);
	if (pid == 0) {
		static struct twheel_timer_info drained[MAX];
		struct twheel_list list = {
			.entries = (unsigned long)drained, .count = MAX,
			.flags = TWHEEL_LIST_DRAIN,
		};
		int fd, n, error, tries = 0;

		if (!begin_attack(self))
			_exit(1);
		fd = tw_open();
		if (fd < 0)
			_exit(2);
		for (;;) {
			n = arm_far(fd, MAX, &error);
			list.cursor = 0;
			if (tw_call(fd, TWHEEL_IOC_LIST, &list) != n)
				_exit(4);
			if (n != MAX) {
				if (!try_when_freed(error, &tries))
					_exit(3);
				continue;
			}
			tries = 0;
			__atomic_fetch_add(rounds, 1, __ATOMIC_RELAXED);
			while (!__atomic_load_n(begun, __ATOMIC_ACQUIRE))
				sched_yield();
		}
	}
	while (!__atomic_load_n(rounds, __ATOMIC_RELAXED) && !waitpid(pid, NULL, WNOHANG))
		usleep(1000);
	before = settled(self);
	__atomic_store_n(begun, 1, __ATOMIC_RELEASE);
	begin = tw_now(CLOCK_MONOTONIC);
	while (tw_now(CLOCK_MONOTONIC) - begin < 3 * TW_SEC ||
	       __atomic_load_n(rounds, __ATOMIC_RELAXED) < 50) {
		now = memcg_value(&self->group, "memory.current", NULL);
		if (now > peak)
			peak = now;
		ASSERT_GT(TW_LIMIT_MS * TW_MSEC, tw_now(CLOCK_MONOTONIC) - begin);
	}
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	end_attack(pid);
	TH_LOG("%d rounds, %lld bytes at most, of %d", *rounds, peak - before, BUDGET);
	/* Slabs that are not full, and the counts of CPUs that are not up to date */
	EXPECT_GT(BUDGET + (512 << 10), peak - before);
}

TEST_HARNESS_MAIN
