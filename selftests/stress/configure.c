// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings that change while another thread arms the first timer of a context: the timer has them,
 * or the settings are refused.
 */
#include <pthread.h>
#include <stdio.h>

#include "twheel_test.h"

/* How long each test goes on */
#define DURATION_NS	TW_SEC

/**
 * struct first - two threads that make the first calls on a context
 * @fd: the context
 * @arm: what the other thread arms
 * @meet: where both meet, before these calls and after them
 * @stop: it has been enough
 */
struct first {
	int fd;
	struct twheel_arm arm;
	pthread_barrier_t meet;
	bool stop;
};

static void *arm_leases(void *arg)
{
	struct first *first = arg;

	for (;;) {
		pthread_barrier_wait(&first->meet);
		if (first->stop)
			return NULL;
		tw_call(first->fd, TWHEEL_IOC_ARM, &first->arm);
		pthread_barrier_wait(&first->meet);
	}
}

/* The settings change while a timer is armed that needs them: it has them, or is not armed. */
TEST(settings_against_arming)
{
	__u64 end = tw_now(CLOCK_MONOTONIC) + DURATION_NS;
	struct first first = { };
	struct twheel_timer_info info;
	pthread_t thread;

	ASSERT_EQ(0, pthread_barrier_init(&first.meet, NULL, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, arm_leases, &first));
	while (tw_now(CLOCK_MONOTONIC) < end) {
		ASSERT_OPEN(first.fd);
		ASSERT_EQ(0, tw_configure(first.fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
		first.arm = tw_request(TW_FAR, TWHEEL_ARM_LEASE, 1);
		pthread_barrier_wait(&first.meet);
		tw_configure(first.fd, CLOCK_MONOTONIC, 0);
		EXPECT_NE(0, tw_arm(first.fd, TW_FAR, 0, 2));
		pthread_barrier_wait(&first.meet);
		if (!first.arm.result) {
			EXPECT_TRUE(tw_info(first.fd).config & TWHEEL_CONFIG_LEASE);
			EXPECT_EQ(0, tw_get(first.fd, first.arm.handle, &info));
		}
		close(first.fd);
	}
	first.stop = true;
	pthread_barrier_wait(&first.meet);
	pthread_join(thread, NULL);
}

/*
 * A thread that configures a context anew, and uses it, while another thread arms a timer
 * there.
 */
struct rival {
	pthread_t thread;
	int fd;
	__u32 flags;
	__u64 begun, done;
	int configured;
	struct twheel_arm arm;
};

static void await(const __u64 *counter, __u64 value)
{
	while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < value)
		sched_yield();
}

static void *configure(void *arg)
{
	struct rival *r = arg;
	__u64 round;

	for (round = 1;; round++) {
		await(&r->begun, round);
		if (r->fd < 0)
			return NULL;
		r->configured = tw_configure(r->fd, CLOCK_MONOTONIC, r->flags);
		r->arm = tw_request(TW_FAR, 0, 2);
		tw_call(r->fd, TWHEEL_IOC_ARM, &r->arm);
		__atomic_store_n(&r->done, round, __ATOMIC_RELEASE);
	}
}

TEST_F(tw, arm_against_configure)
{
	__u64 end = tw_now(CLOCK_MONOTONIC) + DURATION_NS, round = 0, late = 0;
	struct rival r = { };
	struct twheel_arm arm;

	ASSERT_EQ(0, pthread_create(&r.thread, NULL, configure, &r));
	while (tw_now(CLOCK_MONOTONIC) < end) {
		__u32 flags = round % 2 ? TWHEEL_CONFIG_KEYED : 0;
		__u64 handle = round / 2 % 2 ? 5 : 0;
		bool found;

		ASSERT_OPEN(r.fd);
		ASSERT_EQ(0, tw_configure(r.fd, CLOCK_MONOTONIC, flags));
		r.flags = flags ^ TWHEEL_CONFIG_KEYED;
		__atomic_store_n(&r.begun, ++round, __ATOMIC_RELEASE);
		arm = tw_request_for(handle, TW_FAR, 0, 1);
		tw_call(r.fd, TWHEEL_IOC_ARM, &arm);
		await(&r.done, round);

		/*
		 * Either the arming came first and settled the context, or it met the new
		 * settings.
		 */
		EXPECT_EQ(0, r.arm.result);
		EXPECT_TRUE(!r.configured || (r.configured == -EBUSY && (flags || !handle)));
		/*
		 * A context with plain handles may have been asked for a timer that it does
		 * not have.
		 */
		found = !handle || (flags ? r.configured : !arm.result);
		EXPECT_EQ(found ? 0 : -ENOENT, arm.result);
		EXPECT_TRUE(arm.result || !handle || arm.handle == handle);
		late += !r.configured;
		EXPECT_EQ(!arm.result + (arm.old_state || r.arm.old_state ? 0 : 1),
			  tw_info(r.fd).pending);
		close(r.fd);
	}
	r.fd = -1;
	__atomic_store_n(&r.begun, round + 1, __ATOMIC_RELEASE);
	pthread_join(r.thread, NULL);
	TH_LOG("%llu rounds, configured anew in %llu", round, late);
	EXPECT_LT(0, late);
}

TEST_HARNESS_MAIN
