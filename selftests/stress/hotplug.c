// SPDX-License-Identifier: GPL-2.0-only
/* CPUs go offline and come back, with timers on them. */
#include <pthread.h>
#include <stdio.h>

#include "twheel_test.h"
#include "users.h"

/* Returns why the tests cannot run on this machine, or NULL. */
static const char *obstacle(int cpus)
{
	if (geteuid() != 0)
		return "needs root";
	if (cpus < 2)
		return "needs two CPUs";
	if (tw_set_online(1, true))
		return "CPUs cannot be taken offline here";
	return NULL;
}

FIXTURE(hotplug)
{
	int fd;
	int cpus;
};

FIXTURE_SETUP(hotplug)
{
	self->cpus = sysconf(_SC_NPROCESSORS_CONF);
	if (obstacle(self->cpus))
		SETUP_SKIP("%s", obstacle(self->cpus));
	ASSERT_OPEN(self->fd);
}

FIXTURE_TEARDOWN(hotplug)
{
	int cpu;

	for (cpu = 1; cpu < self->cpus; cpu++)
		tw_set_online(cpu, true);
	close(self->fd);
}

/* Timers are armed on one CPU, which goes offline at each stage of their lives. */
TEST_F(hotplug, timers_of_a_cpu_that_goes)
{
	enum { N = 2000 };
	static struct twheel_event events[N];
	static __u64 deadlines[N];
	static unsigned int seen[N];
	__u64 state = 271828, now, begin, late = 0;
	int cpu, back, i;

	for (cpu = 1; cpu < self->cpus; cpu++) {
		for (back = 0; back < 3; back++) {
			ASSERT_EQ(0, tw_set_online(cpu, true));
			ASSERT_TRUE(tw_pin(cpu));
			memset(seen, 0, sizeof(seen));
			begin = tw_now(CLOCK_MONOTONIC);
			for (i = 0; i < N; i++) {
				deadlines[i] = begin + tw_random(&state) % (1500 * TW_MSEC);
				ASSERT_NE(0, tw_arm(self->fd, deadlines[i], TWHEEL_ARM_ABS, i));
			}
			ASSERT_TRUE(tw_pin(0));
			/*
			 * The CPU goes offline while timers expire, and in some rounds
			 * comes back meanwhile.
			 */
			ASSERT_TRUE(tw_pass((200 + 300 * back) * TW_MSEC));
			ASSERT_EQ(0, tw_set_online(cpu, false));
			if (back == 1)
				ASSERT_EQ(0, tw_set_online(cpu, true));
			/*
			 * Read one at a time, so that a record that comes early is noticed
			 * at once.
			 */
			for (i = 0; i < N; i++) {
				ASSERT_EQ(1, tw_collect(self->fd, events, 1)) {
					TH_LOG("CPU %d: %d of %d came", cpu, i, N);
				}
				now = tw_now(CLOCK_MONOTONIC);
				ASSERT_GT(N, events[0].user_data);
				EXPECT_EQ(deadlines[events[0].user_data], events[0].deadline);
				EXPECT_LE(events[0].deadline, events[0].expired);
				EXPECT_LE(events[0].expired, now);
				EXPECT_EQ(1, ++seen[events[0].user_data]);
				if (events[0].expired - events[0].deadline > late)
					late = events[0].expired - events[0].deadline;
			}
			EXPECT_EQ(-EAGAIN, tw_read(self->fd, events, sizeof(events)));
			EXPECT_EQ(0, tw_info(self->fd).pending);
		}
	}
	TH_LOG("latest: %llu ms", late / TW_MSEC);
}

/* Timers of a CPU that is offline can be cancelled and re-armed. */
TEST_F(hotplug, calls_on_timers_of_a_cpu_that_went)
{
	enum { N = 1000 };
	static __u64 handles[N];
	struct twheel_event event;
	struct twheel_arm arm;
	int cpu, i, round, near = 0;

	for (cpu = 1; cpu < self->cpus; cpu++) {
		for (round = 0; round < 2; round++) {
			ASSERT_EQ(0, tw_set_online(cpu, true));
			ASSERT_TRUE(tw_pin(cpu));
			for (i = 0; i < N; i++)
				ASSERT_ARMED(handles[i], self->fd, TW_FAR + i * TW_MSEC, 0, i);
			ASSERT_TRUE(tw_pin(0));
			ASSERT_EQ(0, tw_set_online(cpu, false));
			if (round)
				ASSERT_EQ(0, tw_set_online(cpu, true));
			EXPECT_EQ(N, tw_info(self->fd).pending);
			for (i = 0, near = 0; i < N; i++) {
				if (i % 3 == 0) {
					EXPECT_EQ(0, tw_cancel(self->fd, handles[i]));
					continue;
				}
				near += i % 3 == 1;
				arm = tw_request_for(handles[i],
						     i % 3 == 1 ? 20 * TW_MSEC : 2 * TW_FAR, 0, i);
				EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
				EXPECT_EQ(TWHEEL_STATE_PENDING, arm.old_state);
			}
			for (; near; near--) {
				ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
				EXPECT_EQ(1, event.user_data % 3);
				EXPECT_LE(event.deadline, event.expired);
			}
			EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
			for (i = 2; i < N; i += 3)
				EXPECT_EQ(0, tw_cancel(self->fd, handles[i]));
			EXPECT_EQ(0, tw_info(self->fd).pending);
		}
	}
}

/* A CPU that is back takes timers again, even if an old one is still due there. */
TEST_F(hotplug, a_cpu_that_is_back)
{
	struct twheel_event event;
	__u64 deadline, handle;
	int cpu, i;

	for (cpu = 1; cpu < self->cpus; cpu++) {
		for (i = 0; i < 4; i++) {
			ASSERT_TRUE(tw_pin(cpu));
			/*
			 * This timer stays behind on the CPU: it is due soon or in an hour.
			 */
			ASSERT_ARMED(handle, self->fd, i % 2 ? 3600 * TW_SEC : 300 * TW_MSEC, 0, 1);
			ASSERT_TRUE(tw_pin(0));
			ASSERT_EQ(0, tw_set_online(cpu, false));
			if (i / 2)
				ASSERT_EQ(0, tw_cancel(self->fd, handle));
			ASSERT_EQ(0, tw_set_online(cpu, true));
			ASSERT_TRUE(tw_pin(cpu));
			deadline = tw_now(CLOCK_MONOTONIC) + 30 * TW_MSEC;
			ASSERT_NE(0, tw_arm(self->fd, deadline, TWHEEL_ARM_ABS, 2));
			ASSERT_TRUE(tw_pin(0));
			do {
				ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
				EXPECT_LE(event.deadline, event.expired);
			} while (event.user_data != 2);
			EXPECT_EQ(deadline, event.deadline);
			if (i == 0)
				tw_collect(self->fd, &event,
					   tw_info(self->fd).pending + tw_info(self->fd).ready);
			else if (i == 1)
				ASSERT_EQ(0, tw_cancel(self->fd, handle));
			EXPECT_EQ(0, tw_info(self->fd).pending);
		}
	}
}

static void *take_offline(void *result)
{
	*(int *)result = tw_set_online(1, false);
	return NULL;
}

/*
 * Users close their last context while the CPU on which their timers were counted goes offline.
 * The module warns in the kernel's log when the count of a user who has left is not 0, and whoever
 * runs the tests looks there.
 */
TEST_F(hotplug, users_who_leave_while_a_cpu_goes)
{
	enum { USERS = 600, ROUNDS = 20, FIRST_UID = 300000 };
	static int fds[USERS];
	pthread_t thread;
	int round, i, ret, closed, left = 0;

	for (round = 0; round < ROUNDS; round++) {
		ASSERT_TRUE(tw_pin(1));
		for (i = 0; i < USERS; i++) {
			fds[i] = open_as(FIRST_UID + i);
			ASSERT_LE(0, fds[i]);
			ASSERT_NE(0, tw_arm(fds[i], TW_FAR, 0, i));
		}
		ASSERT_TRUE(tw_pin(0));
		ret = 1;
		ASSERT_EQ(0, pthread_create(&thread, NULL, take_offline, &ret));
		/* The kernel adds up what the CPU counted some time after it is offline. */
		while (sysconf(_SC_NPROCESSORS_ONLN) == self->cpus &&
		       __atomic_load_n(&ret, __ATOMIC_RELAXED) == 1)
			;
		for (closed = 0; closed < USERS && __atomic_load_n(&ret, __ATOMIC_RELAXED) == 1;
		     closed++)
			close(fds[closed]);
		left += closed;
		ASSERT_EQ(0, pthread_join(thread, NULL));
		EXPECT_EQ(0, ret);
		for (; closed < USERS; closed++)
			close(fds[closed]);
		ASSERT_EQ(0, tw_set_online(1, true));
	}
	TH_LOG("%d of %d users left meanwhile", left, ROUNDS * USERS);
	EXPECT_LT(0, left);
}

TEST_HARNESS_MAIN
