// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters and histograms in debugfs, and tracepoints: does each say exactly what was done?
 * Needs root, and nobody else may use the device meanwhile.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "twheel_test.h"

#define DEBUGFS		"/sys/kernel/debug/twheel/"
#define HEADER		"cpu armed rearmed cancelled expired read cascaded migrated interrupts\n"
/* A trace instance of its own, so that the test disturbs no other tracing. */
#define INSTANCE	"/sys/kernel/tracing/instances/twheel-selftest"

#define CPUS		64
#define BUCKETS		64
#define TIMERS		100

enum {
	ARMED, REARMED, CANCELLED, EXPIRED, READ, CASCADED, MIGRATED, INTERRUPTS,
	COUNTERS,
};

enum {
	LATENESS, EXPIRED_A_RUN, READ_A_CALL,
	HISTOGRAMS,
};

/* The contents of the files. CPUs with higher numbers are ignored. */
struct stats {
	__u64	counts[CPUS][COUNTERS];
	__u64	buckets[HISTOGRAMS][CPUS][BUCKETS];
};

/* Reads @n numbers, after which @line must end. */
static bool numbers(const char *line, __u64 *to, int n)
{
	char *end;
	int i;

	for (i = 0; i < n; i++) {
		if (*line++ != ' ')
			return false;
		to[i] = strtoull(line, &end, 10);
		if (end == line)
			return false;
		line = end;
	}
	return !strcmp(line, "\n");
}

/* Reads both files and checks their exact format, as programs rely on it. */
static bool take_stats(struct stats *stats)
{
	static const char *const names[] = { "lateness", "expired", "read" };
	FILE *counters = fopen(DEBUGFS "counters", "re");
	FILE *histograms = fopen(DEBUGFS "histograms", "re");
	int cpu, used, i, possible = 0, lines = 0;
	bool ok = counters && histograms;
	char line[4096], name[32];

	memset(stats, 0, sizeof(*stats));
	ok = ok && fgets(line, sizeof(line), counters) && !strcmp(line, HEADER);
	while (ok && fgets(line, sizeof(line), counters)) {
		possible++;
		ok = sscanf(line, "%d%n", &cpu, &used) == 1 && cpu >= 0;
		if (ok && cpu < CPUS)
			ok = numbers(line + used, stats->counts[cpu], COUNTERS);
	}
	while (ok && fgets(line, sizeof(line), histograms)) {
		lines++;
		ok = sscanf(line, "%31s %d%n", name, &cpu, &used) == 2 && cpu >= 0;
		for (i = 0; ok && i < HISTOGRAMS && strcmp(name, names[i]); i++)
			;
		ok = ok && i < HISTOGRAMS;
		if (ok && cpu < CPUS)
			ok = numbers(line + used, stats->buckets[i][cpu], BUCKETS);
	}
	if (counters)
		fclose(counters);
	if (histograms)
		fclose(histograms);
	return ok && possible > 0 && lines == HISTOGRAMS * possible;
}

/*
 * Returns the n-th (from 0) of the CPUs that this thread may use and that have timers, or -1.
 * On an isolated CPU the module arms a timer on another one.
 */
static int nth_timer_cpu(int n)
{
	cpu_set_t isolated;
	int i, cpu;

	tw_isolated_cpus(&isolated);
	for (i = 0; (cpu = tw_nth_cpu(i)) >= 0; i++)
		if (!CPU_ISSET(cpu, &isolated) && n-- == 0)
			break;
	return cpu;
}

/* Replaces @then by the difference between now and then. */
static bool stats_since(struct stats *then)
{
	__u64 *to = (__u64 *)then, *from;
	struct stats now;
	size_t i;

	if (!take_stats(&now))
		return false;
	from = (__u64 *)&now;
	for (i = 0; i < sizeof(now) / sizeof(__u64); i++)
		to[i] = from[i] - to[i];
	return true;
}

/* Returns the sum of a counter over all CPUs. */
static __u64 count(const struct stats *stats, int counter)
{
	__u64 sum = 0;
	int cpu;

	for (cpu = 0; cpu < CPUS; cpu++)
		sum += stats->counts[cpu][counter];
	return sum;
}

static void bucket_sums(const struct stats *stats, int histogram, __u64 *sums)
{
	int cpu, i;

	memset(sums, 0, BUCKETS * sizeof(*sums));
	for (cpu = 0; cpu < CPUS; cpu++)
		for (i = 0; i < BUCKETS; i++)
			sums[i] += stats->buckets[histogram][cpu][i];
}

/* Returns how many values a histogram holds. */
static __u64 observed(const struct stats *stats, int histogram)
{
	__u64 sums[BUCKETS], n = 0;
	int i;

	bucket_sums(stats, histogram, sums);
	for (i = 0; i < BUCKETS; i++)
		n += sums[i];
	return n;
}

/* Returns the bucket of @value: bucket 0 holds 0, and bucket k the values in [2^(k-1), 2^k). */
static int bucket(__u64 value)
{
	int k = 0;

	while (value >> k)
		k++;
	return k < BUCKETS ? k : BUCKETS - 1;
}

static bool trace_on(void)
{
	rmdir(INSTANCE);
	return mkdir(INSTANCE, 0700) == 0 &&
	       tw_write_file(INSTANCE "/events/twheel/enable", "1") == 0;
}

/* Ends the trace and returns its text, with a line for each event. The caller frees it. */
static char *trace_off(void)
{
	size_t size = 1 << 22, len = 0, n;
	char *text = NULL;
	FILE *file;

	if (tw_write_file(INSTANCE "/events/twheel/enable", "0"))
		goto remove;
	file = fopen(INSTANCE "/trace", "re");
	if (!file)
		goto remove;
	text = calloc(1, size);
	while (text && len < size - 1 && (n = fread(text + len, 1, size - 1 - len, file)))
		len += n;
	fclose(file);
remove:
	rmdir(INSTANCE);
	return text;
}

/* Returns how many lines have an event of this name with this text behind it. */
static int traced(const char *text, const char *event, const char *values)
{
	char name[64];
	int n = 0;

	snprintf(name, sizeof(name), " %s: ", event);
	for (text = strstr(text, name); text; text = strstr(text, name)) {
		size_t len = strcspn(text, "\n");
		const char *found = strstr(text, values);

		n += found && found < text + len;
		text += len;
	}
	return n;
}

FIXTURE(stats)
{
	int	fd;
	int	cpu;
	int	other;
	__u64	tick;
};

FIXTURE_SETUP(stats)
{
	if (geteuid())
		SETUP_SKIP("takes root");
	if (access(DEBUGFS, F_OK))
		SETUP_SKIP("no " DEBUGFS ": is debugfs mounted?");
	ASSERT_OPEN(self->fd);
	self->cpu = nth_timer_cpu(0);
	if (self->cpu < 0)
		SETUP_SKIP("all CPUs are isolated");
	self->other = nth_timer_cpu(1);
	self->tick = tw_info(self->fd).tick_ns;
	ASSERT_TRUE(self->cpu < CPUS && tw_pin(self->cpu));
}

FIXTURE_TEARDOWN(stats)
{
	close(self->fd);
	rmdir(INSTANCE);
}

TEST_F(stats, each_call_is_counted_where_it_is_made)
{
	struct twheel_timer_info drained[TIMERS];
	struct twheel_list list = {
		.entries = (unsigned long)drained, .count = TIMERS,
	};
	__u64 handles[TIMERS];
	struct stats stats;
	bool ok = true;
	int i, k;

	ASSERT_TRUE(take_stats(&stats));
	for (i = 0; i < TIMERS; i++)
		ASSERT_ARMED(handles[i], self->fd, TW_FAR, 0, i);
	for (i = 0; i < 30; i++) {
		struct twheel_arm arm = tw_request_for(handles[i], 2 * TW_FAR, 0, i);

		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	}
	for (i = 0; i < 20; i++)
		ok &= !tw_cancel(self->fd, handles[i]);
	ASSERT_TRUE(ok);
	/* Calls that fail are not counted. */
	ASSERT_EQ(-ENOENT, tw_cancel(self->fd, handles[0]));
	ASSERT_EQ(0, tw_arm(self->fd, TW_FAR, 0x8000, 0));
	/* Looking at timers is not counted, either. */
	ASSERT_EQ(TIMERS - 20, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
	list.cursor = 0;
	list.flags = TWHEEL_LIST_DRAIN;
	list.count = 50;
	ASSERT_EQ(50, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
	ASSERT_TRUE(stats_since(&stats));

	EXPECT_EQ(TIMERS, stats.counts[self->cpu][ARMED]);
	EXPECT_EQ(30, stats.counts[self->cpu][REARMED]);
	EXPECT_EQ(20 + 50, stats.counts[self->cpu][CANCELLED]);
	EXPECT_EQ(0, stats.counts[self->cpu][MIGRATED]);
	for (k = 0; k < CPUS; k++) {
		EXPECT_TRUE(k == self->cpu ||
			    !(stats.counts[k][ARMED] | stats.counts[k][REARMED] |
			      stats.counts[k][CANCELLED]));
	}
	EXPECT_EQ(0, count(&stats, EXPIRED));
	EXPECT_EQ(0, count(&stats, READ));
	EXPECT_EQ(0, observed(&stats, LATENESS));
	EXPECT_EQ(0, observed(&stats, READ_A_CALL));

	/* Closing a context counts no cancels. */
	ASSERT_TRUE(take_stats(&stats));
	close(self->fd);
	self->fd = tw_open();
	ASSERT_TRUE(tw_all_given_back(self->fd));
	ASSERT_TRUE(stats_since(&stats));
	EXPECT_EQ(0, count(&stats, CANCELLED));
}

TEST_F(stats, expirations_and_how_late_they_were)
{
	__u64 late[BUCKETS] = { 0 }, reads[BUCKETS] = { 0 }, sums[BUCKETS];
	struct twheel_event events[TIMERS];
	struct stats stats;
	bool ok = true;
	ssize_t n;
	int i, k;

	ASSERT_TRUE(take_stats(&stats));
	/* Each timer has a tick of its own, but some are due already. */
	for (i = 0; i < TIMERS; i++)
		ok &= tw_arm(self->fd, i < 10 ? 0 : i * self->tick, 0, i) != 0;
	ASSERT_TRUE(ok);
	ASSERT_TRUE(tw_wait_ready(self->fd, TIMERS));
	for (i = 0; i < TIMERS; i += k) {
		/* Read 1, then 2, then 3 records and so on. */
		n = tw_read(self->fd, events, (i + 1) * sizeof(*events));
		ASSERT_LT(0, n);
		k = n / sizeof(*events);
		reads[bucket(k)]++;
		for (n = 0; n < k; n++)
			late[bucket(events[n].expired - events[n].deadline)]++;
	}
	ASSERT_EQ(-EAGAIN, tw_read(self->fd, events, sizeof(events)));
	ASSERT_TRUE(stats_since(&stats));

	EXPECT_EQ(TIMERS, count(&stats, ARMED));
	EXPECT_EQ(TIMERS, count(&stats, EXPIRED));
	EXPECT_EQ(TIMERS, count(&stats, READ));
	bucket_sums(&stats, LATENESS, sums);
	for (i = 0; i < BUCKETS; i++) {
		EXPECT_EQ(late[i], sums[i])
			TH_LOG("bucket %d", i);
	}
	bucket_sums(&stats, READ_A_CALL, sums);
	for (i = 0; i < BUCKETS; i++) {
		EXPECT_EQ(reads[i], sums[i])
			TH_LOG("bucket %d", i);
	}

	EXPECT_LT(0, count(&stats, INTERRUPTS));
	EXPECT_EQ(count(&stats, INTERRUPTS), observed(&stats, EXPIRED_A_RUN));
}

/*
 * A timer that is pushed back far stays in its bucket. When the bucket's turn comes the
 * timer moves once, and not again on the way to the day after tomorrow.
 */
TEST_F(stats, cascades)
{
	__u64 limit = tw_now(CLOCK_MONOTONIC) + TW_LIMIT_MS * TW_MSEC;
	struct twheel_arm arms[TIMERS];
	struct stats before, stats;
	int i;

	ASSERT_TRUE(take_stats(&before));
	ASSERT_TRUE(trace_on());
	for (i = 0; i < TIMERS; i++) {
		arms[i] = tw_request(1000 * self->tick, 0, i);
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arms[i]));
	}
	for (i = 0; i < TIMERS; i++) {
		arms[i].expires = 2 * TW_FAR;
		ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arms[i]));
		ASSERT_EQ(TWHEEL_STATE_PENDING, arms[i].old_state);
	}

	do {
		char *trace, *line;
		__u64 moved = 0;

		/* Wait without a timer of the device, which might itself be cascaded. */
		poll(NULL, 0, 10);
		stats = before;
		ASSERT_TRUE(stats_since(&stats));
		if (count(&stats, CASCADED) < TIMERS)
			continue;

		EXPECT_EQ(TIMERS, stats.counts[self->cpu][CASCADED]);
		EXPECT_EQ(TIMERS, count(&stats, CASCADED));
		trace = trace_off();
		ASSERT_NE(NULL, trace);
		for (line = strstr(trace, " twheel_cascade: "); line;
		     line = strstr(line + 1, " twheel_cascade: ")) {
			unsigned int cpu, clock, timers;

			int n = sscanf(line, " twheel_cascade: cpu=%u clock=%u timers=%u",
				       &cpu, &clock, &timers);

			ASSERT_EQ(3, n);
			EXPECT_EQ(self->cpu, cpu);
			EXPECT_EQ(CLOCK_MONOTONIC, clock);
			moved += timers;
		}
		EXPECT_EQ(TIMERS, moved);
		free(trace);
		return;
	} while (tw_now(CLOCK_MONOTONIC) < limit);
	EXPECT_EQ(TIMERS, count(&stats, CASCADED));
}

TEST_F(stats, migrations)
{
	struct twheel_arm arm = tw_request(TW_FAR, 0, 1);
	struct stats stats, first;
	char values[128], *trace;

	if (self->other < 0)
		SKIP(return, "takes two CPUs that are not isolated");
	ASSERT_GT(CPUS, self->other);

	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_TRUE(take_stats(&stats));
	ASSERT_TRUE(trace_on());
	ASSERT_TRUE(tw_pin(self->other));
	/* This thread may not run any more where the timer is, so the first of these moves it. */
	arm.expires = 2 * TW_FAR;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	first = stats;
	ASSERT_TRUE(stats_since(&first));
	EXPECT_EQ(1, count(&first, MIGRATED));
	arm.expires = TW_FAR / 2;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	arm.expires = TW_FAR / 3;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_TRUE(stats_since(&stats));
	trace = trace_off();
	ASSERT_NE(NULL, trace);

	EXPECT_EQ(1, stats.counts[self->other][MIGRATED]);
	EXPECT_EQ(1, count(&stats, MIGRATED));
	EXPECT_EQ(3, stats.counts[self->other][REARMED]);
	EXPECT_EQ(3, count(&stats, REARMED));
	snprintf(values, sizeof(values), "handle=%" PRIu64 " from_cpu=%d to_cpu=%d",
		 (uint64_t)arm.handle, self->cpu, self->other);
	EXPECT_EQ(1, traced(trace, "twheel_migrate", values));
	EXPECT_EQ(1, traced(trace, "twheel_migrate", ""));
	free(trace);
}

TEST_F(stats, tracepoints_tell_the_same_numbers)
{
	__u64 deadline = tw_now(CLOCK_MONOTONIC) + TW_FAR, handle;
	struct twheel_arm arm = tw_request(deadline, TWHEEL_ARM_ABS, 1);
	struct twheel_event event;
	char values[160], *trace;

	arm.interval = 4711;
	arm.slack = 3 * self->tick;
	ASSERT_TRUE(trace_on());
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	arm.expires = deadline + 1;
	ASSERT_EQ(0, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	ASSERT_EQ(0, tw_cancel(self->fd, arm.handle));
	handle = tw_arm(self->fd, 5 * self->tick, 0, 0);
	ASSERT_EQ(1, tw_collect(self->fd, &event, 1));
	trace = trace_off();
	ASSERT_NE(NULL, trace);

	snprintf(values, sizeof(values),
		 "handle=%" PRIu64 " clock=%d deadline=%" PRIu64
		 " interval=4711 slack=%" PRIu64 "\n",
		 (uint64_t)arm.handle, CLOCK_MONOTONIC, (uint64_t)deadline,
		 (uint64_t)arm.slack);
	EXPECT_EQ(1, traced(trace, "twheel_arm", values));
	snprintf(values, sizeof(values), "handle=%" PRIu64 " clock=%d deadline=%" PRIu64 " ",
		 (uint64_t)arm.handle, CLOCK_MONOTONIC, (uint64_t)deadline + 1);
	EXPECT_EQ(1, traced(trace, "twheel_rearm", values));
	snprintf(values, sizeof(values), "handle=%" PRIu64 " state=%d\n",
		 (uint64_t)arm.handle, TWHEEL_STATE_PENDING);
	EXPECT_EQ(1, traced(trace, "twheel_cancel", values));
	snprintf(values, sizeof(values),
		 "handle=%" PRIu64 " clock=%d deadline=%" PRIu64
		 " now=%" PRIu64 " late=%" PRIu64 "\n",
		 (uint64_t)handle, CLOCK_MONOTONIC, (uint64_t)event.deadline,
		 (uint64_t)event.expired,
		 (uint64_t)(event.expired - event.deadline));
	EXPECT_EQ(1, traced(trace, "twheel_expire", values));
	EXPECT_EQ(1, traced(trace, "twheel_read", " records=1\n"));

	/* No other events were traced. */
	EXPECT_EQ(2, traced(trace, "twheel_arm", ""));
	EXPECT_EQ(1, traced(trace, "twheel_rearm", ""));
	EXPECT_EQ(1, traced(trace, "twheel_cancel", ""));
	EXPECT_EQ(1, traced(trace, "twheel_expire", ""));
	EXPECT_EQ(1, traced(trace, "twheel_read", ""));
	free(trace);
}

TEST_F(stats, reset)
{
	const __u64 *values;
	struct stats stats;
	__u64 left = 0;
	size_t i;

	ASSERT_NE(0, tw_arm(self->fd, 0, 0, 0));
	ASSERT_EQ(0, tw_write_file(DEBUGFS "reset", "0"));
	ASSERT_TRUE(take_stats(&stats));
	values = (const __u64 *)&stats;
	for (i = 0; i < sizeof(stats) / sizeof(__u64); i++)
		left |= values[i];
	EXPECT_EQ(0, left);

	ASSERT_NE(0, tw_arm(self->fd, TW_FAR, 0, 0));
	ASSERT_TRUE(take_stats(&stats));
	EXPECT_EQ(1, stats.counts[self->cpu][ARMED]);
	EXPECT_EQ(1, count(&stats, ARMED));
}

TEST_F(stats, for_root_alone)
{
	static const char *const files[] = {
		DEBUGFS "counters", DEBUGFS "histograms", DEBUGFS "reset",
	};
	struct stat stat;
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		ASSERT_EQ(0, lstat(files[i], &stat));
		EXPECT_EQ(0, stat.st_uid);
		EXPECT_EQ(0, stat.st_mode & 077);
	}
}

TEST_HARNESS_MAIN
