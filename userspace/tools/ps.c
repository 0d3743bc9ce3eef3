// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel ps: whose contexts there are, and how many timers each has.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <linux/twheel.h>

#include "contexts.h"
#include "device.h"
#include "names.h"
#include "terminal.h"
#include "tool.h"

static const char help[] =
"Usage: twheel ps [OPTION]...\n"
"Show the contexts of all processes, those with the most timers first: of the\n"
"device, and wheels in processes that run with TWHEEL_STATS=1 in their environment.\n"
"Other users' processes take root.\n"
"\n"
"  -j, --json  a JSON object in each line, for each context\n"
"  -h, --help  show this help\n"
"\n"
"Exit codes: 0 done, also if there is none; 1 failure at run time; 2 wrong usage.\n";

/* The widths of the columns that have names. */
struct widths {
	int	user;
	int	command;
};

static void print_json(const struct context *context)
{
	char user[NAME_SIZE];
	size_t i;

	printf("{\"backend\":\"%s\",\"clock\":\"%s\",\"config\":[",
	       context->slot ? "embedded" : "device", clock_name(context->clock));
	print_bits(config_names, context->config, "\"", ",");
	printf("],\"pending\":%" PRIu64 ",\"ready\":%" PRIu64 ",\"limit\":%" PRIu64,
	       context->pending, context->ready, context->limit);
	printf(",\"holders\":[");
	for (i = 0; i < context->n; i++) {
		const struct holder *holder = &context->holders[i];

		printf("%s{\"pid\":%d,\"fd\":%d,\"uid\":%u,\"user\":", i ? "," : "",
		       (int)holder->pid, holder->fd, (unsigned int)holder->uid);
		print_json_string(user_name(user, holder->uid));
		printf(",\"command\":");
		print_json_string(holder->command);
		putchar('}');
	}
	puts("]}");
}

/* Find out how wide the columns of names have to be. */
static void measure(const struct contexts *contexts, struct widths *widths)
{
	char user[NAME_SIZE];
	size_t i, k;
	int len;

	*widths = (struct widths){ .user = 4, .command = 7 };
	for (i = 0; i < contexts->n; i++) {
		for (k = 0; k < contexts->all[i].n; k++) {
			const struct holder *holder = &contexts->all[i].holders[k];

			len = (int)strlen(user_name(user, holder->uid));
			if (len > widths->user)
				widths->user = len;
			len = (int)strlen(holder->command);
			if (len > widths->command)
				widths->command = len;
		}
	}
}

static void print_holder(const struct widths *widths, const struct holder *holder)
{
	char user[NAME_SIZE];

	printf("%7d %-*s %-*s %3d ", (int)holder->pid, widths->user,
	       user_name(user, holder->uid), widths->command, holder->command, holder->fd);
}

static void print_context(const struct widths *widths, const struct context *context)
{
	size_t i;

	print_holder(widths, context->holders);
	printf("%-9s %9" PRIu64 " %9" PRIu64 "  ", clock_name(context->clock),
	       context->pending, context->ready);
	if (context->slot)
		printf("in the process%s", context->config ? " " : "");
	print_bits(config_names, context->config, "", " ");
	if (!context->slot && !context->config)
		putchar('-');
	putchar('\n');
	for (i = 1; i < context->n; i++) {
		print_holder(widths, &context->holders[i]);
		printf("%sshares that of %d, %d%s\n", terminal_colour(COLOUR_FAINT),
		       (int)context->holders[0].pid, context->holders[0].fd,
		       terminal_colour(COLOUR_NONE));
	}
}

static void print_text(const struct contexts *contexts)
{
	struct widths widths;
	size_t i;

	measure(contexts, &widths);
	if (contexts->n)
		printf("%s%7s %-*s %-*s %3s %-9s %9s %9s  %s%s\n",
		       terminal_colour(COLOUR_BOLD), "PID", widths.user, "USER",
		       widths.command, "COMMAND", "FD", "CLOCK", "PENDING", "READY", "MODE",
		       terminal_colour(COLOUR_NONE));
	else
		puts("no process that may be looked at has the device open\n"
		     "(or runs with TWHEEL_STATS=1, to show its own wheel)");
	for (i = 0; i < contexts->n; i++)
		print_context(&widths, &contexts->all[i]);
}

enum tool_exit tool_ps(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json",	no_argument,		NULL, 'j' },
		{ "help",	no_argument,		NULL, 'h' },
		{ }
	};
	struct contexts contexts;
	bool json = false;
	dev_t number;
	size_t i;
	int ret;
	int c;

	while ((c = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return tool_flush();
		default:
			return tool_usage("ps");
		}
	}
	if (optind < argc)
		return tool_complain(TOOL_USAGE, "ps: '%s' is too much: no argument is taken",
				     argv[optind]);

	if (!tool_backend())
		return TOOL_FAILED;
	if (backend_is("device") && device_number(&number))
		return tool_complain(TOOL_FAILED, "ps: the kernel has no such device%s",
				     device_hint(TWHEEL_DEVICE, -ENODEV));
	ret = contexts_read(&contexts);
	if (ret)
		return tool_complain(TOOL_FAILED, "ps: /proc: %s", strerror(-ret));
	for (i = 0; json && i < contexts.n; i++)
		print_json(&contexts.all[i]);
	if (!json)
		print_text(&contexts);
	fflush(stdout);
	if (contexts.hidden)
		fprintf(stderr,
			"twheel: ps: %zu processes of others were not looked at: that takes root\n",
			contexts.hidden);
	if (contexts.unseen)
		fprintf(stderr, "twheel: ps: %" PRIu64 " wheels in processes had no room to show\n",
			contexts.unseen);
	contexts_free(&contexts);
	return tool_flush();
}
