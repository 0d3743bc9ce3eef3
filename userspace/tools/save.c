// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel save, twheel load: the timers of a context go to a file, and come back.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "names.h"
#include "saved.h"
#include "tool.h"

static const char help_save[] =
"Usage: twheel save [OPTION]... [--pid PID] --fd N FILE\n"
"Write the pending timers of a descriptor into a file, for 'twheel load'.\n"
"\n"
"  -F, --fd N     this descriptor, which this program has inherited\n"
"  -p, --pid PID  or which this process has; that takes the right to trace it\n"
"  -r, --drain    cancel the timers once they are in the file, and then write it anew,\n"
"                 with what the cancelled timers were just then\n"
"  -h, --help     show this help\n"
"\n"
"Timers that have expired are not saved: they are there to be read.\n"
"\n"
"Exit codes: 0 done, 1 failure at run time, 2 wrong usage.\n";

static const char help_load[] =
"Usage: twheel load [OPTION]... [--pid PID] --fd N FILE\n"
"Arm the timers that 'twheel save' has written into a file, all or none.\n"
"\n"
"  -F, --fd N     in this descriptor, which this program has inherited\n"
"  -p, --pid PID  or which this process has; that takes the right to trace it\n"
"  -m, --map      print a line for each timer: the handle that it had, the one that it\n"
"                 has, and for a lease its word and tag\n"
"  -h, --help     show this help\n"
"\n"
"A context that was never used is given the clock and the settings in the file; any\n"
"other one must have them. A key that is there already is an error.\n"
"\n"
"Exit codes: 0 done, 1 failure at run time, 2 wrong usage.\n";

/* What arms a timer that was saved. */
static struct twheel_arm arm_of(const struct saved *saved, size_t i)
{
	const struct twheel_timer_info *timer = &saved->timers[i];

	return (struct twheel_arm){
		.handle = saved->config & TWHEEL_CONFIG_KEYED ? timer->handle : 0,
		.user_data = timer->user_data,
		.expires = timer->deadline,
		.interval = timer->interval,
		.slack = timer->slack,
		.count = timer->count,
		.flags = timer->flags | TWHEEL_ARM_ABS | TWHEEL_ARM_IF_NONE,
		.result = -ECANCELED,
	};
}

/* How many timers a call takes on. */
#define BATCH	1024

/**
 * struct request - what the command line asks for
 * @verb: save or load
 * @pid: process, or 0 for this one
 * @fd: descriptor there, or -1
 * @drain: cancel what was saved
 * @map: print old and new handles
 * @path: the file
 */
struct request {
	const char	*verb;
	pid_t		pid;
	int		fd;
	bool		drain;
	bool		map;
	const char	*path;
};

/* Say that something about the context went wrong. */
static enum tool_exit failed(const struct request *request, int err)
{
	return tool_complain(TOOL_FAILED, "%s: descriptor %d: %s", request->verb, request->fd,
			     strerror(-err));
}

/*
 * Ctrl-C comes later: it is not to leave some of the timers here and some there, nor a file that is
 * not whole.
 */
static void hold_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, before);
}

/*
 * Saving
 */

static int walk(struct twheel *tw, struct saved *saved)
{
	struct twheel_walk *walk;
	int ret;

	ret = twheel_walk_new(&walk, tw);
	if (ret)
		return ret;
	do {
		ret = saved_grow(saved, 1);
		if (ret)
			break;
		ret = twheel_walk_next(walk, &saved->timers[saved->n]);
		if (ret > 0)
			saved->n++;
	} while (ret > 0 || ret == -EINTR);
	twheel_walk_free(walk);
	return ret;
}

static int drain(struct twheel *tw, struct saved *saved)
{
	uint64_t cursor = 0;
	ssize_t n;

	do {
		/* Before they are cancelled, so that none is lost. */
		n = saved_grow(saved, BATCH);
		if (n)
			return (int)n;
		n = twheel_drain(tw, &cursor, &saved->timers[saved->n], BATCH);
		if (n > 0)
			saved->n += (size_t)n;
	} while (n > 0 || n == -EINTR);
	return (int)n;
}

/*
 * What was drained is in no file: arm it again, each timer that can be. Where its program has armed
 * a key meanwhile, that timer stays.
 */
static enum tool_exit undo(const struct request *request, struct twheel *tw,
			   const struct saved *saved, int err)
{
	size_t failed = 0;
	size_t i;
	int ret;

	for (i = 0; i < saved->n; i++) {
		struct twheel_arm arm = arm_of(saved, i);

		do
			ret = twheel_arm(tw, &arm);
		while (ret == -EINTR);
		failed += ret && ret != -EEXIST;
	}
	return tool_complain(TOOL_FAILED,
			     "save: %s: %s: %zu timers were armed again%s, %zu could not be",
			     request->path, strerror(-err), saved->n - failed,
			     saved->config & TWHEEL_CONFIG_KEYED ? "" : " with new handles",
			     failed);
}

/*
 * Each timer that was there at the start is in the context or in the file at any instant, also if
 * this program is killed: so they are drained only when the file is there, and it is made anew then
 * for those that were pushed back meanwhile. One that is armed meanwhile is in neither if this
 * program is killed before that.
 */
static enum tool_exit save_all(const struct request *request, struct twheel *tw,
			       struct saved *saved)
{
	int ret = walk(tw, saved);

	if (ret)
		return failed(request, ret);
	ret = saved_write(saved, request->path);
	if (ret)
		return tool_complain(TOOL_FAILED, "save: %s: %s", request->path, strerror(-ret));
	if (!request->drain)
		return TOOL_OK;
	saved->n = 0;
	ret = drain(tw, saved);
	if (!ret)
		ret = saved_write(saved, request->path);
	return ret ? undo(request, tw, saved, ret) : TOOL_OK;
}

static enum tool_exit save(const struct request *request, struct twheel *tw)
{
	struct saved saved = { };
	struct twheel_info info;
	enum tool_exit code;
	sigset_t before;
	int ret;

	ret = twheel_get_info(tw, 0, &info);
	if (ret)
		return failed(request, ret);
	saved.clock = info.clock;
	saved.config = info.config;
	saved_boot(saved.boot);
	hold_signals(&before);
	code = save_all(request, tw, &saved);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (code == TOOL_OK) {
		printf("%zu timers\n", saved.n);
		code = tool_flush();
		if (!twheel_get_info(tw, 0, &info) && info.ready)
			fprintf(stderr, "twheel: save: %" PRIu64
				" timers have expired, and are there to be read: not saved\n",
				(uint64_t)info.ready);
	}
	saved_free(&saved);
	return code;
}

/*
 * Loading
 */

/* Give the context the settings in the file, if it has others. */
static enum tool_exit configure(const struct request *request, struct twheel *tw,
				const struct saved *saved)
{
	const struct twheel_config config = { .clock = saved->clock, .flags = saved->config };
	char boot[BOOT_SIZE];
	struct twheel_info info;
	int ret;

	saved_boot(boot);
	if (saved->clock != TWHEEL_CLOCK_REALTIME && strcmp(saved->boot, *boot ? boot : "-"))
		return tool_complain(TOOL_FAILED,
				     "load: %s is from before the machine was booted: clock %s began anew",
				     request->path, clock_name(saved->clock));
	ret = twheel_get_info(tw, 0, &info);
	if (ret)
		return failed(request, ret);
	if ((info.clock != saved->clock || info.config != saved->config) &&
	    ioctl(twheel_fd(tw), TWHEEL_IOC_CONFIG, &config)) {
		if (errno != EBUSY)
			return failed(request, -errno);
		return tool_complain(TOOL_FAILED,
				     "load: descriptor %d is in use, with other settings than %s has",
				     request->fd, request->path);
	}
	return TOOL_OK;
}

/* Cancel those of @arms that were armed. */
static void disarm(struct twheel *tw, const struct twheel_arm *arms, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!arms[i].result)
			twheel_cancel(tw, arms[i].handle, NULL);
}

/*
 * Arm all of @arms, whose results are -ECANCELED, in order. Returns 0; or after an error -errno,
 * with nothing armed and in *@at the entry that could not be.
 */
static int arm_all(struct twheel *tw, struct twheel_arm *arms, size_t n, size_t *at)
{
	size_t done = 0;
	int ret = 0;

	for (*at = 0; !ret && *at < n; ) {
		if (*at == done) {
			ssize_t len = twheel_arm_batch(tw, arms + done,
						       n - done < BATCH ? n - done : BATCH);

			if (len < 0 && len != -EINTR)
				ret = (int)len;
			else if (len > 0)
				done += (size_t)len;
			continue;
		}
		ret = arms[*at].result;
		*at += !ret;
	}
	if (ret)
		disarm(tw, arms, done);
	return ret;
}

static void print_map(const struct saved *saved, const struct twheel_arm *arms)
{
	size_t i;

	for (i = 0; i < saved->n; i++) {
		printf("%" PRIu64 " %" PRIu64, (uint64_t)saved->timers[i].handle,
		       (uint64_t)arms[i].handle);
		if (arms[i].flags & TWHEEL_ARM_LEASE)
			printf(" %" PRIu32 " %d", arms[i].word, arms[i].tag);
		putchar('\n');
	}
}

/* Arm all, or say why and arm none. */
static enum tool_exit arm(const struct request *request, struct twheel *tw,
			  const struct saved *saved, struct twheel_arm *arms)
{
	enum tool_exit code;
	sigset_t before;
	size_t i;
	int ret;

	for (i = 0; i < saved->n; i++)
		arms[i] = arm_of(saved, i);
	hold_signals(&before);
	ret = arm_all(tw, arms, saved->n, &i);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (ret)
		return tool_complain(TOOL_FAILED, "load: %s, line %zu: %s: nothing was armed",
				     request->path, i + 2, strerror(-ret));
	/* A reader that has gone is an error like others: see below. */
	signal(SIGPIPE, SIG_IGN);
	if (request->map)
		print_map(saved, arms);
	else
		printf("%zu timers\n", saved->n);
	code = tool_flush();
	/* Nobody has learned of the new handles, and whoever sees that it failed tries it again. */
	if (code != TOOL_OK) {
		hold_signals(&before);
		disarm(tw, arms, saved->n);
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	return code;
}

static enum tool_exit load(const struct request *request, struct twheel *tw, struct saved *saved)
{
	struct twheel_arm *arms = calloc(saved->n + 1, sizeof(*arms));
	enum tool_exit code;

	if (!arms)
		return failed(request, -ENOMEM);
	code = configure(request, tw, saved);
	if (code == TOOL_OK)
		code = arm(request, tw, saved, arms);
	free(arms);
	return code;
}

/*
 * The command line
 */

static enum tool_exit run(const struct request *request)
{
	bool loads = !strcmp(request->verb, "load");
	struct saved saved = { };
	enum tool_exit code;
	struct twheel *tw;
	int copy;

	/* The file first: what is wrong with it needs no device to be found. */
	code = loads ? saved_read(&saved, request->path) : saved_check(request->path);
	if (code)
		return code;
	copy = tool_copy(request->verb, request->pid, request->fd);
	if (copy < 0) {
		code = TOOL_FAILED;
	} else {
		code = tool_adopt(&tw, request->verb, copy);
		if (!code) {
			code = loads ? load(request, tw, &saved) : save(request, tw);
			twheel_release(tw);
		}
		if (request->pid)
			close(copy);
	}
	saved_free(&saved);
	return code;
}

static enum tool_exit parse(struct request *request, int argc, char **argv, const char *help)
{
	static const struct option options[] = {
		{ "fd",		required_argument,	NULL, 'F' },
		{ "pid",	required_argument,	NULL, 'p' },
		{ "help",	no_argument,		NULL, 'h' },
		{ "drain",	no_argument,		NULL, 'r' },
		{ "map",	no_argument,		NULL, 'm' },
		{ }
	};
	const char *verb = request->verb;
	uint64_t value = 0;
	int c;

	while ((c = getopt_long(argc, argv, "F:p:hrm", options, NULL)) != -1) {
		switch (c) {
		case 'F':
			if (!tool_number(verb, optarg, 0, INT_MAX, &value))
				return TOOL_USAGE;
			request->fd = (int)value;
			break;
		case 'p':
			if (!tool_number(verb, optarg, 1, INT_MAX, &value))
				return TOOL_USAGE;
			request->pid = (pid_t)value;
			break;
		case 'r':
			request->drain = true;
			break;
		case 'm':
			request->map = true;
			break;
		case 'h':
			fputs(help, stdout);
			return tool_flush();
		default:
			return tool_usage(verb);
		}
	}
	if (request->drain && help == help_load)
		return tool_complain(TOOL_USAGE, "load: --drain is an option of save");
	if (request->map && help == help_save)
		return tool_complain(TOOL_USAGE, "save: --map is an option of load");
	if (request->fd < 0)
		return tool_complain(TOOL_USAGE, "%s: which descriptor? use --fd",
				     verb);
	if (optind + 1 != argc)
		return tool_complain(TOOL_USAGE, "%s: it takes one file, and %d were given", verb,
				     argc - optind);
	request->path = argv[optind];
	return run(request);
}

enum tool_exit tool_save(int argc, char **argv)
{
	struct request request = { .verb = "save", .fd = -1 };

	return parse(&request, argc, argv, help_save);
}

enum tool_exit tool_load(int argc, char **argv)
{
	struct request request = { .verb = "load", .fd = -1 };

	return parse(&request, argc, argv, help_load);
}
