// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel info: what the device or a wheel in the process is, and what its limits are.
 */
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "duration.h"
#include "names.h"
#include "root.h"
#include "tool.h"

static const char help[] =
"Usage: twheel info [OPTION]...\n"
"Show what the timer wheel device, or without it a wheel in the process, is and\n"
"what its limits are.\n"
"\n"
"  -j, --json         one JSON object\n"
"  -F, --fd N         of the context behind this descriptor, which the program has\n"
"                     inherited: also its clock, settings and timers\n"
"  -D, --device PATH  the device (default " TWHEEL_DEVICE " or, if that is not there,\n"
"                     a wheel in the process)\n"
"  -h, --help         show this help\n"
"\n"
"Exit codes: 0 done, 1 failure at run time, 2 wrong usage.\n";

static const char *module_version(void)
{
	static char version[32];

	return root_line("/sys/module/twheel/version", version, sizeof(version)) ? version :
										    "unknown";
}

static bool in_process(const struct twheel_info *info)
{
	return info->features & TWHEEL_FEATURE_EMBEDDED;
}

static void print_json(const struct twheel_info *info, bool context)
{
	printf("{\"backend\":\"%s\",\"module_version\":", in_process(info) ? "embedded" : "device");
	if (in_process(info))
		printf("null");
	else
		printf("\"%s\"", module_version());
	printf(",\"abi_version\":%" PRIu32 ",\"features\":[", info->abi_version);
	print_bits(feature_names, info->features & ~TWHEEL_FEATURE_EMBEDDED, "\"", ",");
	printf("],\"tick_ns\":%" PRIu64 ",\"slots\":%" PRIu32 ",\"levels\":%" PRIu32,
	       (uint64_t)info->tick_ns, info->slots, info->levels);
	printf(",\"limit\":%" PRIu64 ",\"user_limit\":", (uint64_t)info->limit);
	/* What a user's processes have is not counted. */
	if (in_process(info))
		printf("null");
	else
		printf("%" PRIu64, (uint64_t)info->user_limit);
	printf(",\"user_timers\":%" PRIu64, (uint64_t)info->user_timers);
	if (context) {
		printf(",\"clock\":\"%s\",\"now\":%" PRIu64 ",\"config\":[",
		       clock_name(info->clock), (uint64_t)info->now);
		print_bits(config_names, info->config, "\"", ",");
		printf("],\"pending\":%" PRIu64 ",\"ready\":%" PRIu64 ",\"next_expiry\":",
		       (uint64_t)info->pending, (uint64_t)info->ready);
		if (info->next_expiry == TWHEEL_NO_EXPIRY)
			printf("null");
		else
			printf("%" PRIu64, (uint64_t)info->next_expiry);
	}
	puts("}");
}

static void print_context(const struct twheel_info *info)
{
	char left[DURATION_SIZE];

	printf("clock              %s\n", clock_name(info->clock));
	printf("settings           ");
	print_bits(config_names, info->config, "", " ");
	printf("%s\n", info->config ? "" : "none");
	printf("timers             %" PRIu64 " pending, %" PRIu64 " ready\n",
	       (uint64_t)info->pending, (uint64_t)info->ready);
	if (info->next_expiry != TWHEEL_NO_EXPIRY)
		printf("next expiration    in %s\n",
		       duration_format(left, info->next_expiry > info->now ?
				       info->next_expiry - info->now : 0));
}

static void print_text(const struct twheel_info *info, bool context)
{
	char tick[DURATION_SIZE];

	if (in_process(info))
		puts("backend            a wheel in the process: see 'twheel doctor'");
	else
		printf("module version     %s\n", module_version());
	printf("interface version  %" PRIu32 "\n", info->abi_version);
	printf("features           ");
	print_bits(feature_names, info->features & ~TWHEEL_FEATURE_EMBEDDED, "", " ");
	printf("\ntick               %s (%" PRIu64 " ns)\n",
	       duration_format(tick, info->tick_ns), (uint64_t)info->tick_ns);
	printf("wheel              %" PRIu32 " levels of %" PRIu32 " slots\n",
	       info->levels, info->slots);
	printf("timers a context   %" PRIu64 " at most\n", (uint64_t)info->limit);
	if (!in_process(info))
		printf("timers a user      %" PRIu64 " at most, you have %" PRIu64 "\n",
		       (uint64_t)info->user_limit, (uint64_t)info->user_timers);
	if (context)
		print_context(info);
}

enum tool_exit tool_info(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json",	no_argument,		NULL, 'j' },
		{ "fd",		required_argument,	NULL, 'F' },
		{ "device",	required_argument,	NULL, 'D' },
		{ "help",	no_argument,		NULL, 'h' },
		{ }
	};
	const char *device = NULL;
	struct twheel_info info;
	bool context = false;
	bool json = false;
	struct twheel *tw;
	uint64_t fd = 0;
	int ret;
	int c;

	while ((c = getopt_long(argc, argv, "jF:D:h", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'F':
			if (!tool_number("info", optarg, 0, INT_MAX, &fd))
				return TOOL_USAGE;
			context = true;
			break;
		case 'D':
			device = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return tool_flush();
		default:
			return tool_usage("info");
		}
	}
	if (optind < argc)
		return tool_complain(TOOL_USAGE, "info: '%s' is too much: no argument is taken",
				     argv[optind]);
	if (context && device)
		return tool_complain(TOOL_USAGE,
				     "info: --fd takes no --device: the descriptor is open");

	if (context) {
		if (tool_adopt(&tw, "info", (int)fd) != TOOL_OK)
			return TOOL_FAILED;
	} else if (tool_open(&tw, device, TWHEEL_OPEN_CLOEXEC, NULL) != TOOL_OK) {
		return TOOL_FAILED;
	}
	ret = twheel_get_info(tw, context ? TWHEEL_INFO_NEXT : 0, &info);
	twheel_close(tw);
	if (ret)
		return tool_complain(TOOL_FAILED, "info: %s", strerror(-ret));

	if (json)
		print_json(&info, context);
	else
		print_text(&info, context);
	return tool_flush();
}
