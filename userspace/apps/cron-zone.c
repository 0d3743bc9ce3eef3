// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * cron: is there such a time zone?
 *
 * The C library takes a zone that it does not find for UTC, and says nothing. So this looks for
 * what it looks for. It does not check the dates of a rule.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cron.h"
#include "options.h"

#define LOCALTIME	"/etc/localtime"

/* Does this file begin as files of time zones do? */
static bool is_zone_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char magic[4] = "";
	bool is;

	if (!file)
		return false;
	is = fread(magic, 1, sizeof(magic), file) == sizeof(magic) &&
	     !memcmp(magic, "TZif", sizeof(magic));
	fclose(file);
	return is;
}

/* The end of the name at @text that a rule has for a time, 3 letters or more; or NULL. */
static const char *after_name(const char *text)
{
	bool quoted = *text == '<';
	size_t len = 0;

	text += quoted;
	while (isalpha((unsigned char)text[len]) ||
	       (quoted && text[len] && strchr("+-0123456789", text[len])))
		len++;
	return len < 3 || (quoted && text[len] != '>') ? NULL : text + len + quoted;
}

/* The end of the number at @text, of two digits and @most at most; or NULL. */
static const char *after_number(const char *text, int most)
{
	size_t digits = strspn(text, "0123456789");

	return !digits || digits > 2 || atoi(text) > most ? NULL : text + digits;
}

/* The end of the offset at @text, hours, perhaps with minutes, perhaps with seconds; or NULL. */
static const char *after_offset(const char *text)
{
	const char *end = after_number(text + (*text == '+' || *text == '-'), 24);
	int parts;

	for (parts = 0; end && *end == ':' && parts < 2; parts++)
		end = after_number(end + 1, 59);
	return end;
}

/* Is @name a rule such as CET-1CEST,M3.5.0,M10.5.0/3? Of the dates only the characters matter. */
static bool is_rule(const char *name)
{
	const char *end = after_name(name);

	if (end)
		end = after_offset(end);
	if (!end || !*end)
		return end;
	/* The time in summer, perhaps with an offset */
	end = after_name(end);
	if (end && *end && *end != ',')
		end = after_offset(end);
	return end && (!*end || (*end == ',' && !end[strspn(end, "MJ0123456789.,:/+-")]));
}

/* These are UTC, with or without a file. */
static bool is_utc(const char *name)
{
	static const char *const names[] = { "", "UTC", "GMT", "Etc/UTC" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

void cron_check_zone(void)
{
	const char *folder = getenv("TZDIR");
	const char *name = getenv("TZ");
	char path[PATH_MAX];
	struct stat link;

	if (!name) {
		/* Without the file local time is UTC, but a link may lead nowhere. */
		if (!lstat(LOCALTIME, &link) && !is_zone_file(LOCALTIME))
			die(EXIT_FAILED, "%s is no time zone: is tzdata installed? or set TZ=UTC",
			    LOCALTIME);
		return;
	}
	name += *name == ':';
	if (!folder || !*folder)
		folder = "/usr/share/zoneinfo";
	snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : folder,
		 *name == '/' ? "" : "/", name);
	if (!is_utc(name) && !is_rule(name) && !is_zone_file(path))
		die(EXIT_FAILED,
		    "TZ is '%s', but %s is no time zone: use e.g. Europe/Berlin with tzdata installed, UTC, or a rule such as CET-1CEST,M3.5.0,M10.5.0/3",
		    getenv("TZ"), path);
}
