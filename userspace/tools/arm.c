// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel arm: arm timers and print their expirations as they come.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "duration.h"
#include "inherited.h"
#include "terminal.h"
#include "tool.h"

static const char help[] =
"Usage: twheel arm [OPTION]... DURATION...\n"
"       twheel arm [OPTION]... --clock realtime @SECONDS...\n"
"Arm one timer for each DURATION and print expirations as they come, until all\n"
"timers have ended. One that repeats without --count ends with --for, or with an\n"
"interrupt.\n"
"\n"
"  -e, --every DURATION   repeat at this interval\n"
"  -c, --count N          end after N expirations (with --every)\n"
"  -y, --fixed-delay      count each interval from the last read, not on a grid\n"
"  -s, --slack DURATION   let each expiration be this much later\n"
"  -C, --clock CLOCK      monotonic (default); boottime, which goes on during\n"
"                         suspend; or realtime, which is set now and then and so\n"
"                         takes points in time: @SECONDS since 1970\n"
"  -d, --data N           user data of the first timer (default 1); the others\n"
"                         count up from it\n"
"  -f, --for DURATION     stop after this time, whatever clock is set meanwhile\n"
"  -j, --json             a JSON object in each line\n"
"  -D, --device PATH      the device (default " TWHEEL_DEVICE " or, if that is not\n"
"                         there, a wheel in the process)\n"
"  -h, --help             show this help\n"
"\n"
"A DURATION is written as 250ms, 10m, 1h30m or 1.5s; a number alone is seconds.\n"
"The units are d, h, m or min, s or sec, ms, us and ns, the larger first.\n"
"'date -d 12:00 +@%s' prints the @SECONDS of 12:00 today.\n"
"\n"
"Exit codes: 0 all timers have ended, or an interrupt or --for stopped them;\n"
"1 failure at run time; 2 wrong usage.\n";

/* How many events are read at once, and how many timers are armed. */
#define EVENTS	64
#define ARMS	1024

/**
 * struct settings - what the command line asks for
 * @device: path, or NULL
 * @config: clock
 * @arm: interval, slack, count and user_data of the first timer
 * @run_time: stop after this time, in nanoseconds
 * @stops: @run_time was given
 * @json: print JSON lines
 */
struct settings {
	const char		*device;
	struct twheel_config	config;
	struct twheel_arm	arm;
	uint64_t		run_time;
	bool			stops;
	bool			json;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

static bool parse_clock(const char *text, __u32 *clock)
{
	if (!strcmp(text, "monotonic")) {
		*clock = CLOCK_MONOTONIC;
	} else if (!strcmp(text, "boottime")) {
		*clock = CLOCK_BOOTTIME;
	} else if (!strcmp(text, "realtime")) {
		*clock = TWHEEL_CLOCK_REALTIME;
	} else {
		tool_complain(TOOL_USAGE,
			      "arm: '%s' is not a clock: use monotonic, boottime or realtime",
			      text);
		return false;
	}
	return true;
}

static void print_event(const struct settings *settings, uint64_t start,
			const struct twheel_event *event)
{
	bool last = event->flags & TWHEEL_EVENT_LAST;
	char late[DURATION_SIZE];

	if (settings->json) {
		printf("{\"data\":%" PRIu64 ",\"handle\":%" PRIu64
		       ",\"deadline\":%" PRIu64 ",\"expired\":%" PRIu64
		       ",\"late\":%" PRIu64 ",\"expirations\":%" PRIu64
		       ",\"last\":%s}\n",
		       (uint64_t)event->user_data, (uint64_t)event->handle,
		       (uint64_t)event->deadline, (uint64_t)event->expired,
		       (uint64_t)(event->expired - event->deadline),
		       (uint64_t)event->expirations, last ? "true" : "false");
		return;
	}
	printf("%12.6f s  timer %" PRIu64 "  %s late",
	       (double)(int64_t)(event->expired - start) / 1e9, (uint64_t)event->user_data,
	       duration_format(late, event->expired - event->deadline));
	if (event->expirations > 1)
		printf("  %" PRIu64 " expirations", (uint64_t)event->expirations);
	puts(last ? "  last" : "");
}

/* Print events until @live timers have ended, or the program is to stop. */
static enum tool_exit watch(struct twheel *tw, const struct settings *settings,
			    uint64_t start, size_t live, const sigset_t *waiting)
{
	struct pollfd pollfd = { .fd = twheel_fd(tw), .events = POLLIN };
	uint64_t stop = UINT64_MAX;

	/* The context's clock may be set; and poll() knows only this one. */
	if (settings->stops &&
	    __builtin_add_overflow(clock_now(CLOCK_MONOTONIC), settings->run_time, &stop))
		stop = UINT64_MAX;

	while (live && !interrupted) {
		struct twheel_event events[EVENTS];
		uint64_t now = clock_now(CLOCK_MONOTONIC);
		struct timespec timeout;
		ssize_t n;
		ssize_t i;

		if (stop != UINT64_MAX && now >= stop)
			break;
		timeout.tv_sec = (time_t)((stop - now) / NSEC_PER_SEC);
		timeout.tv_nsec = (long)((stop - now) % NSEC_PER_SEC);
		if (ppoll(&pollfd, 1, stop == UINT64_MAX ? NULL : &timeout, waiting) < 0 &&
		    errno != EINTR)
			return tool_complain(TOOL_FAILED, "arm: poll: %s", strerror(errno));
		inherited_let_in(waiting);

		n = twheel_read(tw, events, EVENTS);
		if (n == -EAGAIN || n == -EINTR)
			continue;
		if (n < 0)
			return tool_complain(TOOL_FAILED, "arm: read: %s", strerror((int)-n));
		for (i = 0; i < n; i++) {
			print_event(settings, start, &events[i]);
			if (events[i].flags & TWHEEL_EVENT_LAST)
				live--;
		}
		if (tool_flush() != TOOL_OK)
			return TOOL_FAILED;
	}
	return TOOL_OK;
}

/* Arm @n timers. */
static enum tool_exit arm_all(struct twheel *tw, struct twheel_arm *arms, size_t n,
			      char **durations)
{
	struct progress progress;
	size_t i, k, part;
	ssize_t ret;

	progress_begin(&progress, "timers", n);
	for (i = 0; i < n; i += part) {
		part = n - i < ARMS ? n - i : ARMS;
		ret = twheel_arm_batch(tw, arms + i, part);
		if (ret < 0) {
			progress_end(&progress);
			return tool_complain(TOOL_FAILED, "arm: %s", strerror((int)-ret));
		}
		/* There was no memory for the others: the next call says so. */
		part = (size_t)ret;
		for (k = i; k < i + part; k++) {
			if (!arms[k].result)
				continue;
			progress_end(&progress);
			return tool_complain(TOOL_FAILED, "arm: '%s': %s", durations[k],
					     strerror(-arms[k].result));
		}
		progress_update(&progress, i + part);
	}
	progress_end(&progress);
	return TOOL_OK;
}

/* Read a DURATION, or @SECONDS, which have no unit, of the clock that takes these. */
static bool parse_when(const struct settings *settings, const char *text, struct twheel_arm *arm)
{
	bool at = settings->config.clock == TWHEEL_CLOCK_REALTIME;
	uint64_t ns;

	if (at != (*text == '@') ||
	    (at && (!text[1] || text[1 + strspn(text + 1, "0123456789.")]))) {
		tool_complain(TOOL_USAGE, "arm: '%s' is %s", text, at ?
			      "not @SECONDS, which realtime takes: use e.g. $(date -d 12:00 +@%s)" :
			      "a point in time: use --clock realtime");
		return false;
	}
	if (!tool_duration("arm", text + at, &ns))
		return false;
	arm->expires = ns;
	arm->flags |= at ? TWHEEL_ARM_ABS : 0;
	return true;
}

static enum tool_exit run(const struct settings *settings, size_t n, char **durations)
{
	enum tool_exit code = TOOL_FAILED;
	struct twheel_arm *arms;
	struct twheel *tw;
	sigset_t waiting;
	uint64_t start;
	size_t i;

	arms = calloc(n, sizeof(*arms));
	if (!arms)
		return tool_complain(TOOL_FAILED, "arm: %s", strerror(ENOMEM));
	for (i = 0; i < n; i++) {
		arms[i] = settings->arm;
		arms[i].user_data += i;
		if (!parse_when(settings, durations[i], &arms[i])) {
			code = TOOL_USAGE;
			goto out_free;
		}
	}

	if (tool_open(&tw, settings->device, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC,
		      &settings->config) != TOOL_OK)
		goto out_free;
	inherited_catch_all(on_signal, &waiting, SIGINT, SIGTERM, 0);

	start = twheel_now(tw);
	code = arm_all(tw, arms, n, durations);
	if (code == TOOL_OK)
		code = watch(tw, settings, start, n, &waiting);
	twheel_close(tw);
out_free:
	free(arms);
	return code;
}

enum tool_exit tool_arm(int argc, char **argv)
{
	static const struct option options[] = {
		{ "every",	required_argument,	NULL, 'e' },
		{ "count",	required_argument,	NULL, 'c' },
		{ "fixed-delay", no_argument,		NULL, 'y' },
		{ "slack",	required_argument,	NULL, 's' },
		{ "clock",	required_argument,	NULL, 'C' },
		{ "data",	required_argument,	NULL, 'd' },
		{ "for",	required_argument,	NULL, 'f' },
		{ "json",	no_argument,		NULL, 'j' },
		{ "device",	required_argument,	NULL, 'D' },
		{ "help",	no_argument,		NULL, 'h' },
		{ }
	};
	struct settings settings = {
		.arm.user_data = 1,
	};
	uint64_t value = 0;
	bool good = true;
	int c;

	while (good && (c = getopt_long(argc, argv, "e:c:ys:C:d:f:jD:h", options,
					NULL)) != -1) {
		switch (c) {
		case 'e':
			good = tool_every("arm", optarg, &value);
			settings.arm.interval = value;
			break;
		case 'c':
			good = tool_number("arm", optarg, 0, UINT32_MAX, &value);
			settings.arm.count = (__u32)value;
			break;
		case 'y':
			settings.arm.flags |= TWHEEL_ARM_FIXED_DELAY;
			break;
		case 's':
			good = tool_duration("arm", optarg, &value);
			settings.arm.slack = value;
			break;
		case 'C':
			good = parse_clock(optarg, &settings.config.clock);
			break;
		case 'd':
			good = tool_number("arm", optarg, 0, UINT64_MAX, &value);
			settings.arm.user_data = value;
			break;
		case 'f':
			good = tool_duration("arm", optarg, &settings.run_time);
			settings.stops = true;
			break;
		case 'j':
			settings.json = true;
			break;
		case 'D':
			settings.device = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return tool_flush();
		default:
			return tool_usage("arm");
		}
	}
	if (!good)
		return TOOL_USAGE;
	if (!settings.arm.interval && settings.arm.count > 1)
		return tool_complain(TOOL_USAGE, "arm: --count needs --every");
	if (!settings.arm.interval && settings.arm.flags)
		return tool_complain(TOOL_USAGE, "arm: --fixed-delay needs --every");
	if (optind == argc)
		return tool_complain(TOOL_USAGE, "arm: no DURATION: " DURATION_HINT);

	return run(&settings, (size_t)(argc - optind), argv + optind);
}
