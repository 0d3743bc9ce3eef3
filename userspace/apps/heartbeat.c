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
 *   With --push either of these is written, as pairs of a timer and a time, and nothing is
 *   told of what the timer was.
 * - leases: a table of leases. A report is a compare-and-swap and no system call.
 *   If that fails, the driver was declared offline before, and a record of it
 *   has to follow.
 *
 * Each driver reports every third of the timeout. If the machine is too slow for that,
 * a driver's deadline really passes: its expiration is right, and counted apart.
 *
 * The main loop is here; heartbeat.h says where the rest is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "duration.h"
#include "heartbeat.h"
#include "inherited.h"
#include "options.h"
#include "usage.h"

static const char help[] =
"Usage: heartbeat [OPTION]...\n"
"Watch over drivers that report: declare those offline whose reports stop.\n"
"\n"
"  -k, --keyed              the drivers' numbers are the keys of their timers\n"
"  -l, --lease              reports extend leases, without system calls\n"
"  -w, --push               reports push timers back by write()\n"
"  -c, --compare            by handles, by keys and by leases, one after another\n"
"  -n, --drivers N          drivers (default 1000000)\n"
"  -t, --timeout DURATION   silence after which one is offline (default 10m)\n"
"  -d, --duration DURATION  time that reports come for (default twice the timeout)\n"
"  -r, --rate N             reports a second (default: each driver three times in\n"
"                           a timeout)\n"
"  -s, --silent FRACTION    share of drivers whose reports stop (default 0.01)\n"
"  -x, --dead N             number of drivers whose reports stop\n"
"  -b, --batch N            reports a system call, and records a read (default 256)\n"
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

static void on_signal(int sig)
{
	(void)sig;
	heartbeat_interrupted = 1;
}

/* How many turns there should have been at @now. */
static uint64_t turns_due(const struct heartbeat *hb, uint64_t now)
{
	return (uint64_t)((double)(now - hb->start) / (double)hb->period * hb->n);
}

/* Take turns: send the reports that are due, and read what has expired. */
static void run(struct heartbeat *hb)
{
	uint64_t end;

	hb->start = twheel_now(hb->tw);
	hb->shown = hb->start;
	end = hb->start + hb->duration;

	while (!heartbeat_interrupted) {
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
			heartbeat_report(hb, due - hb->turns, twheel_now(hb->tw));

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
			heartbeat_watch(hb);
		heartbeat_show(hb, twheel_now(hb->tw));
	}
	heartbeat_end_line(hb);
}

/* splitmix64: good enough to choose drivers, and the same on every machine. */
static uint64_t random_number(struct heartbeat *hb)
{
	uint64_t z = hb->seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
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
	if (ret)
		die_without_device(ret);
	ret = twheel_get_info(hb->tw, 0, &info);
	if (ret)
		die(EXIT_FAILED, "cannot get information: %s", strerror(-ret));
	hb->embedded = info.features & TWHEEL_FEATURE_EMBEDDED;
	room = info.user_limit > info.user_timers ? info.user_limit - info.user_timers : 0;
	if (room > info.limit)
		room = info.limit;
	if (hb->n > room)
		die(EXIT_FAILED,
		    "only %" PRIu64 " timers are allowed: %s", room,
		    hb->embedded ? "4% of memory" : "see max_fd_timers in twheel(4)");

	hb->drivers = allocate(hb->n, sizeof(*hb->drivers));
	hb->arms = allocate(hb->batch, sizeof(*hb->arms));
	hb->pushes = allocate(hb->batch, sizeof(*hb->pushes));
	hb->who = allocate(hb->batch, sizeof(*hb->who));
	hb->events = allocate(hb->batch, sizeof(*hb->events));
	if (!hb->config) {
		hb->handles = allocate(hb->n, sizeof(*hb->handles));
		hb->table_bytes = sizeof(*hb->handles);
	}
	if (hb->config & TWHEEL_CONFIG_LEASE) {
		hb->leases = allocate(hb->n, sizeof(*hb->leases));
		hb->table_bytes = sizeof(*hb->leases);
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
	free(hb->leases);
	free(hb->arms);
	free(hb->pushes);
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
	} while (usage.taken < -65536 && !heartbeat_interrupted);
}

/* Run one form, from the open to the figures. Returns whether nothing was wrong. */
static bool watch_over(struct heartbeat *hb)
{
	uint64_t begin;

	set_up(hb);
	begin = twheel_now(hb->tw);
	usage_read(&hb->usage);
	heartbeat_register(hb);
	run(hb);
	heartbeat_settle(hb);
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

	if (share && dead != UINT64_MAX)
		die(EXIT_USAGE, "--silent and --dead both say how many fall silent: use one");
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
	bool by_write = false;
	uint64_t dead = UINT64_MAX, rate = 0;
	const char *share = NULL;
	const struct option_rule rules[] = {
		{ "keyed",	'k', OPTION_SET,	&keyed,		0, 0 },
		{ "lease",	'l', OPTION_SET,	&lease,		0, 0 },
		{ "push",	'w', OPTION_SET,	&by_write,	0, 0 },
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
	if (compare && (keyed || lease || by_write))
		die(EXIT_USAGE, "--compare takes no --keyed, --lease or --push: it compares forms");
	if (lease && by_write)
		die(EXIT_USAGE, "--push and --lease: a lease is extended without a system call");
	hb->by_write = by_write;
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
	inherited_catch(SIGINT, on_signal);
	inherited_catch(SIGTERM, on_signal);

	good = true;
	for (i = 0; i < n && (!i || !heartbeat_interrupted); i++) {
		if (i)
			wait_for_memory();
		good &= watch_over(&forms[i]);
	}
	heartbeat_print(forms, i);
	flush_output();
	return good ? EXIT_DONE : EXIT_FAILED;
}
