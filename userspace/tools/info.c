// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel info: what the device is, and what its limits are.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "duration.h"
#include "tool.h"

static const char help[] =
"Usage: twheel info [OPTION]...\n"
"Show what the timer wheel device is and what its limits are.\n"
"\n"
"  -j, --json         one JSON object\n"
"  -D, --device PATH  the device (default " TWHEEL_DEVICE ")\n"
"  -h, --help         show this help\n"
"\n"
"Exit codes: 0 done, 1 failure at run time, 2 wrong usage.\n";

static const struct {
	uint64_t	bit;
	const char	*name;
} features[] = {
	{ TWHEEL_FEATURE_BOOTTIME,	"boottime" },
	{ TWHEEL_FEATURE_BATCH,		"batch" },
	{ TWHEEL_FEATURE_INTERVAL,	"interval" },
	{ TWHEEL_FEATURE_SLACK,		"slack" },
	{ TWHEEL_FEATURE_LIST,		"list" },
};

/* Names the features, between @quote and @quote, with @between between them. */
static void print_features(uint64_t bits, const char *quote, const char *between)
{
	const char *separator = "";
	size_t i;

	for (i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		if (!(bits & features[i].bit))
			continue;
		printf("%s%s%s%s", separator, quote, features[i].name, quote);
		separator = between;
		bits &= ~features[i].bit;
	}
	/* Newer than this program. */
	if (bits)
		printf("%s%s0x%" PRIx64 "%s", separator, quote, bits, quote);
}

static void print_json(const struct twheel_info *info)
{
	printf("{\"abi_version\":%" PRIu32 ",\"features\":[", info->abi_version);
	print_features(info->features, "\"", ",");
	printf("],\"tick_ns\":%" PRIu64 ",\"slots\":%" PRIu32 ",\"levels\":%" PRIu32,
	       (uint64_t)info->tick_ns, info->slots, info->levels);
	printf(",\"limit\":%" PRIu64 ",\"user_limit\":%" PRIu64
	       ",\"user_timers\":%" PRIu64 "}\n", (uint64_t)info->limit,
	       (uint64_t)info->user_limit, (uint64_t)info->user_timers);
}

static void print_text(const struct twheel_info *info)
{
	char tick[DURATION_SIZE];

	printf("interface version  %" PRIu32 "\n", info->abi_version);
	printf("features           ");
	print_features(info->features, "", " ");
	printf("\ntick               %s (%" PRIu64 " ns)\n",
	       duration_format(tick, info->tick_ns), (uint64_t)info->tick_ns);
	printf("wheel              %" PRIu32 " levels of %" PRIu32 " slots\n",
	       info->levels, info->slots);
	printf("timers a context   %" PRIu64 " at most\n", (uint64_t)info->limit);
	printf("timers a user      %" PRIu64 " at most, you have %" PRIu64 "\n",
	       (uint64_t)info->user_limit, (uint64_t)info->user_timers);
}

enum tool_exit tool_info(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json",	no_argument,		NULL, 'j' },
		{ "device",	required_argument,	NULL, 'D' },
		{ "help",	no_argument,		NULL, 'h' },
		{ }
	};
	const char *device = NULL;
	struct twheel_info info;
	bool json = false;
	struct twheel *tw;
	int ret;
	int c;

	while ((c = getopt_long(argc, argv, "jD:h", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
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

	if (tool_open(&tw, device, TWHEEL_OPEN_CLOEXEC, NULL) != TOOL_OK)
		return TOOL_FAILED;
	ret = twheel_get_info(tw, 0, &info);
	twheel_close(tw);
	if (ret)
		return tool_complain(TOOL_FAILED, "info: %s", strerror(-ret));

	if (json)
		print_json(&info);
	else
		print_text(&info);
	return tool_flush();
}
