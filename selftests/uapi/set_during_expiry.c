// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock is set while timers expire: between two runs of a wheel, during one, and
 * repeatedly while threads arm, cancel and read.
 *
 * Each test puts the machine's clock back.
 */
#include <pthread.h>

#include "twheel_counters.h"
#include "wall.h"

static struct twheel_arm arms[100000];

/* How many expire in many runs. On an emulated debug kernel all of them may take 40 seconds. */
static unsigned int nr_timers(void)
{
	return ARRAY_SIZE(arms) / (tw_debug_kernel() ? 5 : 1);
}

/*
 * Tens of thousands of timers are due at once, and expire in runs with pauses between.
 * Meanwhile the clock goes back, but not to before their deadlines: the step must not
 * lengthen the pause under way.
 */
TEST_F(wall, a_step_back_in_a_pause)
{
	unsigned int n = nr_timers(), i;
	__u64 deadline = wall_now() + HOUR;
	struct twheel_info info;
	int round, hits = 0;

	for (round = 0; round < 20 && hits < 3; round++) {
		for (i = 0; i < n; i++)
			arms[i] = tw_request(deadline, TWHEEL_ARM_ABS, i);
		ASSERT_EQ(n, tw_arm_batch(self->fd, arms, n));
		ASSERT_EQ(0, set_clock(self->ahead, 3 * HOUR));
		ASSERT_TRUE(tw_wait_ready(self->fd, 1));
		ASSERT_EQ(0, set_clock(self->ahead, 2 * HOUR));
		hits += tw_info(self->fd).pending > 0;
		ASSERT_TRUE(tw_wait_ready(self->fd, n)) {
			info = tw_info(self->fd);
			TH_LOG("%llu are pending still", info.pending);
		}
		ASSERT_EQ(0, set_clock(self->ahead, 0));
		close(self->fd);
		self->fd = open_wall(0);
		ASSERT_LE(0, self->fd);
	}
	EXPECT_LT(0, hits);
}

/*
 * Waits until timers interrupt no CPU any more, since a step may leave wheels with timers
 * to sort anew. Returns whether that happened.
 */
static bool falls_silent(void)
{
	__u64 limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC, before;

	do {
		before = tw_counter(TW_ALL_CPUS, "interrupts");
		if (!tw_pass(100 * TW_MSEC))
			return false;
		if (tw_counter(TW_ALL_CPUS, "interrupts") - before < 10)
			return true;
	} while (tw_now(CLOCK_MONOTONIC) < limit);
	return false;
}

/*
 * The same, but the clock goes back to before the deadlines. The CPU that expires the
 * timers began its run at a time that is then in the future. It has to notice that, and to
 * be silent until the timers that are left are due again.
 */
TEST_F(wall, a_step_back_in_a_run)
{
	unsigned int n = nr_timers(), i;
	__u64 deadline = wall_now() + HOUR, ready;
	int here = tw_nth_cpu(0), other = tw_nth_cpu(1), round, hits = 0;

	if (tw_counter(TW_ALL_CPUS, "interrupts") == ~0ULL)
		SKIP(return, "needs " TW_COUNTERS);
	/* A bug may keep the timers' CPU busy for good, so this thread stays on another one. */
	for (round = 0; round < 20 && hits < 8; round++) {
		for (i = 0; i < n; i++)
			arms[i] = tw_request(deadline, TWHEEL_ARM_ABS, i);
		if (other >= 0)
			ASSERT_TRUE(tw_pin(other));
		ASSERT_EQ(n, tw_arm_batch(self->fd, arms, n));
		ASSERT_TRUE(tw_pin(here));
		ASSERT_EQ(0, set_clock(self->ahead, 3 * HOUR));
		ASSERT_TRUE(tw_wait_ready(self->fd, 1));
		ASSERT_EQ(0, set_clock(self->ahead, 0));
		/* One run lasts for a millisecond at most. */
		ASSERT_TRUE(tw_pass(100 * TW_MSEC));
		ready = tw_info(self->fd).ready;
		ASSERT_TRUE(falls_silent());
		/* One batch may have been under way on a virtual CPU that stood still. */
		EXPECT_GE(ready + 32, tw_info(self->fd).ready);
		hits += ready < n;
		ASSERT_EQ(0, set_clock(self->ahead, 3 * HOUR));
		ASSERT_TRUE(tw_wait_ready(self->fd, n));
		ASSERT_EQ(0, set_clock(self->ahead, 0));
		close(self->fd);
		self->fd = open_wall(0);
		ASSERT_LE(0, self->fd);
	}
	EXPECT_LT(0, hits);
}

/* The number of timers, and the least number of steps. */
enum { WORKERS = 2, EACH = 6000, ALL = WORKERS * EACH, STEPS = 500 };

/*
 * Data of threads that share one context. @ended counts for each timer how it ended: by a
 * record, or by a cancel that succeeded.
 */
struct storm {
	int fd;
	__s64 ahead;
	unsigned int ended[ALL];
	unsigned int steps, told;
	bool calm, over;
	int bad;
};

struct worker {
	struct storm *storm;
	pthread_t thread;
	int nr;
};

static void *step_all_the_time(void *arg)
{
	struct storm *s = arg;
	__u64 state = 42;

	while (!__atomic_load_n(&s->calm, __ATOMIC_ACQUIRE) || s->steps < STEPS) {
		__s64 off = tw_random(&state) % (4 * TW_SEC);

		if (set_clock(s->ahead, off - 2 * (__s64)TW_SEC))
			__atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
		s->steps++;
		sched_yield();
	}
	return NULL;
}

/* Arms timers of its own, and re-arms or cancels most of them. */
static void *use_wall_time(void *arg)
{
	struct worker *w = arg;
	struct storm *s = w->storm;
	__u64 state = 99 + w->nr, handle;
	int fd = s->fd, i, id, ret;
	struct twheel_arm arm;

	for (i = 0; i < EACH; i++) {
		id = w->nr * EACH + i;
		handle = tw_arm(fd, wall_now() + tw_random(&state) % TW_SEC,
				TWHEEL_ARM_ABS, id);
		if (!handle) {
			__atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
			break;
		}
		ret = 0;
		if (tw_random(&state) % 2) {
			arm = tw_request_for(handle, wall_now() - TW_SEC / 4 +
					     tw_random(&state) % (2 * TW_SEC),
					     TWHEEL_ARM_ABS, id);
			ret = tw_call(fd, TWHEEL_IOC_ARM, &arm);
		}
		if (!ret && tw_random(&state) % 3 == 0) {
			ret = tw_cancel(fd, handle);
			if (!ret)
				__atomic_add_fetch(&s->ended[id], 1, __ATOMIC_RELAXED);
		}
		if (ret && ret != -ENOENT)
			__atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *read_wall_time(void *arg)
{
	struct twheel_event events[16];
	struct storm *s = arg;
	ssize_t n, i;

	for (;;) {
		n = tw_read(s->fd, events, sizeof(events));
		if (n == -ECANCELED) {
			s->told++;
			continue;
		}
		if (n == -EAGAIN) {
			if (__atomic_load_n(&s->over, __ATOMIC_ACQUIRE))
				return NULL;
			tw_poll(s->fd, 10);
			continue;
		}
		if (n <= 0) {
			__atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
			return NULL;
		}
		for (i = 0; i < n / (ssize_t)sizeof(*events); i++) {
			if (events[i].user_data >= ALL || events[i].expirations != 1 ||
			    events[i].expired < events[i].deadline)
				__atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
			else
				__atomic_add_fetch(&s->ended[events[i].user_data], 1,
						   __ATOMIC_RELAXED);
		}
	}
}

/* The clock is set again and again while timers are armed, expire and are read. */
TEST_F(wall, set_during_expiry)
{
	static struct storm storm;
	struct storm *s = &storm;
	struct worker workers[WORKERS];
	pthread_t stepper, reader;
	int i;

	close(self->fd);
	self->fd = open_wall(TWHEEL_CONFIG_CANCEL_ON_SET);
	ASSERT_LE(0, self->fd);
	s->fd = self->fd;
	s->ahead = self->ahead;
	ASSERT_EQ(0, pthread_create(&stepper, NULL, step_all_the_time, s));
	ASSERT_EQ(0, pthread_create(&reader, NULL, read_wall_time, s));
	for (i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){ .storm = s, .nr = i };
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, use_wall_time,
					    &workers[i]));
	}
	for (i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	__atomic_store_n(&s->calm, true, __ATOMIC_RELEASE);
	pthread_join(stepper, NULL);
	EXPECT_EQ(0, set_clock(self->ahead, HOUR));
	EXPECT_TRUE(tw_await(!tw_info(self->fd).pending));
	EXPECT_TRUE(tw_await(!tw_info(self->fd).ready));
	__atomic_store_n(&s->over, true, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);

	EXPECT_EQ(0, s->bad);
	for (i = 0; i < ALL; i++)
		EXPECT_EQ(1, s->ended[i]);
	EXPECT_LT(0, s->told);
	EXPECT_GE(s->steps + 1, s->told);
	TH_LOG("%u steps, a reader was told %u times", s->steps, s->told);
}

TEST_HARNESS_MAIN
