// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * heartbeat: which of a million drivers are still there?
 *
 * Every driver has a timer on one twheel descriptor. A driver's report pushes its
 * timer back to a whole timeout from then. A driver whose timer expires is declared
 * offline. This program is both sides: it makes up the reports, on a schedule, and
 * checks what the device says against its own books.
 *
 * The books have, for each driver, the deadline that was armed last. Deadlines are
 * absolute, so an expiration has to carry exactly that deadline, and to come after it.
 * Any other expiration is wrong. Every driver ends in exactly one way: by one
 * expiration, or among the pending timers that are handed back at the end. A driver
 * that does neither was missed.
 *
 * What such a service needs to find the timer of a driver depends on the form:
 *
 * - handles: a table of handles. A batch of reports is a batch of re-arms.
 * - keys: no table. The driver's number is the key of its timer.
 * - leases: a table of words. A report is a compare-and-swap and no system call.
 *   If that fails, the driver was declared offline before, and a record of it
 *   has to follow.
 *
 * Each driver reports every third of the timeout. If the machine is too slow for that,
 * a driver's deadline really passes: its expiration is right, and counted apart.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <twheel.h>

#include "duration.h"
#include "lateness.h"
#include "options.h"
#include "usage.h"

static const char help[] =
"Usage: heartbeat [OPTION]...\n"
"Watch over drivers that report: declare those offline whose reports stop.\n"
"\n"
"  -k, --keyed              the drivers' numbers are the keys of their timers\n"
"  -l, --lease              reports extend leases, without system calls\n"
"  -c, --compare            by handles, by keys and by leases, one after another\n"
"  -n, --drivers N          drivers (default 1000000)\n"
"  -t, --timeout DURATION   silence after which one is offline (default 10m)\n"
"  -d, --duration DURATION  time that reports come for (default twice the timeout)\n"
"  -r, --rate N             reports a second (default: each driver three times in\n"
"                           a timeout)\n"
"  -s, --silent FRACTION    share of drivers whose reports stop (default 0.01)\n"
"  -x, --dead N             number of drivers whose reports stop\n"
"  -b, --batch N            reports an ioctl, and records a read (default 256)\n"
"  -g, --grace DURATION     how late an expiration may be before it counts as\n"
"                           missed (default 10s)\n"
"  -S, --seed N             seed of everything random (default 1)\n"
"  -q, --quiet              no progress\n"
"  -p, --plain              progress in lines, on a terminal too\n"
"  -h, --help               show this help\n"
"\n"
"A demonstration: heartbeat --compare --timeout 20s --duration 30s\n"
"\n"
"Exit codes: 0 no driver was wrongly expired or missed; 1 some were, or a failure\n"
"at run time; 2 wrong usage.\n";

/* How many complaints about single drivers are worth reading. */
#define COMPLAINTS	5

/* The memory of fewer timers cannot be told from what else the kernel allocates. */
#define MEASURABLE	50000

/* How many batches are sent before expirations are looked at again. */
#define BURST		16

/**
 * enum driver_state - what is known of a driver
 * @DRIVER_NEW: no timer was armed for it yet
 * @DRIVER_ONLINE: its timer is armed
 * @DRIVER_LATE: it reported when its lease was over and the record of that was not
 *	read yet
 * @DRIVER_OFFLINE: its timer has expired
 * @DRIVER_DRAINED: its timer was pending at the end
 * @DRIVER_WRONG: something about its timer was wrong, and has been counted
 */
enum driver_state {
	DRIVER_NEW,
	DRIVER_ONLINE,
	DRIVER_LATE,
	DRIVER_OFFLINE,
	DRIVER_DRAINED,
	DRIVER_WRONG,
};

/* &driver.stop of a driver whose reports do not stop. */
#define NEVER	UINT32_MAX

/**
 * struct driver - the books on one driver
 * @deadline: what its timer is armed for: its last report plus the timeout
 * @stop: milliseconds after the start when its reports stop, or %NEVER
 * @state: &enum driver_state
 */
struct driver {
	uint64_t	deadline;
	uint32_t	stop;
	uint32_t	state;
};

/**
 * struct heartbeat - the state of the program, for one form
 * @n: number of drivers
 * @timeout: silence after which a driver is offline
 * @duration: time that reports come for
 * @period: time in which each driver reports once
 * @dead: how many drivers fall silent
 * @batch: length of @arms, @who and @events
 * @grace: how late an expiration may be before it is missed
 * @seed: state of the random numbers
 * @progress: whether to show progress
 * @terminal: whether to show it in one line, on a terminal
 * @config: TWHEEL_CONFIG_KEYED and TWHEEL_CONFIG_LEASE, the form
 * @tw: the context
 * @epoll: waits for @tw
 * @drivers: the books
 * @handles: the drivers' timers, NULL with keys or leases
 * @words: the words of the drivers' leases, NULL without leases
 * @arms: a batch of requests
 * @who: the drivers in @arms
 * @events: what was read
 * @stride: from one driver to the next that reports; coprime to @n, so that a
 *	round of @n steps meets every driver once, in an order that is not that of
 *	their memory
 * @cursor: the next driver to report
 * @start: when the reports begin
 * @turns: how many turns of drivers to report have come since @start
 * @silent_left: silent drivers that are still online
 * @armed: timers made
 * @arm_time: how long it took to make them
 * @pushed: reports that pushed a timer back
 * @withdrawn: those reports among @pushed that came after the expiration and before
 *	its record was read
 * @lost: reports that came when the lease was over
 * @expired: drivers that were rightly declared offline
 * @late_reports: those drivers among @expired whose reports had not stopped
 * @wrong: drivers wrongly declared offline
 * @twice: drivers declared offline again
 * @missed: drivers that should have been declared offline, and were not
 * @complaints: how many were made
 * @kernel_bytes: kernel memory a timer, or negative when it could not be measured
 * @table_bytes: memory a timer in @handles or @words
 * @elapsed: time from the first arm to the last drain
 * @usage: how much was used in that time
 * @ioctls: calls of ioctl()
 * @pushes: those of them that pushed timers back
 * @reads: calls of read()
 * @waits: calls of epoll_wait()
 * @shown: when progress was shown last
 * @shown_pushed: what @pushed was then
 * @by_expiry: from the deadline until the kernel had noted the expiration
 * @by_read: from the deadline until its record was read
 */
struct heartbeat {
	uint32_t		n;
	uint64_t		timeout;
	uint64_t		duration;
	uint64_t		period;
	uint32_t		dead;
	uint32_t		batch;
	uint64_t		grace;
	uint64_t		seed;
	bool			progress;
	bool			terminal;
	uint32_t		config;

	struct twheel		*tw;
	int			epoll;
	struct driver		*drivers;
	uint64_t		*handles;
	uint64_t		**words;
	struct twheel_arm	*arms;
	uint32_t		*who;
	struct twheel_event	*events;

	uint32_t		stride;
	uint32_t		cursor;
	uint64_t		start;
	uint64_t		turns;
	uint32_t		silent_left;

	uint64_t		armed;
	uint64_t		arm_time;
	uint64_t		pushed;
	uint64_t		withdrawn;
	uint64_t		lost;
	uint64_t		expired;
	uint64_t		late_reports;
	uint64_t		wrong;
	uint64_t		twice;
	uint64_t		missed;
	unsigned int		complaints;
	double			kernel_bytes;
	double			table_bytes;
	uint64_t		elapsed;
	struct usage		usage;
	uint64_t		ioctls;
	uint64_t		pushes;
	uint64_t		reads;
	uint64_t		waits;
	uint64_t		shown;
	uint64_t		shown_pushed;
	struct lateness		by_expiry;
	struct lateness		by_read;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* splitmix64: good enough to choose drivers, and the same on every machine. */
static uint64_t random_number(struct heartbeat *hb)
{
	uint64_t z = hb->seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static const char *form_name(const struct heartbeat *hb)
{
	static const char * const names[] = {
		[0]						= "handles",
		[TWHEEL_CONFIG_KEYED]				= "keys",
		[TWHEEL_CONFIG_LEASE]				= "leases",
		[TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE]	= "keyed leases",
	};

	return names[hb->config];
}

static uint32_t greatest_common_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Say what is wrong with a driver, unless there were enough complaints already. */
static void complain_of(struct heartbeat *hb, uint64_t driver, const char *what,
			uint64_t seen, uint64_t expected)
{
	if (hb->complaints++ < COMPLAINTS)
		complain("driver %" PRIu64 ": %s: %" PRIu64 ", not %" PRIu64,
			 driver, what, seen, expected);
}

/*
 * Progress
 */

static void end_progress_line(const struct heartbeat *hb)
{
	if (hb->progress && hb->terminal)
		fputs("\r\033[K", stdout);
}

/* Show the progress if it is time to. */
static void show(struct heartbeat *hb, uint64_t now)
{
	uint64_t pause = hb->terminal ? NSEC_PER_SEC / 5 : 5 * NSEC_PER_SEC;
	double seconds;

	if (!hb->progress || now - hb->shown < pause)
		return;
	seconds = (double)(now - hb->shown) / 1e9;

	end_progress_line(hb);
	printf("%s: ", form_name(hb));
	if (!hb->start)
		printf("arming: %" PRIu64 " of %" PRIu32 " drivers", hb->armed, hb->n);
	else
		printf("%.1f s: pushed back %" PRIu64 " (%.0f a second), offline %" PRIu64
		       " of %" PRIu32 ", wrongly %" PRIu64,
		       (double)(now - hb->start) / 1e9, hb->pushed,
		       (double)(hb->pushed - hb->shown_pushed) / seconds,
		       hb->expired, hb->dead, hb->wrong);
	if (!hb->terminal)
		putchar('\n');
	fflush(stdout);
	hb->shown = now;
	hb->shown_pushed = hb->pushed;
}

/*
 * The reporting side
 */

static void send_batch(struct heartbeat *hb, uint32_t count)
{
	ssize_t ret = twheel_arm_batch(hb->tw, hb->arms, count);

	hb->ioctls++;
	if (ret != (ssize_t)count)
		die(EXIT_FAILED, "cannot arm: %s", strerror(ret < 0 ? (int)-ret : EFAULT));
}

/* The handle in requests for a driver: its key or its handle, or 0 if none is known. */
static uint64_t handle_of(const struct heartbeat *hb, uint32_t driver)
{
	if (hb->config & TWHEEL_CONFIG_KEYED)
		return driver;
	return hb->handles ? hb->handles[driver] : 0;
}

/* Is @handle this driver's? The handles of leases without keys are not kept. */
static bool is_handle_of(const struct heartbeat *hb, uint32_t driver, uint64_t handle)
{
	uint64_t expected = handle_of(hb, driver);

	return handle == expected || (!expected && hb->config == TWHEEL_CONFIG_LEASE);
}

static void prepare(struct heartbeat *hb, uint32_t count, uint32_t driver, uint64_t now)
{
	hb->who[count] = driver;
	hb->arms[count] = (struct twheel_arm){
		.handle = handle_of(hb, driver),
		.user_data = driver,
		.expires = now + hb->timeout,
		.flags = TWHEEL_ARM_ABS | (hb->words ? TWHEEL_ARM_LEASE : 0),
	};
}

static uint32_t next_driver(struct heartbeat *hb)
{
	uint32_t driver = hb->cursor;
	uint64_t next = (uint64_t)driver + hb->stride;

	hb->cursor = (uint32_t)(next < hb->n ? next : next - hb->n);
	return driver;
}

/* Keep the handle or the word by which the timer of a new driver is pushed back. */
static void keep(struct heartbeat *hb, uint32_t driver, const struct twheel_arm *arm)
{
	int ret;

	if (hb->handles)
		hb->handles[driver] = arm->handle;
	if (!hb->words)
		return;
	ret = twheel_lease_word(hb->tw, arm->word, &hb->words[driver]);
	if (ret)
		die(EXIT_FAILED, "cannot map the word of a lease: %s", strerror(-ret));
}

/* Arm a timer for each driver, in the order in which they will report. */
static void register_all(struct heartbeat *hb)
{
	uint64_t begin = twheel_now(hb->tw);
	struct usage usage;

	usage_read(&usage);
	hb->shown = begin;
	while (hb->armed < hb->n && !interrupted) {
		uint64_t left = hb->n - hb->armed;
		uint32_t count = left < hb->batch ? (uint32_t)left : hb->batch;
		uint64_t now = twheel_now(hb->tw);
		uint32_t i;

		for (i = 0; i < count; i++)
			prepare(hb, i, next_driver(hb), now);
		send_batch(hb, count);
		for (i = 0; i < count; i++) {
			struct driver *driver = &hb->drivers[hb->who[i]];

			if (hb->arms[i].result)
				die(EXIT_FAILED, "cannot arm timer %" PRIu64 ": %s",
				    hb->armed + i + 1, strerror(-hb->arms[i].result));
			keep(hb, hb->who[i], &hb->arms[i]);
			driver->deadline = hb->arms[i].expires;
			driver->state = DRIVER_ONLINE;
		}
		hb->armed += count;
		show(hb, now);
	}
	hb->arm_time = twheel_now(hb->tw) - begin;

	usage_since(&usage);
	hb->kernel_bytes = -1;
	if (usage.taken && hb->armed >= MEASURABLE)
		hb->kernel_bytes = (double)(usage.taken - usage.own) / (double)hb->armed;
}

/* A driver reported at @now, and its timer was pushed back. */
static void pushed_back(struct heartbeat *hb, uint32_t index, uint64_t now)
{
	struct driver *driver = &hb->drivers[index];

	driver->deadline = now + hb->timeout;
	hb->pushed++;
}

/* A driver's timer was pending at @now. Should it have expired long before? */
static void check_pending(struct heartbeat *hb, uint32_t index, uint64_t now)
{
	const struct driver *driver = &hb->drivers[index];

	if (driver->deadline + hb->grace < now) {
		complain_of(hb, index, "pending long after its deadline: now",
			    now, driver->deadline);
		hb->missed++;
	}
}

/* A driver's timer was gone before its deadline, and no record had said so. */
static void vanished(struct heartbeat *hb, uint32_t index, const char *what,
		     uint64_t seen, uint64_t expected)
{
	struct driver *driver = &hb->drivers[index];

	driver->state = DRIVER_WRONG;
	hb->silent_left -= driver->stop != NEVER;
	hb->wrong++;
	complain_of(hb, index, what, seen, expected);
}

/* Carry out the reports of the @count drivers in @who, by re-arming their timers. */
static void rearm_timers(struct heartbeat *hb, uint32_t count, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		prepare(hb, i, hb->who[i], now);
	send_batch(hb, count);
	hb->pushes++;

	for (i = 0; i < count; i++) {
		const struct twheel_arm *arm = &hb->arms[i];

		/* With keys a timer that is gone is made anew. */
		if (arm->result || arm->old_state == TWHEEL_STATE_NONE) {
			vanished(hb, hb->who[i], "no timer when it reported: result",
				 (uint64_t)-arm->result, 0);
			continue;
		}
		if (arm->old_state == TWHEEL_STATE_PENDING)
			check_pending(hb, hb->who[i], now);
		else
			hb->withdrawn++;
		pushed_back(hb, hb->who[i], now);
	}
}

/* Carry out the reports of the @count drivers in @who, by extending their leases. */
static void extend_leases(struct heartbeat *hb, uint32_t count, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint32_t index = hb->who[i];
		struct driver *driver = &hb->drivers[index];

		if (twheel_lease_extend(hb->words[index], now + hb->timeout) > 0) {
			check_pending(hb, index, now);
			pushed_back(hb, index, now);
			continue;
		}
		if (twheel_now(hb->tw) < driver->deadline) {
			vanished(hb, index, "its lease is over before its deadline: now",
				 now, driver->deadline);
			continue;
		}
		driver->state = DRIVER_LATE;
		hb->lost++;
	}
}

/* Send the reports of the next @turns drivers, but at most a batch. */
static void report(struct heartbeat *hb, uint64_t turns, uint64_t now)
{
	uint64_t elapsed_ms = (now - hb->start) / NSEC_PER_MSEC;
	uint32_t count = 0;

	while (turns && count < hb->batch) {
		uint32_t index = next_driver(hb);
		const struct driver *driver = &hb->drivers[index];

		turns--;
		hb->turns++;
		if (driver->state == DRIVER_ONLINE &&
		    (driver->stop == NEVER || elapsed_ms < driver->stop))
			hb->who[count++] = index;
	}
	if (!count)
		return;
	if (hb->words)
		extend_leases(hb, count, now);
	else
		rearm_timers(hb, count, now);
}

/* How many turns there should have been at @now. */
static uint64_t turns_due(const struct heartbeat *hb, uint64_t now)
{
	return (uint64_t)((double)(now - hb->start) / (double)hb->period * hb->n);
}

/*
 * The watching side
 */

/* Checks a record, read at @now, against the books. */
static void judge(struct heartbeat *hb, const struct twheel_event *event, uint64_t now)
{
	struct driver *driver;
	const char *wrong = NULL;
	uint64_t expected = 0;
	uint64_t seen = 0;

	if (event->user_data >= hb->n) {
		complain_of(hb, event->user_data, "nobody's timer: drivers",
			    event->user_data, hb->n);
		hb->wrong++;
		return;
	}
	driver = &hb->drivers[event->user_data];
	if (driver->state != DRIVER_ONLINE && driver->state != DRIVER_LATE) {
		complain_of(hb, event->user_data, "declared again: deadline",
			    event->deadline, driver->deadline);
		hb->twice++;
		return;
	}

	if (!is_handle_of(hb, (uint32_t)event->user_data, event->handle)) {
		wrong = "another timer's record: handle";
		seen = event->handle;
		expected = handle_of(hb, (uint32_t)event->user_data);
	} else if (event->deadline != driver->deadline) {
		wrong = "a record of another arming: deadline";
		seen = event->deadline;
		expected = driver->deadline;
	} else if (event->expired < event->deadline || now < event->deadline) {
		wrong = "early: expired";
		seen = event->expired < now ? event->expired : now;
		expected = event->deadline;
	} else if (event->expirations != 1 || event->flags != TWHEEL_EVENT_LAST) {
		wrong = "not one last expiration: expirations";
		seen = event->expirations;
		expected = 1;
	}

	hb->silent_left -= driver->stop != NEVER;
	if (wrong) {
		driver->state = DRIVER_WRONG;
		hb->wrong++;
		complain_of(hb, event->user_data, wrong, seen, expected);
		return;
	}

	driver->state = DRIVER_OFFLINE;
	if (event->expired - event->deadline > hb->grace) {
		complain_of(hb, event->user_data, "expired too late: expired",
			    event->expired, event->deadline);
		hb->missed++;
		return;
	}
	hb->expired++;
	/* The driver's reports had not stopped: this program was too slow to take the next. */
	if (driver->stop == NEVER ||
	    event->expired < hb->start + driver->stop * NSEC_PER_MSEC)
		hb->late_reports++;
	lateness_add(&hb->by_expiry, event->expired - event->deadline);
	lateness_add(&hb->by_read, now - event->deadline);
}

/* Read the records that are ready, a burst at most. Returns whether there may be more. */
static bool watch(struct heartbeat *hb)
{
	unsigned int i;

	for (i = 0; i < BURST; i++) {
		ssize_t n = twheel_read(hb->tw, hb->events, hb->batch);
		uint64_t now = twheel_now(hb->tw);
		ssize_t k;

		hb->reads++;
		if (n == -EAGAIN)
			return false;
		if (n == -EINTR)
			continue;
		if (n < 0)
			die(EXIT_FAILED, "cannot read: %s", strerror((int)-n));
		for (k = 0; k < n; k++)
			judge(hb, &hb->events[k], now);
		if (n < (ssize_t)hb->batch)
			return false;
	}
	return true;
}

static void run(struct heartbeat *hb)
{
	uint64_t end;

	hb->start = twheel_now(hb->tw);
	hb->shown = hb->start;
	end = hb->start + hb->duration;

	while (!interrupted) {
		struct epoll_event ready;
		uint64_t now = twheel_now(hb->tw);
		uint64_t due;
		unsigned int i;
		int wait_ms;
		int n;

		/* Silent drivers may be declared offline a little after the last report. */
		if (now >= end && (!hb->silent_left || now >= end + hb->grace))
			break;

		due = turns_due(hb, now);
		/* After a long stop each driver reports once, not several times. */
		if (due > hb->turns + hb->n)
			hb->turns = due - hb->n;
		for (i = 0; i < BURST && hb->turns < due; i++)
			report(hb, due - hb->turns, twheel_now(hb->tw));

		/* Wait until a batch is due, but not so long that progress stops. */
		wait_ms = 0;
		if (hb->turns >= due) {
			double batch_ms = (double)hb->period / 1e6 / hb->n * hb->batch;

			wait_ms = batch_ms < 1 ? 1 : batch_ms > 100 ? 100 : (int)batch_ms;
		}
		n = epoll_wait(hb->epoll, &ready, 1, wait_ms);
		hb->waits++;
		if (n < 0 && errno != EINTR)
			die(EXIT_FAILED, "epoll_wait: %s", strerror(errno));
		if (n > 0)
			watch(hb);
		show(hb, twheel_now(hb->tw));
	}
	end_progress_line(hb);
}

/* Checks a timer that was pending at the end, at @now, against the books. */
static void judge_pending(struct heartbeat *hb, const struct twheel_timer_info *info,
			  uint64_t now)
{
	struct driver *driver;

	if (info->user_data >= hb->n) {
		complain_of(hb, info->user_data, "nobody's timer was pending: drivers",
			    info->user_data, hb->n);
		hb->wrong++;
		return;
	}
	driver = &hb->drivers[info->user_data];
	if (driver->state != DRIVER_ONLINE) {
		complain_of(hb, info->user_data, "pending when it had ended: deadline",
			    info->deadline, driver->deadline);
		hb->twice++;
		return;
	}
	driver->state = DRIVER_DRAINED;
	if (!is_handle_of(hb, (uint32_t)info->user_data, info->handle) ||
	    info->deadline != driver->deadline) {
		complain_of(hb, info->user_data, "pending with another deadline",
			    info->deadline, driver->deadline);
		hb->wrong++;
	} else if (driver->deadline + hb->grace < now) {
		complain_of(hb, info->user_data, "still pending: at least",
			    now - driver->deadline, hb->grace);
		hb->missed++;
	}
}

static void drain(struct heartbeat *hb)
{
	uint64_t now = twheel_now(hb->tw);
	struct twheel_timer_info infos[256];
	uint64_t cursor = 0;

	for (;;) {
		ssize_t n = twheel_drain(hb->tw, &cursor, infos, 256);
		ssize_t k;

		hb->ioctls++;
		if (n == -EINTR)
			continue;
		if (n < 0)
			die(EXIT_FAILED, "cannot drain: %s", strerror((int)-n));
		if (!n)
			return;
		for (k = 0; k < n; k++)
			judge_pending(hb, &infos[k], now);
	}
}

/* Drain the timers that are pending, and account for each driver. */
static void settle(struct heartbeat *hb)
{
	struct twheel_info info;
	uint32_t i;
	int ret;

	drain(hb);
	/* Read the records of timers that expired before they could be drained. */
	while (watch(hb))
		;

	for (i = 0; i < hb->n; i++) {
		if (hb->drivers[i].state == DRIVER_ONLINE ||
		    hb->drivers[i].state == DRIVER_LATE) {
			complain_of(hb, i, "its timer is lost: deadline",
				    hb->drivers[i].deadline, 0);
			hb->missed++;
		}
	}

	ret = twheel_get_info(hb->tw, 0, &info);
	hb->ioctls++;
	if (ret)
		die(EXIT_FAILED, "cannot get information: %s", strerror(-ret));
	if (info.pending || info.ready) {
		complain("%" PRIu64 " timers pending and %" PRIu64 " ready at the end",
			 (uint64_t)info.pending, (uint64_t)info.ready);
		hb->wrong += info.pending + info.ready;
	}
}

/*
 * The table
 */

/**
 * enum row_kind - what a row of the table shows
 * @ROW_TITLE: nothing
 * @ROW_NUMBER: a uint32_t
 * @ROW_COUNT: a uint64_t
 * @ROW_TIME: an int64_t of nanoseconds
 * @ROW_BYTES: a double, negative if it was not measured
 * @ROW_LATENESS: a percentile of a &struct lateness
 */
enum row_kind {
	ROW_TITLE,
	ROW_NUMBER,
	ROW_COUNT,
	ROW_TIME,
	ROW_BYTES,
	ROW_LATENESS,
};

/**
 * struct row - a row of the table
 * @name: the name of the figure
 * @kind: &enum row_kind
 * @offset: offset of the figure in &struct heartbeat
 * @permille: for %ROW_LATENESS, which percentile
 */
struct row {
	const char	*name;
	enum row_kind	kind;
	size_t		offset;
	unsigned int	permille;
};

#define TITLE(name)	{ name, ROW_TITLE, 0, 0 }

#define FIGURE(name, kind, member) \
	{ name, ROW_##kind, offsetof(struct heartbeat, member), 0 }

#define PERCENTILE(name, member, permille) \
	{ name, ROW_LATENESS, offsetof(struct heartbeat, member), permille }

static const struct row rows[] = {
	FIGURE("drivers", NUMBER, n),
	FIGURE("of which fall silent", NUMBER, dead),
	FIGURE("armed", COUNT, armed),
	FIGURE("pushed back", COUNT, pushed),
	FIGURE("  withdrawn", COUNT, withdrawn),
	FIGURE("lost to expiry", COUNT, lost),
	FIGURE("expired", COUNT, expired),
	FIGURE("  late reports", COUNT, late_reports),
	FIGURE("wrongly expired", COUNT, wrong),
	FIGURE("missed", COUNT, missed),
	FIGURE("declared twice", COUNT, twice),
	TITLE("lateness, by kernel"),
	PERCENTILE("  p50", by_expiry, 500),
	PERCENTILE("  p99", by_expiry, 990),
	PERCENTILE("  max", by_expiry, 1000),
	TITLE("lateness, when read"),
	PERCENTILE("  p50", by_read, 500),
	PERCENTILE("  p99", by_read, 990),
	PERCENTILE("  max", by_read, 1000),
	TITLE("system calls"),
	FIGURE("  ioctl", COUNT, ioctls),
	FIGURE("    to push back", COUNT, pushes),
	FIGURE("  read", COUNT, reads),
	FIGURE("  epoll_wait", COUNT, waits),
	TITLE("CPU time"),
	FIGURE("  user", TIME, usage.user),
	FIGURE("  system", TIME, usage.system),
	FIGURE("  the whole machine", TIME, usage.busy),
	FIGURE("elapsed", TIME, elapsed),
	FIGURE("  to arm them all", TIME, arm_time),
	TITLE("memory a timer, bytes"),
	FIGURE("  kernel", BYTES, kernel_bytes),
	FIGURE("  table of its own", BYTES, table_bytes),
};

static const char notes[] =
"\n"
"withdrawn: pushed back after an expiration that was not read yet. lost to expiry:\n"
"the lease was over, and its record not read yet. late reports: rightly expired, as\n"
"this program was too slow. the whole machine: with all interrupts, and whatever else\n"
"it does. kernel memory: what was taken while arming, less what this process grew by.\n";

static void print_figure(const struct heartbeat *hb, const struct row *row)
{
	const void *figure = (const char *)hb + row->offset;
	const struct lateness *late = figure;
	char text[DURATION_SIZE] = "-";

	switch (row->kind) {
	case ROW_TITLE:
		return;
	case ROW_NUMBER:
		snprintf(text, sizeof(text), "%" PRIu32, *(const uint32_t *)figure);
		break;
	case ROW_COUNT:
		snprintf(text, sizeof(text), "%" PRIu64, *(const uint64_t *)figure);
		break;
	case ROW_TIME:
		duration_format(text, *(const uint64_t *)figure);
		break;
	case ROW_BYTES:
		if (*(const double *)figure >= 0)
			snprintf(text, sizeof(text), "%.1f", *(const double *)figure);
		break;
	case ROW_LATENESS:
		if (late->count)
			duration_format(text, lateness_percentile(late, row->permille));
		break;
	}
	printf(" %12s", text);
}

/* Print the figures of @n forms side by side. */
static void print_table(const struct heartbeat *forms, unsigned int n)
{
	unsigned int i;
	size_t k;

	printf("%-22s", "");
	for (i = 0; i < n; i++)
		printf(" %12s", form_name(&forms[i]));
	putchar('\n');
	for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		printf("%-*s", rows[k].kind == ROW_TITLE ? 0 : 22, rows[k].name);
		for (i = 0; i < n; i++)
			print_figure(&forms[i], &rows[k]);
		putchar('\n');
	}
	fputs(notes, stdout);
}

/* Chooses exactly @dead drivers, and the time at which each of them falls silent. */
static void choose_silent(struct heartbeat *hb)
{
	uint64_t span_ms = 1;
	uint32_t left = hb->dead;
	uint32_t i;

	/* Fall silent early enough that each timer expires before the end. */
	if (hb->duration > hb->timeout)
		span_ms += (hb->duration - hb->timeout) / NSEC_PER_MSEC;
	if (span_ms > NEVER)
		span_ms = NEVER;

	for (i = 0; i < hb->n; i++) {
		hb->drivers[i].stop = NEVER;
		if (random_number(hb) % (hb->n - i) < left) {
			hb->drivers[i].stop = (uint32_t)(random_number(hb) % span_ms);
			left--;
		}
	}
	hb->silent_left = hb->dead;
}

/* Allocate @n elements of @size, all zero. Ends the program if there is no memory. */
static void *allocate(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory)
		die(EXIT_FAILED, "%s", strerror(ENOMEM));
	return memory;
}

static void set_up(struct heartbeat *hb)
{
	const struct twheel_config config = { .flags = hb->config };
	struct epoll_event event = { .events = EPOLLIN };
	struct twheel_info info;
	uint64_t room;
	int ret;

	ret = twheel_open(&hb->tw, NULL, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, &config);
	if (ret == -EINVAL)
		die(EXIT_FAILED, "this module has no %s: see features in twheel info",
		    form_name(hb));
	if (ret)
		die_without_device(ret);
	ret = twheel_get_info(hb->tw, 0, &info);
	if (ret)
		die(EXIT_FAILED, "cannot get information: %s", strerror(-ret));
	room = info.user_limit > info.user_timers ? info.user_limit - info.user_timers : 0;
	if (room > info.limit)
		room = info.limit;
	if (hb->n > room)
		die(EXIT_FAILED,
		    "only %" PRIu64 " timers are allowed: see max_fd_timers in twheel(4)", room);

	hb->drivers = allocate(hb->n, sizeof(*hb->drivers));
	hb->arms = allocate(hb->batch, sizeof(*hb->arms));
	hb->who = allocate(hb->batch, sizeof(*hb->who));
	hb->events = allocate(hb->batch, sizeof(*hb->events));
	if (!hb->config) {
		hb->handles = allocate(hb->n, sizeof(*hb->handles));
		hb->table_bytes = sizeof(*hb->handles);
	}
	if (hb->config & TWHEEL_CONFIG_LEASE) {
		hb->words = allocate(hb->n, sizeof(*hb->words));
		hb->table_bytes = sizeof(*hb->words);
	}

	hb->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (hb->epoll < 0 ||
	    epoll_ctl(hb->epoll, EPOLL_CTL_ADD, twheel_fd(hb->tw), &event))
		die(EXIT_FAILED, "epoll: %s", strerror(errno));

	do {
		hb->stride = 1 + (uint32_t)(random_number(hb) % hb->n);
	} while (greatest_common_divisor(hb->stride, hb->n) != 1);
	hb->stride %= hb->n;
	choose_silent(hb);
}

static void tear_down(struct heartbeat *hb)
{
	close(hb->epoll);
	twheel_close(hb->tw);
	free(hb->drivers);
	free(hb->handles);
	free(hb->words);
	free(hb->arms);
	free(hb->who);
	free(hb->events);
}

/* Wait until the kernel has its memory back, which takes some time after a close. */
static void wait_for_memory(void)
{
	struct usage usage;

	do {
		usage_read(&usage);
		sleep(1);
		usage_since(&usage);
	} while (usage.taken < -65536 && !interrupted);
}

/* Run one form, from the open to the figures. Returns whether nothing was wrong. */
static bool watch_over(struct heartbeat *hb)
{
	uint64_t begin;

	set_up(hb);
	begin = twheel_now(hb->tw);
	usage_read(&hb->usage);
	register_all(hb);
	run(hb);
	settle(hb);
	usage_since(&hb->usage);
	hb->elapsed = twheel_now(hb->tw) - begin;
	tear_down(hb);
	return !hb->wrong && !hb->missed && !hb->twice;
}

/* How many drivers fall silent: @dead of them if that was given, or a share. */
static uint32_t count_silent(const struct heartbeat *hb, uint64_t dead, const char *share)
{
	double silent = 0.01;
	char *end;

	if (share) {
		silent = strtod(share, &end);
		if (end == share || *end || !(silent >= 0 && silent <= 1))
			die(EXIT_USAGE, "--silent: '%s' is not a fraction from 0 to 1", share);
	}
	if (dead == UINT64_MAX)
		dead = (uint64_t)(silent * hb->n + 0.5);
	if (dead > hb->n)
		die(EXIT_USAGE, "--dead: %" PRIu64 " of %" PRIu32 " drivers cannot be",
		    dead, hb->n);
	if (dead && hb->duration <= hb->timeout)
		die(EXIT_USAGE,
		    "--duration has to exceed --timeout for anyone to be declared offline");
	return (uint32_t)dead;
}

/* The time in which each driver reports once: by @rate, or a third of the timeout. */
static uint64_t choose_period(const struct heartbeat *hb, uint64_t rate)
{
	uint64_t period = hb->timeout / 3;

	if (rate)
		period = (uint64_t)((double)hb->n / (double)rate * 1e9);
	/* Leave some room for a slow machine. */
	if (period > hb->timeout / 4 * 3)
		die(EXIT_USAGE, "--rate: %" PRIu64 " a second is too few: %.0f are needed",
		    rate, (double)hb->n / ((double)(hb->timeout / 4 * 3) / 1e9) + 1);
	return period ? period : 1;
}

/* Parse the options. Returns whether all forms are to be compared. */
static bool parse_options(struct heartbeat *hb, int argc, char **argv)
{
	bool keyed = false, lease = false, compare = false, quiet = false, plain = false;
	uint64_t dead = UINT64_MAX, rate = 0;
	const char *share = NULL;
	const struct option_rule rules[] = {
		{ "keyed",	'k', OPTION_SET,	&keyed,		0, 0 },
		{ "lease",	'l', OPTION_SET,	&lease,		0, 0 },
		{ "compare",	'c', OPTION_SET,	&compare,	0, 0 },
		{ "drivers",	'n', OPTION_NUMBER32,	&hb->n,		1, 1000000000 },
		{ "timeout",	't', OPTION_DURATION,	&hb->timeout,	0, 0 },
		{ "duration",	'd', OPTION_DURATION,	&hb->duration,	0, 0 },
		{ "rate",	'r', OPTION_NUMBER,	&rate,		1, 1000000000 },
		{ "silent",	's', OPTION_TEXT,	&share,		0, 0 },
		{ "dead",	'x', OPTION_NUMBER,	&dead,		0, UINT32_MAX },
		{ "batch",	'b', OPTION_NUMBER32,	&hb->batch,	1, 65536 },
		{ "grace",	'g', OPTION_DURATION,	&hb->grace,	0, 0 },
		{ "seed",	'S', OPTION_NUMBER,	&hb->seed,	0, UINT64_MAX },
		{ "quiet",	'q', OPTION_SET,	&quiet,		0, 0 },
		{ "plain",	'p', OPTION_SET,	&plain,		0, 0 },
		{ }
	};

	argv = options_parse(argc, argv, rules, help);
	if (*argv)
		die(EXIT_USAGE, "'%s' is too much: no argument is taken", *argv);
	if (compare && (keyed || lease))
		die(EXIT_USAGE, "--compare takes neither --keyed nor --lease: it does all forms");
	hb->config = (keyed ? TWHEEL_CONFIG_KEYED : 0) | (lease ? TWHEEL_CONFIG_LEASE : 0);
	hb->progress = !quiet;
	hb->terminal = !plain && isatty(STDOUT_FILENO);
	if (!hb->duration)
		hb->duration = 2 * hb->timeout;
	hb->dead = count_silent(hb, dead, share);
	hb->period = choose_period(hb, rate);
	return compare;
}

int main(int argc, char **argv)
{
	static const uint32_t all[] = { 0, TWHEEL_CONFIG_KEYED, TWHEEL_CONFIG_LEASE };
	static struct heartbeat forms[sizeof(all) / sizeof(all[0])] = { {
		.n = 1000000,
		.timeout = 600 * NSEC_PER_SEC,
		.batch = 256,
		.grace = 10 * NSEC_PER_SEC,
		.seed = 1,
	} };
	struct sigaction action = { .sa_handler = on_signal };
	unsigned int n = 1;
	unsigned int i;
	bool good;

	if (parse_options(&forms[0], argc, argv)) {
		for (n = 0; n < sizeof(all) / sizeof(all[0]); n++) {
			forms[n] = forms[0];
			forms[n].config = all[n];
		}
	}

	/* Show the table also if one of these signals ends the program. */
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);

	good = true;
	for (i = 0; i < n && (!i || !interrupted); i++) {
		if (i)
			wait_for_memory();
		good &= watch_over(&forms[i]);
	}
	print_table(forms, i);
	if (fflush(stdout) || ferror(stdout))
		die(EXIT_FAILED, "standard output: %s", strerror(errno));
	return good ? EXIT_DONE : EXIT_FAILED;
}
