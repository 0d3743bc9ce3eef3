/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Schedules as people write them for cron, and when they are due.
 *
 * No clock is read here: time is a parameter. The zone is the one that tzset() has set
 * in the C library.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/**
 * enum schedule_kind - what a schedule goes by
 * @SCHEDULE_CALENDAR: local time
 * @SCHEDULE_EVERY: the time that has passed since the run before
 * @SCHEDULE_REBOOT: nothing: it is due once, at the start
 */
enum schedule_kind {
	SCHEDULE_CALENDAR,
	SCHEDULE_EVERY,
	SCHEDULE_REBOOT,
};

/**
 * struct schedule - when something is to be run
 * @kind: what the schedule goes by; the fields up to @wildcard are for
 *	%SCHEDULE_CALENDAR
 * @minutes: bit m: at minute m
 * @hours: bit h: in hour h
 * @days: bit d: on the d-th of a month, from 1; bit 0: on its last day
 * @months: bit m: in month m, from 1
 * @weekdays: bit 7 n + d: on weekday d, of which 0 is Sunday, if it is the n-th of the month, from
 *	0; with 5 for n: if it is the last of the month
 * @either_day: a day has to be in @days or @weekdays; otherwise in both
 * @wildcard: minute or hour begin with '*': the schedule goes with the clock when that
 *	is moved for daylight saving time. Otherwise it is due once for each of its times.
 * @every: for %SCHEDULE_EVERY the seconds between two runs
 */
struct schedule {
	enum schedule_kind	kind;
	uint64_t		minutes;
	uint32_t		hours;
	uint32_t		days;
	uint32_t		months;
	uint64_t		weekdays;
	bool			either_day;
	bool			wildcard;
	time_t			every;
};

/* Room for an error message of schedule_parse(). */
#define SCHEDULE_ERROR_SIZE	256

/**
 * schedule_parse() - read a schedule
 * @schedule: filled in
 * @text: the five fields minute, hour, day of month, month, day of week; or
 *	@hourly and its like, "@every DURATION", or @reboot. Other text may follow.
 * @rest: set to the text that follows, after the blanks
 * @error: what is wrong, and what is allowed
 *
 * Return: 0, or -EINVAL with @error filled in. A date that never comes, such as
 * 31 February, is refused as well.
 */
int schedule_parse(struct schedule *schedule, const char *text, const char **rest,
		   char error[SCHEDULE_ERROR_SIZE]);

/**
 * schedule_next() - find the next time at which a schedule is due
 * @schedule: a schedule
 * @after: a time in seconds since 1970
 * @next: set to the first time after @after at which the schedule is due
 *
 * When local time skips an hour, a schedule of fixed times that has some of them in that
 * hour is due at its end, once for all of them. A schedule with a wildcard is not due
 * then. When an hour is repeated, a schedule of fixed times is due only in the first of
 * the two hours, and a schedule with a wildcard in both.
 *
 * Return: whether there is such a time. There is none for %SCHEDULE_REBOOT.
 */
bool schedule_next(const struct schedule *schedule, time_t after, time_t *next);

#endif /* SCHEDULE_H */
