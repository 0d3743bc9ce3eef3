// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stalls: what the others on a CPU notice when 10 million timers of one program
 * expire, move, are listed, drained or closed there, next to what they notice of
 * 10,000. Prints a table. All is counted, too: nothing is lost or comes twice.
 *
 *	stalls [ROUNDS]	medians of so many (3)
 *
 * To have so many due at one moment, however long it takes to arm them, they are
 * on CLOCK_REALTIME, which is then set to that moment.
 */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>

#include "kselftest.h"

#include "holds.h"
#include "probe.h"
#include "twheel_counters.h"
#include "twheel_util.h"

#define FEW		10000UL
#define HOUR		(3600 * TW_SEC)
#define BATCH		256
#define ROUNDS_MAX	9

/* How long so many timers may take: an emulated machine is slow. */
#define LIMIT_NS	(600 * TW_SEC)

/*
 * What others may have to wait more for many timers than for few, or than on a CPU
 * that has nothing to do with it: emulated ones stand still by themselves, and do
 * so for longer if they are watched for longer. On a busy machine a part of all the
 * time that it took is no more than that, either: what keeps others from the CPU
 * does so for all of it.
 */
#define GAP_FACTOR	5
#define GAP_MORE	(500 * TW_MSEC)
#define GAP_PART	8
#define HOLD_FACTOR	10
#define HOLD_MORE	TW_MSEC

/**
 * struct figures - what a round has shown
 * @took: how long all of it took, ns
 * @gaps: what others noticed meanwhile
 * @holds: how long the wheel's lock was held
 */
struct figures {
	__u64 took;
	struct probe_gaps gaps;
	struct holds holds;
};

/* CPUs: where the timers are, where nothing happens, and where this program waits. */
static int busy_cpu, idle_cpu, other_cpu;
static bool has_tracer = true;

static void fail(const char *what, long ret)
{
	ksft_exit_fail_msg("%s: %s\n", what, ret < 0 ? strerror(-ret) : "wrong count");
}

static void must(bool ok, const char *what)
{
	if (!ok)
		fail(what, -errno);
}

static void expect(const char *what, __u64 wanted, __u64 got)
{
	if (wanted != got)
		ksft_exit_fail_msg("%s: %llu, not %llu\n", what, got, wanted);
}

/* A bit for each number that was seen: none may come twice. */
static __u64 *seen;

static void see(__u64 number, unsigned long n)
{
	__u64 bit = 1ULL << (number % 64);

	if (number >= n)
		ksft_exit_fail_msg("number %llu of %lu\n", number, n);
	if (seen[number / 64] & bit)
		ksft_exit_fail_msg("number %llu came twice\n", number);
	seen[number / 64] |= bit;
}

static void see_none(unsigned long n)
{
	free(seen);
	seen = calloc(n / 64 + 1, sizeof(*seen));
	must(seen, "calloc");
}

static int open_context(__u32 flags)
{
	int fd = tw_open(), ret;

	if (fd < 0)
		fail(TW_DEVICE, fd);
	ret = tw_configure(fd, CLOCK_REALTIME, flags);
	if (ret)
		fail("configure", ret);
	return fd;
}

/* Arms @n timers, @deadline and then one tick later each, up to @span ticks. */
static void arm(int fd, unsigned long n, __u64 deadline, __u64 span, __u32 flags)
{
	static struct twheel_arm arms[BATCH];
	__u64 tick = tw_info(fd).tick_ns;
	unsigned long done, i;

	for (done = 0; done < n; done += i) {
		__u32 part = n - done < BATCH ? n - done : BATCH;
		int ret;

		for (i = 0; i < part; i++)
			arms[i] = (struct twheel_arm) {
				.user_data = done + i,
				.expires = deadline + (done + i) % span * tick,
				.flags = TWHEEL_ARM_ABS | flags,
			};
		ret = tw_arm_batch(fd, arms, part);
		if (ret != part)
			fail("arm", ret);
		for (i = 0; i < part; i++)
			if (arms[i].result)
				fail("arm", arms[i].result);
	}
	expect("pending", n, tw_info(fd).pending);
}

static void set_clock(__u64 ns)
{
	struct timespec ts = { .tv_sec = ns / TW_SEC, .tv_nsec = ns % TW_SEC };

	must(!clock_settime(CLOCK_REALTIME, &ts), "clock_settime");
}

static __u64 begin(void)
{
	int ret;

	if (has_tracer)
		has_tracer = holds_begin(busy_cpu);
	ret = probe_begin(busy_cpu, idle_cpu);
	if (ret)
		fail("probes", ret);
	return tw_now(CLOCK_MONOTONIC);
}

static void end(struct figures *f, __u64 since)
{
	f->took = tw_now(CLOCK_MONOTONIC) - since;
	f->gaps = probe_end();
	if (has_tracer)
		f->holds = holds_end();
}

static void let_pass(__u64 since)
{
	if (tw_now(CLOCK_MONOTONIC) - since > LIMIT_NS)
		ksft_exit_fail_msg("no end in sight\n");
	usleep(2000);
}

static void wait_ready(int fd, unsigned long n, __u64 since)
{
	while (tw_info(fd).ready < n)
		let_pass(since);
}

static void read_all(int fd, unsigned long n)
{
	static struct twheel_event events[4096];
	unsigned long got = 0;

	see_none(n);
	while (got < n) {
		ssize_t ret = tw_read(fd, events, sizeof(events));
		unsigned long i;

		if (ret <= 0)
			fail("read", ret);
		ret /= sizeof(events[0]);
		for (i = 0; i < ret; i++) {
			see(events[i].user_data, n);
			expect("expirations", 1, events[i].expirations);
		}
		got += ret;
	}
	expect("left to read", 0, tw_info(fd).ready);
}

/* All timers are due in one tick. */
static void due(unsigned long n, struct figures *f, __u32 unused)
{
	__u64 deadline = tw_now(CLOCK_REALTIME) + HOUR, since;
	int fd = open_context(0);

	arm(fd, n, deadline, 1, 0);
	tw_pin(other_cpu);
	since = begin();
	set_clock(deadline + tw_info(fd).tick_ns);
	wait_ready(fd, n, since);
	end(f, since);
	read_all(fd, n);
	close(fd);
}

/* All have expired, and are then read by a program on that CPU. */
static void are_read(unsigned long n, struct figures *f, __u32 unused)
{
	__u64 deadline = tw_now(CLOCK_REALTIME) + HOUR, since;
	int fd = open_context(0);

	arm(fd, n, deadline, 1, 0);
	set_clock(deadline + tw_info(fd).tick_ns);
	wait_ready(fd, n, tw_now(CLOCK_MONOTONIC));
	since = begin();
	read_all(fd, n);
	end(f, since);
	close(fd);
}

/*
 * All timers are in one bucket of level 4, whose turn comes, so that they move. That
 * is minutes before the first is due, by default: enough for the slowest machine.
 */
static void cascade(unsigned long n, struct figures *f, __u32 unused)
{
	struct twheel_info info;
	int fd = open_context(0);
	__u64 granularity, bucket, since, before;

	info = tw_info(fd);
	granularity = info.tick_ns << 4 * (__builtin_ctz(info.slots) - 1);
	/* Too far for level 3, however long it takes to arm them, not for level 4. */
	bucket = (info.now / granularity + info.slots - 4) * granularity;
	arm(fd, n, bucket + info.tick_ns, granularity / info.tick_ns - 1, 0);
	expect("expired", 0, tw_info(fd).ready);

	tw_pin(other_cpu);
	before = tw_counter(TW_ALL_CPUS, "cascaded");
	since = begin();
	/* Half the granularity before the first is due. */
	set_clock(bucket - granularity / 2 + info.tick_ns);
	while (tw_counter(TW_ALL_CPUS, "cascaded") < before + n)
		let_pass(since);
	end(f, since);
	expect("pending", n, tw_info(fd).pending);
	close(fd);
}

/* All timers are leases, due in one tick, and half of them were extended. */
static void leases(unsigned long n, struct figures *f, __u32 unused)
{
	__u64 deadline = tw_now(CLOCK_REALTIME) + HOUR, since;
	int fd = open_context(TWHEEL_CONFIG_LEASE);
	/* Of 64 words the first is not used: so many words have one for each lease. */
	unsigned long slots = (n + 62) / 63 * 64, i, expired = 0, extended = 0;
	uint64_t *words;

	arm(fd, n, deadline, 1, TWHEEL_ARM_LEASE);
	words = mmap(NULL, slots * sizeof(*words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(words != MAP_FAILED, "mmap");
	/* A word that is not used says that its lease is over, and is not extended. */
	for (i = 0; i < slots && extended < n / 2; i++)
		extended += tw_lease_extend(&words[i], deadline + HOUR);

	tw_pin(other_cpu);
	since = begin();
	set_clock(deadline + tw_info(fd).tick_ns);
	wait_ready(fd, n - extended, since);
	/* Leases that were extended may be looked at last: wait for that, too. */
	usleep(100000);
	end(f, since);

	expect("expired", n - extended, tw_info(fd).ready);
	expect("pending", extended, tw_info(fd).pending);
	for (i = 0; i < slots; i++)
		expired += tw_lease_expired(&words[i]) &&
			   tw_lease_deadline(&words[i]) == tw_lease_round(deadline);
	expect("words that say so", n - extended, expired);
	munmap(words, slots * sizeof(*words));
	close(fd);
}

static void wait_given_back(__u64 since)
{
	int fd = tw_open();

	while (tw_info(fd).user_timers)
		let_pass(since);
	close(fd);
}

static void closed(unsigned long n, struct figures *f, __u32 config)
{
	int fd = open_context(config);
	__u64 since;

	arm(fd, n, tw_now(CLOCK_REALTIME) + HOUR, n,
	    config & TWHEEL_CONFIG_LEASE ? TWHEEL_ARM_LEASE : 0);
	since = begin();
	close(fd);
	end(f, since);
	wait_given_back(since);
}

/* The process that has the timers is killed. */
static void killed(unsigned long n, struct figures *f, __u32 unused)
{
	int pipes[2], status;
	__u64 since;
	char byte;
	pid_t pid;

	must(!pipe(pipes), "pipe");
	pid = fork();
	must(pid >= 0, "fork");
	if (!pid) {
		arm(open_context(0), n, tw_now(CLOCK_REALTIME) + HOUR, n, 0);
		must(write(pipes[1], "", 1) == 1, "write");
		pause();
		_exit(1);
	}
	close(pipes[1]);
	/* Nothing comes if the child has failed. It has said why. */
	must(read(pipes[0], &byte, 1) == 1, "child");
	tw_pin(other_cpu);
	since = begin();
	must(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid, "kill");
	wait_given_back(since);
	end(f, since);
	close(pipes[0]);
}

static void listed(unsigned long n, struct figures *f, __u32 flags)
{
	size_t size = n * sizeof(struct twheel_timer_info);
	struct twheel_timer_info *infos;
	struct twheel_list list = { .count = n, .flags = flags };
	int fd = open_context(0);
	unsigned long i;
	__u64 since;
	int ret;

	infos = mmap(NULL, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	must(infos != MAP_FAILED, "mmap");
	list.entries = (unsigned long)infos;
	arm(fd, n, tw_now(CLOCK_REALTIME) + HOUR, n, 0);

	since = begin();
	ret = tw_call(fd, TWHEEL_IOC_LIST, &list);
	end(f, since);

	if (ret != n)
		fail("list", ret);
	see_none(n);
	for (i = 0; i < n; i++)
		see(infos[i].user_data, n);
	expect("pending", flags & TWHEEL_LIST_DRAIN ? 0 : n, tw_info(fd).pending);
	munmap(infos, size);
	close(fd);
}

/**
 * struct scenario - something done with many timers at once
 * @name: what
 * @run: does it with @n of them, and @flags, and fills in figures
 * @flags: of the context, or of the list
 * @turns: the wheel is turned for them, with its lock held
 * @part: a tenth, if 10, of all timers there are for others
 */
static const struct scenario {
	const char *name;
	void (*run)(unsigned long n, struct figures *f, __u32 flags);
	__u32 flags;
	bool turns;
	int part;
} scenarios[] = {
	{ "due in one tick", due, 0, true, 1 },
	{ "read", are_read, 0, false, 1 },
	{ "one bucket cascades", cascade, 0, true, 1 },
	{ "leases due, half extended", leases, 0, true, 10 },
	{ "closed", closed, 0, false, 1 },
	{ "closed, leases", closed, TWHEEL_CONFIG_LEASE, false, 10 },
	{ "killed", killed, 0, false, 1 },
	{ "listed", listed, 0, false, 1 },
	{ "drained", listed, TWHEEL_LIST_DRAIN, false, 1 },
};

/* Of @n figures the median of the one that is @offset bytes from their start. */
static __u64 median(const struct figures *all, int n, size_t offset)
{
	__u64 values[ROUNDS_MAX];
	int i;

	for (i = 0; i < n; i++)
		memcpy(&values[i], (const char *)&all[i] + offset, sizeof(values[i]));
	qsort(values, n, sizeof(values[0]), tw_compare);
	return values[n / 2];
}

#define MEDIAN(all, n, member)	median(all, n, offsetof(struct figures, member))

static struct figures medians(const struct figures *all, int n)
{
	return (struct figures) {
		.took = MEDIAN(all, n, took),
		.gaps.spin = MEDIAN(all, n, gaps.spin),
		.gaps.wake = MEDIAN(all, n, gaps.wake),
		.gaps.idle = MEDIAN(all, n, gaps.idle),
		.holds.nr = MEDIAN(all, n, holds.nr),
		.holds.median = MEDIAN(all, n, holds.median),
		.holds.p99 = MEDIAN(all, n, holds.p99),
		.holds.longest = MEDIAN(all, n, holds.longest),
	};
}

static void print_row(const char *name, unsigned long n, const struct figures *f)
{
	char holds[48] = "";

	if (f->holds.nr)
		snprintf(holds, sizeof(holds), "%9llu %8.1f %8.1f %8.1f", f->holds.nr,
			 f->holds.median / 1e3, f->holds.p99 / 1e3, f->holds.longest / 1e3);
	ksft_print_msg("%-26s %9lu %9.0f %8.1f %8.1f %8.1f %s\n", name, n, f->took / 1e6,
		       f->gaps.spin / 1e6, f->gaps.wake / 1e6, f->gaps.idle / 1e6, holds);
}

static bool close_to(__u64 many, __u64 few, __u64 factor, __u64 more)
{
	return many <= factor * few + more;
}

/* Is @gap, with many timers, no longer than is to be expected of @few? */
static bool is_short(__u64 gap, __u64 few, const struct figures *many)
{
	__u64 most = few > many->gaps.idle ? few : many->gaps.idle;

	return close_to(gap, most, GAP_FACTOR, GAP_MORE) || gap <= many->took / GAP_PART;
}

/* Do others notice no more of many timers, f[1], than of few, f[0]? */
static bool is_good(const struct scenario *s, const struct figures *f)
{
	if (!is_short(f[1].gaps.spin, f[0].gaps.spin, &f[1]) ||
	    !is_short(f[1].gaps.wake, f[0].gaps.wake, &f[1]))
		return false;
	if (!s->turns || !has_tracer)
		return true;
	return f[0].holds.nr && f[1].holds.nr &&
	       close_to(f[1].holds.p99, f[0].holds.p99, HOLD_FACTOR, HOLD_MORE);
}

static void try(const struct scenario *s, unsigned long timers, int rounds)
{
	unsigned long n[2] = { FEW, timers / s->part };
	struct figures all[2][ROUNDS_MAX], f[2];
	int k, size;

	memset(all, 0, sizeof(all));
	for (k = 0; k < rounds; k++) {
		for (size = 0; size < 2; size++) {
			tw_pin(busy_cpu);
			s->run(n[size], &all[size][k], s->flags);
		}
	}
	for (size = 0; size < 2; size++) {
		f[size] = medians(all[size], rounds);
		print_row(size ? "" : s->name, n[size], &f[size]);
	}
	ksft_test_result(is_good(s, f), "%s\n", s->name);
}

static void choose_cpus(void)
{
	int i;

	for (i = 0; tw_nth_cpu(i) >= 0; i++)
		busy_cpu = tw_nth_cpu(i);
	other_cpu = tw_nth_cpu(0);
	idle_cpu = i > 2 ? tw_nth_cpu(1) : other_cpu;
}

int main(int argc, char **argv)
{
	unsigned long timers = tw_debug_kernel() ? 100000 : 10000000;
	__u64 wall = tw_now(CLOCK_REALTIME) - tw_now(CLOCK_MONOTONIC);
	int rounds = argc > 1 ? atoi(argv[1]) : 3, i;

	/* Into a pipe, too, a line at a time. */
	setlinebuf(stdout);
	ksft_print_header();
	if (access(TW_DEVICE, F_OK))
		ksft_exit_skip("no " TW_DEVICE ": is the module loaded?\n");
	if (geteuid())
		ksft_exit_skip("may not set the clock\n");
	if (rounds < 1 || rounds > ROUNDS_MAX)
		ksft_exit_fail_msg("rounds: 1 to %d\n", ROUNDS_MAX);
	ksft_set_plan(ARRAY_SIZE(scenarios));
	choose_cpus();

	ksft_print_msg("%-26s %9s %9s %8s %8s %8s %9s %8s %8s %8s\n", "", "timers", "took ms",
		       "spin ms", "wake ms", "idle ms", "holds", "us", "p99 us", "max us");
	for (i = 0; i < ARRAY_SIZE(scenarios); i++)
		try(&scenarios[i], timers, rounds);
	if (!has_tracer)
		ksft_print_msg("no function graph tracer here: holds were not measured\n");

	set_clock(wall + tw_now(CLOCK_MONOTONIC));
	ksft_finished();
}
