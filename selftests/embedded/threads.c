// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many threads on one embedded context: each arming ends in exactly one record or one
 * successful cancel, and none comes early. A reader whose buffer is not there yet holds up no
 * other thread.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lib_util.h"

#define WORKERS	4
#define ARMINGS	20000
#define SLOTS	64
#define STOP	UINT64_MAX

/**
 * struct shared - what the threads share
 * @tw: the context
 * @deadlines: when each arming is due at the earliest
 * @ends: how often each has ended
 * @early: records that came before their time
 * @wrong: calls that have failed otherwise than they may
 * @gone: readers that have ended
 */
struct shared {
	struct twheel	*tw;
	uint64_t	deadlines[WORKERS * ARMINGS];
	unsigned char	ends[WORKERS * ARMINGS];
	unsigned int	early;
	unsigned int	wrong;
	unsigned int	gone;
};

/**
 * struct worker - a thread
 * @shared: what it shares
 * @nr: which one
 * @thread: itself
 */
struct worker {
	struct shared	*shared;
	unsigned int	nr;
	pthread_t	thread;
};

static void count(unsigned int *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void end_of(struct shared *s, uint64_t arming)
{
	__atomic_fetch_add(&s->ends[arming], 1, __ATOMIC_RELAXED);
}

/* Arms timers, and cancels or re-arms what it has armed before. */
static void *arm_and_cancel(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->shared;
	uint64_t handles[SLOTS] = { }, armings[SLOTS];
	unsigned int seed = w->nr + 1;
	int i, ret;

	for (i = 0; i < ARMINGS; i++) {
		uint64_t arming = (uint64_t)w->nr * ARMINGS + (uint64_t)i, delay;
		int slot = rand_r(&seed) % SLOTS;
		struct twheel_arm arm = { .user_data = arming };
		struct twheel_old old;

		delay = rand_r(&seed) % 8 ? (uint64_t)rand_r(&seed) % (40 * MSEC) : 0;
		arm.expires = twheel_now(s->tw) + delay;
		arm.flags = TWHEEL_ARM_ABS;
		__atomic_store_n(&s->deadlines[arming], arm.expires, __ATOMIC_RELEASE);
		if (handles[slot] && rand_r(&seed) % 2) {
			arm.handle = handles[slot];
			ret = twheel_arm(s->tw, &arm);
			/* It replaces the earlier one, unless that was read already. */
			if (!ret)
				end_of(s, armings[slot]);
		} else {
			ret = handles[slot] ? twheel_cancel(s->tw, handles[slot], &old) : -ENOENT;
			if (!ret)
				end_of(s, armings[slot]);
			if (ret && ret != -ENOENT)
				count(&s->wrong);
			ret = -ENOENT;
		}
		if (ret == -ENOENT) {
			arm.handle = 0;
			ret = twheel_arm(s->tw, &arm);
		}
		if (ret)
			count(&s->wrong);
		handles[slot] = arm.handle;
		armings[slot] = arming;
	}
	return NULL;
}

static bool handle_events(struct shared *s, const struct twheel_event *events, ssize_t n)
{
	bool stop = false;
	ssize_t i;

	for (i = 0; i < n; i++) {
		uint64_t arming = events[i].user_data;

		if (arming == STOP) {
			stop = true;
			continue;
		}
		if (events[i].expired < __atomic_load_n(&s->deadlines[arming], __ATOMIC_ACQUIRE))
			count(&s->early);
		end_of(s, arming);
	}
	return stop;
}

/* Reads by waiting in the read. */
static void *read_records(void *arg)
{
	struct worker *w = arg;
	struct twheel_event events[7];
	ssize_t n;

	do {
		n = twheel_read(w->shared->tw, events, w->nr % 2 ? 1 : 7);
		if (n < 0)
			count(&w->shared->wrong);
	} while (n >= 0 && !handle_events(w->shared, events, n));
	count(&w->shared->gone);
	return NULL;
}

static void *look(void *arg)
{
	struct worker *w = arg;
	struct twheel_counters counters;
	struct twheel_timer_info timer;
	struct twheel_walk *walk;
	struct twheel_info info;
	uint64_t armed = 0;
	int i;

	for (i = 0; i < 200; i++) {
		if (twheel_get_info(w->shared->tw, TWHEEL_INFO_NEXT, &info) ||
		    twheel_stats(w->shared->tw, &counters, sizeof(counters)) ||
		    counters.armed < armed || twheel_walk_new(&walk, w->shared->tw)) {
			count(&w->shared->wrong);
			continue;
		}
		armed = counters.armed;
		while (twheel_walk_next(walk, &timer) == 1)
			;
		twheel_walk_free(walk);
	}
	return NULL;
}

static struct shared shared;

static int all_ended_once(void)
{
	int i;

	for (i = 0; i < WORKERS * ARMINGS; i++)
		if (shared.ends[i] != 1)
			return 0;
	return 1;
}

static int run(struct worker *workers, int n, void *(*function)(void *arg))
{
	int i, ret = 0;

	for (i = 0; i < n; i++) {
		workers[i] = (struct worker){ .shared = &shared, .nr = (unsigned int)i };
		ret |= pthread_create(&workers[i].thread, NULL, function, &workers[i]);
	}
	return ret;
}

static void join(struct worker *workers, int n)
{
	int i;

	for (i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
}

TEST(each_arming_ends_once)
{
	struct worker workers[WORKERS], readers[2], looker;
	struct twheel_counters counters;
	struct twheel_info info;

	ASSERT_EQ(0, twheel_open(&shared.tw, NULL, TWHEEL_OPEN_EMBEDDED, NULL));
	ASSERT_EQ(0, run(readers, 2, read_records));
	ASSERT_EQ(0, run(workers, WORKERS, arm_and_cancel));
	ASSERT_EQ(0, run(&looker, 1, look));
	join(workers, WORKERS);
	join(&looker, 1);
	do {
		ASSERT_EQ(0, twheel_get_info(shared.tw, 0, &info));
		usleep(1000);
	} while (info.pending || info.ready);
	/* Both marks could end up in one buffer: the second one when a reader has gone. */
	ASSERT_EQ(0, twheel_arm_after(shared.tw, 0, STOP, NULL));
	while (!__atomic_load_n(&shared.gone, __ATOMIC_ACQUIRE))
		usleep(1000);
	ASSERT_EQ(0, twheel_arm_after(shared.tw, 0, STOP, NULL));
	join(readers, 2);
	EXPECT_EQ(0, shared.early);
	EXPECT_EQ(0, shared.wrong);
	EXPECT_TRUE(all_ended_once());
	/* Nor is anything counted twice or lost. */
	ASSERT_EQ(0, twheel_stats(shared.tw, &counters, sizeof(counters)));
	EXPECT_EQ(WORKERS * ARMINGS + 2, counters.armed + counters.rearmed);
	EXPECT_EQ(counters.armed, counters.cancelled + counters.read);
	twheel_close(shared.tw);
}

/**
 * struct reader - a thread that reads
 * @tw: the context
 * @events: where to
 * @room: for how many records there is room
 * @ret: what the read returned
 * @done: it has returned
 * @thread: the thread
 */
struct reader {
	struct twheel		*tw;
	struct twheel_event	*events;
	size_t			room;
	ssize_t			ret;
	bool			done;
	pthread_t		thread;
};

static void *read_once(void *arg)
{
	struct reader *r = arg;

	r->ret = twheel_read(r->tw, r->events, r->room);
	__atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Returns how many records a reader gets, or -ETIME if it does not return for a minute. */
static ssize_t has_read(struct reader *r)
{
	int i;

	for (i = 0; i < 60000 && !__atomic_load_n(&r->done, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	if (!__atomic_load_n(&r->done, __ATOMIC_ACQUIRE))
		return -ETIME;
	pthread_join(r->thread, NULL);
	return r->ret;
}

/* Registers @page, so that a thread that touches it sleeps. Returns a userfaultfd, or -1. */
static int make_stalling(void *page, size_t size)
{
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)page, size }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		return -1;
	return fd;
}

/* The memory of a reader's buffer is not there: what is left is for other readers meanwhile. */
TEST(a_reader_that_stalls)
{
	enum { PART = 64, ALL = PART + 2 };
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct uffdio_zeropage zero = { };
	struct reader stalled = { .room = ALL }, other = { .room = ALL };
	struct twheel_event events[ALL];
	struct pollfd fault = { .events = POLLIN };
	struct twheel_info info;
	struct twheel *tw;
	void *page;
	int i;

	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	fault.fd = make_stalling(page, size);
	if (fault.fd < 0)
		SKIP(return, "no userfaultfd");
	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED, NULL));
	for (i = 0; i < ALL; i++)
		ASSERT_EQ(0, twheel_arm_after(tw, 0, (uint64_t)i, NULL));
	stalled.tw = tw;
	stalled.events = page;
	ASSERT_EQ(0, pthread_create(&stalled.thread, NULL, read_once, &stalled));
	ASSERT_EQ(1, poll(&fault, 1, 60000));

	other.tw = tw;
	other.events = events;
	ASSERT_EQ(0, pthread_create(&other.thread, NULL, read_once, &other));
	ASSERT_EQ(ALL - PART, has_read(&other));
	EXPECT_EQ(PART, events[0].user_data);
	ASSERT_EQ(0, twheel_get_info(tw, 0, &info));
	EXPECT_EQ(0, info.ready);
	EXPECT_EQ(0, twheel_arm_after(tw, FAR, 0, NULL));

	zero.range = (struct uffdio_range){ (uintptr_t)page, size };
	ASSERT_EQ(0, ioctl(fault.fd, UFFDIO_ZEROPAGE, &zero));
	EXPECT_EQ(PART, has_read(&stalled));
	EXPECT_EQ(0, stalled.events[0].user_data);
	EXPECT_EQ(PART - 1, stalled.events[PART - 1].user_data);
	close(fault.fd);
	twheel_close(tw);
}

/**
 * struct neighbour - a thread that makes small calls while another one makes a large one
 * @tw: the context, which has no timers before the large call
 * @all: how many the large call arms
 * @turns: in how many of its pauses there was a small call
 * @stop: no more of them
 * @thread: the thread
 */
struct neighbour {
	struct twheel	*tw;
	uint64_t	all;
	unsigned int	turns;
	bool		stop;
	pthread_t	thread;
};

static void *make_small_calls(void *arg)
{
	struct neighbour *n = arg;
	struct twheel_info info;
	uint64_t last = 0;

	while (!__atomic_load_n(&n->stop, __ATOMIC_ACQUIRE)) {
		twheel_get_info(n->tw, 0, &info);
		n->turns += info.pending != last && info.pending != n->all;
		last = info.pending;
	}
	return NULL;
}

/* In how many pauses of a call that arms @n timers another thread gets its turn; or -1. */
static int turns_during(struct twheel_arm *arms, size_t n)
{
	struct neighbour neighbour = { .all = n };
	ssize_t ret;

	if (twheel_open(&neighbour.tw, NULL, TWHEEL_OPEN_EMBEDDED, NULL))
		return -1;
	if (pthread_create(&neighbour.thread, NULL, make_small_calls, &neighbour))
		return -1;
	ret = twheel_arm_batch(neighbour.tw, arms, n);
	__atomic_store_n(&neighbour.stop, true, __ATOMIC_RELEASE);
	pthread_join(neighbour.thread, NULL);
	twheel_close(neighbour.tw);
	return ret == (ssize_t)n ? (int)neighbour.turns : -1;
}

/* A large call pauses now and then, and whoever waits gets a turn. */
TEST(a_large_call_lets_others_have_their_turn)
{
	enum { ARMS = 300000, TURNS = 20, TRIES = 100 };
	struct twheel_arm *arms = calloc(ARMS, sizeof(*arms));
	int tries = TRIES, turns = 0, n, i;

	ASSERT_NE(NULL, arms);
	/* On a busy machine the other thread runs seldom during a call, or not at all. */
	while (turns < TURNS && tries--) {
		for (i = 0; i < ARMS; i++)
			arms[i] = (struct twheel_arm){ .expires = FAR };
		n = turns_during(arms, ARMS);
		ASSERT_LE(0, n);
		turns += n;
	}
	EXPECT_LE(TURNS, turns);
	free(arms);
}

static void *open_and_close(void *arg)
{
	struct worker *w = arg;
	struct twheel *tw;
	int i;

	for (i = 0; i < 200; i++) {
		if (twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED, NULL))
			count(&w->shared->wrong);
		else
			twheel_close(tw);
	}
	return NULL;
}

/* The thread sanitizer has to see that a descriptor is another one when its number comes again. */
TEST(contexts_come_and_go)
{
	struct worker workers[WORKERS];

	shared.wrong = 0;
	ASSERT_EQ(0, run(workers, WORKERS, open_and_close));
	join(workers, WORKERS);
	EXPECT_EQ(0, shared.wrong);
}

TEST_HARNESS_MAIN
