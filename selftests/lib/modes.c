// SPDX-License-Identifier: GPL-2.0-only
/*
 * libtwheel in the modes of a context: wall time, keys and leases.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib_util.h"
#include "twheel_util.h"

/* The largest possible deadline. */
#define MAX	(TWHEEL_LEASE_EXPIRED - 1)

static int open_mode(struct twheel **twp, uint32_t clock, uint32_t flags)
{
	struct twheel_config config = { .clock = clock, .flags = flags };

	return twheel_open(twp, NULL, NONBLOCK, &config);
}

/*
 * The word of a lease, without a kernel: what one thread does to it, and the
 * kernel meanwhile, is in selftests/lease
 */

#define EXTENDERS	4
#define EXTENSIONS	3000000

/**
 * struct extender - one of several threads that extend a lease
 * @start: where they wait for each other
 * @lease: the lease
 * @step: by how many units this one extends it
 * @last: the deadline that it has reached
 * @wrong: how often an extension failed, or the word went back
 */
struct extender {
	pthread_barrier_t	*start;
	struct twheel_lease	lease;
	uint64_t		step;
	uint64_t		last;
	unsigned int		wrong;
};

static void *extend_often(void *arg)
{
	struct extender *extender = arg;
	unsigned int i;

	pthread_barrier_wait(extender->start);
	for (i = 0; i < EXTENSIONS; i++) {
		uint64_t old = twheel_lease_deadline(extender->lease);
		uint64_t new = old + extender->step * UNIT;

		if (old < extender->last || twheel_lease_extend(extender->lease, new) != 1)
			extender->wrong++;
		extender->last = new;
	}
	return NULL;
}

/* No extension takes back what another thread has added. */
TEST(extenders)
{
	struct extender extenders[EXTENDERS] = { };
	pthread_t threads[EXTENDERS];
	pthread_barrier_t start;
	uint64_t word = 0;
	unsigned int i;

	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, EXTENDERS));
	for (i = 0; i < EXTENDERS; i++) {
		extenders[i].start = &start;
		extenders[i].lease = (struct twheel_lease){ .word = &word, .tag = 0 };
		extenders[i].step = i + 1;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, extend_often, &extenders[i]));
	}
	for (i = 0; i < EXTENDERS; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, extenders[i].wrong);
	}
	for (i = 0; i < EXTENDERS; i++)
		EXPECT_LE(extenders[i].last, word * UNIT);
	pthread_barrier_destroy(&start);
}

/*
 * Contexts without a mode
 */

FIXTURE(plain) {
	struct twheel *tw;
};

FIXTURE_SETUP(plain)
{
	ASSERT_EQ(0, open_mode(&self->tw, CLOCK_MONOTONIC, 0));
}

FIXTURE_TEARDOWN(plain)
{
	twheel_close(self->tw);
}

TEST_F(plain, calls_of_other_modes)
{
	struct twheel_lease lease = { };
	uint64_t handle = 5;

	EXPECT_EQ(0, twheel_config_flags(self->tw));
	EXPECT_EQ(-EINVAL, twheel_put_after(self->tw, 5, FAR, 0, NULL));
	EXPECT_EQ(-EINVAL, twheel_put_at(self->tw, 5, FAR, 0, NULL));
	EXPECT_EQ(-ENODEV, twheel_lease_at(self->tw, 1, 0, &lease));
	EXPECT_EQ(-EINVAL, twheel_lease_new(self->tw, FAR, 0, 0, &handle, &lease, NULL));
	EXPECT_EQ(NULL, lease.word);
	EXPECT_EQ(5, handle);
	EXPECT_EQ(0, live(self->tw));
}

TEST_F(plain, points_in_time)
{
	uint64_t at = twheel_now(self->tw) + 20 * MSEC;
	struct twheel_timer_info info;
	struct twheel_event event;
	uint64_t handle;

	EXPECT_EQ(0, twheel_arm_at(self->tw, at + FAR, 1, &handle));
	ASSERT_EQ(0, twheel_get(self->tw, handle, &info));
	EXPECT_EQ(at + FAR, info.deadline);
	EXPECT_EQ(-EINVAL, twheel_rearm_at(self->tw, 0, at, 2, NULL));
	EXPECT_EQ(TWHEEL_STATE_PENDING, REPLACED(twheel_rearm_at, self->tw, handle, at, 2));
	ASSERT_TRUE(wait_readable(self->tw));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(handle, event.handle);
	EXPECT_EQ(2, event.user_data);
	EXPECT_EQ(at, event.deadline);
	EXPECT_LE(at, event.expired);
	EXPECT_EQ(-ENOENT, twheel_rearm_at(self->tw, handle, at, 3, NULL));
}

/*
 * Wall time
 */

/**
 * struct rounds - what a timer's function has seen
 * @calls: how often it was called
 * @deadline: of the last
 */
struct rounds {
	unsigned int	calls;
	uint64_t	deadline;
};

static void on_round(struct twheel_timer *timer, const struct twheel_event *event,
		     void *arg)
{
	struct rounds *rounds = arg;

	rounds->calls++;
	rounds->deadline = event->deadline;
}

FIXTURE(realtime) {
	struct twheel *tw;
	uint64_t monotonic;
	uint64_t wall;
};

/* Returns 0 or -errno. */
static int set_wall(uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / SEC),
		.tv_nsec = (long)(ns % SEC),
	};

	return clock_settime(CLOCK_REALTIME, &ts) ? -errno : 0;
}

FIXTURE_SETUP(realtime)
{
	ASSERT_EQ(0, open_mode(&self->tw, TWHEEL_CLOCK_REALTIME, TWHEEL_CONFIG_CANCEL_ON_SET));
	self->monotonic = tw_now(CLOCK_MONOTONIC);
	self->wall = tw_now(CLOCK_REALTIME);
}

FIXTURE_TEARDOWN(realtime)
{
	twheel_close(self->tw);
}

TEST_F(realtime, points_in_time)
{
	uint64_t before = tw_now(CLOCK_REALTIME);
	uint64_t now = twheel_now(self->tw);
	struct twheel_arm setting = {
		.expires = now + 20 * MSEC,
		.flags = TWHEEL_ARM_ABS,
	};
	struct rounds rounds = { };
	struct twheel_timer *timer;
	uint64_t handle;

	EXPECT_EQ(CLOCK_REALTIME, twheel_clock(self->tw));
	EXPECT_EQ(TWHEEL_CONFIG_CANCEL_ON_SET, twheel_config_flags(self->tw));
	EXPECT_LE(before, now);
	EXPECT_LE(now, tw_now(CLOCK_REALTIME));

	EXPECT_EQ(-EINVAL, twheel_arm_after(self->tw, FAR, 0, &handle));
	ASSERT_EQ(0, twheel_arm_at(self->tw, now + FAR, 0, &handle));
	EXPECT_EQ(-EINVAL, twheel_rearm_after(self->tw, handle, FAR, 0, NULL));
	EXPECT_EQ(TWHEEL_STATE_PENDING,
		  REPLACED(twheel_rearm_at, self->tw, handle, now + 2 * FAR, 0));
	EXPECT_EQ(TWHEEL_STATE_PENDING, REPLACED(twheel_cancel, self->tw, handle));

	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, on_round, &rounds));
	EXPECT_EQ(-EINVAL, twheel_timer_start(timer, FAR, 0));
	EXPECT_EQ(0, twheel_timer_armed(timer));
	ASSERT_EQ(TWHEEL_STATE_NONE, REPLACED(twheel_timer_arm, timer, &setting));
	ASSERT_TRUE(wait_readable(self->tw));
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, rounds.calls);
	EXPECT_EQ(setting.expires, rounds.deadline);
	EXPECT_LE(setting.expires, tw_now(CLOCK_REALTIME));
}

/* Each way to read reports once that the clock was set, and then goes on. */
TEST_F(realtime, cancel_on_set)
{
	struct twheel_event_buffer *buf;
	struct rounds rounds = { };
	struct twheel_timer *timer;
	struct twheel_arm setting;
	struct twheel_event event;
	int ret;

	ASSERT_EQ(0, twheel_event_buffer_new(&buf, 4));
	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, on_round, &rounds));
	setting = (struct twheel_arm){
		.expires = self->wall + FAR,
		.flags = TWHEEL_ARM_ABS,
	};
	ASSERT_EQ(TWHEEL_STATE_NONE, REPLACED(twheel_timer_arm, timer, &setting));
	EXPECT_EQ(-EAGAIN, twheel_read(self->tw, &event, 1));

	ret = set_wall(self->wall + FAR / 4);
	if (ret == -EPERM)
		SKIP(return, "not allowed to set the clock");
	ASSERT_EQ(0, ret);
	EXPECT_TRUE(wait_readable(self->tw));
	EXPECT_EQ(-ECANCELED, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(-EAGAIN, twheel_read(self->tw, &event, 1));

	EXPECT_EQ(0, set_wall(self->wall + FAR / 2));
	EXPECT_TRUE(wait_readable(self->tw));
	EXPECT_EQ(-ECANCELED, twheel_event_buffer_fill(buf, self->tw));
	EXPECT_EQ(-EAGAIN, twheel_event_buffer_fill(buf, self->tw));

	/* This step also makes the timer expire: its record is still to be read. */
	EXPECT_EQ(0, set_wall(self->wall + 2 * FAR));
	EXPECT_TRUE(wait_ready(self->tw, 1));
	EXPECT_EQ(-ECANCELED, twheel_dispatch(self->tw));
	EXPECT_EQ(0, rounds.calls);
	EXPECT_EQ(1, twheel_dispatch(self->tw));
	EXPECT_EQ(1, rounds.calls);
	EXPECT_EQ(0, twheel_dispatch(self->tw));

	EXPECT_EQ(0, set_wall(self->wall + tw_now(CLOCK_MONOTONIC) - self->monotonic));
	twheel_event_buffer_free(buf);
}

/*
 * Keys
 */

FIXTURE(keyed) {
	struct twheel *tw;
};

FIXTURE_SETUP(keyed)
{
	ASSERT_EQ(0, open_mode(&self->tw, CLOCK_MONOTONIC, TWHEEL_CONFIG_KEYED));
}

FIXTURE_TEARDOWN(keyed)
{
	twheel_close(self->tw);
}

TEST_F(keyed, put)
{
	static const uint64_t keys[] = { 0, 1, 77, 1ULL << 32, UINT64_MAX };
	struct twheel_timer_info timer;
	struct twheel_event event;
	struct twheel_info info;
	uint64_t now;
	size_t i;

	EXPECT_EQ(TWHEEL_CONFIG_KEYED, twheel_config_flags(self->tw));
	now = twheel_now(self->tw);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		uint64_t key = keys[i];

		EXPECT_EQ(-ENOENT, twheel_get(self->tw, key, &timer));
		EXPECT_EQ(-ENOENT, twheel_cancel(self->tw, key, NULL));
		EXPECT_EQ(TWHEEL_STATE_NONE, REPLACED(twheel_put_after, self->tw, key, FAR, i));
		ASSERT_EQ(0, twheel_get(self->tw, key, &timer));
		EXPECT_EQ(key, timer.handle);
		EXPECT_EQ(i, timer.user_data);
		EXPECT_LE(now + FAR, timer.deadline);

		/* The key and the handle name the same timer. */
		EXPECT_EQ(TWHEEL_STATE_PENDING,
			  REPLACED(twheel_put_after, self->tw, key, 2 * FAR, i));
		EXPECT_EQ(TWHEEL_STATE_PENDING,
			  REPLACED(twheel_rearm_after, self->tw, key, FAR, i));
		EXPECT_EQ(TWHEEL_STATE_PENDING,
			  REPLACED(twheel_rearm_at, self->tw, key, now + FAR, i));
		EXPECT_EQ(TWHEEL_STATE_PENDING,
			  REPLACED(twheel_put_at, self->tw, key, now + FAR + i, i + 50));
		ASSERT_EQ(0, twheel_get(self->tw, key, &timer));
		EXPECT_EQ(i + 50, timer.user_data);
		EXPECT_EQ(now + FAR + i, timer.deadline);
		ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
		EXPECT_EQ(1, info.pending);

		EXPECT_EQ(TWHEEL_STATE_PENDING,
			  REPLACED(twheel_put_after, self->tw, key, 0, 1));
		ASSERT_TRUE(wait_ready(self->tw, 1));
		EXPECT_EQ(TWHEEL_STATE_READY, REPLACED(twheel_put_after, self->tw, key, 0, 2));
		ASSERT_TRUE(wait_ready(self->tw, 1));
		ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
		EXPECT_EQ(key, event.handle);
		EXPECT_EQ(2, event.user_data);
		EXPECT_EQ(TWHEEL_EVENT_LAST, event.flags);
		EXPECT_EQ(-ENOENT, twheel_cancel(self->tw, key, NULL));

		/* After the cancel the key is free. */
		EXPECT_EQ(TWHEEL_STATE_NONE,
			  REPLACED(twheel_rearm_after, self->tw, key, FAR, 3));
		EXPECT_EQ(TWHEEL_STATE_PENDING, REPLACED(twheel_cancel, self->tw, key));
	}
	EXPECT_EQ(-EAGAIN, twheel_read(self->tw, &event, 1));
}

TEST_F(keyed, what_needs_handles_is_refused)
{
	struct twheel_timer *timer = NULL;
	struct twheel_event event;
	uint64_t handle = 9;

	EXPECT_EQ(-EINVAL, twheel_arm_after(self->tw, FAR, 0, &handle));
	EXPECT_EQ(-EINVAL, twheel_arm_after(self->tw, FAR, 0, NULL));
	EXPECT_EQ(-EINVAL, twheel_arm_at(self->tw, FAR, 0, &handle));
	EXPECT_EQ(-EINVAL, twheel_set_after(self->tw, &handle, FAR, 0, NULL));
	EXPECT_EQ(-EINVAL, twheel_set_at(self->tw, &handle, FAR, 0, NULL));
	EXPECT_EQ(9, handle);
	EXPECT_EQ(0, live(self->tw));

	EXPECT_EQ(-EINVAL, twheel_timer_new(&timer, self->tw, on_round, NULL));
	EXPECT_EQ(NULL, timer);
	/* A record that dispatch has refused can still be read. */
	ASSERT_EQ(0, twheel_put_after(self->tw, 4, 0, 0, NULL));
	ASSERT_TRUE(wait_ready(self->tw, 1));
	EXPECT_EQ(-EINVAL, twheel_dispatch(self->tw));
	EXPECT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(4, event.handle);
}

/* How many of @n entries, whose keys are their numbers, have failed or replaced another state. */
static unsigned int wrong_entries(const struct twheel_arm *arms, uint64_t n, uint32_t state)
{
	unsigned int wrong = 0;
	uint64_t i;

	for (i = 0; i < n; i++)
		wrong += arms[i].result || arms[i].handle != i || arms[i].old_state != state;
	return wrong;
}

TEST_F(keyed, batches)
{
	enum { N = 300 };
	static struct twheel_arm arms[N];
	static struct twheel_cancel cancels[N];
	unsigned int bad = 0;
	uint64_t i;

	for (i = 0; i < N; i++)
		arms[i] = (struct twheel_arm){ .handle = i, .expires = FAR };
	EXPECT_EQ(0, twheel_arm_batch(self->tw, arms, 0));
	EXPECT_EQ(N, twheel_arm_batch(self->tw, arms, N));
	EXPECT_EQ(0, wrong_entries(arms, N, TWHEEL_STATE_NONE));
	/* An entry that is wrong holds up no other. */
	arms[2].flags = 1U << 15;
	EXPECT_EQ(N, twheel_arm_batch(self->tw, arms, N));
	EXPECT_EQ(1, wrong_entries(arms, N, TWHEEL_STATE_PENDING));
	EXPECT_EQ(-EINVAL, arms[2].result);

	for (i = 0; i < N; i++)
		cancels[i].handle = N - i;
	cancels[1].flags = 1;
	EXPECT_EQ(0, twheel_cancel_batch(self->tw, cancels, 0));
	EXPECT_EQ(N, twheel_cancel_batch(self->tw, cancels, N));
	EXPECT_EQ(-ENOENT, cancels[0].result);
	EXPECT_EQ(-EINVAL, cancels[1].result);
	for (i = 2; i < N; i++)
		bad += cancels[i].result || cancels[i].old_state != TWHEEL_STATE_PENDING;
	EXPECT_EQ(0, bad);
	EXPECT_EQ(2, live(self->tw));
}

/*
 * Leases
 */

FIXTURE(lease) {
	struct twheel *tw;
};

FIXTURE_VARIANT(lease) {
	uint32_t flags;
};

FIXTURE_SETUP(lease)
{
	ASSERT_EQ(0, open_mode(&self->tw, CLOCK_MONOTONIC, variant->flags));
}

FIXTURE_TEARDOWN(lease)
{
	twheel_close(self->tw);
}

VARIANT(lease, handles) { .flags = TWHEEL_CONFIG_LEASE };
VARIANT(lease, keys) { .flags = TWHEEL_CONFIG_LEASE | TWHEEL_CONFIG_KEYED };

TEST_F(lease, life)
{
	struct twheel_event event;
	uint64_t delay = 50 * MSEC;
	uint64_t handle = 42;
	struct twheel_lease lease;
	uint64_t begin;
	uint64_t end;

	EXPECT_EQ(variant->flags, twheel_config_flags(self->tw));
	for (;;) {
		begin = twheel_now(self->tw);
		ASSERT_EQ(TWHEEL_STATE_NONE,
			  REPLACED(twheel_lease_new, self->tw, delay, 0, 7, &handle, &lease));
		end = twheel_lease_deadline(lease);
		EXPECT_LE(begin + delay, end);
		end = rounded(end + delay);
		if (twheel_lease_extend(lease, end))
			break;
		/* This thread was delayed for too long: try again with more time. */
		ASSERT_TRUE(wait_readable(self->tw));
		ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
		delay *= 2;
		ASSERT_GT(LIMIT, delay);
	}

	/* The extension was in time: nothing comes before the new deadline. */
	ASSERT_TRUE(wait_readable(self->tw));
	EXPECT_LE(end, twheel_now(self->tw));
	EXPECT_EQ(1, twheel_lease_expired(lease));
	EXPECT_EQ(end, twheel_lease_deadline(lease));
	EXPECT_EQ(0, twheel_lease_extend(lease, end + FAR));
	EXPECT_EQ(-EINVAL, twheel_lease_extend(lease, MAX + 1));
	ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	EXPECT_EQ(end, event.deadline);
	EXPECT_LE(end, event.expired);
	EXPECT_EQ(7, event.user_data);
	EXPECT_EQ(handle, event.handle);
	EXPECT_EQ(1, event.expirations);
	EXPECT_EQ(TWHEEL_EVENT_LAST, event.flags);
	EXPECT_EQ(-EAGAIN, twheel_read(self->tw, &event, 1));
}

TEST_F(lease, found_and_cancelled)
{
	uint64_t far = rounded(twheel_now(self->tw)) + FAR / UNIT * UNIT;
	struct twheel_timer_info info;
	struct twheel_event event;
	uint64_t handle = 42;
	struct twheel_old old;
	struct twheel_lease lease;
	struct twheel_lease same;

	ASSERT_EQ(TWHEEL_STATE_NONE,
		  REPLACED(twheel_lease_new, self->tw, far, TWHEEL_ARM_ABS, 7, &handle, &lease));
	EXPECT_EQ(far, twheel_lease_deadline(lease));
	EXPECT_EQ(1, twheel_lease_extend(lease, far + FAR));
	ASSERT_EQ(0, twheel_get(self->tw, handle, &info));
	EXPECT_EQ(rounded(far + FAR), info.deadline);
	EXPECT_EQ(TWHEEL_ARM_LEASE, info.flags);
	ASSERT_EQ(0, twheel_lease_at(self->tw, info.word, info.tag, &same));
	EXPECT_EQ(lease.word, same.word);
	EXPECT_EQ(lease.tag, same.tag);

	EXPECT_EQ(0, twheel_cancel(self->tw, handle, &old));
	EXPECT_EQ(TWHEEL_STATE_PENDING, old.state);
	EXPECT_GE(2 * FAR + 2 * UNIT, old.remaining);
	EXPECT_LT(2 * FAR - LIMIT, old.remaining);
	EXPECT_EQ(1, twheel_lease_expired(lease));
	EXPECT_EQ(0, twheel_lease_extend(lease, far + 2 * FAR));
	EXPECT_EQ(-EAGAIN, twheel_read(self->tw, &event, 1));
}

TEST_F(lease, bad_arguments)
{
	struct twheel_lease lease = { };
	uint64_t handle = 42;

	EXPECT_EQ(-EINVAL, twheel_lease_new(self->tw, FAR, TWHEEL_ARM_FIXED_DELAY, 0,
					    &handle, &lease, NULL));
	EXPECT_EQ(-EINVAL, twheel_lease_new(self->tw, FAR, TWHEEL_ARM_LEASE, 0,
					    &handle, &lease, NULL));
	if (variant->flags & TWHEEL_CONFIG_KEYED)
		EXPECT_EQ(-EINVAL, twheel_lease_new(self->tw, FAR, 0, 0, NULL, &lease, NULL));
	EXPECT_EQ(NULL, lease.word);
	EXPECT_EQ(42, handle);
	EXPECT_EQ(0, live(self->tw));

	if (!(variant->flags & TWHEEL_CONFIG_KEYED)) {
		EXPECT_EQ(0, twheel_lease_new(self->tw, FAR, 0, 0, NULL, &lease, NULL));
		EXPECT_EQ(-EINVAL, twheel_lease_extend(lease, MAX + 1));
		EXPECT_EQ(1, twheel_lease_extend(lease, MAX));
	} else {
		EXPECT_EQ(TWHEEL_STATE_NONE,
			  REPLACED(twheel_lease_new, self->tw, FAR, 0, 0, &handle, &lease));
		EXPECT_EQ(TWHEEL_STATE_PENDING,
			  REPLACED(twheel_lease_new, self->tw, FAR, 0, 0, &handle, &lease));
		EXPECT_EQ(42, handle);
	}
}

TEST_F(lease, timer_objects_are_no_leases)
{
	struct twheel_arm setting = { .expires = FAR, .flags = TWHEEL_ARM_LEASE };
	struct twheel_timer *timer;

	if (variant->flags & TWHEEL_CONFIG_KEYED) {
		EXPECT_EQ(-EINVAL, twheel_timer_new(&timer, self->tw, on_round, NULL));
		return;
	}
	ASSERT_EQ(0, twheel_timer_new(&timer, self->tw, on_round, NULL));
	EXPECT_EQ(-EINVAL, twheel_timer_arm(timer, &setting, NULL));
	EXPECT_EQ(0, twheel_timer_armed(timer));
	EXPECT_EQ(0, live(self->tw));
}

/* If the word of a new lease cannot be mapped, no timer is left behind. */
TEST_F(lease, no_room_to_map)
{
	struct rlimit none;
	struct rlimit old;
	struct twheel_lease lease = { };
	uint64_t handle = 42;

	ASSERT_EQ(0, getrlimit(RLIMIT_AS, &old));
	none = old;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &none));
	EXPECT_EQ(-ENOMEM, twheel_lease_at(self->tw, 1, 0, &lease));
	EXPECT_EQ(-ENOMEM, twheel_lease_new(self->tw, FAR, 0, 0, &handle, &lease, NULL));
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &old));
	EXPECT_EQ(NULL, lease.word);
	EXPECT_EQ(42, handle);
	EXPECT_EQ(0, live(self->tw));
	EXPECT_EQ(0, twheel_lease_new(self->tw, FAR, 0, 0, &handle, &lease, NULL));
}

/* Each lease has a word of its own, in whichever page. */
TEST_F(lease, many)
{
	enum { N = 2000 };
	uint64_t far = rounded(twheel_now(self->tw)) + FAR / UNIT * UNIT;
	static uint64_t handles[N];
	static struct twheel_lease leases[N];
	struct twheel_timer_info info;
	unsigned int wrong = 0;
	uint64_t i;

	for (i = 0; i < N; i++) {
		handles[i] = i;
		ASSERT_EQ(0, twheel_lease_new(self->tw, far, TWHEEL_ARM_ABS, i,
					      &handles[i], &leases[i], NULL));
	}
	for (i = 0; i < N; i++)
		wrong += twheel_lease_extend(leases[i], far + i) != 1;
	for (i = 0; i < N; i++) {
		ASSERT_EQ(0, twheel_get(self->tw, handles[i], &info));
		wrong += info.deadline != rounded(far + i) || info.user_data != i;
	}
	EXPECT_EQ(0, wrong);
}

TEST_F(lease, segments)
{
	static const uint32_t indexes[] = { 1, 2, (1U << 20) - 1, 1U << 20, UINT32_MAX };
	struct twheel_lease leases[5];
	struct twheel_lease again = { };
	const uint64_t *first;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, twheel_lease_at(self->tw, indexes[i], (uint16_t)i, &leases[i]));
		EXPECT_EQ(i, leases[i].tag);
	}
	first = leases[0].word - 1;
	EXPECT_EQ(first + 2, leases[1].word);
	EXPECT_EQ(first + (1U << 20) - 1, leases[2].word);
	EXPECT_TRUE(leases[3].word < first || leases[3].word > leases[2].word);
	EXPECT_TRUE(leases[4].word < first || leases[4].word > leases[2].word);
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(0, twheel_lease_at(self->tw, indexes[i], TWHEEL_LEASE_TAG_MASK, &again));
		EXPECT_EQ(leases[i].word, again.word);
		EXPECT_EQ(TWHEEL_LEASE_TAG_MASK, again.tag);
	}

	/* What a timer that is no lease has, and what no lease has. */
	again.word = NULL;
	EXPECT_EQ(-EINVAL, twheel_lease_at(self->tw, 0, 0, &again));
	EXPECT_EQ(-EINVAL, twheel_lease_at(self->tw, 1, TWHEEL_LEASE_TAG_MASK + 1, &again));
	EXPECT_EQ(NULL, again.word);
}

/* The word of the first lease beyond a million lies in another mapping. */
TEST_F(lease, second_segment)
{
	enum { BATCH = 4096 };
	const uint32_t boundary = 1U << 20;
	const uint32_t most = boundary + boundary / 8;
	uint64_t far = rounded(twheel_now(self->tw)) + FAR / UNIT * UNIT;
	static struct twheel_arm arms[BATCH];
	struct twheel_timer_info timer;
	struct twheel_info info;
	uint64_t armed = 0;
	struct twheel_lease lease;
	unsigned int i;

	ASSERT_EQ(0, twheel_get_info(self->tw, 0, &info));
	if (info.limit < most || info.user_limit < most)
		SKIP(return, "not allowed so many timers");
	do {
		for (i = 0; i < BATCH; i++) {
			arms[i] = (struct twheel_arm){
				.handle = variant->flags & TWHEEL_CONFIG_KEYED ? armed + i : 0,
				.expires = far,
				.flags = TWHEEL_ARM_LEASE | TWHEEL_ARM_ABS,
			};
		}
		ASSERT_EQ(BATCH, twheel_arm_batch(self->tw, arms, BATCH));
		for (i = 0; i < BATCH && !arms[i].result && arms[i].word < boundary; i++)
			;
		armed += BATCH;
		ASSERT_GT(most, armed);
	} while (i == BATCH);

	ASSERT_EQ(0, arms[i].result);
	ASSERT_EQ(0, twheel_lease_at(self->tw, arms[i].word, arms[i].tag, &lease));
	EXPECT_EQ(far, twheel_lease_deadline(lease));
	EXPECT_EQ(1, twheel_lease_extend(lease, far + 9));
	ASSERT_EQ(0, twheel_get(self->tw, arms[i].handle, &timer));
	EXPECT_EQ(far + UNIT, timer.deadline);
}

/* An extension by a child is visible to its parent, and the lease outlives the mapping. */
TEST_F(lease, extended_by_a_child)
{
	uint64_t far = rounded(twheel_now(self->tw)) + FAR / UNIT * UNIT;
	struct twheel_timer_info info;
	uint64_t handle = 42;
	struct twheel_lease lease;
	pid_t pid;

	ASSERT_EQ(0, twheel_lease_new(self->tw, far, TWHEEL_ARM_ABS, 0, &handle, &lease, NULL));
	ASSERT_FORKED(pid);
	if (!pid)
		_exit(twheel_lease_extend(lease, far + 5) == 1 ? 0 : 1);
	EXPECT_EQ(0, tw_status_of(pid));
	EXPECT_EQ(far + UNIT, twheel_lease_deadline(lease));
	ASSERT_EQ(0, twheel_get(self->tw, handle, &info));
	EXPECT_EQ(far + UNIT, info.deadline);
}

/* A lease goes on in a context that is given away, as do others by their words. */
TEST_F(lease, passed_on)
{
	uint64_t far = rounded(twheel_now(self->tw)) + FAR / UNIT * UNIT;
	struct twheel_timer_info info;
	uint64_t handle = 42;
	struct twheel_lease lease;
	int fd;

	ASSERT_EQ(0, twheel_lease_new(self->tw, far + UNIT, TWHEEL_ARM_ABS, 0, &handle, &lease,
				      NULL));
	fd = twheel_release(self->tw);
	self->tw = NULL;
	ASSERT_EQ(0, twheel_adopt(&self->tw, fd));
	EXPECT_EQ(variant->flags, twheel_config_flags(self->tw));
	ASSERT_EQ(0, twheel_get(self->tw, handle, &info));
	ASSERT_EQ(0, twheel_lease_at(self->tw, info.word, info.tag, &lease));
	EXPECT_EQ(far + UNIT, twheel_lease_deadline(lease));
	EXPECT_EQ(1, twheel_lease_extend(lease, far + UNIT + 1));
	EXPECT_EQ(far + 2 * UNIT, twheel_lease_deadline(lease));
}

/* Closing a context leaves nothing mapped. */
TEST_F(lease, close_unmaps)
{
	char line[512];
	struct twheel_lease lease;
	FILE *maps;
	int mapped;
	int round;

	for (round = 0; round < 2; round++) {
		if (!round) {
			ASSERT_EQ(0, twheel_lease_at(self->tw, 5, 0, &lease));
		} else {
			twheel_close(self->tw);
			self->tw = NULL;
		}
		mapped = 0;
		maps = fopen("/proc/self/maps", "r");
		ASSERT_NE(NULL, maps);
		while (fgets(line, sizeof(line), maps))
			mapped += !!strstr(line, "twheel\n");
		fclose(maps);
		EXPECT_EQ(!round, mapped);
	}
}

/**
 * struct mapper - one of several threads that map the same segments
 * @tw: the context of all of them
 * @go: set when all threads have started
 * @words: where this thread sees a word of each segment
 * @wrong: calls that failed
 */
struct mapper {
	struct twheel	*tw;
	int		*go;
	uint64_t	*words[64];
	unsigned int	wrong;
};

static void *map_all(void *arg)
{
	struct mapper *mapper = arg;
	uint32_t i;

	struct twheel_lease lease = { };

	while (!__atomic_load_n(mapper->go, __ATOMIC_ACQUIRE))
		;
	for (i = 0; i < 64; i++) {
		mapper->wrong += !!twheel_lease_at(mapper->tw, i << 20 | 1, 0, &lease);
		mapper->words[i] = lease.word;
	}
	return NULL;
}

TEST_F(lease, threads)
{
	struct mapper mappers[4] = { };
	pthread_t threads[4];
	int go = 0;
	int i;

	for (i = 0; i < 4; i++) {
		mappers[i].tw = self->tw;
		mappers[i].go = &go;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, map_all, &mappers[i]));
	}
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, mappers[i].wrong);
		EXPECT_EQ(0, memcmp(mappers[0].words, mappers[i].words,
				    sizeof(mappers[0].words)));
	}
}

TEST_HARNESS_MAIN
