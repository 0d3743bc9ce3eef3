// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walking the pending timers and draining them: each timer comes once, the walk ends, and
 * nothing is lost when writing to a buffer fails. Cursors that are made up are in
 * hostile/forge.c.
 */
#include <stdio.h>
#include <sys/wait.h>

#include "alarms.h"
#include "twheel_test.h"

#define ENTRY	sizeof(struct twheel_timer_info)

/* Makes one call of a walk, which moves the cursor on. */
static int step(int fd, __u64 *cursor, void *entries, __u32 count, __u32 flags)
{
	struct twheel_list list = {
		.cursor = *cursor,
		.entries = (unsigned long)entries,
		.count = count,
		.flags = flags,
	};
	int ret = tw_call(fd, TWHEEL_IOC_LIST, &list);

	*cursor = list.cursor;
	return ret;
}

/*
 * Walks to the end with room for @room entries in each call. Returns how many entries came.
 */
static int walk(int fd, struct twheel_timer_info *entries, int max, __u32 room, __u32 flags)
{
	__u64 cursor = 0;
	int ret, n = 0;

	while ((__u32)(max - n) >= room) {
		ret = step(fd, &cursor, entries + n, room, flags);
		if (ret == -EINTR)
			continue;
		if (ret <= 0)
			return ret ?: n;
		n += ret;
	}
	return -E2BIG;
}

static bool arm_far(int fd, __u64 *handles, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		handles[i] = tw_arm(fd, TW_FAR + i, 0, i);
		if (!handles[i])
			return false;
	}
	return true;
}

/* Returns whether each of @n timers is there exactly once, with its index as user_data. */
static bool complete(const struct twheel_timer_info *entries, int got,
		     const __u64 *handles, int n)
{
	unsigned char *seen = calloc(1, n);
	bool ok = got == n;
	int i;

	for (i = 0; ok && i < n; i++)
		ok = entries[i].user_data < (__u64)n &&
		     entries[i].handle == handles[entries[i].user_data] &&
		     !seen[entries[i].user_data]++;
	free(seen);
	return ok;
}

TEST_F(tw, of_nothing)
{
	struct twheel_timer_info entry;
	__u64 cursor = 0;

	memset(&entry, 0xcc, sizeof(entry));
	EXPECT_EQ(0, step(self->fd, &cursor, &entry, 1, 0));
	EXPECT_EQ(0, step(self->fd, &cursor, &entry, 1, TWHEEL_LIST_DRAIN));
	EXPECT_EQ(0xcccccccccccccccc, entry.handle);
	/* Expired timers are not listed either: their records are there to be read. */
	ASSERT_NE(0, tw_arm(self->fd, 0, 0, 0));
	ASSERT_TRUE(tw_wait_ready(self->fd, 1));
	cursor = 0;
	EXPECT_EQ(0, step(self->fd, &cursor, &entry, 1, 0));
	cursor = 0;
	EXPECT_EQ(0, step(self->fd, &cursor, &entry, 1, TWHEEL_LIST_DRAIN));
	EXPECT_EQ(1, tw_info(self->fd).ready);
}

TEST_F(tw, entries_are_complete)
{
	__u64 tick = tw_info(self->fd).tick_ns, cursor = 0;
	__u64 deadline = tw_now(CLOCK_MONOTONIC) + TW_FAR;
	struct twheel_arm arm = tw_request(deadline, TWHEEL_ARM_ABS, 0xabcdef);
	struct twheel_timer_info entry;

	arm.interval = 4711;
	arm.slack = 3 * tick;
	arm.count = 17;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	memset(&entry, 0xcc, sizeof(entry));
	ASSERT_EQ(1, step(self->fd, &cursor, &entry, 1, 0));
	EXPECT_EQ(arm.handle, entry.handle);
	EXPECT_EQ(0xabcdef, entry.user_data);
	EXPECT_EQ(deadline, entry.deadline);
	EXPECT_GE(TW_FAR, entry.remaining);
	EXPECT_LE(deadline - tw_now(CLOCK_MONOTONIC), entry.remaining);
	EXPECT_EQ(4711, entry.interval);
	EXPECT_EQ(3 * tick, entry.slack);
	EXPECT_EQ(17, entry.count);
	EXPECT_EQ(TWHEEL_STATE_PENDING, entry.state);
	EXPECT_EQ(0, step(self->fd, &cursor, &entry, 1, 0));
	EXPECT_EQ(0, step(self->fd, &cursor, &entry, 1, 0));
}

TEST_F(tw, with_room_for_few_and_for_many)
{
	static const __u32 rooms[] = { 1, 2, 7, 63, 64, 65, 100, 4999, 5000, 6000 };
	enum { N = 5000 };
	static struct twheel_timer_info entries[3 * N];
	static __u64 handles[N];
	size_t i;
	int got;

	ASSERT_TRUE(arm_far(self->fd, handles, N));
	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		got = walk(self->fd, entries, ARRAY_SIZE(entries), rooms[i], 0);
		EXPECT_EQ(N, got);
		EXPECT_TRUE(complete(entries, got, handles, N));
	}
	EXPECT_EQ(N, tw_info(self->fd).pending);
}

/*
 * A call returns as many entries as fit. If it returns fewer, the walk has reached its end.
 */
TEST_F(tw, a_call_fills_its_room)
{
	enum { N = 1000 };
	static struct twheel_timer_info entries[N];
	static __u64 handles[N];
	__u64 cursor = 0;
	int i;

	ASSERT_TRUE(arm_far(self->fd, handles, N));
	/* Leave gaps between the timers. */
	for (i = 0; i < N; i++)
		if (i % 10)
			ASSERT_EQ(0, tw_cancel(self->fd, handles[i]));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(10, step(self->fd, &cursor, entries, 10, 0));
	EXPECT_EQ(0, step(self->fd, &cursor, entries, 10, 0));
}

TEST_F(tw, drain_hands_back_what_never_fired)
{
	static const __u32 rooms[] = { 1, 10, 64, 1000, 2000 };
	enum { N = 2000, READY = 10 };
	static struct twheel_timer_info entries[2 * N];
	struct twheel_event events[READY];
	static __u64 handles[N];
	__u64 base = tw_info(self->fd).user_timers;
	int i, got;
	size_t k;

	for (i = 0; i < READY; i++)
		ASSERT_NE(0, tw_arm(self->fd, 0, 0, i));
	ASSERT_TRUE(tw_wait_ready(self->fd, READY));
	for (k = 0; k < ARRAY_SIZE(rooms); k++) {
		ASSERT_TRUE(arm_far(self->fd, handles, N));
		got = walk(self->fd, entries, ARRAY_SIZE(entries), rooms[k], TWHEEL_LIST_DRAIN);
		EXPECT_EQ(N, got);
		EXPECT_TRUE(complete(entries, got, handles, N));
		EXPECT_EQ(0, tw_info(self->fd).pending);
		EXPECT_EQ(READY, tw_info(self->fd).ready);
		EXPECT_EQ(base + READY, tw_info(self->fd).user_timers);
		for (i = 0; i < N; i++)
			ASSERT_EQ(-ENOENT, tw_cancel(self->fd, handles[i]));
	}
	ASSERT_EQ(sizeof(events), tw_read(self->fd, events, sizeof(events)));
}

TEST_F(tw, drain_into_a_buffer_that_ends_early)
{
	static const size_t parts[] = { 0, 1, 8, 28, 55 };
	enum { N = 300, WHOLE = 40 };
	static struct twheel_timer_info entries[2 * N];
	size_t page = sysconf(_SC_PAGESIZE), k;
	char *mem = tw_guarded(1), *at;
	static __u64 handles[N];
	__u64 cursor;
	int got, flags;

	ASSERT_NE(NULL, mem);
	for (k = 0; k < ARRAY_SIZE(parts); k++) {
		for (flags = 0; flags <= (int)TWHEEL_LIST_DRAIN; flags++) {
			ASSERT_TRUE(arm_far(self->fd, handles, N));
			cursor = 0;
			at = mem + page - WHOLE * ENTRY - parts[k];
			ASSERT_EQ(WHOLE, step(self->fd, &cursor, at, N, flags));
			EXPECT_EQ(flags ? N - WHOLE : N, tw_info(self->fd).pending);
			memcpy(entries, at, WHOLE * ENTRY);
			/* Going on from there brings each of the other entries once. */
			got = WHOLE;
			do {
				at = (void *)(entries + got);
				got += step(self->fd, &cursor, at, N, flags);
			} while (at != (void *)(entries + got));
			EXPECT_EQ(N, got);
			EXPECT_TRUE(complete(entries, got, handles, N));
			if (!flags)
				walk(self->fd, entries, ARRAY_SIZE(entries), N, TWHEEL_LIST_DRAIN);
			EXPECT_EQ(0, tw_info(self->fd).pending);
		}
	}
}

TEST_F(tw, drain_into_nothing_at_all)
{
	enum { N = 100 };
	static struct twheel_timer_info entries[2 * N];
	size_t page = sysconf(_SC_PAGESIZE), cut;
	char *mem = tw_guarded(1);
	static __u64 handles[N];
	__u64 cursor;

	ASSERT_NE(NULL, mem);
	ASSERT_TRUE(arm_far(self->fd, handles, N));
	for (cut = 1; cut <= ENTRY; cut++) {
		cursor = 0;
		EXPECT_EQ(-EFAULT, step(self->fd, &cursor, mem + page - ENTRY + cut, N,
					TWHEEL_LIST_DRAIN));
	}
	EXPECT_EQ(N, tw_info(self->fd).pending);
	EXPECT_EQ(N, walk(self->fd, entries, ARRAY_SIZE(entries), N, TWHEEL_LIST_DRAIN));
	EXPECT_TRUE(complete(entries, N, handles, N));
}

/**
 * struct walks - what a process that walks in a loop has found
 * @fd: the context
 * @stop: the process is to end
 * @whole: walks that have returned the pending timers, each once
 * @cut: calls that have failed with EINTR
 * @stuck: of these, calls that have not moved the cursor on
 * @wrong: other failures, and walks that have returned something else
 */
struct walks {
	int fd;
	int stop;
	int whole;
	int cut;
	int stuck;
	int wrong;
};

enum { SKIPPED = 20000, WANTED = 10 };

/* Walks once, over many timers that are ready to the few that are pending. */
static void walk_over_ready(struct walks *w)
{
	struct twheel_timer_info info;
	unsigned int seen = 0;
	__u64 cursor = 0, old;
	int ret, n = 0;

	do {
		old = cursor;
		ret = step(w->fd, &cursor, &info, 1, 0);
		if (ret == -EINTR) {
			w->cut++;
			w->stuck += cursor == old;
		} else if (ret == 1) {
			seen |= 1U << info.user_data;
			n++;
		}
	} while (ret == 1 || ret == -EINTR);
	if (ret == 0 && n == WANTED && seen == (1U << WANTED) - 1)
		w->whole++;
	else
		w->wrong++;
}

/* Makes a context in which a call of a walk takes long before it finds a timer. */
static bool begin_walks(struct walks *w)
{
	int i;

	w->fd = tw_open();
	for (i = 0; i < SKIPPED; i++)
		if (!tw_arm(w->fd, 0, 0, 0))
			return false;
	for (i = 0; i < WANTED; i++)
		if (!tw_arm(w->fd, TW_FAR, 0, i))
			return false;
	return true;
}

/* A process that is stopped and continued has no handler, and never sees EINTR. */
TEST(stopped_and_continued)
{
	struct walks *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int i, status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, w);
	ASSERT_FORKED(pid);
	if (pid == 0) {
		if (!begin_walks(w))
			_exit(1);
		while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE))
			walk_over_ready(w);
		_exit(0);
	}
	while (!__atomic_load_n(&w->whole, __ATOMIC_ACQUIRE))
		ASSERT_EQ(0, waitpid(pid, &status, WNOHANG));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, kill(pid, SIGSTOP));
		ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
		ASSERT_EQ(0, kill(pid, SIGCONT));
		ASSERT_EQ(pid, waitpid(pid, &status, WCONTINUED));
	}
	__atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
	EXPECT_EQ(0, tw_status_of(pid));
	EXPECT_EQ(0, w->cut) {
		TH_LOG("%d calls failed with EINTR in %d walks", w->cut, w->whole);
	}
	EXPECT_EQ(0, w->wrong);
}

FIXTURE(handler)
{
};

FIXTURE_VARIANT(handler)
{
	int flags;
};

VARIANT(handler, that_restarts) { .flags = SA_RESTART };
VARIANT(handler, that_does_not) { .flags = 0 };

FIXTURE_SETUP(handler)
{
}

FIXTURE_TEARDOWN(handler)
{
}

TEST_F(handler, interrupts)
{
	struct walks w = { };
	int i;

	ASSERT_TRUE(begin_walks(&w));
	alarm_every(1000, variant->flags);
	for (i = 0; i < 50; i++)
		walk_over_ready(&w);
	alarm_every(0, 0);
	EXPECT_EQ(50, w.whole);
	EXPECT_EQ(0, w.wrong);
	EXPECT_EQ(0, w.stuck);
	EXPECT_EQ(!TW_EMBEDDED && !(variant->flags & SA_RESTART), w.cut > 0);
	close(w.fd);
}

TEST_HARNESS_MAIN
