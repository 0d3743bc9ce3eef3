// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend: CLOCK_BOOTTIME and wall time go on meanwhile, CLOCK_MONOTONIC stands still, and
 * all CPUs but one go offline and come back.
 *
 * The tests suspend the machine for some seconds: once for real, with its clock chip set to
 * wake it, and once with /sys/power/pm_test, up to where the firmware would take over.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "twheel_test.h"

#define RECORD		sizeof(struct twheel_event)
#define RTC		"/sys/class/rtc/rtc0/"
#define POWER		"/sys/power/"

/* Timers on each clock, armed on all CPUs in turn. */
#define TIMERS		40

/*
 * How long the machine is to be away, in seconds, if its clock chip or pm_test ends that.
 */
#define AWAY_ALARM	6
#define AWAY_DELAY	5

static const clockid_t clocks[] = {
	CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME,
};

enum { MONOTONIC, BOOTTIME, REALTIME, CLOCKS };

/* The distance between deadlines. On the clocks that go on they span the absence. */
static const __u64 step_ns[CLOCKS] = { 40 * TW_MSEC, 200 * TW_MSEC, 200 * TW_MSEC };

/* Returns whether the file @path contains @word. */
static bool holds(const char *path, const char *word)
{
	char text[256] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strstr(text, word);
}

FIXTURE(sleep)
{
	int fd[CLOCKS];
	char alarm[16];
	const char *obstacle;
};

FIXTURE_VARIANT(sleep)
{
	bool firmware;
};

VARIANT(sleep, up_to_the_firmware) { .firmware = false };
VARIANT(sleep, to_memory) { .firmware = true };

FIXTURE_SETUP(sleep)
{
	char delay[16];
	int i;

	for (i = 0; i < CLOCKS; i++)
		ASSERT_OPEN(self->fd[i]);
	/* The teardown has to run, which SETUP_SKIP() leaves out. */
	if (!holds(POWER "state", "mem"))
		self->obstacle = "this kernel does not suspend to memory";
	else if (access(POWER "state", W_OK))
		self->obstacle = "may not suspend the machine";
	/* In suspend-to-idle a guest may not get the interrupt of its clock chip. */
	else if (!holds(POWER "mem_sleep", "deep") ||
		 tw_write_file(POWER "mem_sleep", "deep"))
		self->obstacle = "this machine has no S3";
	if (self->obstacle)
		return;

	snprintf(self->alarm, sizeof(self->alarm), "+%d", AWAY_ALARM);
	snprintf(delay, sizeof(delay), "%d", AWAY_DELAY);
	if (variant->firmware) {
		if (tw_write_file(RTC "wakealarm", "0") ||
		    tw_write_file(RTC "wakealarm", self->alarm) ||
		    tw_write_file(RTC "wakealarm", "0"))
			self->obstacle = "no clock chip that could wake the machine";
	} else if (tw_write_file("/sys/module/suspend/parameters/pm_test_delay", delay) ||
		   tw_write_file(POWER "pm_test", "core")) {
		self->obstacle = "no " POWER "pm_test";
	}
}

FIXTURE_TEARDOWN(sleep)
{
	int i;

	tw_write_file(POWER "pm_test", "none");
	tw_write_file("/sys/module/suspend/parameters/pm_test_delay", "5");
	tw_write_file(RTC "wakealarm", "0");
	for (i = 0; i < CLOCKS; i++)
		close(self->fd[i]);
}

struct sleeper {
	pthread_t thread;
	int fd;
	ssize_t ret;
	struct twheel_event event;
};

static void *sleep_in_read(void *arg)
{
	struct sleeper *s = arg;

	s->ret = tw_read(s->fd, &s->event, RECORD);
	return NULL;
}

/*
 * When the machine was away, on CLOCK_BOOTTIME. The watching thread is stopped a little
 * before the suspend and goes on a little after it. The time from @left to @back includes
 * these moments, and the machine was away for @away ns of it.
 */
struct watch {
	pthread_t thread;
	__u64 left;
	__u64 back;
	__u64 away;
	atomic_bool over;
};

static void *watch_the_clocks(void *arg)
{
	__u64 behind = tw_now(CLOCK_BOOTTIME) - tw_now(CLOCK_MONOTONIC);
	struct timespec moment = { 0, TW_MSEC };
	struct watch *w = arg;

	do {
		w->left = w->back;
		nanosleep(&moment, NULL);
		w->back = tw_now(CLOCK_BOOTTIME);
		w->away = w->back - tw_now(CLOCK_MONOTONIC) - behind;
		/*
		 * The two clocks are not read at the same moment, so small differences do
		 * not count.
		 */
	} while ((__s64)w->away < (__s64)TW_SEC && !w->over);
	return NULL;
}

/**
 * struct absence - a time in which the machine was certainly away, on CLOCK_BOOTTIME
 * @from: the latest that it may have gone
 * @to: the earliest that it may have come back
 */
struct absence {
	__u64 from;
	__u64 to;
};

/*
 * Reads all records of one clock. CLOCK_BOOTTIME is @ahead of that clock. Returns how many
 * timers were due during the absence, if the clock went on.
 */
static int check_records(struct __test_metadata *_metadata, int fd, int c,
			 const __u64 *deadlines, __s64 ahead, struct absence absence)
{
	static struct twheel_event events[TIMERS];
	unsigned int seen[TIMERS] = { };
	int i, meanwhile = 0;
	__u64 deadline;

	/* For wall time a resume is a step, of which the reader is told once. */
	if (c == REALTIME) {
		ASSERT_NE(0, tw_poll(fd, TW_LIMIT_MS));
		EXPECT_EQ(-ECANCELED, tw_read(fd, events, sizeof(events)));
	}
	ASSERT_EQ(TIMERS, tw_collect(fd, events, TIMERS));
	for (i = 0; i < TIMERS; i++) {
		ASSERT_GT(TIMERS, events[i].user_data);
		EXPECT_EQ(1, ++seen[events[i].user_data]);
		deadline = deadlines[events[i].user_data];
		EXPECT_EQ(deadline, events[i].deadline);
		EXPECT_LE(deadline, events[i].expired);
		EXPECT_GE(tw_now(clocks[c]), events[i].expired);

		deadline += ahead;
		if (c == MONOTONIC || deadline <= absence.from || deadline >= absence.to)
			continue;
		meanwhile++;
		/*
		 * It expires at the resume, no earlier than the machine was back, but maybe
		 * before the watching thread goes on.
		 */
		EXPECT_LE(absence.to, events[i].expired + ahead);
	}
	return meanwhile;
}

TEST_F(sleep, deadlines)
{
	__u64 begin[CLOCKS], far[CLOCKS], deadlines[CLOCKS][TIMERS];
	struct twheel_timer_info info;
	struct twheel_event event;
	struct absence absence;
	struct sleeper blocked;
	int i, c, ret, meanwhile[CLOCKS];
	struct watch watch;

	if (self->obstacle)
		SKIP(return, "%s", self->obstacle);
	for (c = 0; c < CLOCKS; c++)
		ASSERT_EQ(0, tw_configure(self->fd[c], clocks[c], c == REALTIME ?
					  TWHEEL_CONFIG_CANCEL_ON_SET : 0));
	/* A reader blocks in read() during the whole test. */
	blocked = (struct sleeper){ .fd = tw_open() };
	ASSERT_LE(0, blocked.fd);
	ASSERT_EQ(0, tw_configure(blocked.fd, CLOCK_BOOTTIME, 0));
	ASSERT_EQ(0, fcntl(blocked.fd, F_SETFL, O_RDWR));

	for (c = 0; c < CLOCKS; c++)
		begin[c] = tw_now(clocks[c]);
	for (c = 0; c < CLOCKS; c++) {
		for (i = 0; i < TIMERS; i++)
			deadlines[c][i] = begin[c] + (i + 1) * step_ns[c];
		ASSERT_TRUE(tw_arm_everywhere(self->fd[c], deadlines[c], TIMERS));
		ASSERT_ARMED(far[c], self->fd[c], begin[c] + TW_FAR, TWHEEL_ARM_ABS, TIMERS);
	}
	ASSERT_NE(0, tw_arm(blocked.fd, begin[BOOTTIME] + 4 * TW_SEC, TWHEEL_ARM_ABS, 7));
	ASSERT_EQ(0, pthread_create(&blocked.thread, NULL, sleep_in_read, &blocked));
	watch = (struct watch){ .back = tw_now(CLOCK_BOOTTIME) };
	ASSERT_EQ(0, pthread_create(&watch.thread, NULL, watch_the_clocks, &watch));

	if (variant->firmware)
		ASSERT_EQ(0, tw_write_file(RTC "wakealarm", self->alarm));
	ret = tw_write_file(POWER "state", "mem");
	watch.over = true;
	pthread_join(watch.thread, NULL);
	if (variant->firmware && (ret == -EBUSY || (!ret && (__s64)watch.away < (__s64)TW_SEC))) {
		/* The reader is left blocked until the process ends. */
		SKIP(return, "the clock chip rang before the machine slept");
	}
	ASSERT_EQ(0, ret);
	TH_LOG("away for %llu ms, from %llu ms on at the earliest", watch.away / TW_MSEC,
	       (watch.left - begin[BOOTTIME]) / TW_MSEC);

	absence.from = watch.back - watch.away;
	absence.to = watch.left + watch.away;
	for (c = 0; c < CLOCKS; c++)
		meanwhile[c] = check_records(_metadata, self->fd[c], c, deadlines[c],
					     begin[BOOTTIME] - begin[c], absence);
	pthread_join(blocked.thread, NULL);
	EXPECT_EQ(RECORD, blocked.ret);
	EXPECT_EQ(7, blocked.event.user_data);
	EXPECT_LE(blocked.event.deadline, blocked.event.expired);
	close(blocked.fd);

	/* By its own clock, a timer that is a day ahead has come nearer. */
	for (c = 0; c < CLOCKS; c++) {
		__u64 before = tw_now(clocks[c]);

		ASSERT_EQ(0, tw_get(self->fd[c], far[c], &info));
		EXPECT_EQ(TWHEEL_STATE_PENDING, info.state);
		EXPECT_EQ(begin[c] + TW_FAR, info.deadline);
		EXPECT_GE(info.deadline - before, info.remaining);
		EXPECT_LE(info.deadline - tw_now(clocks[c]), info.remaining);
		EXPECT_EQ(-EAGAIN, tw_read(self->fd[c], &event, RECORD));
	}

	/* A skip would hide failures, so skip only if there are none. */
	if (tw_passed() && (!meanwhile[BOOTTIME] || !meanwhile[REALTIME]))
		SKIP(return, "too slow to tell what was due while it was away");
}

TEST_HARNESS_MAIN
