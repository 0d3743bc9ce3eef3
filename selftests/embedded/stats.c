// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an embedded context counts: twheel_stats(), and what TWHEEL_STATS lets others read.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "child.h"
#include "lib_util.h"
#include "process/share.h"
#include "wrapped.h"

#define START	(1000 * 3600 * SEC)
/* No tick is longer. */
#define TICK	(1ULL << 20)

/* What /proc calls the memory that is shared. */
static const char name[] = "/memfd:" TWHEEL_SHARE_NAME " ";

FIXTURE(stats) {
	struct twheel *tw;
};

FIXTURE_SETUP(stats)
{
	unsetenv("TWHEEL_STATS");
	ASSERT_EQ(0, twheel_open(&self->tw, NULL, TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_NONBLOCK,
				 NULL));
	ASSERT_EQ(0, twheel_set_now(self->tw, START));
}

FIXTURE_TEARDOWN(stats)
{
	twheel_close(self->tw);
}

static struct twheel_counters stats(struct twheel *tw)
{
	struct twheel_counters counters;

	if (twheel_stats(tw, &counters, sizeof(counters)))
		memset(&counters, 0xff, sizeof(counters));
	return counters;
}

/* The bucket of a value. */
static unsigned int bucket(uint64_t value)
{
	return value ? 64 - (unsigned int)__builtin_clzll(value) : 0;
}

static uint64_t sum(const uint64_t *buckets)
{
	uint64_t all = 0;
	int i;

	for (i = 0; i < TWHEEL_BUCKETS; i++)
		all += buckets[i];
	return all;
}

TEST_F(stats, every_counter)
{
	struct twheel_counters counters = stats(self->tw), none = { };
	struct twheel_event events[100];
	uint64_t handles[10];
	int i;

	EXPECT_EQ(0, memcmp(&counters, &none, sizeof(none)));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, twheel_arm_after(self->tw, SEC, i, &handles[i]));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, twheel_rearm_after(self->tw, handles[i], 2 * SEC, i, NULL));
	ASSERT_EQ(0, twheel_cancel(self->tw, handles[9], NULL));
	EXPECT_EQ(-ENOENT, twheel_cancel(self->tw, handles[9], NULL));
	counters = stats(self->tw);
	EXPECT_EQ(10, counters.armed);
	EXPECT_EQ(3, counters.rearmed);
	EXPECT_EQ(1, counters.cancelled);
	EXPECT_EQ(0, counters.expired + counters.read + counters.turns);

	/* Six are half a second late. */
	ASSERT_EQ(0, twheel_set_now(self->tw, START + SEC + SEC / 2));
	counters = stats(self->tw);
	EXPECT_EQ(6, counters.expired);
	EXPECT_LE(1, counters.turns);
	EXPECT_EQ(counters.turns, sum(counters.expired_a_turn));
	EXPECT_EQ(6, sum(counters.lateness));
	EXPECT_EQ(6, counters.lateness[bucket(SEC / 2)]);
	EXPECT_EQ(0, counters.read);
	ASSERT_EQ(1, twheel_read(self->tw, events, 1));
	ASSERT_EQ(5, twheel_read(self->tw, events, 100));
	ASSERT_EQ(-EAGAIN, twheel_read(self->tw, events, 100));
	counters = stats(self->tw);
	EXPECT_EQ(6, counters.read);
	EXPECT_EQ(1, counters.read_a_call[bucket(1)]);
	EXPECT_EQ(1, counters.read_a_call[bucket(5)]);
	EXPECT_EQ(2, sum(counters.read_a_call));
	EXPECT_EQ(0, counters.migrated);
}

/* One call returns more records than it takes out under the lock at a time. */
TEST_F(stats, long_reads)
{
	static struct twheel_event events[300];
	struct twheel_counters counters;
	int i;

	for (i = 0; i < 300; i++)
		ASSERT_EQ(0, twheel_arm_after(self->tw, SEC, i, NULL));
	ASSERT_EQ(0, twheel_set_now(self->tw, START + 2 * SEC));
	ASSERT_EQ(128, twheel_read(self->tw, events, 128));
	ASSERT_EQ(172, twheel_read(self->tw, events, 300));
	counters = stats(self->tw);
	EXPECT_EQ(2, sum(counters.read_a_call));
	EXPECT_EQ(2, counters.read_a_call[bucket(128)]);
	EXPECT_EQ(300, counters.read);
}

/* A timer that is far away moves down the levels of the wheel. */
TEST_F(stats, cascades)
{
	struct twheel_counters counters;
	uint64_t t;

	ASSERT_EQ(0, twheel_arm_after(self->tw, 60 * SEC, 0, NULL));
	for (t = 0; t <= 60 * SEC; t += 10 * MSEC)
		ASSERT_EQ(0, twheel_set_now(self->tw, START + t));
	ASSERT_EQ(0, twheel_set_now(self->tw, START + 60 * SEC + TICK));
	counters = stats(self->tw);
	EXPECT_LE(1, counters.cascaded);
	EXPECT_EQ(1, counters.expired);
	EXPECT_EQ(counters.turns, sum(counters.expired_a_turn));
	EXPECT_EQ(1, counters.expired_a_turn[1]);
}

/* A program may be older or newer than the library. */
TEST_F(stats, sizes)
{
	struct {
		struct twheel_counters	known;
		uint64_t		newer[2];
	} large;
	uint64_t armed[2] = { 7, 7 };

	ASSERT_EQ(0, twheel_arm_after(self->tw, SEC, 0, NULL));
	memset(&large, 0xff, sizeof(large));
	EXPECT_EQ(0, twheel_stats(self->tw, &large.known, sizeof(large)));
	EXPECT_EQ(1, large.known.armed);
	EXPECT_EQ(0, large.newer[0]);
	EXPECT_EQ(0, large.newer[1]);
	EXPECT_EQ(0, twheel_stats(self->tw, (struct twheel_counters *)armed, sizeof(armed[0])));
	EXPECT_EQ(1, armed[0]);
	EXPECT_EQ(7, armed[1]);
	EXPECT_EQ(-EINVAL, twheel_stats(self->tw, (struct twheel_counters *)armed, 0));
	EXPECT_EQ(1, armed[0]);
}

TEST_F(stats, children)
{
	pid_t pid;

	ASSERT_EQ(0, twheel_arm_after(self->tw, SEC, 0, NULL));
	pid = fork();
	if (!pid) {
		struct twheel_counters counters = { .armed = 7 };

		CHECK(twheel_stats(self->tw, &counters, sizeof(counters)) == -ECHILD);
		CHECK(counters.armed == 7);
		twheel_take_over(self->tw);
		CHECK(!twheel_arm_after(self->tw, SEC, 0, NULL));
		CHECK(stats(self->tw).armed == 2);
		_exit(0);
	}
	ASSERT_TRUE(well(pid));
	EXPECT_EQ(1, stats(self->tw).armed);
}

/* Has this process a lock on its descriptor @fd? What it has inherited has none. */
static bool is_locked(const char *fd)
{
	char path[64], line[128];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.20s", fd);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, "lock:", 5);
	if (file)
		fclose(file);
	return found;
}

/* The memory that a process shares, and has made itself, and how many there are. NULL if none. */
static const struct twheel_share *count_shared(int *n)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct twheel_share *found = NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char path[64], text[64] = "";
		struct twheel_share *share;

		snprintf(path, sizeof(path), "/proc/self/fd/%.20s", entry->d_name);
		if (readlink(path, text, sizeof(text) - 1) < 0 ||
		    strncmp(text, name, sizeof(name) - 1))
			continue;
		/* To open and close it would end the lock. */
		share = mmap(NULL, sizeof(*share), PROT_READ, MAP_SHARED, atoi(entry->d_name), 0);
		if (share != MAP_FAILED && is_locked(entry->d_name)) {
			found = share;
			++*n;
		}
	}
	closedir(dir);
	return found;
}

static const struct twheel_share *shared(void)
{
	int n = 0;

	return count_shared(&n);
}

/* The context with this descriptor in the memory. NULL if it is not there. */
static const struct twheel_share_slot *slot_of(const struct twheel_share *share, int fd)
{
	size_t i;

	for (i = 0; share && i < TWHEEL_SHARE_SLOTS; i++)
		if (share->slots[i].used && share->slots[i].fd == (uint32_t)fd)
			return &share->slots[i];
	return NULL;
}

static struct twheel *open_context(uint32_t clock, uint32_t flags)
{
	struct twheel_config config = { .clock = clock, .flags = flags };
	struct twheel *tw;

	return twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_NONBLOCK, &config) ?
	       NULL : tw;
}

TEST_F(stats, not_shared_unless_asked)
{
	EXPECT_EQ(NULL, shared());
	setenv("TWHEEL_STATS", "", 1);
	twheel_close(open_context(0, 0));
	setenv("TWHEEL_STATS", "0", 1);
	twheel_close(open_context(0, 0));
	EXPECT_EQ(NULL, shared());
}

TEST_F(stats, shared)
{
	const struct twheel_share *share;
	const struct twheel_share_slot *a, *b;
	struct twheel_event event;
	struct twheel *tw[2];
	int fd;

	setenv("TWHEEL_STATS", "1", 1);
	tw[0] = open_context(CLOCK_BOOTTIME, 0);
	tw[1] = open_context(TWHEEL_CLOCK_REALTIME, TWHEEL_CONFIG_KEYED);
	ASSERT_NE(NULL, tw[0]);
	ASSERT_NE(NULL, tw[1]);
	share = shared();
	ASSERT_NE(NULL, share);
	/* That of the fixture was opened without. */
	EXPECT_EQ(NULL, slot_of(share, twheel_fd(self->tw)));
	a = slot_of(share, twheel_fd(tw[0]));
	b = slot_of(share, twheel_fd(tw[1]));
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(CLOCK_BOOTTIME, a->clock);
	EXPECT_EQ(0, a->config);
	EXPECT_LE(1000, a->limit);
	EXPECT_EQ(CLOCK_REALTIME, b->clock);
	EXPECT_EQ(TWHEEL_CONFIG_KEYED, b->config);

	ASSERT_EQ(0, twheel_arm_after(tw[0], FAR, 0, NULL));
	ASSERT_EQ(0, twheel_arm_at(tw[0], 1, 0, NULL));
	EXPECT_EQ(2, a->counts[0]);
	EXPECT_EQ(2, a->timers);
	EXPECT_EQ(1, a->ready);
	EXPECT_EQ(0, b->timers);
	ASSERT_EQ(1, twheel_read(tw[0], &event, 1));
	EXPECT_EQ(1, a->timers);
	EXPECT_EQ(0, a->ready);
	EXPECT_EQ(2, stats(tw[0]).armed);

	fd = twheel_fd(tw[0]);
	twheel_close(tw[0]);
	EXPECT_EQ(NULL, slot_of(share, fd));
	EXPECT_EQ(2, share->gone[0]);
	EXPECT_EQ(b, slot_of(share, twheel_fd(tw[1])));
	/* The place is free again, and begins with nothing. */
	tw[0] = open_context(0, 0);
	EXPECT_EQ(a, slot_of(share, twheel_fd(tw[0])));
	EXPECT_EQ(0, a->counts[0]);
	twheel_close(tw[0]);
	twheel_close(tw[1]);
}

/* A child has memory of its own, and leaves its parent's alone. */
TEST_F(stats, shared_with_a_child)
{
	const struct twheel_share_slot *slot;
	const struct twheel_share *share;
	struct twheel *tw;
	pid_t pid;

	setenv("TWHEEL_STATS", "1", 1);
	tw = open_context(0, 0);
	ASSERT_NE(NULL, tw);
	ASSERT_EQ(0, twheel_arm_after(tw, FAR, 0, NULL));
	share = shared();
	slot = slot_of(share, twheel_fd(tw));
	ASSERT_NE(NULL, slot);
	pid = fork();
	if (!pid) {
		struct twheel *own;

		CHECK(!shared());
		own = open_context(0, 0);
		CHECK(own && slot_of(shared(), twheel_fd(own)));
		CHECK(!slot_of(share, twheel_fd(own)));
		twheel_close(tw);
		CHECK(slot->used && slot->counts[0] == 1);
		_exit(0);
	}
	ASSERT_TRUE(well(pid));
	EXPECT_EQ(slot, slot_of(share, twheel_fd(tw)));
	pid = fork();
	if (!pid) {
		twheel_take_over(tw);
		CHECK(!twheel_arm_after(tw, FAR, 0, NULL));
		CHECK(slot->counts[0] == 1);
		CHECK(slot_of(shared(), twheel_fd(tw)));
		CHECK(slot_of(shared(), twheel_fd(tw))->counts[0] == 2);
		twheel_close(tw);
		CHECK(slot->used);
		_exit(0);
	}
	ASSERT_TRUE(well(pid));
	EXPECT_EQ(1, slot->counts[0]);
	twheel_close(tw);
}

/* Have children of this process begin a namespace, in which the first one is process 1. */
static bool leave_namespace(void)
{
	return !unshare(CLONE_NEWPID) || !unshare(CLONE_NEWUSER | CLONE_NEWPID);
}

static void have_a_child_with_our_pid(void)
{
	struct twheel *tw = open_context(0, 0), *own;
	const struct twheel_share_slot *slot = slot_of(shared(), twheel_fd(tw));
	pid_t pid;

	CHECK(getpid() == 1 && slot);
	CHECK(!twheel_arm_after(tw, FAR, 0, NULL));
	CHECK(leave_namespace());
	pid = fork();
	if (!pid) {
		CHECK(getpid() == 1);
		own = open_context(0, 0);
		CHECK(own && !twheel_arm_after(own, FAR, 0, NULL));
		twheel_close(own);
		twheel_take_over(tw);
		CHECK(!twheel_arm_after(tw, FAR, 0, NULL));
		CHECK(stats(tw).armed == 2);
		twheel_close(tw);
		_exit(0);
	}
	CHECK(well(pid));
	CHECK(slot->used && slot->counts[0] == 1 && slot->timers == 1);
	twheel_close(tw);
}

/* A child may have the number of its parent, as the first one in a namespace of its own. */
TEST_F(stats, shared_with_a_child_of_the_same_pid)
{
	pid_t pid = fork();
	int status;

	setenv("TWHEEL_STATS", "1", 1);
	if (!pid) {
		if (!leave_namespace())
			_exit(KSFT_SKIP);
		pid = fork();
		if (!pid) {
			have_a_child_with_our_pid();
			_exit(0);
		}
		_exit(!well(pid));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		SKIP(return, "cannot make a namespace of process IDs");
	ASSERT_EQ(0, status);
}

#define OPENERS	4

static void *open_at_once(void *barrier)
{
	pthread_barrier_wait(barrier);
	return open_context(0, 0);
}

/* Threads that open contexts at the same time have one memory together. */
static void open_together(void)
{
	pthread_t threads[OPENERS];
	pthread_barrier_t barrier;
	void *tw[OPENERS];
	int i, n = 0;

	CHECK(!pthread_barrier_init(&barrier, NULL, OPENERS));
	for (i = 0; i < OPENERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, open_at_once, &barrier));
	for (i = 0; i < OPENERS; i++)
		CHECK(!pthread_join(threads[i], &tw[i]));
	CHECK(count_shared(&n) && n == 1);
	for (i = 0; i < OPENERS; i++)
		CHECK(slot_of(shared(), twheel_fd(tw[i])));
}

TEST_F(stats, shared_by_threads)
{
	int round;

	setenv("TWHEEL_STATS", "1", 1);
	for (round = 0; round < 100; round++) {
		pid_t pid = fork();

		if (!pid) {
			open_together();
			_exit(0);
		}
		ASSERT_TRUE(well(pid));
	}
}

/* Nobody can write to it from outside, or take it away. */
TEST_F(stats, shared_for_reading)
{
	char path[64], text[64] = "";
	struct twheel *tw;
	int fd, i;

	setenv("TWHEEL_STATS", "1", 1);
	tw = open_context(0, 0);
	for (i = 0; i < 1024; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
		if (readlink(path, text, sizeof(text) - 1) > 0 &&
		    !strncmp(text, name, sizeof(name) - 1))
			break;
	}
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, ftruncate(fd, 0));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(FD_CLOEXEC, fcntl(i, F_GETFD));
	if (fcntl(fd, F_GET_SEALS) & F_SEAL_FUTURE_WRITE) {
		EXPECT_EQ(-1, write(fd, "x", 1));
		EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0));
	}
	close(fd);
	twheel_close(tw);
}

/* More contexts than it has room for, or no memory at all, is no reason not to open one. */
TEST_F(stats, no_room)
{
	struct rlimit limit = { .rlim_cur = 4096, .rlim_max = RLIM_INFINITY };
	pid_t pid = fork();

	if (!pid) {
		struct twheel *tw;

		CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
		setenv("TWHEEL_STATS", "1", 1);
		tw = open_context(0, 0);
		CHECK(tw && !shared());
		CHECK(!twheel_arm_after(tw, FAR, 0, NULL));
		CHECK(stats(tw).armed == 1);
		_exit(0);
	}
	ASSERT_TRUE(well(pid));
}

/* How much of its memory the library gets: a store into the rest is SIGBUS. */
static off_t granted = sizeof(struct twheel_share);

int __wrap_ftruncate64(int fd, off64_t size)
{
	return __real_ftruncate64(fd, size < granted ? size : granted);
}

/* A context that is not shared, as there is no memory for that, counts all the same. */
static void counts_alone(struct twheel *tw)
{
	CHECK(tw && !twheel_arm_after(tw, FAR, 0, NULL));
	CHECK(stats(tw).armed == 1);
	twheel_close(tw);
}

TEST_F(stats, no_memory)
{
	pid_t pid = fork();

	if (!pid) {
		const struct twheel_share *share;
		struct twheel *tw;

		setenv("TWHEEL_STATS", "1", 1);
		granted = 0;
		counts_alone(open_context(0, 0));
		CHECK(!shared());
		/* One slot is there, and half of another. */
		granted = sysconf(_SC_PAGESIZE);
		tw = open_context(0, 0);
		share = shared();
		CHECK(tw && share && share->slots[0].used && !share->unseen);
		counts_alone(open_context(0, 0));
		CHECK(share->unseen == 1);
		twheel_close(tw);
		CHECK(!share->slots[0].used);
		_exit(0);
	}
	ASSERT_TRUE(well(pid));
}

TEST_HARNESS_MAIN
