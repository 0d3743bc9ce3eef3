// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU goes offline while what was counted there goes, too. Timers of CPUs that go and come back
 * are in selftests/torture.
 */
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
	int cpus;
};

FIXTURE_SETUP(hotplug)
{
	self->cpus = sysconf(_SC_NPROCESSORS_CONF);
	if (obstacle(self->cpus))
		SETUP_SKIP("%s", obstacle(self->cpus));
}

FIXTURE_TEARDOWN(hotplug)
{
	tw_set_online(1, true);
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
