// SPDX-License-Identifier: GPL-2.0-only
/*
 * libtwheel's calls: what they return, and what they leave alone.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "alarms.h"
#include "lib_util.h"

FIXTURE(calls) {
	struct twheel *tw;
};

FIXTURE_SETUP(calls)
{
	ASSERT_EQ(0, twheel_open(&self->tw, NULL, NONBLOCK, NULL));
}

FIXTURE_TEARDOWN(calls)
{
	twheel_close(self->tw);
}

/* The descriptor has the flags that were asked for, whatever the clock. */
TEST_F(calls, open)
{
	static const uint32_t clocks[] = { 0, TWHEEL_CLOCK_REALTIME };
	struct twheel_config config = { };
	unsigned int flags, i;
	struct twheel *tw;

	EXPECT_EQ(-ENOENT, twheel_open(&tw, "/dev/no-such-wheel", 0, NULL));
	EXPECT_EQ(-ENOTTY, twheel_open(&tw, "/dev/null", 0, NULL));
	for (i = 0; i < 8; i++) {
		config.clock = clocks[i % 2];
		flags = (i & 2 ? TWHEEL_OPEN_NONBLOCK : 0) | (i & 4 ? TWHEEL_OPEN_CLOEXEC : 0);
		ASSERT_EQ(0, twheel_open(&tw, NULL, flags, &config));
		EXPECT_EQ(i & 2 ? O_NONBLOCK : 0, fcntl(twheel_fd(tw), F_GETFL) & O_NONBLOCK);
		EXPECT_EQ(i & 4 ? FD_CLOEXEC : 0, fcntl(twheel_fd(tw), F_GETFD) & FD_CLOEXEC);
		twheel_close(tw);
	}
	twheel_close(NULL);
}

/* A bit is a flag of the call, one of the settings, or neither; never both. */
TEST_F(calls, open_tells_flags_from_settings)
{
	struct twheel_config config = { .clock = TWHEEL_CLOCK_REALTIME };
	const uint32_t flags = TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC |
			       TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_CLOCK |
			       TWHEEL_OPEN_CACHE_NOW | TWHEEL_OPEN_THREADS;
	const uint32_t settings = TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE |
				  TWHEEL_CONFIG_CANCEL_ON_SET;
	struct twheel *tw;
	int bit, ret;

	for (bit = 0; bit < 32; bit++) {
		config.flags = 1U << bit;
		if (config.flags & settings) {
			ASSERT_EQ(0, twheel_open(&tw, NULL, 0, &config));
			twheel_close(tw);
		} else {
			EXPECT_EQ(-EINVAL, twheel_open(&tw, NULL, 0, &config));
		}
		ret = twheel_open(&tw, NULL, config.flags, config.flags & TWHEEL_OPEN_CLOCK ?
				  &(struct twheel_config){ } : NULL);
		if (!ret)
			twheel_close(tw);
		/* The library may have been built without that. */
		if (config.flags == TWHEEL_OPEN_EMBEDDED && ret == -EOPNOTSUPP)
			ret = 0;
		EXPECT_EQ(config.flags & flags ? 0 : -EINVAL, ret);
	}
}

/* A clock that is 0 may be one that was asked for, or none. */
TEST_F(calls, open_takes_clocks_by_name)
{
	static const int clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };
	struct twheel_config config = { .clock = 12345 };
	struct twheel *tw, *same;
	size_t i;

	EXPECT_EQ(-EINVAL, twheel_open(&tw, NULL, TWHEEL_OPEN_CLOCK, &config));
	EXPECT_EQ(-EINVAL, twheel_open(&tw, NULL, TWHEEL_OPEN_CLOCK, NULL));
	for (i = 0; i < 3; i++) {
		config.clock = clocks[i];
		ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_CLOCK, &config));
		EXPECT_EQ(clocks[i], twheel_clock(tw));
		EXPECT_EQ(clocks[i], config.clock);
		config.clock = twheel_clock(tw);
		ASSERT_EQ(0, twheel_open(&same, NULL, TWHEEL_OPEN_CLOCK, &config));
		EXPECT_EQ(clocks[i], twheel_clock(same));
		twheel_close(same);
		twheel_close(tw);
	}
	config.clock = 0;
	ASSERT_EQ(0, twheel_open(&tw, NULL, 0, &config));
	EXPECT_EQ(CLOCK_MONOTONIC, twheel_clock(tw));
	twheel_close(tw);
	/* Whoever wants to be told of steps has not forgotten the clock, but named it. */
	config.flags = TWHEEL_CONFIG_CANCEL_ON_SET;
	EXPECT_EQ(-EINVAL, twheel_open(&tw, NULL, 0, &config));
}

TEST_F(calls, failed_open_leaves_no_descriptor)
{
	struct twheel_config config = { .clock = 12345 };
	int before = dup(0);
	struct twheel *tw;
	int after;

	close(before);
	EXPECT_EQ(-EINVAL, twheel_open(&tw, NULL, 0, &config));
	EXPECT_EQ(-ENOTTY, twheel_open(&tw, "/dev/null", 0, NULL));
	after = dup(0);
	EXPECT_EQ(before, after);
	close(after);
}

TEST_F(calls, config)
{
	struct twheel_config config = { .clock = CLOCK_BOOTTIME, .limit = 3 };
	struct twheel_info info;
	struct timespec ts;
	struct twheel *tw;
	uint64_t now;
	int i;

	EXPECT_EQ(CLOCK_MONOTONIC, twheel_clock(self->tw));
	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_NONBLOCK, &config));
	EXPECT_EQ(CLOCK_BOOTTIME, twheel_clock(tw));
	now = twheel_now(tw);
	clock_gettime(CLOCK_BOOTTIME, &ts);
	EXPECT_LE(now, (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec);

	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, twheel_arm_after(tw, FAR, 0, NULL));
	EXPECT_EQ(-ENOSPC, twheel_arm_after(tw, FAR, 0, NULL));
	memset(&info, 0xcc, sizeof(info));
	ASSERT_EQ(0, twheel_get_info(tw, TWHEEL_INFO_NEXT, &info));
	EXPECT_EQ(3, info.limit);
	EXPECT_EQ(3, info.pending);
	EXPECT_EQ(0, info.ready);
	EXPECT_EQ(CLOCK_BOOTTIME, info.clock);
	EXPECT_LE(now + FAR, info.next_expiry);
	EXPECT_EQ(-EINVAL, twheel_get_info(tw, 1U << 31, &info));
	twheel_close(tw);
}

TEST_F(calls, adopt_and_release)
{
	struct twheel_timer_info timer;
	struct twheel *tw;
	uint64_t handle;
	int null;
	int fd;

	EXPECT_EQ(-EBADF, twheel_adopt(&tw, -1));
	null = open("/dev/null", O_RDWR);
	EXPECT_EQ(-ENOTTY, twheel_adopt(&tw, null));
	/* The descriptor still belongs to the caller. */
	EXPECT_EQ(0, close(null));

	/* Timers live on while a descriptor of the context is open. */
	ASSERT_EQ(0, twheel_open(&tw, NULL, 0, NULL));
	ASSERT_EQ(0, twheel_arm_after(tw, FAR, 77, &handle));
	fd = twheel_release(tw);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, twheel_adopt(&tw, fd));
	EXPECT_EQ(fd, twheel_fd(tw));
	ASSERT_EQ(0, twheel_get(tw, handle, &timer));
	EXPECT_EQ(77, timer.user_data);
	twheel_close(tw);
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
}

TEST_F(calls, arm_rearm_cancel)
{
	struct twheel_arm arm = { .expires = FAR, .user_data = 5 };
	struct twheel_timer_info info;
	struct twheel_event event;
	struct twheel_old old;
	uint64_t handle;

	ASSERT_EQ(0, twheel_arm(self->tw, &arm));
	EXPECT_EQ(TWHEEL_STATE_NONE, arm.old_state);
	handle = arm.handle;
	ASSERT_NE(0, handle);
	arm.interval = SEC;
	arm.count = 9;
	EXPECT_EQ(0, twheel_arm(self->tw, &arm));
	EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
	EXPECT_EQ(handle, arm.handle);
	EXPECT_LT(FAR - LIMIT, arm.old_remaining);
	ASSERT_EQ(0, twheel_get(self->tw, handle, &info));
	EXPECT_EQ(handle, info.handle);
	EXPECT_EQ(5, info.user_data);
	EXPECT_EQ(SEC, info.interval);
	EXPECT_EQ(9, info.count);
	EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);

	/* The convenient form sets the interval to 0 again. */
	EXPECT_EQ(TWHEEL_STATE_PENDING, REPLACED(twheel_rearm_after, self->tw, handle, 0, 6));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	EXPECT_EQ(TWHEEL_STATE_READY, REPLACED(twheel_rearm_after, self->tw, handle, 0, 7));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	EXPECT_EQ(TWHEEL_STATE_READY,
		  REPLACED(twheel_rearm_at, self->tw, handle, twheel_now(self->tw), 7));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(7, event.user_data);
	EXPECT_EQ(handle, event.handle);
	EXPECT_EQ(TWHEEL_EVENT_LAST, event.flags);
	EXPECT_EQ(-ENOENT, twheel_rearm_after(self->tw, handle, 0, 8, NULL));
	EXPECT_EQ(-ENOENT, twheel_cancel(self->tw, handle, NULL));
	EXPECT_EQ(-ENOENT, twheel_get(self->tw, handle, &info));
	EXPECT_EQ(-EINVAL, twheel_rearm_after(self->tw, 0, 0, 8, NULL));
	EXPECT_EQ(-EAGAIN, twheel_read(self->tw, &event, 1));

	ASSERT_EQ(0, twheel_arm_after(self->tw, FAR, 1, &handle));
	EXPECT_EQ(0, twheel_rearm_after(self->tw, handle, 2 * FAR, 1, &old));
	EXPECT_EQ(TWHEEL_STATE_PENDING, old.state);
	EXPECT_LT(FAR - LIMIT, old.remaining);
	EXPECT_GE(FAR, old.remaining);
	EXPECT_EQ(0, twheel_cancel(self->tw, handle, &old));
	EXPECT_EQ(TWHEEL_STATE_PENDING, old.state);
	EXPECT_LT(2 * FAR - LIMIT, old.remaining);
	EXPECT_GE(2 * FAR, old.remaining);
	ASSERT_EQ(0, twheel_arm_after(self->tw, 0, 1, &handle));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	EXPECT_EQ(0, twheel_cancel(self->tw, handle, &old));
	EXPECT_EQ(TWHEEL_STATE_READY, old.state);
	EXPECT_EQ(0, old.remaining);
	EXPECT_EQ(-EAGAIN, twheel_read(self->tw, &event, 1));

	/* A failed call stores nothing that the caller did not ask for. */
	handle = 12345;
	arm = (struct twheel_arm){ .expires = FAR, .flags = 1U << 15 };
	EXPECT_EQ(-EINVAL, twheel_arm(self->tw, &arm));
	EXPECT_EQ(0, arm.handle);
}

/* twheel_set_*() re-arms the timer of a handle, or arms a new one if there is none. */
TEST_F(calls, set)
{
	uint64_t at = twheel_now(self->tw) + 2 * FAR;
	struct twheel_timer_info info;
	struct twheel_event event;
	struct twheel_old old;
	uint64_t handle = 0;
	uint64_t first;

	EXPECT_EQ(0, twheel_set_after(self->tw, &handle, FAR, 1, &old));
	EXPECT_EQ(TWHEEL_STATE_NONE, old.state);
	EXPECT_NE(0, handle);
	first = handle;
	EXPECT_EQ(0, twheel_set_at(self->tw, &handle, at, 2, &old));
	EXPECT_EQ(TWHEEL_STATE_PENDING, old.state);
	EXPECT_LT(FAR - LIMIT, old.remaining);
	EXPECT_EQ(first, handle);
	ASSERT_EQ(0, twheel_get(self->tw, handle, &info));
	EXPECT_EQ(at, info.deadline);
	EXPECT_EQ(2, info.user_data);

	EXPECT_EQ(0, twheel_set_after(self->tw, &handle, 0, 3, NULL));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	EXPECT_EQ(TWHEEL_STATE_READY, REPLACED(twheel_set_after, self->tw, &handle, 0, 4));
	EXPECT_EQ(first, handle);
	ASSERT_TRUE(wait_ready(self->tw, 1));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(4, event.user_data);

	/* That timer has ended, so a new one takes its place. */
	EXPECT_EQ(TWHEEL_STATE_NONE, REPLACED(twheel_set_at, self->tw, &handle, at, 5));
	EXPECT_NE(first, handle);
	ASSERT_EQ(0, twheel_get(self->tw, handle, &info));
	EXPECT_EQ(5, info.user_data);
	EXPECT_EQ(0, twheel_cancel(self->tw, handle, NULL));
}

TEST_F(calls, failed_set_changes_nothing)
{
	struct twheel_config config = { .clock = CLOCK_MONOTONIC, .limit = 1 };
	uint64_t handle = 0;
	struct twheel *tw;

	ASSERT_EQ(0, twheel_open(&tw, NULL, 0, &config));
	ASSERT_EQ(0, twheel_arm_after(tw, FAR, 0, NULL));
	EXPECT_EQ(-ENOSPC, twheel_set_after(tw, &handle, FAR, 0, NULL));
	EXPECT_EQ(0, handle);
	handle = 1ULL << 40;
	EXPECT_EQ(-ENOSPC, twheel_set_at(tw, &handle, FAR, 0, NULL));
	EXPECT_EQ(1ULL << 40, handle);
	twheel_close(tw);
}

/* There is no memory behind the last entry. */
TEST_F(calls, batch_that_runs_out_of_memory_to_read)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t fit = page / sizeof(struct twheel_arm);
	struct twheel_info info;
	struct twheel_arm *arms;
	char *memory;
	size_t i;

	memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, memory);
	ASSERT_EQ(0, munmap(memory + page, page));
	arms = (struct twheel_arm *)(memory + page - fit * sizeof(*arms));
	for (i = 0; i < fit; i++)
		arms[i].expires = FAR;

	EXPECT_EQ((ssize_t)fit, twheel_arm_batch(self->tw, arms, fit + 10));
	for (i = 0; i < fit; i++) {
		EXPECT_EQ(0, arms[i].result);
		EXPECT_NE(0, arms[i].handle);
	}
	EXPECT_EQ(-EFAULT, twheel_arm_batch(self->tw, arms + fit, 10));
	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(fit, info.pending);
	munmap(memory, page);
}

/* Signals come faster than a batch takes, but the call completes it. */
TEST_F(calls, batch_under_signals)
{
	const size_t n = 100000;
	struct twheel_cancel *cancels = calloc(n, sizeof(*cancels));
	struct twheel_arm *arms = calloc(n, sizeof(*arms));
	struct twheel_info info;
	ssize_t armed;
	size_t bad = 0;
	size_t i;

	ASSERT_NE(NULL, arms);
	ASSERT_NE(NULL, cancels);
	for (i = 0; i < n; i++)
		arms[i].expires = FAR;
	alarm_every(500, 0);
	armed = twheel_arm_batch(self->tw, arms, n);
	alarm_every(0, 0);
	EXPECT_EQ((ssize_t)n, armed);

	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(n, info.pending);
	for (i = 0; i < n; i++) {
		bad += arms[i].result || !arms[i].handle;
		cancels[i].handle = arms[i].handle;
	}
	alarm_every(500, 0);
	armed = twheel_cancel_batch(self->tw, cancels, n);
	alarm_every(0, 0);
	EXPECT_EQ((ssize_t)n, armed);
	for (i = 0; i < n; i++)
		bad += cancels[i].result || cancels[i].old_state != TWHEEL_STATE_PENDING;
	EXPECT_EQ(0, bad);
	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	EXPECT_EQ(0, info.pending);
	free(arms);
	free(cancels);
}

TEST_F(calls, walk_and_drain)
{
	enum { N = 1000 };
	struct twheel_timer_info infos[64];
	struct twheel_timer_info info;
	static unsigned char seen[N];
	struct twheel_event event;
	struct twheel_walk *walk;
	uint64_t cursor = 0;
	ssize_t n;
	int i;

	ASSERT_EQ(0, twheel_walk_new(&walk, self->tw));
	EXPECT_EQ(0, twheel_walk_next(walk, &info));
	EXPECT_EQ(0, twheel_walk_next(walk, &info));
	twheel_walk_free(walk);
	twheel_walk_free(NULL);
	EXPECT_EQ(0, twheel_drain(self->tw, &cursor, infos, 64));

	for (i = 0; i < N; i++)
		ASSERT_EQ(0, twheel_arm_after(self->tw, FAR, (uint64_t)i, NULL));
	/* A timer that has expired is there to be read, not to be listed. */
	ASSERT_EQ(0, twheel_arm_after(self->tw, 0, N, NULL));
	ASSERT_TRUE(wait_ready(self->tw, 1));

	ASSERT_EQ(0, twheel_walk_new(&walk, self->tw));
	for (i = 0; i < N; i++) {
		ASSERT_EQ(1, twheel_walk_next(walk, &info));
		ASSERT_GT(N, info.user_data);
		EXPECT_EQ(0, seen[info.user_data]);
		seen[info.user_data]++;
		EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
	}
	EXPECT_EQ(0, twheel_walk_next(walk, &info));
	EXPECT_EQ(0, twheel_walk_next(walk, &info));
	twheel_walk_free(walk);

	cursor = 0;
	EXPECT_EQ(-EINVAL, twheel_drain(self->tw, &cursor, infos, 0));
	cursor = 0;
	while ((n = twheel_drain(self->tw, &cursor, infos, 64)) > 0) {
		for (i = 0; i < n; i++) {
			ASSERT_GT(N, infos[i].user_data);
			EXPECT_EQ(1, seen[infos[i].user_data]);
			seen[infos[i].user_data]++;
			EXPECT_EQ(-ENOENT, twheel_cancel(self->tw, infos[i].handle, NULL));
		}
	}
	EXPECT_EQ(0, n);
	for (i = 0; i < N; i++)
		EXPECT_EQ(2, seen[i]);
	EXPECT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(N, event.user_data);
}

TEST_F(calls, read)
{
	/*
	 * These are static, as a compiler could tell that a count goes beyond an array on
	 * the stack.
	 */
	static struct twheel_event events[4];
	struct twheel *blocking;

	EXPECT_EQ(-EINVAL, twheel_read(self->tw, events, 0));
	EXPECT_EQ(-EAGAIN, twheel_read(self->tw, events, 4));
	/* The length in bytes would wrap, but must not become a short length. */
	ASSERT_EQ(0, twheel_arm_after(self->tw, 0, 1, NULL));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	EXPECT_EQ(1, twheel_read(self->tw, events, SIZE_MAX / 8));
	EXPECT_EQ(1, events[0].user_data);

	ASSERT_EQ(0, twheel_open(&blocking, NULL, 0, NULL));
	/* It comes again, in case the first signal is before the wait. */
	alarm_every(20000, 0);
	EXPECT_EQ(-EINTR, twheel_read(blocking, events, 4));
	EXPECT_EQ(-EINTR, twheel_dispatch(blocking));
	alarm_every(0, 0);
	ASSERT_EQ(0, twheel_arm_after(blocking, 20 * MSEC, 3, NULL));
	EXPECT_EQ(1, twheel_read(blocking, events, 4));
	EXPECT_EQ(3, events[0].user_data);
	EXPECT_LE(events[0].deadline, events[0].expired);
	EXPECT_LE(events[0].expired, twheel_now(blocking));
	twheel_close(blocking);
}

TEST_F(calls, read_timeout)
{
	const uint64_t wait = 20 * MSEC;
	struct twheel_event events[4];
	struct twheel *contexts[] = { self->tw, NULL };
	uint64_t begin;
	int i;

	ASSERT_EQ(0, twheel_open(&contexts[1], NULL, TWHEEL_OPEN_CLOEXEC, NULL));
	for (i = 0; i < 2; i++) {
		struct twheel *tw = contexts[i];

		EXPECT_EQ(-EINVAL, twheel_read_timeout(tw, events, 0, wait));
		EXPECT_EQ(-EINVAL, twheel_read_timeout(tw, events, 4, 1ULL << 63));
		EXPECT_EQ(0, twheel_read_timeout(tw, events, 4, 0));
		begin = twheel_now(tw);
		EXPECT_EQ(0, twheel_read_timeout(tw, events, 4, wait));
		EXPECT_LE(begin + wait, twheel_now(tw));

		ASSERT_EQ(0, twheel_arm_after(tw, wait, 5, NULL));
		EXPECT_EQ(1, twheel_read_timeout(tw, events, 4, INT64_MAX));
		EXPECT_EQ(5, events[0].user_data);
		ASSERT_EQ(0, twheel_arm_after(tw, 0, 6, NULL));
		ASSERT_TRUE(wait_ready(tw, 1));
		EXPECT_EQ(1, twheel_read_timeout(tw, events, 4, 0));
		EXPECT_EQ(6, events[0].user_data);
	}
	twheel_close(contexts[1]);
}

/* A handler that does not restart calls ends the wait; others do not, and make it no longer. */
TEST_F(calls, read_timeout_and_signals)
{
	struct twheel_event event;
	sig_atomic_t before;
	uint64_t begin;

	alarm_every(5000, SA_RESTART);
	do {
		before = alarms;
		begin = twheel_now(self->tw);
		EXPECT_EQ(0, twheel_read_timeout(self->tw, &event, 1, 50 * MSEC));
		EXPECT_LE(begin + 50 * MSEC, twheel_now(self->tw));
	} while (alarms == before);
	ASSERT_EQ(0, twheel_arm_after(self->tw, 50 * MSEC, 5, NULL));
	EXPECT_EQ(1, twheel_read_timeout(self->tw, &event, 1, FAR));

	alarm_every(5000, 0);
	EXPECT_EQ(-EINTR, twheel_read_timeout(self->tw, &event, 1, FAR));
	EXPECT_EQ(-EINTR, twheel_dispatch_timeout(self->tw, FAR));
	alarm_every(0, 0);
}

/* Of those that are pending, those that are ready, and those that would repeat nothing comes. */
TEST_F(calls, cancel_all)
{
	struct twheel_arm arm = { .expires = 0 };
	struct twheel_event event;
	int i;

	EXPECT_EQ(0, twheel_cancel_all(self->tw));
	for (i = 0; i < 200; i++)
		ASSERT_EQ(0, twheel_arm_after(self->tw, FAR, 0, NULL));
	for (i = 0; i < 100; i++) {
		arm.handle = 0;
		arm.interval = i % 2 ? 1000 : 0;
		ASSERT_EQ(0, twheel_arm(self->tw, &arm));
	}
	ASSERT_TRUE(wait_ready(self->tw, 100));
	EXPECT_EQ(0, twheel_cancel_all(self->tw));
	EXPECT_EQ(0, live(self->tw));
	EXPECT_EQ(-EAGAIN, twheel_read(self->tw, &event, 1));
	/* It goes on as it was. */
	ASSERT_EQ(0, twheel_arm_after(self->tw, 0, 7, NULL));
	EXPECT_EQ(1, twheel_read_timeout(self->tw, &event, 1, FAR));
	EXPECT_EQ(7, event.user_data);
}

TEST_F(calls, event_buffer)
{
	struct twheel_event_buffer *buf;
	const struct twheel_event *event;
	unsigned int seen = 0;
	uint64_t i;

	EXPECT_EQ(-EINVAL, twheel_event_buffer_new(&buf, 0));
	EXPECT_EQ(-ENOMEM, twheel_event_buffer_new(&buf, SIZE_MAX));
	ASSERT_EQ(0, twheel_event_buffer_new(&buf, 4));
	EXPECT_EQ(NULL, twheel_event_buffer_next(buf));
	EXPECT_EQ(-EAGAIN, twheel_event_buffer_fill(buf, self->tw));

	for (i = 0; i < 6; i++)
		ASSERT_EQ(0, twheel_arm_after(self->tw, 0, i, NULL));
	ASSERT_TRUE(wait_ready(self->tw, 6));
	EXPECT_EQ(4, twheel_event_buffer_fill(buf, self->tw));
	event = twheel_event_buffer_next(buf);
	ASSERT_NE(NULL, event);
	seen |= 1U << event->user_data;
	/* Filling the buffer overwrites no records that were not taken out. */
	EXPECT_EQ(3, twheel_event_buffer_fill(buf, self->tw));
	while ((event = twheel_event_buffer_next(buf)))
		seen |= 1U << event->user_data;
	EXPECT_EQ(NULL, twheel_event_buffer_next(buf));
	EXPECT_EQ(2, twheel_event_buffer_fill(buf, self->tw));
	while ((event = twheel_event_buffer_next(buf)))
		seen |= 1U << event->user_data;
	EXPECT_EQ(0x3f, seen);
	EXPECT_EQ(-EAGAIN, twheel_event_buffer_fill(buf, self->tw));
	twheel_event_buffer_free(buf);
	twheel_event_buffer_free(NULL);
}

/* Without the flag, and in a context of the device with it, there is nothing to update. */
TEST_F(calls, update_now)
{
	uint64_t before = twheel_now(self->tw);

	usleep(1000);
	EXPECT_GE(twheel_now(self->tw), before + MSEC);
	EXPECT_EQ(0, twheel_update_now(self->tw));
	before = twheel_now(self->tw);
	usleep(1000);
	EXPECT_GE(twheel_now(self->tw), before + MSEC);
}

#ifndef EMBEDDED_TESTS
/* A device's context has no cache, so that the flag changes nothing. */
TEST(cache_now_of_a_device)
{
	struct twheel *tw;
	uint64_t before;

	ASSERT_EQ(0, twheel_open(&tw, TWHEEL_DEVICE, TWHEEL_OPEN_CACHE_NOW, NULL));
	before = twheel_now(tw);
	usleep(1000);
	EXPECT_GE(twheel_now(tw), before + MSEC);
	EXPECT_EQ(0, twheel_update_now(tw));
	twheel_close(tw);
}

/* The clock of a context of the device is the kernel's, and so are the counters. */
TEST_F(calls, set_now)
{
	struct twheel_counters counters = { .armed = 7 };

	EXPECT_EQ(-EOPNOTSUPP, twheel_set_now(self->tw, SEC));
	EXPECT_EQ(-EOPNOTSUPP, twheel_stats(self->tw, &counters, sizeof(counters)));
	EXPECT_EQ(7, counters.armed);
	EXPECT_EQ(-EINVAL, twheel_set_now(self->tw, 0));
}

#endif
TEST_HARNESS_MAIN
