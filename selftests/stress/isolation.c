// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that nohz_full= or isolcpus= isolates: timers that are armed there live on other
 * CPUs, and no twheel interrupt comes to the isolated ones.
 *
 * Interrupts are counted twice: by the module, and by the kernel's own event for an
 * expiring hrtimer, in a tracing instance of this test.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "twheel_test.h"
#include "twheel_counters.h"

/* In seconds. A guest has more time, so it is known which test hangs. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	240

#define TRACING		"/sys/kernel/tracing/"
#define INSTANCE	TRACING "instances/twheel-isolation/"
#define CPUS_MAX	64

/*
 * Counts the lines with @text in a @file of that CPU in the trace. Returns -1 if it cannot
 * be read.
 */
static long trace_lines(int cpu, const char *file, const char *text)
{
	char path[96], line[512];
	long n = 0;
	FILE *from;

	snprintf(path, sizeof(path), INSTANCE "per_cpu/cpu%d/%s", cpu, file);
	from = fopen(path, "re");
	if (!from)
		return -1;
	while (fgets(line, sizeof(line), from))
		n += !!strstr(line, text);
	fclose(from);
	return n;
}

static bool trace_begin(void)
{
	rmdir(INSTANCE);
	return !mkdir(INSTANCE, 0700) &&
	       !tw_write_file(INSTANCE "buffer_size_kb", "8192") &&
	       !tw_write_file(INSTANCE "events/timer/hrtimer_expire_entry/enable", "1");
}

FIXTURE(isolation)
{
	int fd;
	int cpus;
	int nr_isolated;
	cpu_set_t isolated;
	__u64 before[CPUS_MAX];
};

FIXTURE_SETUP(isolation)
{
	int cpu;

	ASSERT_OPEN(self->fd);
	self->cpus = sysconf(_SC_NPROCESSORS_CONF);
	if (self->cpus > CPUS_MAX)
		self->cpus = CPUS_MAX;
	tw_isolated_cpus(&self->isolated);
	for (cpu = 0; cpu < self->cpus; cpu++)
		self->nr_isolated += !!CPU_ISSET(cpu, &self->isolated);

	if (!self->nr_isolated)
		SETUP_SKIP("no CPU is isolated: boot with nohz_full= or isolcpus=");
	if (tw_counter(0, "interrupts") == ~0ULL)
		SETUP_SKIP("cannot read " TW_COUNTERS);
	if (access(TRACING "instances", W_OK))
		SETUP_SKIP("cannot trace hrtimers");
	ASSERT_TRUE(trace_begin());

	/* From here on expirations are traced. */
	for (cpu = 0; cpu < self->cpus; cpu++)
		self->before[cpu] = tw_counter(cpu, "interrupts");
}

FIXTURE_TEARDOWN(isolation)
{
	int cpu;

	for (cpu = 0; cpu < self->cpus; cpu++)
		tw_set_online(cpu, true);
	close(self->fd);
	rmdir(INSTANCE);
}

/* Adds up both counts of interrupts. Isolated CPUs must have none. */
static void count_interrupts(struct __test_metadata *_metadata,
			     const FIXTURE_DATA(isolation) * self, __u64 *counted, __u64 *traced)
{
	int cpu;

	*counted = 0;
	*traced = 0;
	for (cpu = 0; cpu < self->cpus; cpu++) {
		__u64 by_module = tw_counter(cpu, "interrupts") - self->before[cpu];
		long by_kernel = trace_lines(cpu, "trace", "=twheel_turn");

		ASSERT_LE(0, by_kernel);
		/*
		 * Checks that no event was overwritten or lost: "overrun" and "commit
		 * overrun" are 0.
		 */
		ASSERT_EQ(2, trace_lines(cpu, "stats", "overrun: 0"));
		if (CPU_ISSET(cpu, &self->isolated)) {
			EXPECT_EQ(0, by_module) {
				TH_LOG("isolated CPU %d", cpu);
			}
			EXPECT_EQ(0, by_kernel) {
				TH_LOG("isolated CPU %d", cpu);
			}
		}
		*counted += by_module;
		*traced += by_kernel;
	}
}

/* Expects no interrupts on isolated CPUs by either count, and some on the others. */
static void expect_silence(struct __test_metadata *_metadata,
			   const FIXTURE_DATA(isolation) * self)
{
	__u64 limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC, counted, traced;

	/*
	 * The interrupt that woke this thread may be in one count and not yet in the other.
	 */
	do {
		usleep(10000);
		count_interrupts(_metadata, self, &counted, &traced);
	} while (counted != traced && tw_now(CLOCK_MONOTONIC) < limit);
	EXPECT_LT(0, counted);
	EXPECT_EQ(counted, traced);
	TH_LOG("%llu interrupts, none on the %d isolated CPUs", counted,
	       self->nr_isolated);
}

/* Returns the next isolated CPU after @cpu, or -1. */
static int next_isolated(const FIXTURE_DATA(isolation) * self, int cpu)
{
	while (++cpu < self->cpus)
		if (CPU_ISSET(cpu, &self->isolated))
			return cpu;
	return -1;
}

/*
 * Returns a CPU that is not isolated. One that cannot go offline is fine here, as the first
 * often cannot.
 */
static int housekeeper(const FIXTURE_DATA(isolation) * self)
{
	int cpu;

	for (cpu = 0; CPU_ISSET(cpu, &self->isolated); cpu++)
		;
	return cpu;
}

/*
 * Reads the records of @n one-shot timers, which are numbered from 0. Each must come once,
 * not before its deadline.
 */
static void expect_all(struct __test_metadata *_metadata,
		       const FIXTURE_DATA(isolation) * self, const __u64 *deadlines, int n)
{
	struct twheel_event event;
	bool seen[n];
	int i;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < n; i++) {
		ASSERT_EQ(1, tw_collect(self->fd, &event, 1)) {
			TH_LOG("%d of %d came", i, n);
		}
		ASSERT_GT(n, event.user_data);
		EXPECT_FALSE(seen[event.user_data]);
		seen[event.user_data] = true;
		EXPECT_EQ(deadlines[event.user_data], event.deadline);
		EXPECT_LE(event.deadline, event.expired);
		EXPECT_LE(event.expired, tw_now(CLOCK_MONOTONIC));
	}
	EXPECT_EQ(-EAGAIN, tw_read(self->fd, &event, sizeof(event)));
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

/* Half of the new timers are re-armed: later, earlier, and from other CPUs. */
TEST_F(isolation, armed_and_rearmed)
{
	enum { N = 1000 };
	static __u64 deadlines[N], handles[N];
	__u64 state = 577215, begin;
	struct twheel_arm arm;
	int cpu, i;

	for (cpu = next_isolated(self, -1); cpu >= 0;
	     cpu = next_isolated(self, cpu)) {
		ASSERT_TRUE(tw_pin(cpu));
		begin = tw_now(CLOCK_MONOTONIC) + 100 * TW_MSEC;
		for (i = 0; i < N; i++) {
			/* Some timers are armed on a CPU that is not isolated. */
			if (i == N / 4)
				ASSERT_TRUE(tw_pin(housekeeper(self)));
			if (i == N / 2)
				ASSERT_TRUE(tw_pin(cpu));
			deadlines[i] = begin + tw_random(&state) % TW_SEC;
			ASSERT_ARMED(handles[i], self->fd, deadlines[i], TWHEEL_ARM_ABS, i);
		}
		for (i = 0; i < N; i += 2) {
			arm = tw_request_for(handles[i],
					     begin + TW_SEC / 2 + tw_random(&state) % TW_SEC,
					     TWHEEL_ARM_ABS, i);
			if (tw_call(self->fd, TWHEEL_IOC_ARM, &arm))
				continue;
			deadlines[i] = arm.expires;
		}
		expect_all(_metadata, self, deadlines, N);
	}
	expect_silence(_metadata, self);
}

/*
 * Nothing is due for an hour, and then a timer is armed that is due earlier. The CPU that
 * has the timers must be told, or it would sleep for that hour.
 */
TEST_F(isolation, earlier_than_all_before)
{
	struct twheel_event event;
	struct twheel_arm arm;
	__u64 handle, far;
	int cpu, i;

	for (cpu = next_isolated(self, -1); cpu >= 0;
	     cpu = next_isolated(self, cpu)) {
		ASSERT_TRUE(tw_pin(cpu));
		ASSERT_ARMED(far, self->fd, 3600 * TW_SEC, 0, 0);
		for (i = 1; i <= 50; i++) {
			/* The timer is either armed with this deadline, or moved there. */
			ASSERT_ARMED(handle, self->fd, (i % 2 ? 1800 * TW_SEC : i * TW_MSEC), 0, i);
			if (i % 2) {
				arm = tw_request_for(handle, i * TW_MSEC, 0, i);
				ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
			}
			ASSERT_EQ(1, tw_collect(self->fd, &event, 1)) {
				TH_LOG("%d on CPU %d did not come", i, cpu);
			}
			EXPECT_EQ(i, event.user_data);
			EXPECT_LE(event.deadline, event.expired);
		}
		ASSERT_EQ(0, tw_cancel(self->fd, far));
	}
	expect_silence(_metadata, self);
}

/* Isolated CPUs do not all burden the same one of the others. */
TEST_F(isolation, spread_over_the_others)
{
	int cpu, other, used = 0, nr_others = sysconf(_SC_NPROCESSORS_ONLN) - self->nr_isolated;
	__u64 before[CPUS_MAX], deadlines[1];

	if (self->nr_isolated < 2 || nr_others < 2)
		SKIP(return, "there are too few CPUs of either kind");
	for (cpu = 0; cpu < self->cpus; cpu++)
		before[cpu] = tw_counter(cpu, "expired");
	for (cpu = next_isolated(self, -1); cpu >= 0;
	     cpu = next_isolated(self, cpu)) {
		ASSERT_TRUE(tw_pin(cpu));
		deadlines[0] = tw_now(CLOCK_MONOTONIC) + 100 * TW_MSEC;
		ASSERT_NE(0, tw_arm(self->fd, deadlines[0], TWHEEL_ARM_ABS, 0));
		expect_all(_metadata, self, deadlines, 1);
	}
	for (other = 0; other < self->cpus; other++)
		used += !CPU_ISSET(other, &self->isolated) &&
			tw_counter(other, "expired") != before[other];
	EXPECT_EQ(self->nr_isolated < nr_others ? self->nr_isolated : nr_others, used) {
		TH_LOG("%d isolated CPUs, %d others, of which %d had timers to expire",
		       self->nr_isolated, nr_others, used);
	}
	expect_silence(_metadata, self);
}

/* The next round of a periodic timer is armed on the CPU where it is read. */
TEST_F(isolation, periodic)
{
	enum { N = 20, ROUNDS = 50 };
	__u64 rounds[N], events = 0;
	struct twheel_event event;
	struct twheel_arm arm;
	int cpu, i, ended;

	for (cpu = next_isolated(self, -1); cpu >= 0;
	     cpu = next_isolated(self, cpu)) {
		ASSERT_TRUE(tw_pin(cpu));
		memset(rounds, 0, sizeof(rounds));
		for (i = 0; i < N; i++) {
			arm = tw_request((10 + i) * TW_MSEC, 0, i);
			arm.interval = (10 + i) * TW_MSEC;
			arm.count = ROUNDS;
			ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
		}
		for (ended = 0; ended < N; events++) {
			ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
			ASSERT_GT(N, event.user_data);
			EXPECT_LE(event.deadline, event.expired);
			rounds[event.user_data] += event.expirations;
			ended += !!(event.flags & TWHEEL_EVENT_LAST);
		}
		for (i = 0; i < N; i++)
			EXPECT_EQ(ROUNDS, rounds[i]);
		EXPECT_EQ(0, tw_info(self->fd).pending);
	}
	EXPECT_LT(N, events);
	expect_silence(_metadata, self);
}

/* CPUs of either kind go offline and come back, while timers are due. */
TEST_F(isolation, hotplug)
{
	enum { N = 500 };
	static __u64 deadlines[N];
	int cpu, other, i, gone = 0;
	__u64 state = 141421;

	for (cpu = next_isolated(self, -1); cpu >= 0;
	     cpu = next_isolated(self, cpu)) {
		for (other = 0; other < self->cpus; other++) {
			/* Without it isolated CPUs have timers: see below. */
			if (self->nr_isolated == self->cpus - 1 && other == housekeeper(self))
				continue;
			ASSERT_TRUE(tw_pin(cpu));
			for (i = 0; i < N; i++) {
				deadlines[i] = tw_now(CLOCK_MONOTONIC) +
					       tw_random(&state) % (600 * TW_MSEC);
				ASSERT_NE(0, tw_arm(self->fd, deadlines[i],
						    TWHEEL_ARM_ABS, i));
			}
			/* It may be this thread's own CPU, so move away from it. */
			ASSERT_TRUE(tw_pin(housekeeper(self)));
			gone += !tw_set_online(other, false);
			ASSERT_TRUE(tw_pass(300 * TW_MSEC));
			tw_set_online(other, true);
			expect_all(_metadata, self, deadlines, N);
		}
	}
	if (!gone)
		TH_LOG("no CPU could be taken offline");
	expect_silence(_metadata, self);
}

/*
 * An isolated CPU has timers while no other CPU is online. When one comes online they are
 * handed over: by the interrupt that would have taken them.
 */
TEST_F(isolation, handed_over_when_another_comes_online)
{
	int here = next_isolated(self, -1), other;
	__u64 expired, interrupts;
	struct twheel_event event;

	other = housekeeper(self);
	if (self->nr_isolated != self->cpus - 1 || tw_set_online(other, false))
		SKIP(return, "takes just one CPU that is not isolated, and that can go offline");
	ASSERT_TRUE(tw_pin(here));
	ASSERT_NE(0, tw_arm(self->fd, TW_MSEC, 0, 1));
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	ASSERT_NE(0, tw_arm(self->fd, 10 * TW_SEC, 0, 2));
	expired = tw_counter(here, "expired");
	EXPECT_LT(self->before[here], tw_counter(here, "interrupts"));

	ASSERT_EQ(0, tw_set_online(other, true));
	interrupts = tw_counter(here, "interrupts");
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	EXPECT_EQ(2, event.user_data);
	EXPECT_LE(event.deadline, event.expired);
	EXPECT_EQ(expired, tw_counter(here, "expired"));
	EXPECT_GE(interrupts + 1, tw_counter(here, "interrupts"));
}

TEST_HARNESS_MAIN
