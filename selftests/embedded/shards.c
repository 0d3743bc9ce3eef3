// SPDX-License-Identifier: GPL-2.0-only
/*
 * A context that threads use at once, which has several wheels: what is in one of them and was made
 * by one thread is there for all. What threads do at once is in threads.c, and in selftests/sim.
 */
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "child.h"
#include "lib_util.h"
#include "wrapped.h"

/* The number of a wheel is in these bits of handles and of words. */
#define WHEEL_SHIFT	28

#define FLAGS	(TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_THREADS)

static unsigned int wheel_of(uint64_t handle)
{
	return (uint32_t)handle >> WHEEL_SHIFT;
}

/* The wheel in which this thread makes timers */
static unsigned int own_wheel(struct twheel *tw)
{
	uint64_t handle = 0;

	twheel_arm_after(tw, FAR, 0, &handle);
	twheel_cancel(tw, handle, NULL);
	return wheel_of(handle);
}

/**
 * struct task - what another thread is to do
 * @tw: the context
 * @run: called there, once it has another wheel than @wheel
 * @wheel: that of the thread which asks
 * @arms: what @run arms
 * @n: how many
 * @done: it was called
 */
struct task {
	struct twheel		*tw;
	void			(*run)(struct task *task);
	unsigned int		wheel;
	struct twheel_arm	*arms;
	size_t			n;
	bool			done;
};

static void *thread_main(void *arg)
{
	struct task *task = arg;
	struct twheel *tw;

	/* Its timers are not to have those of another. */
	if (twheel_open(&tw, NULL, FLAGS, NULL))
		return NULL;
	if (own_wheel(tw) != task->wheel) {
		task->run(task);
		task->done = true;
	}
	twheel_close(tw);
	return NULL;
}

/* Threads have the wheels in turn. Returns whether one of another wheel has run @task. */
static bool in_another_wheel(struct task *task)
{
	pthread_t thread;
	struct twheel *tw;
	int tries;

	if (twheel_open(&tw, NULL, FLAGS, NULL))
		return false;
	task->wheel = own_wheel(tw);
	twheel_close(tw);
	for (task->done = false, tries = 64; !task->done && tries; tries--)
		if (pthread_create(&thread, NULL, thread_main, task) || pthread_join(thread, NULL))
			break;
	return task->done;
}

static void arm_all(struct task *task)
{
	twheel_arm_batch(task->tw, task->arms, task->n);
}

/* Arm new timers that cannot be, by either call. */
static void arm_in_vain(struct task *task)
{
	task->arms[0].result = (int16_t)twheel_arm(task->tw, &task->arms[0]);
	twheel_arm_batch(task->tw, &task->arms[1], 1);
}

/* Another thread arms @n timers. Returns whether all went well. */
static bool armed_elsewhere(struct twheel *tw, struct twheel_arm *arms, size_t n)
{
	struct task task = { .tw = tw, .run = arm_all, .arms = arms, .n = n };

	if (!in_another_wheel(&task))
		return false;
	while (n--)
		if (arms[n].result)
			return false;
	return true;
}

FIXTURE(shards) {
	struct twheel *tw;
	struct twheel_arm there;
	uint64_t here;
};

/* A timer here, and one in another wheel */
FIXTURE_SETUP(shards)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_LEASE };

	ASSERT_EQ(0, twheel_open(&self->tw, NULL, FLAGS, &config));
	self->there = (struct twheel_arm){ .expires = FAR, .user_data = 1 };
	ASSERT_TRUE(armed_elsewhere(self->tw, &self->there, 1));
	ASSERT_EQ(0, twheel_arm_after(self->tw, FAR, 2, &self->here));
	ASSERT_NE(wheel_of(self->here), wheel_of(self->there.handle));
	ASSERT_NE(self->here, self->there.handle);
}

FIXTURE_TEARDOWN(shards)
{
	twheel_close(self->tw);
}

TEST_F(shards, any_thread_has_any_timer)
{
	struct twheel_timer_info info;
	struct twheel_event events[2];
	uint64_t there = self->there.handle;

	ASSERT_EQ(0, twheel_get(self->tw, there, &info));
	EXPECT_EQ(there, info.handle);
	EXPECT_EQ(1, info.user_data);
	EXPECT_EQ(2, live(self->tw));
	EXPECT_EQ(TWHEEL_STATE_PENDING, REPLACED(twheel_rearm_after, self->tw, there, FAR, 3));
	EXPECT_EQ(0, twheel_push(self->tw, self->here, 1));
	EXPECT_EQ(0, twheel_push(self->tw, there, 2));
	ASSERT_EQ(2, twheel_read(self->tw, events, 2));
	EXPECT_EQ(self->here, events[0].handle);
	EXPECT_EQ(2, events[0].user_data);
	EXPECT_EQ(there, events[1].handle);
	EXPECT_EQ(3, events[1].user_data);
	EXPECT_EQ(-ENOENT, twheel_cancel(self->tw, there, NULL));
}

/* In each wheel they are carried out in order, and the results are where they belong. */
TEST_F(shards, batches_of_several)
{
	char unaligned[1 + 130 * sizeof(struct twheel_arm)], *arms = unaligned + 1;
	struct twheel_cancel cancels[3] = {
		{ .handle = self->here },
		{ .handle = self->there.handle },
		{ .handle = self->here },
	};
	struct twheel_arm arm;
	struct twheel_counters counters;
	int i;

	for (i = 0; i < 130; i++) {
		arm = (struct twheel_arm){ .expires = FAR, .user_data = (uint64_t)i };
		arm.handle = i % 3 == 1 ? self->here : i % 3 ? self->there.handle : 0;
		memcpy(arms + i * sizeof(arm), &arm, sizeof(arm));
	}
	EXPECT_EQ(130, twheel_arm_batch(self->tw, (struct twheel_arm *)arms, 130));
	for (i = 0; i < 130; i++) {
		memcpy(&arm, arms + i * sizeof(arm), sizeof(arm));
		EXPECT_EQ(0, arm.result);
		EXPECT_EQ(i % 3 ? TWHEEL_STATE_PENDING : TWHEEL_STATE_NONE, arm.old_state);
		EXPECT_TRUE(i % 3 == 1 ? arm.handle == self->here :
			    i % 3 ? arm.handle == self->there.handle :
				    wheel_of(arm.handle) == wheel_of(self->here));
	}
	EXPECT_EQ(46, live(self->tw));
	ASSERT_EQ(0, twheel_stats(self->tw, &counters, sizeof(counters)));
	EXPECT_EQ(46, counters.armed);
	EXPECT_EQ(86, counters.rearmed);
	EXPECT_EQ(3, twheel_cancel_batch(self->tw, cancels, 3));
	EXPECT_EQ(0, cancels[0].result);
	EXPECT_EQ(0, cancels[1].result);
	EXPECT_EQ(-ENOENT, cancels[2].result);
	EXPECT_EQ(self->there.handle, cancels[1].handle);
}

/* What is refused has changed nothing, and names what it did. */
TEST_F(shards, handles_of_no_timer)
{
	uint64_t handles[4] = { self->there.handle + 1, self->here };
	struct twheel_cancel cancel;
	struct twheel_arm arm;
	int i;

	/* The greatest number of a wheel, and two that are no more than that of a wheel */
	handles[1] |= 15ULL << WHEEL_SHIFT;
	handles[2] = 15ULL << WHEEL_SHIFT;
	handles[3] = 1ULL << WHEEL_SHIFT;
	for (i = 0; i < 4; i++) {
		arm = (struct twheel_arm){ .handle = handles[i], .expires = FAR };
		EXPECT_EQ(-ENOENT, twheel_arm(self->tw, &arm));
		EXPECT_EQ(handles[i], arm.handle);
		arm.flags = 0x4000;
		EXPECT_EQ(-EINVAL, twheel_arm(self->tw, &arm));
		EXPECT_EQ(1, twheel_arm_batch(self->tw, &arm, 1));
		EXPECT_EQ(-EINVAL, arm.result);
		EXPECT_EQ(handles[i], arm.handle);
		cancel = (struct twheel_cancel){ .handle = handles[i] };
		EXPECT_EQ(1, twheel_cancel_batch(self->tw, &cancel, 1));
		EXPECT_EQ(-ENOENT, cancel.result);
		EXPECT_EQ(handles[i], cancel.handle);
		EXPECT_EQ(-ENOENT, twheel_push(self->tw, handles[i], FAR));
	}
	EXPECT_EQ(2, live(self->tw));
}

TEST_F(shards, handles_of_no_new_timer)
{
	struct twheel_arm arms[4] = {
		{ .flags = 0x4000 }, { .flags = 0x4000 }, { .flags = 0x4000 }, { .flags = 0x4000 },
	};
	struct task there = { .tw = self->tw, .run = arm_in_vain, .arms = arms, .n = 2 };
	struct task here = { .tw = self->tw, .arms = &arms[2] };
	int i;

	ASSERT_TRUE(in_another_wheel(&there));
	arm_in_vain(&here);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(-EINVAL, arms[i].result);
		EXPECT_EQ(0, arms[i].handle);
	}
}

TEST_F(shards, leases_of_another_thread)
{
	struct twheel_arm arm = { .expires = FAR, .flags = TWHEEL_ARM_LEASE };
	struct twheel_timer_info info;
	struct twheel_lease lease;

	ASSERT_TRUE(armed_elsewhere(self->tw, &arm, 1));
	EXPECT_NE(wheel_of(self->here), arm.word >> WHEEL_SHIFT);
	ASSERT_EQ(0, twheel_lease_at(self->tw, arm.word, arm.tag, &lease));
	EXPECT_EQ(1, twheel_lease_extend(lease, twheel_now(self->tw) + 2 * FAR));
	ASSERT_EQ(0, twheel_get(self->tw, arm.handle, &info));
	EXPECT_EQ(arm.word, info.word);
	EXPECT_LE(FAR, info.remaining);
	EXPECT_EQ(-EINVAL, twheel_lease_at(self->tw, 15U << WHEEL_SHIFT | 1, 0, &lease));
	EXPECT_EQ(0, twheel_cancel(self->tw, arm.handle, NULL));
	EXPECT_EQ(1, twheel_lease_expired(lease));
}

static void *note_wheel(void *tw)
{
	return (void *)(uintptr_t)own_wheel(tw);
}

static void *read_one(void *tw)
{
	struct twheel_event event;

	return (void *)(intptr_t)twheel_read(tw, &event, 1);
}

/* Threads have wheels in turn as they make timers: the 15 in between take nobody's place. */
TEST_F(shards, readers_have_no_wheel)
{
	pthread_t thread;
	void *got[17];
	int i;

	for (i = 0; i < 17; i++) {
		ASSERT_EQ(0, pthread_create(&thread, NULL, i % 16 ? read_one : note_wheel,
					    self->tw));
		ASSERT_EQ(0, pthread_join(thread, &got[i]));
	}
	EXPECT_EQ(-EAGAIN, (int)(intptr_t)got[1]);
	EXPECT_NE(got[0], got[16]);
}

/* A call that has records of several wheels, or is full before the last one, counts once. */
TEST_F(shards, reads_are_counted)
{
	struct twheel_arm there[3] = { { .expires = FAR }, { .expires = FAR }, { .expires = FAR } };
	struct twheel_counters counters;
	struct twheel_event events[3];
	int i;

	ASSERT_TRUE(armed_elsewhere(self->tw, there, 3));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, twheel_arm_at(self->tw, 1, 0, NULL));
		ASSERT_EQ(0, twheel_push(self->tw, there[i].handle, 1));
		ASSERT_EQ(i < 2 ? 2 : 1, twheel_read(self->tw, events, 3 - i));
	}
	EXPECT_EQ(1, twheel_read(self->tw, events, 3));
	EXPECT_EQ(-EAGAIN, twheel_read(self->tw, events, 3));
	ASSERT_EQ(0, twheel_stats(self->tw, &counters, sizeof(counters)));
	EXPECT_EQ(6, counters.read);
	EXPECT_EQ(2, counters.read_a_call[1]);
	EXPECT_EQ(2, counters.read_a_call[2]);
}

/* A program that is told of one wheel all the time learns of the others, too. */
TEST_F(shards, none_is_read_last)
{
	struct twheel_event event = { };
	int reads;

	ASSERT_EQ(0, twheel_push(self->tw, self->there.handle, 1));
	for (reads = 0; event.user_data != 1 && reads < 1000; reads++) {
		ASSERT_EQ(0, twheel_arm_at(self->tw, 1, 2, NULL));
		ASSERT_EQ(0, twheel_arm_at(self->tw, 1, 2, NULL));
		ASSERT_EQ(1, twheel_read(self->tw, &event, 1));
	}
	EXPECT_EQ(1, event.user_data);
}

/* Nor where the first one tells of steps: key 0, which is always due, is in that. */
TEST(none_is_read_last_on_wall_time)
{
	struct twheel_config config = {
		.clock = TWHEEL_CLOCK_REALTIME,
		.flags = TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_CANCEL_ON_SET,
	};
	struct twheel_event event;
	int reads, left = 63;
	struct twheel *tw;
	uint64_t key;

	ASSERT_EQ(0, twheel_open(&tw, NULL, FLAGS, &config));
	for (key = 1; key <= 63; key++)
		ASSERT_EQ(0, twheel_put_at(tw, key, 1, key, NULL));
	for (reads = 0; left && reads < 20000; reads++) {
		ASSERT_EQ(0, twheel_put_at(tw, 0, 1, 0, NULL));
		ASSERT_EQ(1, twheel_read(tw, &event, 1));
		left -= event.user_data > 0;
	}
	EXPECT_EQ(0, left);
	twheel_close(tw);
}

TEST_F(shards, clock_stands_still)
{
	struct twheel_event events[2];
	struct twheel_info info;
	uint64_t now = twheel_now(self->tw);

	ASSERT_EQ(0, twheel_set_now(self->tw, now + FAR / 2));
	EXPECT_EQ(now + FAR / 2, twheel_now(self->tw));
	EXPECT_EQ(-EAGAIN, twheel_read(self->tw, events, 2));
	ASSERT_EQ(0, twheel_set_now(self->tw, now + 2 * FAR));
	ASSERT_EQ(0, twheel_get_info(self->tw, TWHEEL_INFO_NEXT, &info));
	EXPECT_EQ(2, info.ready);
	EXPECT_EQ(TWHEEL_NO_EXPIRY, info.next_expiry);
	EXPECT_EQ(2, twheel_read(self->tw, events, 2));
}

TEST_F(shards, child_takes_all_over)
{
	struct twheel_event event;
	pid_t pid;

	ASSERT_FORKED(pid);
	if (!pid) {
		if (twheel_cancel(self->tw, self->there.handle, NULL) != -ECHILD)
			_exit(1);
		twheel_take_over(self->tw);
		_exit(twheel_cancel(self->tw, self->here, NULL) ||
		      twheel_push(self->tw, self->there.handle, 1) ||
		      twheel_read(self->tw, &event, 1) != 1 || event.user_data != 1);
	}
	EXPECT_TRUE(well(pid));
	EXPECT_EQ(2, live(self->tw));
}

/* A thread that reads while another one is about to empty the eventfd */
static struct {
	struct twheel	*tw;
	pthread_t	thread;
	unsigned int	polls;
} late;

/* What the library calls: see the Makefile. */
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *time, const sigset_t *mask)
{
	__atomic_fetch_add(&late.polls, 1, __ATOMIC_RELAXED);
	return __real_ppoll(fds, n, time, mask);
}

long __wrap_syscall(long nr, ...)
{
	long args[6];
	va_list list;
	int i;

	va_start(list, nr);
	for (i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (nr == SYS_read && late.tw) {
		pthread_create(&late.thread, NULL, read_one, late.tw);
		late.tw = NULL;
		usleep(50000);
	}
	return __real_syscall(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}

/* It waits for the lock: to try again and again would keep others from letting go of that. */
TEST(waits_for_the_lock)
{
	struct twheel_event event;
	struct twheel *tw;
	unsigned int polls;
	void *got;

	ASSERT_EQ(0, twheel_open(&tw, NULL, FLAGS & ~TWHEEL_OPEN_NONBLOCK, NULL));
	ASSERT_EQ(0, twheel_arm_at(tw, 1, 1, NULL));
	/* In a process with one thread nobody takes the lock. */
	ASSERT_EQ(0, pthread_create(&late.thread, NULL, note_wheel, tw));
	ASSERT_EQ(0, pthread_join(late.thread, NULL));
	late.tw = tw;
	ASSERT_EQ(1, twheel_read(tw, &event, 1));
	polls = __atomic_load_n(&late.polls, __ATOMIC_RELAXED);
	ASSERT_EQ(NULL, late.tw);
	EXPECT_GE(2, polls);
	ASSERT_EQ(0, twheel_arm_at(tw, 1, 1, NULL));
	ASSERT_EQ(0, pthread_join(late.thread, &got));
	EXPECT_EQ(1, (int)(intptr_t)got);
	twheel_close(tw);
}

static unsigned int settings;

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *to,
			   struct itimerspec *from)
{
	settings++;
	return __real_timerfd_settime(fd, flags, to, from);
}

/* Wall time may be set back, but a timerfd is only set again if that is needed. */
static bool sets_no_timerfd(unsigned int flags)
{
	struct twheel_config config = {
		.clock = TWHEEL_CLOCK_REALTIME, .flags = TWHEEL_CONFIG_KEYED,
	};
	struct twheel_event event;
	struct twheel *tw;
	uint64_t key;
	bool in_vain;

	settings = 0;
	if (twheel_open(&tw, NULL, flags, &config))
		return false;
	for (key = 0; key < 64; key++)
		twheel_put_at(tw, key, twheel_now(tw) + FAR, 0, NULL);
	in_vain = settings;
	settings = 0;
	in_vain &= twheel_read(tw, &event, 1) == -EAGAIN && !settings;
	twheel_close(tw);
	return in_vain;
}

TEST(reads_in_vain_on_wall_time)
{
	EXPECT_TRUE(sets_no_timerfd(FLAGS));
	EXPECT_TRUE(sets_no_timerfd(FLAGS & ~TWHEEL_OPEN_THREADS));
}

/* A key is one timer, whoever arms it. */
TEST(keys)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_KEYED };
	struct twheel_arm arms[100];
	struct twheel *tw;
	uint64_t key;

	ASSERT_EQ(0, twheel_open(&tw, NULL, FLAGS, &config));
	for (key = 0; key < 100; key++)
		arms[key] = (struct twheel_arm){ .handle = key, .expires = FAR };
	ASSERT_TRUE(armed_elsewhere(tw, arms, 100));
	ASSERT_EQ(100, twheel_arm_batch(tw, arms, 100));
	for (key = 0; key < 100; key++) {
		EXPECT_EQ(TWHEEL_STATE_PENDING, arms[key].old_state);
		EXPECT_EQ(key, arms[key].handle);
	}
	EXPECT_EQ(100, live(tw));
	EXPECT_EQ(0, twheel_cancel(tw, 7, NULL));
	EXPECT_EQ(-ENOENT, twheel_cancel(tw, 7, NULL));
	twheel_close(tw);
}

/* Whichever bits of keys differ they are in all wheels: the words of leases tell in which ones. */
TEST(keys_are_spread)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE };
	struct twheel_arm arm;
	unsigned int shift, in_first;
	struct twheel *tw;
	uint64_t i;

	ASSERT_EQ(0, twheel_open(&tw, NULL, FLAGS, &config));
	for (shift = 0; shift < 58; shift++) {
		for (in_first = 0, i = 1; i < 64; i++) {
			arm = (struct twheel_arm){ .handle = i << shift, .expires = FAR,
						   .flags = TWHEEL_ARM_LEASE };
			ASSERT_EQ(0, twheel_arm(tw, &arm));
			in_first += !wheel_of(arm.word);
		}
		EXPECT_LT(0, in_first);
		EXPECT_GT(48, in_first);
	}
	twheel_close(tw);
}

/* A limit is that of all wheels, and what ends in one of them makes room in another. */
TEST(limit)
{
	struct twheel_config config = { .limit = 10 };
	struct twheel_arm arms[10] = { };
	struct twheel_info info;
	struct twheel *tw;
	uint64_t handle;
	int i;

	for (i = 0; i < 10; i++)
		arms[i].expires = FAR;
	ASSERT_EQ(0, twheel_open(&tw, NULL, FLAGS, &config));
	ASSERT_TRUE(armed_elsewhere(tw, arms, 6));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, twheel_arm_after(tw, FAR, 0, &handle));
	EXPECT_EQ(-ENOSPC, twheel_arm_after(tw, FAR, 0, NULL));
	EXPECT_FALSE(armed_elsewhere(tw, &arms[6], 1));
	EXPECT_EQ(-ENOSPC, arms[6].result);
	EXPECT_EQ(0, twheel_cancel(tw, arms[0].handle, NULL));
	EXPECT_EQ(0, twheel_arm_after(tw, FAR, 0, NULL));
	EXPECT_EQ(0, twheel_cancel(tw, handle, NULL));
	EXPECT_TRUE(armed_elsewhere(tw, &arms[6], 1));
	EXPECT_EQ(-ENOSPC, twheel_arm_after(tw, FAR, 0, NULL));
	ASSERT_EQ(0, twheel_get_info(tw, 0, &info));
	EXPECT_EQ(10, info.pending);
	EXPECT_EQ(10, info.limit);
	twheel_close(tw);

	/* Without one it is that of a context which has one wheel. */
	ASSERT_EQ(0, twheel_open(&tw, NULL, FLAGS & ~TWHEEL_OPEN_THREADS, NULL));
	ASSERT_EQ(0, twheel_get_info(tw, 0, &info));
	config.limit = info.limit + 1;
	twheel_close(tw);
	EXPECT_EQ(-EINVAL, twheel_open(&tw, NULL, FLAGS, &config));
	config.limit--;
	ASSERT_EQ(0, twheel_open(&tw, NULL, FLAGS, &config));
	twheel_close(tw);
	ASSERT_EQ(0, twheel_open(&tw, NULL, FLAGS, NULL));
	ASSERT_EQ(0, twheel_get_info(tw, 0, &info));
	EXPECT_EQ(config.limit, info.limit);
	twheel_close(tw);
}

/* With too few descriptors there is no context, and all are left. */
TEST(descriptors_run_out)
{
	struct rlimit limit = { 64, 64 };
	struct twheel *tw;
	int fd, left, last = -1;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	while ((fd = dup(0)) >= 0)
		last = fd;
	for (left = 1; left < 40; left++) {
		close(last--);
		if (!twheel_open(&tw, NULL, FLAGS, NULL))
			break;
		EXPECT_EQ(last + 1, dup(0));
		close(last + 1);
	}
	/* A power of two of wheels, with two each */
	EXPECT_TRUE(left == 5 || left == 9 || left == 17 || left == 33);
	EXPECT_EQ(-1, dup(0));
	twheel_close(tw);
	for (fd = 0; fd < left; fd++)
		EXPECT_LE(0, dup(0));
}

TEST_HARNESS_MAIN
