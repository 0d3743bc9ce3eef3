// SPDX-License-Identifier: GPL-2.0-only
/*
 * When are cron's lines due? Against a table of known times, and against a
 * search that looks at every minute.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "schedule.h"

#include "../wheel/tap.h"

#define MINUTE	60
#define DAY	86400

/* A zone that is not there would be UTC without a word. */
static void use_zone(const char *zone)
{
	char path[128];

	if (!strchr(zone, ',') && strchr(zone, '/')) {
		snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", zone);
		expect(!access(path, R_OK), "%s: install tzdata", path);
	}
	setenv("TZ", zone, 1);
	tzset();
}

/* "2026-03-29 01:59 +0100", which needs no zone */
static time_t instant(const char *text)
{
	struct tm tm = { };
	const char *end;
	long gmtoff;

	end = strptime(text, "%Y-%m-%d %H:%M %z", &tm);
	expect(end && !*end, "'%s' is no time", text);
	gmtoff = tm.tm_gmtoff;
	return timegm(&tm) - gmtoff;
}

static struct schedule parse(const char *text)
{
	char error[SCHEDULE_ERROR_SIZE] = "";
	struct schedule schedule;
	const char *rest;

	expect(!schedule_parse(&schedule, text, &rest, error), "'%s': %s", text, error);
	expect(!*rest, "'%s' is left of '%s'", rest, text);
	return schedule;
}

/**
 * struct known - what is to come after some time
 * @fields: the schedule
 * @after: the time
 * @times: the next ones, in order
 */
struct known {
	const char	*fields;
	const char	*after;
	const char	*times[6];
};

static void check_known(const char *zone, const struct known *known, size_t n)
{
	size_t i;
	size_t k;

	use_zone(zone);
	for (i = 0; i < n; i++) {
		struct schedule schedule = parse(known[i].fields);
		time_t t = instant(known[i].after);

		for (k = 0; k < ARRAY_SIZE(known[i].times) && known[i].times[k]; k++) {
			char got[64];

			expect(schedule_next(&schedule, t, &t), "%s: '%s' after %s: none",
			       zone, known[i].fields, known[i].after);
			strftime(got, sizeof(got), "%F %R:%S %z", localtime(&t));
			expect(t == instant(known[i].times[k]),
			       "%s: '%s' after %s: number %zu is %s, not %s", zone,
			       known[i].fields, known[i].after, k + 1, got,
			       known[i].times[k]);
		}
	}
}

TEST(the_calendar)
{
	static const struct known known[] = {
		/* Strictly after, at the full minute. */
		{ "* * * * *", "2026-01-01 00:00 +0000",
		  { "2026-01-01 00:01 +0000", "2026-01-01 00:02 +0000" } },
		{ "59 23 31 12 *", "2026-12-31 23:59 +0000", { "2027-12-31 23:59 +0000" } },
		{ "59 23 31 12 *", "2026-12-31 23:58 +0000",
		  { "2026-12-31 23:59 +0000", "2027-12-31 23:59 +0000" } },
		/* Lists, ranges, steps */
		{ "1,2,30-32,50-58/4 7 * * *", "2026-05-05 07:01 +0000",
		  { "2026-05-05 07:02 +0000", "2026-05-05 07:30 +0000",
		    "2026-05-05 07:31 +0000", "2026-05-05 07:32 +0000",
		    "2026-05-05 07:50 +0000", "2026-05-05 07:54 +0000" } },
		{ "*/25 */9 * * *", "2026-05-05 17:00 +0000",
		  { "2026-05-05 18:00 +0000", "2026-05-05 18:25 +0000",
		    "2026-05-05 18:50 +0000", "2026-05-06 00:00 +0000" } },
		/* Names, and both Sundays; 1 March 2026 is one. */
		{ "0 0 * mar SUN", "2026-02-28 00:00 +0000",
		  { "2026-03-01 00:00 +0000", "2026-03-08 00:00 +0000" } },
		{ "0 0 * * 0", "2026-02-28 00:00 +0000",
		  { "2026-03-01 00:00 +0000", "2026-03-08 00:00 +0000" } },
		{ "0 0 * * 7", "2026-02-28 00:00 +0000",
		  { "2026-03-01 00:00 +0000", "2026-03-08 00:00 +0000" } },
		{ "0 0 * * fri-sun", "2026-02-28 00:00 +0000",
		  { "2026-03-01 00:00 +0000", "2026-03-06 00:00 +0000",
		    "2026-03-07 00:00 +0000", "2026-03-08 00:00 +0000",
		    "2026-03-13 00:00 +0000" } },
		{ "0 0 * jan,Jul-Aug *", "2026-01-30 12:00 +0000",
		  { "2026-01-31 00:00 +0000", "2026-07-01 00:00 +0000" } },
		/* Day of month or day of week, if both are given */
		{ "0 12 13 * fri", "2026-02-01 00:00 +0000",
		  { "2026-02-06 12:00 +0000", "2026-02-13 12:00 +0000",
		    "2026-02-20 12:00 +0000", "2026-02-27 12:00 +0000",
		    "2026-03-06 12:00 +0000", "2026-03-13 12:00 +0000" } },
		{ "0 12 31 2 mon", "2026-02-20 00:00 +0000",
		  { "2026-02-23 12:00 +0000", "2027-02-01 12:00 +0000" } },
		/* and, if one begins with '*' */
		{ "0 12 */2 * mon", "2026-03-01 00:00 +0000",
		  { "2026-03-09 12:00 +0000", "2026-03-23 12:00 +0000" } },
		/* Ends of months */
		{ "0 0 31 * *", "2026-01-31 00:00 +0000",
		  { "2026-03-31 00:00 +0000", "2026-05-31 00:00 +0000",
		    "2026-07-31 00:00 +0000", "2026-08-31 00:00 +0000",
		    "2026-10-31 00:00 +0000", "2026-12-31 00:00 +0000" } },
		{ "0 0 30 1-3 *", "2026-01-30 00:00 +0000",
		  { "2026-03-30 00:00 +0000", "2027-01-30 00:00 +0000" } },
		/* The last day of a month */
		{ "0 0 L * *", "2028-01-30 12:00 +0000",
		  { "2028-01-31 00:00 +0000", "2028-02-29 00:00 +0000",
		    "2028-03-31 00:00 +0000", "2028-04-30 00:00 +0000" } },
		{ "0 0 15,l feb *", "2026-01-01 00:00 +0000",
		  { "2026-02-15 00:00 +0000", "2026-02-28 00:00 +0000",
		    "2027-02-15 00:00 +0000" } },
		/* The last Friday, the second one, a fifth one */
		{ "0 0 * * 5L", "2026-01-01 00:00 +0000",
		  { "2026-01-30 00:00 +0000", "2026-02-27 00:00 +0000",
		    "2026-03-27 00:00 +0000" } },
		{ "0 0 * * fri#2", "2026-01-01 00:00 +0000",
		  { "2026-01-09 00:00 +0000", "2026-02-13 00:00 +0000",
		    "2026-03-13 00:00 +0000" } },
		{ "0 0 * * 5#5", "2026-01-01 00:00 +0000",
		  { "2026-01-30 00:00 +0000", "2026-05-29 00:00 +0000" } },
		{ "0 0 * 2 5#5", "2026-01-01 00:00 +0000",
		  { "2036-02-29 00:00 +0000", "2064-02-29 00:00 +0000" } },
		{ "0 0 * * 7#1,sunl,mon", "2026-03-01 00:00 +0000",
		  { "2026-03-02 00:00 +0000", "2026-03-09 00:00 +0000",
		    "2026-03-16 00:00 +0000", "2026-03-23 00:00 +0000",
		    "2026-03-29 00:00 +0000", "2026-03-30 00:00 +0000" } },
		/* With a day of month they go together as without. */
		{ "0 0 L * 1#1", "2026-01-01 00:00 +0000",
		  { "2026-01-05 00:00 +0000", "2026-01-31 00:00 +0000",
		    "2026-02-02 00:00 +0000", "2026-02-28 00:00 +0000" } },
		{ "0 0 */2 * 5#2", "2026-01-01 00:00 +0000",
		  { "2026-01-09 00:00 +0000", "2026-02-13 00:00 +0000",
		    "2026-03-13 00:00 +0000", "2026-09-11 00:00 +0000" } },
		/* Leap years: 2100 is none, 2400 is one. */
		{ "0 0 29 2 *", "2026-01-01 00:00 +0000",
		  { "2028-02-29 00:00 +0000", "2032-02-29 00:00 +0000" } },
		{ "0 0 29 feb *", "2096-02-29 00:00 +0000", { "2104-02-29 00:00 +0000" } },
		{ "0 0 29 feb *", "2397-01-01 00:00 +0000", { "2400-02-29 00:00 +0000" } },
		/* The rarest: forty years from one to the next. */
		{ "0 0 29 2 */7", "2061-01-01 00:00 +0000",
		  { "2088-02-29 00:00 +0000", "2128-02-29 00:00 +0000" } },
		{ "@hourly", "2026-12-31 23:00 +0000", { "2027-01-01 00:00 +0000" } },
		{ "@daily", "2026-12-31 23:00 +0000",
		  { "2027-01-01 00:00 +0000", "2027-01-02 00:00 +0000" } },
		{ "@midnight", "2026-12-31 00:00 +0000", { "2027-01-01 00:00 +0000" } },
		{ "@weekly", "2026-12-31 00:00 +0000",
		  { "2027-01-03 00:00 +0000", "2027-01-10 00:00 +0000" } },
		{ "@Monthly", "2026-11-30 00:00 +0000",
		  { "2026-12-01 00:00 +0000", "2027-01-01 00:00 +0000" } },
		{ "@yearly", "2026-01-01 00:00 +0000", { "2027-01-01 00:00 +0000" } },
		{ "@annually", "2026-01-01 00:00 +0000", { "2027-01-01 00:00 +0000" } },
		{ "@every 1h30m", "2026-01-01 00:00 +0000",
		  { "2026-01-01 01:30 +0000", "2026-01-01 03:00 +0000" } },
	};

	check_known("UTC0", known, ARRAY_SIZE(known));
}

/*
 * Central European time, as a rule and as a file: at 01:00 UTC the clocks go
 * from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October.
 */
TEST(a_change_of_the_clocks)
{
	static const struct known known[] = {
		/* Fixed times in the hour that is skipped: once, as it ends */
		{ "30 2 * * *", "2026-03-28 00:00 +0100",
		  { "2026-03-28 02:30 +0100", "2026-03-29 03:00 +0200",
		    "2026-03-30 02:30 +0200" } },
		{ "0 2 * * *", "2026-03-29 01:59 +0100",
		  { "2026-03-29 03:00 +0200", "2026-03-30 02:00 +0200" } },
		{ "59 2 * * *", "2026-03-29 01:59 +0100",
		  { "2026-03-29 03:00 +0200", "2026-03-30 02:59 +0200" } },
		{ "0,20,40 1-3 * * *", "2026-03-29 01:20 +0100",
		  { "2026-03-29 01:40 +0100", "2026-03-29 03:00 +0200",
		    "2026-03-29 03:20 +0200" } },
		{ "10,20 2 29 3 *", "2026-01-01 00:00 +0100",
		  { "2026-03-29 03:00 +0200", "2027-03-29 02:10 +0200" } },
		/* The end of it is no time of these. */
		{ "0 3 * * *", "2026-03-28 12:00 +0100",
		  { "2026-03-29 03:00 +0200", "2026-03-30 03:00 +0200" } },
		{ "30 3 * * *", "2026-03-29 01:00 +0100", { "2026-03-29 03:30 +0200" } },
		{ "30 2 * * *", "2026-03-29 03:00 +0200", { "2026-03-30 02:30 +0200" } },
		{ "30 2 28 3 *", "2026-03-28 12:00 +0100", { "2027-03-28 03:00 +0200" } },
		/* With a wildcard: as the clock goes */
		{ "*/30 2 * * *", "2026-03-29 00:00 +0100",
		  { "2026-03-30 02:00 +0200", "2026-03-30 02:30 +0200" } },
		{ "30 * * * *", "2026-03-29 00:30 +0100",
		  { "2026-03-29 01:30 +0100", "2026-03-29 03:30 +0200" } },
		{ "* * * * *", "2026-03-29 01:59 +0100", { "2026-03-29 03:00 +0200" } },
		{ "@daily", "2026-03-28 23:00 +0100",
		  { "2026-03-29 00:00 +0100", "2026-03-30 00:00 +0200" } },

		/* Fixed times in the hour that comes twice: once, the first time */
		{ "30 2 * * *", "2026-10-24 12:00 +0200",
		  { "2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100" } },
		{ "30 2 * * *", "2026-10-25 02:30 +0200", { "2026-10-26 02:30 +0100" } },
		{ "30 2 * * *", "2026-10-25 02:00 +0100", { "2026-10-26 02:30 +0100" } },
		{ "30 2 * * *", "2026-10-25 02:45 +0100", { "2026-10-26 02:30 +0100" } },
		{ "0,59 2,3 * * *", "2026-10-25 01:00 +0200",
		  { "2026-10-25 02:00 +0200", "2026-10-25 02:59 +0200",
		    "2026-10-25 03:00 +0100", "2026-10-25 03:59 +0100" } },
		{ "0 3 * * *", "2026-10-25 02:59 +0200", { "2026-10-25 03:00 +0100" } },
		/* With a wildcard: both times */
		{ "30 * * * *", "2026-10-25 01:30 +0200",
		  { "2026-10-25 02:30 +0200", "2026-10-25 02:30 +0100",
		    "2026-10-25 03:30 +0100" } },
		{ "*/30 2 * * *", "2026-10-25 02:00 +0200",
		  { "2026-10-25 02:30 +0200", "2026-10-25 02:00 +0100",
		    "2026-10-25 02:30 +0100", "2026-10-26 02:00 +0100" } },
		/* the second time being the only one left this year */
		{ "*/30 2 25 10 *", "2026-10-25 02:30 +0200",
		  { "2026-10-25 02:00 +0100", "2026-10-25 02:30 +0100",
		    "2027-10-25 02:00 +0200" } },
		{ "* * * * *", "2026-10-25 02:59 +0200",
		  { "2026-10-25 02:00 +0100", "2026-10-25 02:01 +0100" } },
		/* Elapsed time is elapsed time. */
		{ "@every 1h", "2026-10-25 02:30 +0200",
		  { "2026-10-25 02:30 +0100", "2026-10-25 03:30 +0100" } },
	};

	check_known("CET-1CEST,M3.5.0,M10.5.0/3", known, ARRAY_SIZE(known));
	check_known("Europe/Berlin", known, ARRAY_SIZE(known));
}

TEST(what_is_refused)
{
	static const struct {
		const char	*text;
		const char	*error;
	} bad[] = {
		{ "",				"minute: missing" },
		{ "* * * *",			"day of week: missing" },
		{ "60 * * * *",			"minute: '60' is not 0 to 59" },
		{ "-1 * * * *",			"minute: '' is not 0 to 59" },
		{ "+1 * * * *",			"minute: '+1' is not 0 to 59" },
		{ "1.5 * * * *",		"minute: '1.5' is not 0 to 59" },
		{ "99999999999999999999 * * * *", "is not 0 to 59" },
		{ "jan * * * *",		"minute: 'jan' is not 0 to 59" },
		{ "* 24 * * *",			"hour: '24' is not 0 to 23" },
		{ "* * 0 * *",			"day of month: '0' is not 1 to 31" },
		{ "* * 32 * *",			"day of month: '32' is not 1 to 31" },
		{ "* * * 0 *",			"month: '0' is not 1 to 12 or jan to dec" },
		{ "* * * 13 *",			"month: '13' is not 1 to 12" },
		{ "* * * january *",		"month: 'january' is not 1 to 12 or jan" },
		{ "* * * anf *",		"month: 'anf' is not" },
		{ "* * L-3 * *",		"day of month: 'L' is not 1 to 31, nor L alone" },
		{ "* * 5L * *",			"day of month: '5L' is not" },
		{ "* * 15W * *",		"day of month: '15W' is not" },
		{ "* * * * L",			"day of week: 'L' is not 0 to 7" },
		{ "* * * * 5#6",		"day of week: '5#6' is not 0 to 7 or" },
		{ "* * * * 5#0",		"day of week: '5#0' is not" },
		{ "* * * * 8#1",		"day of week: '8' is not" },
		{ "* * * * 1-5L",		"day of week: '1-5' is not" },
		{ "* * * * */2#1",		"day of week: '*/2' is not" },
		{ "5L * * * *",			"minute: '5L' is not" },
		{ "* * */31 * 5#2",		"would never run" },
		{ "* * 30 2 5#5",		NULL },
		{ "* * * * 8",			"day of week: '8' is not 0 to 7 or sun to sat" },
		{ "* * * * may",		"day of week: 'may' is not" },
		{ "1, * * * *",			"minute: '' is not" },
		{ ",1 * * * *",			"minute: '' is not" },
		{ "1,,2 * * * *",		"minute: '' is not" },
		{ "1- * * * *",			"minute: '' is not" },
		{ "30-10 * * * *",		"minute: 30-10 ends before it begins" },
		{ "* * * dec-jan *",		"month: dec-jan ends before it begins" },
		{ "1-2-3 * * * *",		"minute: '2-3' is not" },
		{ "** * * * *",			"minute: '**' is not" },
		{ "*-5 * * * *",		"minute: '*' is not" },
		{ "*/0 * * * *",		"minute: '0' is not a step from 1 to 59" },
		{ "*/60 * * * *",		"minute: '60' is not a step from 1 to 59" },
		{ "*/ * * * *",			"minute: '' is not a step" },
		{ "*/2/2 * * * *",		"minute: '2/2' is not a step" },
		{ "* 3/2 * * *",		"hour: a step follows * or a range, not '3'" },
		{ "* * 31 2 *",			"would never run" },
		{ "* * 30 2 *",			"would never run" },
		{ "* * 31 feb,apr,jun,sep,nov *", "would never run" },
		{ "* * */30,31 2 1",		NULL },
		{ "* * 30-31 2 */2",		"would never run" },
		{ "@",				"'@' is none of @hourly" },
		{ "@fortnightly",		"'@fortnightly' is none of @hourly" },
		{ "@every",			"@every: no duration: use e.g." },
		{ "@every often",		"@every: 'often' is not a duration: use" },
		{ "@every 0",			"not whole seconds, from 1s to 36500d" },
		{ "@every 1500ms",		"not whole seconds" },
		{ "@every 36501d",		"not whole seconds" },
		{ "@every 213504d",		"is too long" },
	};
	char error[SCHEDULE_ERROR_SIZE];
	struct schedule schedule;
	const char *rest;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		int ret = schedule_parse(&schedule, bad[i].text, &rest, error);

		if (!bad[i].error) {
			expect(!ret, "'%s': %s", bad[i].text, error);
			continue;
		}
		expect(ret == -EINVAL, "'%s' was taken", bad[i].text);
		expect(strstr(error, bad[i].error), "'%s': '%s' is not '%s'",
		       bad[i].text, error, bad[i].error);
	}
}

/* Fields as long as may be, then longer */
TEST(long_fields)
{
	char text[600] = "0";
	char error[SCHEDULE_ERROR_SIZE];
	struct schedule schedule;
	const char *rest;
	size_t len = 1;

	while (len + 2 < 256) {
		strcpy(text + len, ",5");
		len += 2;
	}
	strcpy(text + len, " * * * *");
	expect(!schedule_parse(&schedule, text, &rest, error), "%s", error);
	expect(schedule.minutes == 0x21, "%#llx", (unsigned long long)schedule.minutes);
	strcpy(text + len, ",5 * * * *");
	expect(schedule_parse(&schedule, text, &rest, error) == -EINVAL,
	       "a field of 257 characters was taken");
}

TEST(what_follows)
{
	static const struct {
		const char	*text;
		const char	*rest;
	} known[] = {
		{ "* * * * *",				"" },
		{ " \t1  2\t3 4 5 \t echo  a b ",	"echo  a b " },
		{ "@daily echo",			"echo" },
		{ "@every 90s  echo",			"echo" },
		{ "@reboot echo",			"echo" },
		{ "@every 90s",				"" },
	};
	char error[SCHEDULE_ERROR_SIZE];
	struct schedule schedule;
	const char *rest;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		expect(!schedule_parse(&schedule, known[i].text, &rest, error), "%s: %s",
		       known[i].text, error);
		expect(!strcmp(rest, known[i].rest), "'%s' of '%s'", rest, known[i].text);
	}
}

TEST(a_start_is_no_time)
{
	struct schedule schedule = parse("@reboot");
	time_t t;

	expect(schedule.kind == SCHEDULE_REBOOT, "it is %d", schedule.kind);
	expect(!schedule_next(&schedule, 0, &t), "%lld", (long long)t);
}

/*
 * The search
 */

/**
 * struct zone_table - what local clocks show, minute by minute
 * @zone: where
 * @begin: the first minute
 * @n: how many
 * @walls: what is shown then, in minutes since 1970
 */
struct zone_table {
	const char	*zone;
	time_t		begin;
	size_t		n;
	int32_t		*walls;
};

/**
 * struct rule - a schedule, and what it means by its making
 * @text: the fields
 * @in: for each field, which values are in it; of days of month 0 is the last, and of days of
 *	week 8 + 7 n + d is weekday d if it is the n-th of the month from 0, the last if n is 5
 * @star: for each field, whether it begins with '*'
 */
struct rule {
	char	text[256];
	bool	in[5][64];
	bool	star[5];
};

static uint64_t random_state;

static unsigned int random_below(unsigned int n)
{
	/* xorshift64 */
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned int)((random_state >> 32) % n);
}

static void fill_table(struct zone_table *table, const char *zone, time_t begin,
		       size_t n)
{
	size_t i;

	use_zone(zone);
	table->zone = zone;
	table->begin = begin;
	table->n = n;
	table->walls = malloc(n * sizeof(*table->walls));
	expect(table->walls, "no memory");
	for (i = 0; i < n; i++) {
		time_t t = begin + (time_t)i * MINUTE;
		struct tm *tm = localtime(&t);

		expect(!tm->tm_sec, "%s: minutes begin at second %d", zone, tm->tm_sec);
		table->walls[i] = (int32_t)(timegm(tm) / MINUTE);
	}
}

static void make_field(struct rule *rule, int field, unsigned int least,
		       unsigned int most)
{
	static const char * const names[5] = {
		[3] = "janfebmaraprmayjunjulaugsepoctnovdec",
		[4] = "sunmontuewedthufrisatsun",
	};
	char *text = rule->text + strlen(rule->text);
	unsigned int span = most - least + 1;
	unsigned int items = 1 + random_below(3);
	bool *in = rule->in[field];
	unsigned int i;
	unsigned int v;

	if (*rule->text)
		text += sprintf(text, " ");
	memset(in, 0, sizeof(rule->in[field]));
	rule->star[field] = !random_below(2);
	if (rule->star[field])
		items = 1;
	for (i = 0; i < items; i++) {
		unsigned int first = least + random_below(span);
		unsigned int last = first + random_below(most - first + 1);
		unsigned int step = 1;

		if (i)
			text += sprintf(text, ",");
		if (field == 2 && !rule->star[2] && !random_below(4)) {
			text += sprintf(text, "L");
			in[0] = true;
			continue;
		}
		if (field == 4 && !rule->star[4] && !random_below(2)) {
			unsigned int n = random_below(6);

			text += sprintf(text, n == 5 ? "%uL" : "%u#%u", first, n + 1);
			in[8 + 7 * n + first % 7] = true;
			continue;
		}
		if (rule->star[field]) {
			first = least;
			last = most;
			text += sprintf(text, "*");
		} else if (names[field] && random_below(2)) {
			last = first;
			text += sprintf(text, "%.3s", names[field] + 3 * (first - least));
		} else if (random_below(2)) {
			last = first;
			text += sprintf(text, "%u", first);
		} else {
			text += sprintf(text, "%u-%u", first, last);
		}
		if (last != first && !random_below(3)) {
			step = 1 + random_below(most < 12 ? most : 12);
			text += sprintf(text, "/%u", step);
		}
		for (v = first; v <= last; v += step)
			in[v] = true;
	}
}

static void make_rule(struct rule *rule)
{
	rule->text[0] = '\0';
	make_field(rule, 0, 0, 59);
	make_field(rule, 1, 0, 23);
	make_field(rule, 2, 1, 31);
	make_field(rule, 3, 1, 12);
	make_field(rule, 4, 0, 7);
}

/* Is the day of @t, so many days later, in the same month? */
static bool same_month(time_t t, int days)
{
	time_t other = t + (time_t)days * DAY;
	struct tm tm, other_tm;

	return gmtime_r(&t, &tm)->tm_mon == gmtime_r(&other, &other_tm)->tm_mon;
}

/* Is this minute of wall time one of the rule's? */
static bool matches(const struct rule *rule, int32_t wall)
{
	time_t t = (time_t)wall * MINUTE;
	bool day_of_month;
	bool day_of_week;
	struct tm tm;
	int n;

	/* Days are asked about last: they take the longest. */
	if (!rule->in[0][wall % 60] || !rule->in[1][wall / 60 % 24])
		return false;
	gmtime_r(&t, &tm);
	day_of_month = rule->in[2][tm.tm_mday] || (rule->in[2][0] && !same_month(t, 1));
	day_of_week = rule->in[4][tm.tm_wday] || (!tm.tm_wday && rule->in[4][7]);
	day_of_week |= rule->in[4][8 + 7 * 5 + tm.tm_wday] && !same_month(t, 7);
	for (n = 0; same_month(t, -7 * n); n++)
		day_of_week |= rule->in[4][8 + 7 * n + tm.tm_wday] && !same_month(t, -7 * n - 7);
	return rule->in[3][tm.tm_mon + 1] &&
	       (rule->star[2] || rule->star[4] ? day_of_month && day_of_week :
						day_of_month || day_of_week);
}

/*
 * The rule's next minute after the @from-th of the table, or the table's end. With
 * a wildcard that is one whose wall time is the rule's. Without, one that brings
 * a wall time of the rule's that had not been reached before, or passes over it.
 */
static size_t search(const struct zone_table *table, const struct rule *rule,
		     size_t from)
{
	bool wildcard = rule->star[0] || rule->star[1];
	int32_t reached = 0;
	int32_t wall;
	size_t i;

	for (i = from < 2880 ? 0 : from - 2880; i <= from; i++)
		if (table->walls[i] > reached)
			reached = table->walls[i];
	for (; i < table->n; i++) {
		if (wildcard && matches(rule, table->walls[i]))
			return i;
		for (wall = reached + 1; wall <= table->walls[i]; wall++)
			if (!wildcard && matches(rule, wall))
				return i;
		if (table->walls[i] > reached)
			reached = table->walls[i];
	}
	return table->n;
}

/* Places in the table where the clocks are changed */
static size_t find_changes(const struct zone_table *table, size_t *changes, size_t max)
{
	size_t n = 0;
	size_t i;

	for (i = 1; i < table->n; i++)
		if (table->walls[i] != table->walls[i - 1] + 1 && n < max)
			changes[n++] = i;
	return n;
}

static void compare(const struct zone_table *table, unsigned int runs,
		    unsigned int *found)
{
	size_t changes[16];
	size_t n_changes = find_changes(table, changes, ARRAY_SIZE(changes));
	char error[SCHEDULE_ERROR_SIZE];
	struct schedule schedule;
	struct rule rule;
	const char *rest;
	unsigned int i;

	for (i = 0; i < runs; i++) {
		/* From there on the search knows what was two days before. */
		size_t from = 2880 + random_below((unsigned int)table->n - 2880);
		time_t begin;
		size_t want;
		time_t got;

		/* Most of them near a change */
		if (n_changes && random_below(4)) {
			from = changes[random_below((unsigned int)n_changes)] - 300 +
			       random_below(600);
			if (from < 2880 || from >= table->n)
				continue;
		}
		make_rule(&rule);
		begin = table->begin + (time_t)from * MINUTE + random_below(MINUTE);
		want = search(table, &rule, from);
		if (schedule_parse(&schedule, rule.text, &rest, error)) {
			/* What is said never to run does not. */
			expect(strstr(error, "never run"), "'%s': %s", rule.text, error);
			expect(want == table->n, "%s: '%s' is in minute %zu", table->zone,
			       rule.text, want);
			continue;
		}
		expect(schedule_next(&schedule, begin, &got), "'%s': none", rule.text);
		expect(want < table->n ? got == table->begin + (time_t)want * MINUTE :
			got >= table->begin + (time_t)table->n * MINUTE,
			"%s: '%s' after %lld: %lld, not %lld", table->zone, rule.text,
			(long long)begin, (long long)got,
			(long long)(table->begin + (time_t)want * MINUTE));
		*found += want < table->n;
	}
}

/*
 * For each zone four hundred days with its changes. The times of most schedules
 * are in there. Lord Howe changes by half an hour, Troll by two hours, Havana and Cairo at
 * midnight, Casablanca for Ramadan, Caracas by no rule, and Apia and Kiritimati leave out a day.
 */
TEST(a_search_agrees)
{
	static const struct {
		const char	*zone;
		const char	*begin;
	} zones[] = {
		{ "UTC0",				"2027-06-01 00:00 +0000" },
		{ "CET-1CEST,M3.5.0,M10.5.0/3",		"2026-01-01 00:00 +0000" },
		{ "Europe/Berlin",			"2026-01-01 00:00 +0000" },
		{ "Europe/Dublin",			"2024-01-01 00:00 +0000" },
		{ "America/New_York",			"2026-01-01 00:00 +0000" },
		{ "America/St_Johns",			"2010-01-01 00:00 +0000" },
		{ "America/Havana",			"2026-01-01 00:00 +0000" },
		{ "America/Sao_Paulo",			"2017-06-01 00:00 +0000" },
		{ "America/Caracas",			"2007-06-01 00:00 +0000" },
		{ "Africa/Cairo",			"2026-01-01 00:00 +0000" },
		{ "Africa/Casablanca",			"2026-01-01 00:00 +0000" },
		{ "Asia/Tehran",			"2021-01-01 00:00 +0000" },
		{ "Asia/Kathmandu",			"1985-06-01 00:00 +0000" },
		{ "Australia/Lord_Howe",		"2026-01-01 00:00 +0000" },
		{ "Australia/Sydney",			"2026-01-01 00:00 +0000" },
		{ "Antarctica/Troll",			"2026-01-01 00:00 +0000" },
		{ "Pacific/Apia",			"2011-01-01 00:00 +0000" },
		{ "Pacific/Kiritimati",			"1994-06-01 00:00 +0000" },
		{ "Pacific/Chatham",			"2026-01-01 00:00 +0000" },
	};
	const char *seed = getenv("SEED");
	const char *text = getenv("RUNS");
	unsigned int runs = text ? (unsigned int)atoi(text) : 9500;
	unsigned int found = 0;
	size_t i;

	random_state = seed ? strtoull(seed, NULL, 0) : 20261122;
	printf("# SEED=%llu\n", (unsigned long long)random_state);
	for (i = 0; i < ARRAY_SIZE(zones); i++) {
		struct zone_table table;

		fill_table(&table, zones[i].zone, instant(zones[i].begin), 400 * 1440);
		compare(&table, runs / ARRAY_SIZE(zones), &found);
		free(table.walls);
	}
	printf("# %u schedules in %zu zones, of which %u were due in the time searched\n",
	       runs, ARRAY_SIZE(zones), found);
	expect(found > runs / 2, "only %u of %u were found at all", found, runs);
}
