// SPDX-License-Identifier: GPL-2.0-only
/*
 * Races: calls against expiry, calls against reads, calls against each other.
 *
 * Each test runs a load for TWHEEL_STRESS_SECONDS (5), which accounts for every arming: see
 * load.h for the results that it checks.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "twheel_test.h"
#include "load.h"

/* There is no limit to how long a user may want to run these tests. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	(24 * 3600)

static int cpus(void)
{
	int n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 2 ? 2 : n > 4 ? 4 : n;
}

static void let_pass(int seconds)
{
	__u64 end = tw_now(CLOCK_MONOTONIC) + seconds * TW_SEC;

	while (tw_now(CLOCK_MONOTONIC) < end)
		tw_pass(100 * TW_MSEC);
}

static struct load load;

/* Runs @mix, and checks and prints the results. */
static void run(struct __test_metadata *_metadata, const struct load_mix *mix)
{
	ASSERT_EQ(0, load_begin(&load, mix));
	let_pass(load_seconds());
	EXPECT_EQ(0, load_end(&load)) {
		TH_LOG("%d errors; the first: %s", load.errors, load.first_error);
	}
	TH_LOG("%llu armings: %llu cancelled, %llu superseded, %llu drained",
	       load.nr_armings - 1, load.cancelled, load.superseded, load.drained);
	TH_LOG("%llu delivered, %llu expirations", load.delivered, load.expirations);
}

TEST_F(tw, cancel_against_expire)
{
	struct load_mix mix = {
		.workers = cpus(), .readers = 1, .pinned = true,
		.spread_ns = 3 * TW_MSEC, .cancel = 8, .leave = 1,
	};

	run(_metadata, &mix);
	EXPECT_LT(0, load.cancelled);
	EXPECT_LT(0, load.delivered);
}

TEST_F(tw, rearm_against_expire)
{
	struct load_mix mix = {
		.workers = cpus(), .readers = 1, .pinned = true,
		.spread_ns = 5 * TW_MSEC, .rearm = 10, .leave = 1,
	};

	run(_metadata, &mix);
	EXPECT_LT(0, load.superseded);
	EXPECT_LT(0, load.delivered);
}

TEST_F(tw, push_against_expire)
{
	struct load_mix mix = {
		.workers = cpus(), .readers = 2, .periodic = 3,
		.spread_ns = 4 * TW_MSEC, .push = 2, .cancel = 1, .rearm = 1, .leave = 4,
	};

	run(_metadata, &mix);
	EXPECT_LT(0, load.delivered);
}

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
	__u64 end = tw_now(CLOCK_MONOTONIC) + load_seconds() * TW_SEC;
	struct first first = { };
	struct twheel_timer_info info;
	pthread_t thread;

	ASSERT_EQ(0, pthread_barrier_init(&first.meet, NULL, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, arm_leases, &first));
	while (tw_now(CLOCK_MONOTONIC) < end) {
		first.fd = tw_open();
		ASSERT_LE(0, first.fd);
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

/* Timers are re-armed between near and far buckets, on their own CPU and on others. */
TEST_F(tw, rearm_near_and_far)
{
	struct load_mix mix = {
		.workers = cpus(), .readers = 1,
		.spread_ns = 10 * TW_MSEC, .far = 2, .rearm = 10, .cancel = 1,
	};

	run(_metadata, &mix);
	EXPECT_LT(0, load.superseded);
	EXPECT_LT(0, load.delivered);
}

TEST_F(tw, several_readers)
{
	struct load_mix mix = {
		.workers = cpus(), .readers = 4,
		.spread_ns = 2 * TW_MSEC, .cancel = 2, .rearm = 2, .leave = 6,
	};

	run(_metadata, &mix);
	EXPECT_LT(0, load.delivered);
}

TEST_F(tw, workers_share_their_timers)
{
	struct load_mix mix = {
		.workers = cpus() + 2, .readers = 2, .shared = true, .pinned = true,
		.spread_ns = 2 * TW_MSEC, .far = 4, .cancel = 3, .rearm = 5,
	};

	run(_metadata, &mix);
	EXPECT_LT(0, load.cancelled);
	EXPECT_LT(0, load.superseded);
	EXPECT_LT(0, load.delivered);
}

TEST_F(tw, periodic_timers_and_cancels)
{
	struct load_mix mix = {
		.workers = 2, .readers = 1, .pinned = true, .periodic = 1,
		.spread_ns = 4 * TW_MSEC, .cancel = 3, .rearm = 1, .leave = 1,
	};

	run(_metadata, &mix);
	EXPECT_LT(0, load.cancelled);
	EXPECT_LT(load.delivered, load.expirations);
}

TEST_F(tw, drain_against_expire_and_read)
{
	struct load_mix mix = {
		.workers = cpus(), .readers = 1, .drainers = 2,
		.spread_ns = 4 * TW_MSEC, .far = 4, .cancel = 1, .rearm = 2, .leave = 4,
	};

	run(_metadata, &mix);
	EXPECT_LT(0, load.drained);
	EXPECT_LT(0, load.delivered);
}

TEST_F(tw, everything_at_once)
{
	struct load_mix mix = {
		.workers = cpus() + 1, .readers = 2, .drainers = 1, .periodic = 6,
		.spread_ns = 50 * TW_MSEC, .far = 5, .cancel = 3, .rearm = 4, .leave = 2,
	};

	run(_metadata, &mix);
}

/*
 * A thread that cancels the same timers as others while they expire: one of them wins, or
 * the record does.
 */
struct contender {
	pthread_t thread;
	int fd;
	const __u64 *handles;
	unsigned int *won;
	int n, first;
	int *go, wrong;
};

static void *contend(void *arg)
{
	struct contender *c = arg;
	int i, j, ret;

	while (!__atomic_load_n(c->go, __ATOMIC_SEQ_CST))
		;
	for (i = 0; i < c->n; i++) {
		j = (c->first + i) % c->n;
		ret = tw_cancel(c->fd, c->handles[j]);
		if (!ret)
			__atomic_add_fetch(&c->won[j], 1, __ATOMIC_SEQ_CST);
		else if (ret != -ENOENT)
			c->wrong++;
	}
	return NULL;
}

TEST_F(tw, one_of_many_cancels_wins)
{
	enum { N = 200 };
	__u64 end = tw_now(CLOCK_MONOTONIC) + load_seconds() * TW_SEC;
	__u64 handles[N], state = 3, cancelled = 0, delivered = 0;
	struct twheel_event events[N];
	struct contender c[3];
	unsigned int won[N];
	int go, i, got;

	while (tw_now(CLOCK_MONOTONIC) < end) {
		memset(won, 0, sizeof(won));
		go = 0;
		for (i = 0; i < 3; i++) {
			c[i] = (struct contender){
				.fd = self->fd, .handles = handles, .won = won,
				.n = N, .first = i * 5, .go = &go,
			};
			ASSERT_EQ(0, pthread_create(&c[i].thread, NULL, contend, &c[i]));
		}
		for (i = 0; i < N; i++) {
			handles[i] = tw_arm(self->fd, tw_random(&state) % (5 * TW_MSEC), 0, i);
			ASSERT_NE(0, handles[i]);
		}
		__atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
		got = 0;
		while (tw_info(self->fd).pending || tw_info(self->fd).ready) {
			ssize_t ret = tw_read(self->fd, events + got,
					      (N - got) * sizeof(events[0]));

			if (ret > 0)
				got += ret / sizeof(events[0]);
		}
		for (i = 0; i < 3; i++) {
			pthread_join(c[i].thread, NULL);
			ASSERT_EQ(0, c[i].wrong);
		}
		for (i = 0; i < got; i++)
			won[events[i].user_data]++;
		for (i = 0; i < N; i++)
			ASSERT_EQ(1, won[i]);
		delivered += got;
		cancelled += N - got;
	}
	TH_LOG("%llu cancelled, %llu delivered", cancelled, delivered);
	EXPECT_LT(0, cancelled);
	EXPECT_LT(0, delivered);
}

struct user {
	pthread_t thread;
	int fd, kind;
	bool *stop;
	__u64 calls;
	int wrong;
};

/* Makes all kinds of calls on a descriptor that another thread replaces meanwhile. */
static void *use(void *arg)
{
	struct twheel_timer_info entries[16];
	struct twheel_event events[16];
	struct user *u = arg;
	__u64 handle = 0, state = 0x9e3779b97f4a7c15ULL + u->kind;
	struct twheel_list list;
	struct twheel_arm arm;
	int ret = 0;

	while (!__atomic_load_n(u->stop, __ATOMIC_SEQ_CST)) {
		switch (u->kind % 4) {
		case 0:
			arm = tw_request(tw_random(&state) % (2 * TW_MSEC), 0, 0);
			arm.interval = tw_random(&state) % 3 ? 0 : TW_MSEC;
			arm.handle = tw_random(&state) % 2 ? handle : 0;
			ret = tw_call(u->fd, TWHEEL_IOC_ARM, &arm);
			handle = ret ? 0 : arm.handle;
			break;
		case 1:
			handle = tw_arm(u->fd, TW_MSEC, 0, 0);
			ret = tw_cancel(u->fd, handle);
			break;
		case 2:
			ret = tw_poll(u->fd, 1) ? tw_read(u->fd, events, sizeof(events)) : 0;
			break;
		case 3:
			list = (struct twheel_list){
				.entries = (unsigned long)entries, .count = 16,
				.flags = tw_random(&state) % 2,
			};
			ret = tw_call(u->fd, TWHEEL_IOC_LIST, &list);
			break;
		}
		u->calls++;
		/*
		 * A new context has just been put in place, and does not know the handle.
		 */
		if (ret < 0 && ret != -ENOENT && ret != -EAGAIN && ret != -ENOSPC &&
		    ret != -EDQUOT)
			u->wrong = ret;
	}
	return NULL;
}

TEST_F(tw, close_against_everything)
{
	enum { USERS = 8 };
	__u64 end = tw_now(CLOCK_MONOTONIC) + load_seconds() * TW_SEC;
	__u64 base = tw_info(self->fd).user_timers, closes = 0, limit;
	struct user u[USERS];
	bool stop = false;
	int fd, i;

	fd = tw_open();
	ASSERT_LE(0, fd);
	for (i = 0; i < USERS; i++) {
		u[i] = (struct user){ .fd = fd, .kind = i, .stop = &stop };
		ASSERT_EQ(0, pthread_create(&u[i].thread, NULL, use, &u[i]));
	}
	while (tw_now(CLOCK_MONOTONIC) < end) {
		int other = tw_open();

		ASSERT_LE(0, other);
		/* The context that was there ends when its last call returns. */
		ASSERT_EQ(fd, dup3(other, fd, O_CLOEXEC));
		close(other);
		closes++;
		if (closes % 8 == 0)
			tw_pass(2 * TW_MSEC);
	}
	__atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < USERS; i++) {
		pthread_join(u[i].thread, NULL);
		EXPECT_EQ(0, u[i].wrong);
		EXPECT_LT(0, u[i].calls);
	}
	close(fd);
	limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	while (tw_info(self->fd).user_timers != base && tw_now(CLOCK_MONOTONIC) < limit)
		sched_yield();
	EXPECT_EQ(base, tw_info(self->fd).user_timers);
	TH_LOG("%llu closes", closes);
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
	__u64 end = tw_now(CLOCK_MONOTONIC) + load_seconds() * TW_SEC, round = 0, late = 0;
	struct rival r = { };
	struct twheel_arm arm;

	ASSERT_EQ(0, pthread_create(&r.thread, NULL, configure, &r));
	while (tw_now(CLOCK_MONOTONIC) < end) {
		__u32 flags = round % 2 ? TWHEEL_CONFIG_KEYED : 0;
		__u64 handle = round / 2 % 2 ? 5 : 0;
		bool found;

		r.fd = tw_open();
		ASSERT_LE(0, r.fd);
		ASSERT_EQ(0, tw_configure(r.fd, CLOCK_MONOTONIC, flags));
		r.flags = flags ^ TWHEEL_CONFIG_KEYED;
		__atomic_store_n(&r.begun, ++round, __ATOMIC_RELEASE);
		arm = tw_request(TW_FAR, 0, 1);
		arm.handle = handle;
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
