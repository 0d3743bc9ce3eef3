// SPDX-License-Identifier: GPL-2.0-only
/*
 * accuracy: how late expirations are, of twheel and of timerfd, in the same run.
 *
 *	accuracy even-idle|burst-idle|even-loaded|burst-loaded SECONDS ROUNDS
 *
 * In each round as many one-shot timers are armed as expire in SECONDS at 10,000 a second:
 * "even" is one every 100 us, "burst" 100 at one time every 10 ms. Rounds of twheel and of
 * timerfd alternate, with the same distances between deadlines. The lateness of a timer is
 * the time at which the program has its record, less the deadline that was asked for: so
 * with twheel it includes the rest of the tick in which the deadline lies. The percentiles
 * are medians of those of the rounds, as the machine may stand still in one of them; max is
 * that of all rounds, and remarks have the least and the largest.
 *
 * One thread waits in read() for records of twheel, or in epoll_wait() for descriptors of
 * timerfd, and reads each of these. It looks at the clock after each read. All timers are
 * armed before the first is due.
 *
 * "loaded" is one thread on each CPU that spins, and a few that wake up often, all at normal
 * priority. If one of the two cannot keep up with the rate, both start again with half of it.
 *
 * Each timer has to come exactly once, and none early.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "situations.h"

#define RATE		10000
#define RATE_MIN	100
#define BURST		100
#define WAKERS		4
#define WAKER_NS	300000

/* If half of the last timers are later than this, they come too fast. */
#define BEHIND		(50 * TW_MSEC)
/* How often all timers are put off that could not be armed before the first was due. */
#define ATTEMPTS	8

/* What is printed of the lateness: of so many timers all but one are earlier; 0 for all. */
static const struct {
	const char *name;
	unsigned int of;
} figures[] = {
	{ "p50", 2 }, { "p99", 100 }, { "p999", 1000 }, { "max", 0 },
};

#define FIGURES		(sizeof(figures) / sizeof(figures[0]))
#define ROUNDS_MAX	99

/**
 * struct facility - what expires
 * @name: for the output
 * @begin: make ready for this many timers
 * @arm: arm one timer for each deadline
 * @collect: wait for so many expirations, and call came() for each
 * @end: check that nothing is left, and undo @begin
 * @lead: time from the beginning to the first deadline, ns
 * @late: the figures of each round, ns
 */
struct facility {
	const char *name;
	void (*begin)(unsigned long n);
	void (*arm)(const __u64 *deadlines, unsigned long n);
	void (*collect)(unsigned long n);
	void (*end)(unsigned long n);
	__u64 lead;
	__u64 late[FIGURES][ROUNDS_MAX];
};

/* Of the round: the deadlines, and how late each timer was or NOT_YET. */
static __u64 *deadlines, *lateness;
#define NOT_YET	(~0ULL)

static void came(unsigned long i, unsigned long n, __u64 now)
{
	if (i >= n)
		fail("the number of a timer", 0);
	if (lateness[i] != NOT_YET)
		fail("a timer that came twice", 0);
	if (now < deadlines[i])
		fail("the time of a timer that came early", 0);
	lateness[i] = now - deadlines[i];
}

static int device;

static void twheel_begin(unsigned long n)
{
	(void)n;
	device = open_timers(0);
}

static void twheel_arm(const __u64 *at, unsigned long n)
{
	arm_all(device, n, at, 1);
}

static void twheel_collect(unsigned long n)
{
	static struct twheel_event events[BATCH];
	unsigned int nr, i;
	unsigned long got;
	__u64 now;

	for (got = 0; got < n; got += nr) {
		nr = read_batch(device, events, &now);
		for (i = 0; i < nr; i++) {
			came(events[i].user_data, n, now);
			if (events[i].deadline != deadlines[events[i].user_data])
				fail("the deadline of a record", 0);
		}
	}
}

static void twheel_end(unsigned long n)
{
	(void)n;
	check_empty(device);
	close(device);
}

static int epoll, *timers;

static void timerfd_begin(unsigned long n)
{
	const struct rlimit limit = { n + 1024, n + 1024 };
	struct epoll_event event = { .events = EPOLLIN };
	unsigned long i;

	if (setrlimit(RLIMIT_NOFILE, &limit))
		fail("RLIMIT_NOFILE", errno);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	timers = calloc(n, sizeof(*timers));
	if (epoll < 0 || !timers)
		fail("epoll", errno);
	for (i = 0; i < n; i++) {
		timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
		event.data.u64 = i;
		if (timers[i] < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timers[i], &event))
			fail("timerfd", errno);
	}
}

static void timerfd_arm(const __u64 *at, unsigned long n)
{
	struct itimerspec setting = { };
	unsigned long i;

	for (i = 0; i < n; i++) {
		setting.it_value.tv_sec = at[i] / TW_SEC;
		setting.it_value.tv_nsec = at[i] % TW_SEC;
		if (timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &setting, NULL))
			fail("timerfd_settime", errno);
	}
}

static void timerfd_collect(unsigned long n)
{
	static struct epoll_event events[BATCH];
	unsigned long got = 0;
	__u64 times;
	int nr, i;

	while (got < n) {
		nr = epoll_wait(epoll, events, BATCH, -1);
		if (nr < 0)
			fail("epoll_wait", errno);
		for (i = 0; i < nr; i++) {
			if (read(timers[events[i].data.u64], &times, sizeof(times)) !=
			    sizeof(times) || times != 1)
				fail("read of a timerfd", errno);
			came(events[i].data.u64, n, tw_now(CLOCK_MONOTONIC));
		}
		got += nr;
	}
}

static void timerfd_end(unsigned long n)
{
	struct epoll_event event;
	unsigned long i;

	if (epoll_wait(epoll, &event, 1, 0))
		fail("number of timers left", 0);
	for (i = 0; i < n; i++)
		close(timers[i]);
	close(epoll);
	free(timers);
}

static struct facility facilities[] = {
	{
		.name = "twheel", .begin = twheel_begin, .arm = twheel_arm,
		.collect = twheel_collect, .end = twheel_end,
	}, {
		.name = "timerfd", .begin = timerfd_begin, .arm = timerfd_arm,
		.collect = timerfd_collect, .end = timerfd_end,
	},
};

#define FACILITIES	(sizeof(facilities) / sizeof(facilities[0]))

static bool stop;

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void *spin(void *arg)
{
	if (!tw_pin((intptr_t)arg))
		fail("sched_setaffinity", errno);
	while (!stopped())
		;
	return NULL;
}

static void *wake_often(void *arg)
{
	const struct timespec pause = { .tv_nsec = WAKER_NS };

	while (!stopped())
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	return arg;
}

static pthread_t *load;
static int nr_load;

static void start(void *(*run)(void *), intptr_t arg)
{
	int error = pthread_create(&load[nr_load++], NULL, run, (void *)arg);

	if (error)
		fail("pthread_create", error);
}

static void load_begin(void)
{
	int cpu, i;

	load = calloc(sysconf(_SC_NPROCESSORS_CONF) + WAKERS, sizeof(*load));
	if (!load)
		fail("calloc", errno);
	for (i = 0; (cpu = tw_nth_cpu(i)) >= 0; i++)
		start(spin, cpu);
	for (i = 0; i < WAKERS; i++)
		start(wake_often, i);
}

static void load_end(void)
{
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	while (nr_load)
		pthread_join(load[--nr_load], NULL);
}

/* In order, the first @lead ns from now. */
static void set_deadlines(__u64 lead, bool burst, unsigned long n, unsigned long rate)
{
	__u64 first = tw_now(CLOCK_MONOTONIC) + lead;
	unsigned long i;

	for (i = 0; i < n; i++) {
		deadlines[i] = first + (burst ? i / BURST * BURST : i) * (TW_SEC / rate);
		lateness[i] = NOT_YET;
	}
}

/* Let @n timers expire. Returns whether they came as fast as they were due. */
static bool play(struct facility *f, bool burst, unsigned long n, unsigned long rate)
{
	unsigned long i, last = n / 10 ? n / 10 : 1, behind = 0;
	int attempts;

	for (attempts = 0; ; attempts++) {
		if (attempts == ATTEMPTS)
			fail("time that it takes to arm all timers", ETIMEDOUT);
		set_deadlines(f->lead, burst, n, rate);
		f->arm(deadlines, n);
		if (tw_now(CLOCK_MONOTONIC) < deadlines[0])
			break;
		f->collect(n);
		f->lead *= 2;
	}
	f->collect(n);
	for (i = n - last; i < n; i++)
		behind += lateness[i] > BEHIND;
	return behind <= last / 2;
}

/* Keep the figures of a round. */
static void keep(struct facility *f, int round, unsigned long n)
{
	size_t i;

	qsort(lateness, n, sizeof(*lateness), tw_compare);
	for (i = 0; i < FIGURES; i++)
		f->late[i][round] = lateness[n - 1 - (figures[i].of ? n / figures[i].of : 0)];
}

/* All rounds of all facilities. Returns the one that could not keep up, or NULL. */
static const struct facility *all_rounds(bool burst, unsigned long n, unsigned long rate,
					 int rounds)
{
	int round;
	size_t i;

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < FACILITIES; i++) {
			struct facility *f = &facilities[i];

			/* The machine itself may have stood still, once. */
			if (!play(f, burst, n, rate) && !play(f, burst, n, rate))
				return f;
			keep(f, round, n);
		}
	}
	return NULL;
}

static void report(struct facility *f, const char *situation, int rounds)
{
	size_t i;

	for (i = 0; i < FIGURES; i++) {
		qsort(f->late[i], rounds, sizeof(__u64), tw_compare);
		printf("# accuracy: %s: %s: %s of a round: %llu to %llu ns\n", situation, f->name,
		       figures[i].name, f->late[i][0], f->late[i][rounds - 1]);
		printf("accuracy\t%s\t%s\t%s\t%llu\n", f->name, situation, figures[i].name,
		       f->late[i][figures[i].of ? rounds / 2 : rounds - 1]);
	}
}

static void cannot(const struct facility *f, const char *situation)
{
	size_t i, j;

	for (i = 0; i < FACILITIES; i++)
		for (j = 0; j < FIGURES; j++)
			printf("accuracy\t%s\t%s\t%s\t-\t%s cannot keep up with %d a second\n",
			       facilities[i].name, situation, figures[j].name, f->name, RATE_MIN);
}

static void measure(const char *situation, bool burst, unsigned long seconds, int rounds)
{
	unsigned long rate = RATE, n = rate * seconds;
	const struct facility *slow;
	size_t i;

	deadlines = calloc(n, sizeof(*deadlines));
	lateness = calloc(n, sizeof(*lateness));
	for (i = 0; i < FACILITIES; i++) {
		facilities[i].lead = TW_SEC / 20 + n * 10000;
		if (!deadlines || !lateness)
			fail("calloc", errno);
		facilities[i].begin(n);
	}

	while ((slow = all_rounds(burst, rate * seconds, rate, rounds)) && rate / 2 >= RATE_MIN) {
		printf("# accuracy: %s: %s cannot keep up with %lu a second: half of it\n",
		       situation, slow->name, rate);
		rate /= 2;
	}

	for (i = 0; i < FACILITIES; i++)
		facilities[i].end(n);
	if (slow) {
		cannot(slow, situation);
		return;
	}
	printf("# accuracy: %s: %d rounds of %lu expirations of each facility, at %lu a second\n",
	       situation, rounds, rate * seconds, rate);
	for (i = 0; i < FACILITIES; i++)
		report(&facilities[i], situation, rounds);
}

int main(int argc, char **argv)
{
	unsigned long seconds = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	int rounds = argc == 4 ? atoi(argv[3]) : 0;
	const char *load_word = argc == 4 ? strchr(argv[1], '-') : NULL;
	bool even = load_word && !strncmp(argv[1], "even-", 5);
	bool burst = load_word && !strncmp(argv[1], "burst-", 6);
	bool idle = load_word && !strcmp(load_word, "-idle");
	bool loaded = load_word && !strcmp(load_word, "-loaded");

	if (seconds < 1 || rounds < 1 || rounds > ROUNDS_MAX || !(even || burst) ||
	    !(idle || loaded)) {
		fprintf(stderr, "usage: accuracy SITUATION SECONDS ROUNDS\n"
			"       SITUATION: even-idle, burst-idle, even-loaded, burst-loaded\n");
		return 2;
	}
	setlinebuf(stdout);
	if (loaded)
		load_begin();
	measure(argv[1], burst, seconds, rounds);
	load_end();
	return 0;
}
