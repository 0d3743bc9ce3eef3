// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wall time: deadlines on a clock that is set, forwards and back, by any amount
 * and at any moment; and TWHEEL_CONFIG_CANCEL_ON_SET.
 *
 * These set the machine's clock. Each puts it back.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>

#include "twheel_counters.h"
#include "wall.h"

#define RECORD		sizeof(struct twheel_event)

TEST_F(wall, absolute_deadline)
{
	__u64 deadline = wall_now() + 30 * TW_MSEC, before, now;
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 handle;

	before = wall_now();
	now = tw_info(self->fd).now;
	EXPECT_LE(before, now);
	EXPECT_GE(wall_now(), now);
	EXPECT_EQ(CLOCK_REALTIME, tw_info(self->fd).clock);

	handle = tw_arm(self->fd, deadline, TWHEEL_ARM_ABS, 7);
	ASSERT_NE(0, handle);
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(deadline, info.deadline);
	EXPECT_GE(30 * TW_MSEC, info.remaining);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(7, event.user_data);
	EXPECT_EQ(handle, event.handle);
	EXPECT_EQ(deadline, event.deadline);
	EXPECT_LE(deadline, event.expired);
	EXPECT_GE(wall_now(), event.expired);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));

	/* What was due before the clock began its count is due. */
	ASSERT_NE(0, tw_arm(self->fd, 0, TWHEEL_ARM_ABS, 8));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(0, event.deadline);
}

/* Some in each of the distances that a wheel treats differently. */
TEST_F(wall, fifty_years_forward)
{
	static const __s64 passed[] = {
		(__s64)TW_SEC * 60, HOUR / 4, HOUR, 24 * HOUR, YEAR / 12,
		YEAR, 10 * YEAR, 49 * YEAR, 50 * YEAR - HOUR,
	};
	static const __s64 ahead[] = {
		50 * YEAR + HOUR, 51 * YEAR, 100 * YEAR, 200 * YEAR,
	};
	enum { EACH = 64, DUE = EACH * ARRAY_SIZE(passed),
	       LATER = EACH * ARRAY_SIZE(ahead) };
	static __u64 deadlines[DUE + LATER];
	static struct twheel_event events[DUE];
	static unsigned int seen[DUE];
	struct twheel_timer_info infos[16];
	struct twheel_list list = {
		.entries = (unsigned long)infos, .count = ARRAY_SIZE(infos),
	};
	__u64 base = wall_now(), stepped;
	int i, n, listed = 0;

	for (i = 0; i < DUE; i++)
		deadlines[i] = base + passed[i / EACH] + i;
	for (; i < DUE + LATER; i++)
		deadlines[i] = base + ahead[(i - DUE) / EACH] + i;
	ASSERT_TRUE(tw_arm_everywhere(self->fd, deadlines, DUE + LATER));
	ASSERT_EQ(DUE + LATER, tw_info(self->fd).pending);

	ASSERT_EQ(0, set_clock(self->ahead, 50 * YEAR));
	stepped = wall_now();
	ASSERT_EQ(DUE, tw_collect(self->fd, events, DUE));
	for (i = 0; i < DUE; i++) {
		ASSERT_GT(DUE, events[i].user_data);
		EXPECT_EQ(1, ++seen[events[i].user_data]);
		EXPECT_EQ(deadlines[events[i].user_data], events[i].deadline);
		/* By the step: there was no such time before. */
		EXPECT_LE(base + 50 * YEAR, events[i].expired);
		EXPECT_GE(wall_now(), events[i].expired);
	}
	EXPECT_LE(base + 50 * YEAR, stepped);

	ASSERT_TRUE(tw_pass(50 * TW_MSEC));
	EXPECT_EQ(0, tw_info(self->fd).ready);
	EXPECT_EQ(LATER, tw_info(self->fd).pending);
	while ((n = tw_call(self->fd, TWHEEL_IOC_LIST, &list)) > 0) {
		for (i = 0; i < n; i++, listed++) {
			ASSERT_GT(DUE + LATER, infos[i].user_data);
			EXPECT_EQ(deadlines[infos[i].user_data], infos[i].deadline);
			EXPECT_GE(infos[i].deadline - stepped, infos[i].remaining);
		}
	}
	EXPECT_EQ(0, n);
	EXPECT_EQ(LATER, listed);

	/* And one that the step has brought near comes at its time. */
	deadlines[0] = wall_now() + 50 * TW_MSEC;
	ASSERT_NE(0, tw_arm(self->fd, deadlines[0], TWHEEL_ARM_ABS, 0));
	ASSERT_EQ(1, tw_collect(self->fd, events, 1));
	EXPECT_EQ(deadlines[0], events[0].deadline);
	EXPECT_LE(deadlines[0], events[0].expired);
}

TEST_F(wall, a_step_back_postpones)
{
	enum { N = 300 };
	static __u64 deadlines[N];
	static struct twheel_event events[N];
	static unsigned int seen[N];
	struct twheel_timer_info info;
	struct twheel_event event;
	__u64 base, handle, now;
	int i;

	/* Far enough ahead that all are armed before the first is due. */
	base = wall_now() + 20 * TW_SEC;
	for (i = 0; i < N; i++)
		deadlines[i] = base + i * TW_MSEC / 4;
	ASSERT_TRUE(tw_arm_everywhere(self->fd, deadlines, N));
	handle = tw_arm(self->fd, base, TWHEEL_ARM_ABS, N);
	ASSERT_NE(0, handle);

	/* First to near them, then back. */
	ASSERT_EQ(0, set_clock(self->ahead, 10 * TW_SEC));
	ASSERT_EQ(0, set_clock(self->ahead, -HOUR));
	ASSERT_EQ(0, tw_info(self->fd).ready);
	now = wall_now();
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(base, info.deadline);
	EXPECT_LE(HOUR, info.remaining);
	EXPECT_GE(base - now, info.remaining);
	ASSERT_EQ(0, tw_cancel(self->fd, handle));
	ASSERT_TRUE(tw_pass(600 * TW_MSEC));
	EXPECT_EQ(N, tw_info(self->fd).pending);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));

	/* One that is near now does not wait for those that were before. */
	now = wall_now() + 20 * TW_MSEC;
	ASSERT_NE(0, tw_arm(self->fd, now, TWHEEL_ARM_ABS, N));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(N, event.user_data);
	EXPECT_EQ(now, event.deadline);
	EXPECT_LE(now, event.expired);

	/* When their time comes again they are there. */
	ASSERT_EQ(0, set_clock(self->ahead, 60 * TW_SEC));
	ASSERT_EQ(N, tw_collect(self->fd, events, N));
	for (i = 0; i < N; i++) {
		ASSERT_GT(N, events[i].user_data);
		EXPECT_EQ(1, ++seen[events[i].user_data]);
		EXPECT_EQ(deadlines[events[i].user_data], events[i].deadline);
		EXPECT_LE(events[i].deadline, events[i].expired);
	}
}

/* There and back; with timers that were armed on either side. */
TEST_F(wall, fifty_years_back_and_forth)
{
	enum { N = 200 };
	static __u64 now_ones[N], old_ones[N];
	static struct twheel_event events[N];
	__u64 base = wall_now() + 3600 * TW_SEC, old;
	int i, round;

	for (i = 0; i < N; i++)
		now_ones[i] = base + i * TW_MSEC;
	ASSERT_TRUE(tw_arm_everywhere(self->fd, now_ones, N));

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, set_clock(self->ahead, -50 * YEAR));
		old = wall_now() + 20 * TW_MSEC;
		for (i = 0; i < N; i++)
			old_ones[i] = old + i * TW_MSEC / 2;
		ASSERT_TRUE(tw_arm_everywhere(self->fd, old_ones, N));
		ASSERT_EQ(N, tw_collect(self->fd, events, N));
		for (i = 0; i < N; i++) {
			ASSERT_GT(N, events[i].user_data);
			EXPECT_EQ(old_ones[events[i].user_data], events[i].deadline);
			EXPECT_LE(events[i].deadline, events[i].expired);
			old_ones[events[i].user_data] = 0;
		}
		EXPECT_EQ(N, tw_info(self->fd).pending);
		ASSERT_EQ(0, set_clock(self->ahead, 0));
		ASSERT_TRUE(tw_pass(20 * TW_MSEC));
		EXPECT_EQ(0, tw_info(self->fd).ready);
	}

	ASSERT_EQ(0, set_clock(self->ahead, 2 * HOUR));
	ASSERT_EQ(N, tw_collect(self->fd, events, N));
	for (i = 0; i < N; i++) {
		ASSERT_GT(N, events[i].user_data);
		EXPECT_EQ(now_ones[events[i].user_data], events[i].deadline);
		EXPECT_LE(base, events[i].expired);
		now_ones[events[i].user_data] = 0;
	}
}

TEST_F(wall, expired_stays_expired)
{
	__u64 deadline = wall_now() + HOUR;
	struct twheel_event event;

	ASSERT_NE(0, tw_arm(self->fd, deadline, TWHEEL_ARM_ABS, 1));
	ASSERT_EQ(0, set_clock(self->ahead, 2 * HOUR));
	ASSERT_TRUE(tw_wait_ready(self->fd, 1));
	ASSERT_EQ(0, set_clock(self->ahead, -50 * YEAR));
	EXPECT_EQ(1, tw_info(self->fd).ready);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(deadline, event.deadline);
	EXPECT_LE(deadline, event.expired);
	EXPECT_EQ(1, event.expirations);
	EXPECT_EQ(TWHEEL_EVENT_LAST, event.flags);
}

/*
 * A hundred thousand are due at once. While they are worked off, with pauses, the
 * clock goes back, though not as far as to make them wait: nor may the pause.
 */
TEST_F(wall, a_step_back_in_a_pause)
{
	enum { N = 100000 };
	static struct twheel_arm arms[N];
	struct twheel_batch batch = {
		.entries = (unsigned long)arms, .count = N,
	};
	__u64 deadline = wall_now() + HOUR;
	struct twheel_info info;
	int i, round, hits = 0;

	for (round = 0; round < 20 && hits < 3; round++) {
		for (i = 0; i < N; i++)
			arms[i] = tw_request(deadline, TWHEEL_ARM_ABS, i);
		ASSERT_EQ(N, tw_call(self->fd, TWHEEL_IOC_ARM_BATCH, &batch));
		ASSERT_EQ(0, set_clock(self->ahead, 3 * HOUR));
		ASSERT_TRUE(tw_wait_ready(self->fd, 1));
		ASSERT_EQ(0, set_clock(self->ahead, 2 * HOUR));
		hits += tw_info(self->fd).pending > 0;
		ASSERT_TRUE(tw_wait_ready(self->fd, N)) {
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

/* Do all CPUs have nothing to do, now or soon? They may have timers to sort anew. */
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
 * The same, but it goes back so far that the rest has to wait: the CPU that works
 * them off shall notice, though it began at a time that is the future now, and be
 * silent until they are due.
 */
TEST_F(wall, a_step_back_in_a_run)
{
	enum { N = 100000 };
	static struct twheel_arm arms[N];
	struct twheel_batch batch = {
		.entries = (unsigned long)arms, .count = N,
	};
	__u64 deadline = wall_now() + HOUR, ready;
	int here = tw_nth_cpu(0), other = tw_nth_cpu(1), i, round, hits = 0;

	if (tw_counter(TW_ALL_CPUS, "interrupts") == ~0ULL)
		SKIP(return, "needs " TW_COUNTERS);
	/* Their CPU may be kept busy for good: not this one, if there are two. */
	for (round = 0; round < 20 && hits < 8; round++) {
		for (i = 0; i < N; i++)
			arms[i] = tw_request(deadline, TWHEEL_ARM_ABS, i);
		if (other >= 0)
			ASSERT_TRUE(tw_pin(other));
		ASSERT_EQ(N, tw_call(self->fd, TWHEEL_IOC_ARM_BATCH, &batch));
		ASSERT_TRUE(tw_pin(here));
		ASSERT_EQ(0, set_clock(self->ahead, 3 * HOUR));
		ASSERT_TRUE(tw_wait_ready(self->fd, 1));
		ASSERT_EQ(0, set_clock(self->ahead, 0));
		/* One run goes on for a millisecond at most. */
		ASSERT_TRUE(tw_pass(100 * TW_MSEC));
		ready = tw_info(self->fd).ready;
		ASSERT_TRUE(falls_silent());
		/* A chunk may have been under way all the time, on a CPU that stood still. */
		EXPECT_GE(ready + 32, tw_info(self->fd).ready);
		hits += ready < N;
		ASSERT_EQ(0, set_clock(self->ahead, 3 * HOUR));
		ASSERT_TRUE(tw_wait_ready(self->fd, N));
		ASSERT_EQ(0, set_clock(self->ahead, 0));
		close(self->fd);
		self->fd = open_wall(0);
		ASSERT_LE(0, self->fd);
	}
	EXPECT_LT(0, hits);
}

/* Many steps of all sizes, against what anybody can work out. */
TEST_F(wall, random_steps)
{
	enum { N = 2000, ROUNDS = 150 };
	static unsigned int seen[N];
	static __u64 deadlines[N];
	const __s64 span = 4 * HOUR;
	__u64 state = 88172645463325252ULL, base = wall_now(), latest = 0, now;
	struct twheel_event event;
	int i, step, due, read = 0;
	__s64 off;

	for (i = 0; i < N; i++)
		deadlines[i] = base + TW_SEC * 60 + tw_random(&state) % span;
	ASSERT_TRUE(tw_arm_everywhere(self->fd, deadlines, N));

	for (step = 0; step < ROUNDS; step++) {
		/* Small ones, too; on the whole forwards. */
		off = tw_random(&state) % (2 * span) >> tw_random(&state) % 24;
		off = off - span + 2 * span * step / ROUNDS;
		ASSERT_EQ(0, set_clock(self->ahead, off));
		now = wall_now();
		for (due = 0, i = 0; i < N; i++)
			due += deadlines[i] <= now;
		/* Those that are due come; and perhaps some of just after. */
		while (read < due || tw_info(self->fd).ready) {
			ASSERT_EQ(1, tw_collect(self->fd, &event, 1)) {
				TH_LOG("step %d: %d of %d", step, read, due);
			}
			read++;
			ASSERT_GT(N, event.user_data);
			EXPECT_EQ(1, ++seen[event.user_data]);
			EXPECT_EQ(deadlines[event.user_data], event.deadline);
			EXPECT_LE(event.deadline, event.expired);
		}
		now = wall_now();
		if (latest < now)
			latest = now;
		/* Nobody can have seen a time that has never been. */
		for (i = 0; i < N; i++)
			if (seen[i])
				EXPECT_LE(deadlines[i], latest);
		EXPECT_EQ(N - read, tw_info(self->fd).pending);
	}
	ASSERT_EQ(0, set_clock(self->ahead, 2 * span));
	while (read < N) {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
		ASSERT_GT(N, event.user_data);
		EXPECT_EQ(1, ++seen[event.user_data]);
		read++;
	}
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

/* Timers; and how often the clock is set at least. */
enum { WORKERS = 2, EACH = 6000, ALL = WORKERS * EACH, STEPS = 500 };

/*
 * Threads around one context. @ended counts for each timer how it ended: a
 * record, or a cancel that succeeded.
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

/* Arms its timers, and re-arms or cancels most. */
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
			arm = tw_request(wall_now() - TW_SEC / 4 +
					 tw_random(&state) % (2 * TW_SEC),
					 TWHEEL_ARM_ABS, id);
			arm.handle = handle;
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
		for (i = 0; i < n / (ssize_t)RECORD; i++) {
			if (events[i].user_data >= ALL || events[i].expirations != 1 ||
			    events[i].expired < events[i].deadline)
				__atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
			else
				__atomic_add_fetch(&s->ended[events[i].user_data], 1,
						   __ATOMIC_RELAXED);
		}
	}
}

/* The clock is set all the time, while timers are armed, expired and read. */
TEST_F(wall, set_during_expiry)
{
	static struct storm storm;
	struct storm *s = &storm;
	struct worker workers[WORKERS];
	pthread_t stepper, reader;
	struct twheel_info info;
	__u64 limit;
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
	limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	do {
		info = tw_info(self->fd);
		sched_yield();
	} while (info.pending + info.ready && tw_now(CLOCK_MONOTONIC) < limit);
	EXPECT_EQ(0, info.pending);
	__atomic_store_n(&s->over, true, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);

	EXPECT_EQ(0, s->bad);
	for (i = 0; i < ALL; i++)
		EXPECT_EQ(1, s->ended[i]);
	EXPECT_LT(0, s->told);
	EXPECT_GE(s->steps + 1, s->told);
	TH_LOG("%u steps, a reader was told %u times", s->steps, s->told);
}

TEST_F(wall, periodic_over_steps)
{
	struct twheel_arm arm = tw_request(0, TWHEEL_ARM_ABS, 5);
	__u64 first = wall_now() + HOUR;
	struct twheel_timer_info info;
	struct twheel_event event;

	arm.expires = first;
	arm.interval = HOUR;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));

	/* Ten rounds in one step: one record, and on along the grid. */
	ASSERT_EQ(0, set_clock(self->ahead, 10 * HOUR + HOUR / 2));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(first, event.deadline);
	EXPECT_LE(first + 9 * HOUR, event.expired);
	EXPECT_EQ(10, event.expirations);
	EXPECT_EQ(0, event.flags);
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(first + 10 * HOUR, info.deadline);

	/* What was counted does not come again. */
	ASSERT_EQ(0, set_clock(self->ahead, 0));
	ASSERT_EQ(0, set_clock(self->ahead, 10 * HOUR + HOUR / 2));
	ASSERT_TRUE(tw_pass(30 * TW_MSEC));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	ASSERT_EQ(0, set_clock(self->ahead, 11 * HOUR + HOUR / 2));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(first + 10 * HOUR, event.deadline);
	EXPECT_EQ(1, event.expirations);

	/* A step back with the record unread takes none of it away. */
	ASSERT_EQ(0, set_clock(self->ahead, 12 * HOUR + HOUR / 2));
	ASSERT_TRUE(tw_wait_ready(self->fd, 1));
	ASSERT_EQ(0, set_clock(self->ahead, -HOUR));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(first + 11 * HOUR, event.deadline);
	EXPECT_EQ(1, event.expirations);
	ASSERT_EQ(0, tw_get(self->fd, arm.handle, &info));
	EXPECT_EQ(first + 12 * HOUR, info.deadline);
	EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);

	/* All that is left of a finite one, and no more. */
	arm = tw_request(wall_now() + HOUR, TWHEEL_ARM_ABS, 6);
	arm.interval = HOUR;
	arm.count = 1000;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, set_clock(self->ahead, 3 * HOUR));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(6, event.user_data);
	EXPECT_EQ(4, event.expirations);
	EXPECT_EQ(0, event.flags);
	ASSERT_EQ(0, set_clock(self->ahead, 50 * YEAR));
	do {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	} while (event.user_data != 6);
	EXPECT_EQ(996, event.expirations);
	EXPECT_EQ(TWHEEL_EVENT_LAST, event.flags);
	EXPECT_EQ(-ENOENT, tw_cancel(self->fd, arm.handle));
}

/* Counted, not timed: a jump costs what the wheel has levels, not ticks. */
TEST_F(wall, the_cost_of_a_step_is_bounded)
{
	static const __s64 offs[] = {
		(__s64)TW_SEC, 0, HOUR, 0, 50 * YEAR, 0, -50 * YEAR, 0,
	};
	enum { N = 1000 };
	static __u64 deadlines[N];
	__u64 base = wall_now(), state = 3, interrupts, cascaded, bound;
	int i;

	if (tw_counter(TW_ALL_CPUS, "interrupts") == ~0ULL)
		SKIP(return, "no " TW_COUNTERS);
	/* None of them comes due. */
	for (i = 0; i < N; i++)
		deadlines[i] = base + 60 * YEAR + tw_random(&state) % (100 * YEAR);
	ASSERT_TRUE(tw_arm_everywhere(self->fd, deadlines, N));
	ASSERT_TRUE(tw_pass(50 * TW_MSEC));
	/* A run a level, and those of tw_pass()'s own timer. */
	bound = sysconf(_SC_NPROCESSORS_ONLN) * (tw_info(self->fd).levels + 1) + 10;
	for (i = 0; i < ARRAY_SIZE(offs); i++) {
		interrupts = tw_counter(TW_ALL_CPUS, "interrupts");
		cascaded = tw_counter(TW_ALL_CPUS, "cascaded");
		ASSERT_EQ(0, set_clock(self->ahead, offs[i]));
		ASSERT_TRUE(tw_pass(100 * TW_MSEC));
		interrupts = tw_counter(TW_ALL_CPUS, "interrupts") - interrupts;
		cascaded = tw_counter(TW_ALL_CPUS, "cascaded") - cascaded;
		EXPECT_GE(bound, interrupts);
		EXPECT_GE(N * tw_info(self->fd).levels, cascaded);
		EXPECT_EQ(N, tw_info(self->fd).pending);
		TH_LOG("to %lld s off: %llu interrupts, %llu timers moved",
		       offs[i] / (__s64)TW_SEC, interrupts, cascaded);
	}
}

FIXTURE(told)
{
	FIXTURE_DATA(wall) wall;
	int fd;
};

FIXTURE_SETUP(told)
{
	wall_setup(_metadata, &self->wall, NULL);
	if (self->wall.fd < 0)
		return;
	self->fd = open_wall(TWHEEL_CONFIG_CANCEL_ON_SET);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(told)
{
	close(self->fd);
	wall_teardown(_metadata, &self->wall, NULL);
}

/* A change is known to all at the latest when this has returned. */
static bool settle(void)
{
	return tw_pass(30 * TW_MSEC);
}

TEST_F(told, a_later_read)
{
	struct twheel_event event;

	EXPECT_EQ(TWHEEL_CONFIG_CANCEL_ON_SET, tw_info(self->fd).config);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(0, tw_poll(self->fd, 0));

	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	EXPECT_EQ(POLLIN | POLLRDNORM, tw_poll(self->fd, TW_LIMIT_MS));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	ASSERT_TRUE(settle());
	EXPECT_EQ(0, tw_poll(self->fd, 0));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));

	/* Back, and by little. */
	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR - TW_MSEC));
	EXPECT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

TEST_F(told, only_who_asked)
{
	struct twheel_event event;

	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	ASSERT_TRUE(settle());
	EXPECT_EQ(0, tw_poll(self->wall.fd, 0));
	EXPECT_EQ(-EAGAIN, tw_read(self->wall.fd, &event, RECORD));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
}

/* What was before it was asked for is no news, nor what comes after its end. */
TEST_F(told, from_its_configuration_on)
{
	struct twheel_event event;

	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_REALTIME, 0));
	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	ASSERT_TRUE(settle());
	EXPECT_EQ(0, tw_poll(self->fd, 0));
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_REALTIME, TWHEEL_CONFIG_CANCEL_ON_SET));
	EXPECT_EQ(0, tw_poll(self->fd, 0));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	ASSERT_EQ(0, set_clock(self->wall.ahead, 0));
	ASSERT_TRUE(settle());
	EXPECT_EQ(POLLIN | POLLRDNORM, tw_poll(self->fd, 0));
	ASSERT_EQ(0, tw_configure(self->fd, CLOCK_REALTIME, 0));
	EXPECT_EQ(0, tw_poll(self->fd, 0));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

TEST_F(told, several_changes_are_one)
{
	struct twheel_event event;
	int i;

	for (i = 1; i <= 5; i++) {
		ASSERT_EQ(0, set_clock(self->wall.ahead, i % 2 * HOUR));
		ASSERT_TRUE(settle());
	}
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
	ASSERT_TRUE(settle());
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

TEST_F(told, no_record_is_lost)
{
	enum { N = 100 };
	struct twheel_event events[N];
	unsigned int seen[N] = { };
	__u64 now = wall_now();
	char byte;
	int i;

	for (i = 0; i < N; i++)
		ASSERT_NE(0, tw_arm(self->fd, i % 2 ? now : now + HOUR,
				    TWHEEL_ARM_ABS, i));
	ASSERT_TRUE(tw_wait_ready(self->fd, N / 2));
	ASSERT_EQ(0, set_clock(self->wall.ahead, 2 * HOUR));
	ASSERT_TRUE(tw_wait_ready(self->fd, N));
	/* Nor is the news, by a read that has no room. */
	EXPECT_EQ(-EINVAL, tw_read(self->fd, &byte, 1));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, events, sizeof(events)));
	EXPECT_EQ(N, tw_info(self->fd).ready);
	ASSERT_EQ(sizeof(events), tw_read(self->fd, events, sizeof(events)));
	for (i = 0; i < N; i++) {
		ASSERT_GT(N, events[i].user_data);
		EXPECT_EQ(1, ++seen[events[i].user_data]);
	}
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, events, sizeof(events)));
}

TEST_F(told, a_read_that_does_not_wait)
{
	struct twheel_event event;
	struct iovec iov = { &event, RECORD };

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_RDWR));
	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	ASSERT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
	EXPECT_EQ(-1, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(ECANCELED, errno);
	EXPECT_EQ(-1, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(EAGAIN, errno);
}

struct sleeper {
	pthread_t thread;
	int fd;
	pid_t tid;
	ssize_t ret;
	int revents;
	struct twheel_event event;
};

static void *sleep_in_read(void *arg)
{
	struct sleeper *s = arg;

	__atomic_store_n(&s->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	s->ret = tw_read(s->fd, &s->event, RECORD);
	__atomic_store_n(&s->tid, -1, __ATOMIC_RELEASE);
	return NULL;
}

static void *sleep_in_poll(void *arg)
{
	struct sleeper *s = arg;

	__atomic_store_n(&s->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	s->revents = tw_poll(s->fd, TW_LIMIT_MS);
	__atomic_store_n(&s->tid, -1, __ATOMIC_RELEASE);
	return NULL;
}

/* Waits until the thread sleeps in its call, by what the kernel says. */
static bool is_asleep(const struct sleeper *s)
{
	__u64 limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	char path[64], state = 0;
	FILE *file;
	pid_t tid;

	while (state != 'S' && tw_now(CLOCK_MONOTONIC) < limit) {
		sched_yield();
		tid = __atomic_load_n(&s->tid, __ATOMIC_ACQUIRE);
		if (tid < 0)
			return false;
		if (!tid)
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
		file = fopen(path, "r");
		if (!file)
			return false;
		if (fscanf(file, "%*d %*s %c", &state) != 1)
			state = 0;
		fclose(file);
	}
	return state == 'S';
}

/* Waits until @n of them have returned; tells how many have. */
static int returned(const struct sleeper *s, int nr, int n)
{
	__u64 limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	int i, done;

	do {
		sched_yield();
		for (done = 0, i = 0; i < nr; i++)
			done += __atomic_load_n(&s[i].tid, __ATOMIC_ACQUIRE) < 0;
	} while (done < n && tw_now(CLOCK_MONOTONIC) < limit);
	return done;
}

TEST_F(told, a_read_that_waits)
{
	struct sleeper s = { .fd = self->fd };
	struct twheel_event event;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_RDWR));
	ASSERT_EQ(0, pthread_create(&s.thread, NULL, sleep_in_read, &s));
	ASSERT_TRUE(is_asleep(&s));
	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	ASSERT_EQ(1, returned(&s, 1, 1));
	pthread_join(s.thread, NULL);
	EXPECT_EQ(-ECANCELED, s.ret);
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_RDWR | O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
}

TEST_F(told, a_poll_that_waits)
{
	struct sleeper s = { .fd = self->fd };

	ASSERT_EQ(0, pthread_create(&s.thread, NULL, sleep_in_poll, &s));
	ASSERT_TRUE(is_asleep(&s));
	ASSERT_EQ(0, set_clock(self->wall.ahead, -HOUR));
	ASSERT_EQ(1, returned(&s, 1, 1));
	pthread_join(s.thread, NULL);
	EXPECT_EQ(POLLIN | POLLRDNORM, s.revents);
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &s.event, RECORD));
}

TEST_F(told, epoll_edge_triggered)
{
	struct epoll_event watch = { .events = EPOLLIN | EPOLLET }, got;
	int ep = epoll_create1(EPOLL_CLOEXEC), i;
	struct twheel_event event;

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &watch));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	for (i = 1; i <= 5; i++) {
		ASSERT_EQ(0, set_clock(self->wall.ahead, i % 2 * HOUR));
		ASSERT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
		EXPECT_EQ(EPOLLIN, got.events);
		EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
		EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
		ASSERT_TRUE(settle());
		/* One change, one edge; and read, so that it is over. */
		EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	}
	/* The edge of a change does not hide that of a record. */
	ASSERT_EQ(0, set_clock(self->wall.ahead, 0));
	ASSERT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
	ASSERT_TRUE(settle());
	epoll_wait(ep, &got, 1, 0);
	ASSERT_NE(0, tw_arm(self->fd, 0, TWHEEL_ARM_ABS, 1));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, TW_LIMIT_MS));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
	EXPECT_EQ(RECORD, tw_read(self->fd, &event, RECORD));
	close(ep);
}

TEST_F(told, one_of_several_readers)
{
	enum { READERS = 4 };
	struct sleeper s[READERS];
	int i, round, told;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_RDWR));
	for (round = 0; round < 5; round++) {
		for (i = 0; i < READERS; i++) {
			s[i] = (struct sleeper){ .fd = self->fd };
			ASSERT_EQ(0, pthread_create(&s[i].thread, NULL, sleep_in_read,
						    &s[i]));
		}
		for (i = 0; i < READERS; i++)
			ASSERT_TRUE(is_asleep(&s[i]));
		/* One for each change. */
		ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
		ASSERT_EQ(1, returned(s, READERS, 1));
		ASSERT_TRUE(settle());
		EXPECT_EQ(1, returned(s, READERS, 0));
		ASSERT_EQ(0, set_clock(self->wall.ahead, 0));
		ASSERT_EQ(2, returned(s, READERS, 2));
		ASSERT_TRUE(settle());
		EXPECT_EQ(2, returned(s, READERS, 0));
		/* The others are there for records. */
		for (i = 2; i < READERS; i++)
			ASSERT_NE(0, tw_arm(self->fd, 0, TWHEEL_ARM_ABS, i));
		ASSERT_EQ(READERS, returned(s, READERS, READERS));
		for (told = 0, i = 0; i < READERS; i++) {
			pthread_join(s[i].thread, NULL);
			told += s[i].ret == -ECANCELED;
			if (s[i].ret != -ECANCELED)
				EXPECT_EQ(RECORD, s[i].ret);
		}
		EXPECT_EQ(2, told);
	}
}

/* A context that other processes share is one: one of them is told. */
TEST_F(told, a_shared_context)
{
	struct twheel_event event;
	int other = dup(self->fd);

	ASSERT_LE(0, other);
	ASSERT_EQ(0, set_clock(self->wall.ahead, HOUR));
	ASSERT_NE(0, tw_poll(other, TW_LIMIT_MS));
	EXPECT_EQ(-ECANCELED, tw_read(other, &event, RECORD));
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	close(other);
}

/* Neither a clock that runs faster for a while nor TAI has been set. */
TEST_F(told, slewing_is_no_discontinuity)
{
	struct timex tx = { .modes = 0 }, old;
	struct timeval delta = { 0, 1000 };
	struct twheel_event event;
	long tai;

	ASSERT_LE(0, adjtimex(&tx));
	old = tx;
	ASSERT_EQ(0, adjtime(&delta, NULL));
	ASSERT_TRUE(settle());
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));

	tx = (struct timex){ .modes = ADJ_FREQUENCY, .freq = old.freq + (100 << 16) };
	ASSERT_LE(0, adjtimex(&tx));
	ASSERT_TRUE(settle());
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	tx = (struct timex){ .modes = ADJ_FREQUENCY, .freq = old.freq };
	ASSERT_LE(0, adjtimex(&tx));

	tx = (struct timex){ .modes = ADJ_TICK, .tick = old.tick + 10 };
	ASSERT_LE(0, adjtimex(&tx));
	ASSERT_TRUE(settle());
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	tx = (struct timex){ .modes = ADJ_TICK, .tick = old.tick };
	ASSERT_LE(0, adjtimex(&tx));

	for (tai = 37; tai >= 0; tai -= 37) {
		tx = (struct timex){ .modes = ADJ_TAI, .constant = old.tai + tai };
		ASSERT_LE(0, adjtimex(&tx));
		ASSERT_TRUE(settle());
		EXPECT_EQ(0, tw_poll(self->fd, 0));
		EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
	}
	delta.tv_usec = 0;
	EXPECT_EQ(0, adjtime(&delta, NULL));

	/* And the same call when it does step. */
	tx = (struct timex){ .modes = ADJ_SETOFFSET | ADJ_NANO, .time = { 1, 0 } };
	ASSERT_LE(0, adjtimex(&tx));
	EXPECT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
	EXPECT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
}

/* The second that is put in at midnight is a step back like any other. */
TEST_F(told, a_leap_second)
{
	const __u64 day = 24 * 3600 * TW_SEC;
	__u64 midnight = (wall_now() / day + 2) * day, now, leap;
	struct timex tx = { .modes = ADJ_STATUS, .status = STA_INS };
	struct twheel_event event;
	struct timespec ts;
	ssize_t ret;

	/* It is got ready by the second before it. */
	now = midnight - 5 * TW_SEC / 2;
	ts = (struct timespec){ now / TW_SEC, now % TW_SEC };
	ASSERT_NE(0, tw_arm(self->fd, midnight, TWHEEL_ARM_ABS, 1));
	ASSERT_NE(0, tw_arm(self->fd, midnight + TW_SEC, TWHEEL_ARM_ABS, 2));
	/* Setting the clock forgets what was asked for. */
	ASSERT_EQ(0, clock_settime(CLOCK_REALTIME, &ts));
	ASSERT_NE(0, tw_poll(self->fd, TW_LIMIT_MS));
	ASSERT_EQ(-ECANCELED, tw_read(self->fd, &event, RECORD));
	ASSERT_LE(0, adjtimex(&tx));
	if (wall_now() > midnight - 3 * TW_SEC / 2)
		SKIP(goto out, "the machine was too slow to come before midnight");

	/* When the clock shows midnight, for a moment, and is put back. */
	leap = tw_now(CLOCK_MONOTONIC);
	leap += midnight - wall_now();
	/* A CPU that is busy is told of it by the next tick only. */
	do {
		ret = tw_read(self->fd, &event, RECORD);
	} while (ret == -EAGAIN && tw_now(CLOCK_MONOTONIC) < leap + TW_SEC);
	EXPECT_EQ(-ECANCELED, ret);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_LE(leap + TW_SEC, tw_now(CLOCK_MONOTONIC));
	EXPECT_EQ(1, event.user_data);
	EXPECT_LE(midnight, event.expired);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(2, event.user_data);
	EXPECT_LE(midnight + TW_SEC, event.expired);
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, RECORD));
out:
	tx = (struct timex){ .modes = ADJ_STATUS, .status = STA_UNSYNC };
	adjtimex(&tx);
}

TEST_HARNESS_MAIN
