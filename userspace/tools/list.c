// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel list: the pending timers of a descriptor of this process or of another one.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "duration.h"
#include "names.h"
#include "number.h"
#include "terminal.h"
#include "tool.h"

static const char help[] =
"Usage: twheel list [OPTION]... --fd N\n"
"       twheel list [OPTION]... --pid PID [--fd N | --device PATH]\n"
"Show the pending timers of a descriptor that this program has inherited, or of\n"
"those of another process, which takes the right to trace it.\n"
"\n"
"  -F, --fd N         this descriptor\n"
"  -p, --pid PID      of this process: --fd, or all that are open on the device\n"
"  -j, --json         a JSON object in each line\n"
"  -D, --device PATH  with --pid alone: the device (default " TWHEEL_DEVICE ")\n"
"  -h, --help         show this help\n"
"\n"
"Only the process itself can list the timers of its wheel.\n"
"\n"
"Exit codes: 0 done, 1 failure at run time, 2 wrong usage.\n";

/**
 * struct request - what the command line asks for
 * @device: path
 * @pid: process, or 0
 * @fd: descriptor there, or -1
 * @json: print JSON lines
 */
struct request {
	const char	*device;
	pid_t		pid;
	int		fd;
	bool		json;
};

/* What can be had of a wheel in a process from outside */
#define NOT_ITS_OWN \
	"there is no device, and only the process itself can list the timers of its wheel, " \
	"by twheel_walk_new(); 'twheel stat --pid %d' shows its counters, if it runs with " \
	"TWHEEL_STATS=1"

/* Describes the descriptor @fd of the request's process, for a message. */
static const char *source(const struct request *request, int fd)
{
	static char text[64];

	if (request->pid)
		snprintf(text, sizeof(text), "process %d, descriptor %d",
			 (int)request->pid, fd);
	else
		snprintf(text, sizeof(text), "descriptor %d", fd);
	return text;
}

static void print_head(const struct request *request, int fd,
		       const struct twheel_info *info)
{
	printf("%s: %" PRIu64 " pending, %" PRIu64 " ready, clock %s",
	       source(request, fd), (uint64_t)info->pending,
	       (uint64_t)info->ready, clock_name(info->clock));
	if (info->config)
		printf(", ");
	print_bits(config_names, info->config, "", ", ");
	putchar('\n');
	if (info->pending)
		printf("%11s %10s %17s %9s %9s %8s %5s  %s\n",
		       info->config & TWHEEL_CONFIG_KEYED ? "KEY" : "HANDLE",
		       "DATA", "DEADLINE", "LEFT", "INTERVAL", "SLACK", "COUNT",
		       "FLAGS");
}

/* Print a duration in a column of a table, or '-' for 0, which stands for none. */
static void print_duration(int width, uint64_t ns)
{
	char buf[DURATION_SIZE];

	printf(" %*s", width, ns ? duration_format(buf, ns) : "-");
}

static void print_text(const struct twheel_timer_info *timer)
{
	char left[DURATION_SIZE];

	printf("%11" PRIu64 " %10" PRIu64 " %10" PRIu64 ".%06" PRIu64 " %9s",
	       (uint64_t)timer->handle, (uint64_t)timer->user_data,
	       (uint64_t)(timer->deadline / NSEC_PER_SEC),
	       (uint64_t)(timer->deadline % NSEC_PER_SEC / NSEC_PER_USEC),
	       duration_format(left, timer->remaining));
	print_duration(9, timer->interval);
	print_duration(8, timer->slack);
	if (timer->count)
		printf(" %5" PRIu32, timer->count);
	else
		printf(" %5s", "-");
	if (timer->flags)
		printf("  ");
	print_bits(timer_names, timer->flags, "", " ");
	if (timer->flags & TWHEEL_ARM_LEASE)
		printf(" word %" PRIu32 " tag %d", timer->word, timer->tag);
	putchar('\n');
}

static void print_json(const struct request *request, int fd,
		       const struct twheel_info *info,
		       const struct twheel_timer_info *timer)
{
	putchar('{');
	if (request->pid)
		printf("\"pid\":%d,", (int)request->pid);
	printf("\"fd\":%d,\"clock\":\"%s\",\"%s\":%" PRIu64 ",\"data\":%" PRIu64
	       ",\"deadline\":%" PRIu64 ",\"remaining\":%" PRIu64
	       ",\"interval\":%" PRIu64 ",\"slack\":%" PRIu64
	       ",\"count\":%" PRIu32 ",\"flags\":[",
	       fd, clock_name(info->clock),
	       info->config & TWHEEL_CONFIG_KEYED ? "key" : "handle",
	       (uint64_t)timer->handle, (uint64_t)timer->user_data,
	       (uint64_t)timer->deadline, (uint64_t)timer->remaining,
	       (uint64_t)timer->interval, (uint64_t)timer->slack, timer->count);
	print_bits(timer_names, timer->flags, "\"", ",");
	putchar(']');
	if (timer->flags & TWHEEL_ARM_LEASE)
		printf(",\"word\":%" PRIu32 ",\"tag\":%d", timer->word, timer->tag);
	puts("}");
}

/* Lists the context @tw, which is descriptor @fd of the request's process. */
static int list_context(const struct request *request, struct twheel *tw, int fd)
{
	struct twheel_timer_info timer;
	struct progress progress;
	struct twheel_walk *walk;
	struct twheel_info info;
	uint64_t listed = 0;
	int ret;

	ret = twheel_get_info(tw, 0, &info);
	if (!ret)
		ret = twheel_walk_new(&walk, tw);
	if (ret)
		return ret;

	if (!request->json)
		print_head(request, fd, &info);
	progress_begin(&progress, "timers", info.pending);
	while ((ret = twheel_walk_next(walk, &timer)) > 0) {
		if (request->json)
			print_json(request, fd, &info, &timer);
		else
			print_text(&timer);
		if (ferror(stdout))
			break;
		progress_update(&progress, ++listed);
	}
	progress_end(&progress);
	twheel_walk_free(walk);
	return ret < 0 ? ret : 0;
}

/* List the context of descriptor @fd, of which @copy is a copy or the descriptor itself. */
static enum tool_exit list_copy(const struct request *request, int copy, int fd)
{
	struct twheel *tw;
	int ret;

	ret = twheel_adopt(&tw, copy);
	if (!ret) {
		ret = list_context(request, tw, fd);
		twheel_release(tw);
	}
	if (ret)
		return tool_complain(TOOL_FAILED, "list: %s: %s%s",
				     source(request, fd), strerror(-ret),
				     ret == -ENOTTY ? " (this is not a twheel device)" : "");
	return tool_flush();
}

static enum tool_exit list_other(const struct request *request, int fd)
{
	int copy = tool_copy("list", request->pid, fd);
	enum tool_exit code;

	if (copy < 0)
		return TOOL_FAILED;
	code = list_copy(request, copy, fd);
	close(copy);
	return code;
}

/* Lists all descriptors of the request's process that are open on the device. */
static enum tool_exit list_all(const struct request *request)
{
	enum tool_exit code = TOOL_OK;
	struct stat device, file;
	struct dirent *entry;
	char path[PATH_MAX];
	bool any = false;
	DIR *dir;

	if (stat(request->device, &device)) {
		int err = errno;

		if (err == ENOENT && !strcmp(request->device, TWHEEL_DEVICE) &&
		    !device_registered("") && !backend_is("device"))
			return tool_complain(TOOL_FAILED, "list: process %d: " NOT_ITS_OWN,
					     (int)request->pid, (int)request->pid);
		return tool_complain(TOOL_FAILED, "list: %s: %s%s", request->device,
				     strerror(err), device_hint(request->device, -err));
	}
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)request->pid);
	dir = opendir(path);
	if (!dir)
		return tool_complain(TOOL_FAILED, "list: process %d: %s%s",
				     (int)request->pid, strerror(errno),
				     errno == EACCES ? " (it takes the right to trace it)" : "");

	while (code == TOOL_OK && (entry = readdir(dir))) {
		uint64_t fd;

		/* Skip other descriptors, and those that were closed meanwhile. */
		if (number_parse(entry->d_name, INT_MAX, &fd) ||
		    fstatat(dirfd(dir), entry->d_name, &file, 0) ||
		    !S_ISCHR(file.st_mode) || file.st_rdev != device.st_rdev)
			continue;
		any = true;
		code = list_other(request, (int)fd);
	}
	closedir(dir);
	if (!any)
		return tool_complain(TOOL_FAILED, "list: process %d has no descriptor of %s",
				     (int)request->pid, request->device);
	return code;
}

static enum tool_exit run(const struct request *request)
{
	if (!request->pid)
		return list_copy(request, request->fd, request->fd);
	if (kill(request->pid, 0) && errno == ESRCH)
		return tool_complain(TOOL_FAILED, "list: process %d: %s", (int)request->pid,
				     strerror(errno));
	return request->fd >= 0 ? list_other(request, request->fd) : list_all(request);
}

enum tool_exit tool_list(int argc, char **argv)
{
	static const struct option options[] = {
		{ "fd",		required_argument,	NULL, 'F' },
		{ "pid",	required_argument,	NULL, 'p' },
		{ "json",	no_argument,		NULL, 'j' },
		{ "device",	required_argument,	NULL, 'D' },
		{ "help",	no_argument,		NULL, 'h' },
		{ }
	};
	struct request request = { .fd = -1 };
	uint64_t value = 0;
	int c;

	while ((c = getopt_long(argc, argv, "F:p:jD:h", options, NULL)) != -1) {
		switch (c) {
		case 'F':
			if (!tool_number("list", optarg, 0, INT_MAX, &value))
				return TOOL_USAGE;
			request.fd = (int)value;
			break;
		case 'p':
			if (!tool_number("list", optarg, 1, INT_MAX, &value))
				return TOOL_USAGE;
			request.pid = (pid_t)value;
			break;
		case 'j':
			request.json = true;
			break;
		case 'D':
			request.device = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return tool_flush();
		default:
			return tool_usage("list");
		}
	}
	if (optind < argc)
		return tool_complain(TOOL_USAGE, "list: '%s' is too much: no argument is taken",
				     argv[optind]);
	if (!request.pid && request.fd < 0)
		return tool_complain(TOOL_USAGE, "list: whose timers? use --fd or --pid");
	if (request.device && request.fd >= 0)
		return tool_complain(TOOL_USAGE,
				     "list: --fd takes no --device: the descriptor is open");
	if (!request.device)
		request.device = TWHEEL_DEVICE;

	return run(&request);
}
