// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Names for the numbers of the interface.
 */
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <time.h>

#include <linux/twheel.h>

#include "names.h"

const struct bit_name feature_names[] = {
	{ TWHEEL_FEATURE_BOOTTIME,	"boottime" },
	{ TWHEEL_FEATURE_BATCH,		"batch" },
	{ TWHEEL_FEATURE_INTERVAL,	"interval" },
	{ TWHEEL_FEATURE_SLACK,		"slack" },
	{ TWHEEL_FEATURE_LIST,		"list" },
	{ TWHEEL_FEATURE_REALTIME,	"realtime" },
	{ TWHEEL_FEATURE_FIXED_DELAY,	"fixed-delay" },
	{ TWHEEL_FEATURE_KEYED,		"keyed" },
	{ TWHEEL_FEATURE_LEASE,		"lease" },
	{ TWHEEL_FEATURE_CONDITIONAL,	"conditional" },
	{ TWHEEL_FEATURE_PUSH,		"push" },
	{ }
};

const struct bit_name config_names[] = {
	{ TWHEEL_CONFIG_KEYED,		"keyed" },
	{ TWHEEL_CONFIG_LEASE,		"lease" },
	{ TWHEEL_CONFIG_CANCEL_ON_SET,	"cancel-on-set" },
	{ }
};

const struct bit_name timer_names[] = {
	{ TWHEEL_ARM_FIXED_DELAY,	"fixed-delay" },
	{ TWHEEL_ARM_LEASE,		"lease" },
	{ }
};

void print_bits(const struct bit_name *names, uint64_t bits, const char *quote,
		const char *between)
{
	const char *separator = "";

	for (; names->bit; names++) {
		if (!(bits & names->bit))
			continue;
		printf("%s%s%s%s", separator, quote, names->name, quote);
		separator = between;
		bits &= ~names->bit;
	}
	/* The other bits are newer than this program. */
	if (bits)
		printf("%s%s0x%" PRIx64 "%s", separator, quote, bits, quote);
}

const char *clock_name(uint32_t clock)
{
	switch (clock) {
	case CLOCK_MONOTONIC:
		return "monotonic";
	case CLOCK_BOOTTIME:
		return "boottime";
	case CLOCK_REALTIME:
	case TWHEEL_CLOCK_REALTIME:
		return "realtime";
	default:
		return "unknown";
	}
}

/*
 * Users and groups are looked for in the files of /etc first. Others, which a network or
 * systemd knows, are asked for only by programs that can load what asks: in a static one
 * that crashes.
 */
char *user_name(char name[NAME_SIZE], uid_t uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;

	while (file && (user = fgetpwent(file)) && user->pw_uid != uid)
		;
#ifndef TWHEEL_STATIC
	if (!user)
		user = getpwuid(uid);
#endif
	if (user)
		snprintf(name, NAME_SIZE, "%s", user->pw_name);
	else
		snprintf(name, NAME_SIZE, "%u", (unsigned int)uid);
	if (file)
		fclose(file);
	return name;
}

char *group_name(char name[NAME_SIZE], gid_t gid)
{
	FILE *file = fopen("/etc/group", "re");
	const struct group *group = NULL;

	while (file && (group = fgetgrent(file)) && group->gr_gid != gid)
		;
#ifndef TWHEEL_STATIC
	if (!group)
		group = getgrgid(gid);
#endif
	if (group)
		snprintf(name, NAME_SIZE, "%s", group->gr_name);
	else
		snprintf(name, NAME_SIZE, "%u", (unsigned int)gid);
	if (file)
		fclose(file);
	return name;
}

void print_json_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < ' ')
			printf("\\u%04x", (unsigned int)*text);
		else
			putchar(*text);
	}
	putchar('"');
}
