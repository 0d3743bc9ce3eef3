// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Schedules as people write them for cron, and when they are due.
 *
 * *Wall time* here is the time that local clocks show, as a number of seconds since
 * 1970: an instant plus the zone's offset at that instant. While the offset is constant
 * the next time is a matter of the calendar alone. So schedule_next() goes through time
 * in stretches in which the offset does not change. At the beginning of each stretch it
 * deals with the change: with wall time that was skipped there, or that is repeated.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "duration.h"
#include "number.h"
#include "schedule.h"

#define DAY		86400

/*
 * How far ahead a change of the offset is looked for, and how far behind for wall time
 * that is repeated. That is enough for a change by a day, which an island makes that
 * moves across the date line. It is not enough for two changes: since 1970 no zone had
 * two within six days.
 */
#define WINDOW		(3 * DAY)
#define MARGIN		(2 * DAY)

/*
 * The row of &schedule.weekdays for the last ones of a month; before it are those for the first
 * to the fifth. While the field is parsed they begin at this bit, behind both Sundays.
 */
#define LAST		5
#define ROWS		8

/* A 29 February that is a Sunday may be 40 years away, across 2100. */
#define YEARS		41

/**
 * struct field - one of the five fields of a schedule
 * @name: what it is called
 * @allowed: its values, for error messages
 * @least: the smallest value
 * @most: the largest
 * @names: three letters for each value from @least on, or NULL
 */
struct field {
	const char	*name;
	const char	*allowed;
	unsigned int	least;
	unsigned int	most;
	const char	*names;
};

enum { MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, FIELDS };

static const struct field fields[FIELDS] = {
	[MINUTE] = { "minute", "0 to 59", 0, 59, NULL },
	[HOUR] = { "hour", "0 to 23", 0, 23, NULL },
	[DAY_OF_MONTH] = { "day of month", "1 to 31, nor L alone (the last day)", 1, 31, NULL },
	[MONTH] = { "month", "1 to 12 or jan to dec", 1, 12,
		    "janfebmaraprmayjunjulaugsepoctnovdec" },
	[DAY_OF_WEEK] = { "day of week",
			  "0 to 7 or sun to sat, nor one with #1 to #5 or L (the last) behind it",
			  0, 7, "sunmontuewedthufrisat" },
};

static const struct {
	const char	*name;
	const char	*meaning;
} nicknames[] = {
	{ "@hourly",	"0 * * * *" },
	{ "@daily",	"0 0 * * *" },
	{ "@midnight",	"0 0 * * *" },
	{ "@weekly",	"0 0 * * 0" },
	{ "@monthly",	"0 0 1 * *" },
	{ "@yearly",	"0 0 1 1 *" },
	{ "@annually",	"0 0 1 1 *" },
};

#define NICKNAMES	(sizeof(nicknames) / sizeof(nicknames[0]))

static const char blanks[] = " \t";

__attribute__((format(printf, 2, 3)))
static int refuse(char error[SCHEDULE_ERROR_SIZE], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, SCHEDULE_ERROR_SIZE, format, args);
	va_end(args);
	return -EINVAL;
}

/* Copy the next word of @text. Returns the text after it, or NULL if none fits. */
static const char *take_word(const char *text, char *word, size_t size)
{
	size_t len;

	text += strspn(text, blanks);
	len = strcspn(text, blanks);
	if (!len || len >= size)
		return NULL;
	memcpy(word, text, len);
	word[len] = '\0';
	return text + len;
}

static int parse_value(const struct field *field, const char *text,
		       unsigned int *value)
{
	uint64_t number;
	size_t i;

	for (i = 0; field->names && field->names[3 * i]; i++) {
		if (strlen(text) == 3 && !strncasecmp(text, field->names + 3 * i, 3)) {
			*value = field->least + (unsigned int)i;
			return 0;
		}
	}
	if (number_parse(text, field->most, &number) || number < field->least)
		return -EINVAL;
	*value = (unsigned int)number;
	return 0;
}

/* Does @item end as 5#2 or 5L do? If so cut that off, and store the row that it stands for. */
static bool cut_row(char *item, unsigned int *row)
{
	size_t len = strlen(item);

	if (len > 1 && (item[len - 1] == 'L' || item[len - 1] == 'l')) {
		*row = LAST;
		item[len - 1] = '\0';
		return true;
	}
	if (len > 2 && item[len - 2] == '#' && item[len - 1] >= '1' && item[len - 1] <= '5') {
		*row = (unsigned int)(item[len - 1] - '1');
		item[len - 2] = '\0';
		return true;
	}
	return false;
}

/* One part of a list: a value, a range, a range with a step, or what depends on the month. */
static int parse_item(const struct field *field, char *item, uint64_t *set,
		      char *error)
{
	unsigned int first = field->least;
	unsigned int last = field->most;
	char *step_text = item;
	char *first_text;
	char *last_text;
	uint64_t step = 1;
	unsigned int row;
	unsigned int i;

	if (field == &fields[DAY_OF_MONTH] && !strcasecmp(item, "L")) {
		*set |= 1;
		return 0;
	}
	if (field == &fields[DAY_OF_WEEK] && cut_row(item, &row)) {
		if (parse_value(field, item, &first))
			return refuse(error, "%s: '%s' is not %s", field->name, item,
				      field->allowed);
		*set |= 1ULL << (ROWS + 7 * row + first % 7);
		return 0;
	}

	first_text = strsep(&step_text, "/");
	last_text = first_text;
	if (strcmp(first_text, "*")) {
		strsep(&last_text, "-");
		if (parse_value(field, first_text, &first))
			return refuse(error, "%s: '%s' is not %s", field->name,
				      first_text, field->allowed);
		last = first;
		if (last_text && parse_value(field, last_text, &last))
			return refuse(error, "%s: '%s' is not %s", field->name,
				      last_text, field->allowed);
		/* Sunday is both ends of the week: here, as in fri-sun, it is the last day. */
		if (field == &fields[DAY_OF_WEEK] && first > last && !last)
			last = field->most;
		if (first > last)
			return refuse(error, "%s: %s-%s ends before it begins",
				      field->name, first_text, last_text);
		if (step_text && !last_text)
			return refuse(error, "%s: a step follows * or a range, not '%s'",
				      field->name, first_text);
	}
	if (step_text && (number_parse(step_text, field->most, &step) || !step))
		return refuse(error, "%s: '%s' is not a step from 1 to %u", field->name,
			      step_text, field->most);

	for (i = first; i <= last; i += (unsigned int)step)
		*set |= 1ULL << i;
	return 0;
}

static int parse_field(const struct field *field, char *text, uint64_t *set,
		       char *error)
{
	char *item;
	int ret;

	*set = 0;
	while ((item = strsep(&text, ","))) {
		ret = parse_item(field, item, set, error);
		if (ret)
			return ret;
	}
	return 0;
}

/* How many days month @mon, from 0, has in @year */
static int month_length(int mon, int year)
{
	static const int lengths[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = !(year % 4) && (year % 100 || !(year % 400));

	return lengths[mon] - (mon == 1 && !leap);
}

/* Is a day of a month of that length in the schedule? */
static bool is_day(const struct schedule *schedule, int day, int weekday, int length)
{
	uint64_t rows = schedule->weekdays >> weekday;
	bool in_days = schedule->days >> day & 1 || (day == length && schedule->days & 1);
	bool in_weekdays = rows >> (day - 1) / 7 * 7 & 1 ||
			   (day > length - 7 && rows >> 7 * LAST & 1);

	return schedule->either_day ? in_days || in_weekdays : in_days && in_weekdays;
}

/* Does a year that begins on any day of the week, leap or not, have a day in the schedule? */
static bool has_date(const struct schedule *schedule)
{
	int year, mon, day, weekday;

	for (year = 2003; year <= 2004; year++)
		for (mon = 0; mon < 12; mon++)
			for (day = 1; day <= month_length(mon, year); day++)
				for (weekday = 0; weekday < 7; weekday++)
					if (schedule->months & 2U << mon &&
					    is_day(schedule, day, weekday, month_length(mon, year)))
						return true;
	return false;
}

static int parse_fields(struct schedule *schedule, const char *text,
			const char **rest, char *error)
{
	bool star[FIELDS];
	uint64_t sets[FIELDS];
	uint64_t weekdays;
	char word[256];
	int ret;
	int i;

	for (i = 0; i < FIELDS; i++) {
		text = take_word(text, word, sizeof(word));
		if (!text)
			return refuse(error,
				      "%s: missing, or over 255 characters: use 'minute hour day-of-month month day-of-week', @daily or '@every 90s'",
				      fields[i].name);
		star[i] = word[0] == '*';
		ret = parse_field(&fields[i], word, &sets[i], error);
		if (ret)
			return ret;
	}
	*rest = text;

	/* Sunday has two numbers, 0 and 7. Days without a row are in all but the last. */
	weekdays = (sets[DAY_OF_WEEK] | (sets[DAY_OF_WEEK] & 1U << 7) >> 7) & 0x7f;
	sets[DAY_OF_WEEK] >>= ROWS;
	for (i = 0; i < LAST; i++)
		sets[DAY_OF_WEEK] |= weekdays << 7 * i;
	*schedule = (struct schedule){
		.kind = SCHEDULE_CALENDAR,
		.minutes = sets[MINUTE],
		.hours = (uint32_t)sets[HOUR],
		.days = (uint32_t)sets[DAY_OF_MONTH],
		.months = (uint32_t)sets[MONTH],
		.weekdays = sets[DAY_OF_WEEK],
		.either_day = !star[DAY_OF_MONTH] && !star[DAY_OF_WEEK],
		.wildcard = star[MINUTE] || star[HOUR],
	};
	if (!has_date(schedule))
		return refuse(error, "none of these months has such a day: it would never run");
	return 0;
}

static int parse_every(struct schedule *schedule, const char *text,
		       const char **rest, char *error)
{
	char word[64];
	uint64_t ns;
	int ret;

	*rest = take_word(text, word, sizeof(word));
	if (!*rest)
		return refuse(error, "@every: no duration: " DURATION_HINT);
	ret = duration_parse(word, &ns);
	if (ret)
		return refuse(error, "@every: '%s' %s", word, duration_error(ret));
	if (!ns || ns % NSEC_PER_SEC || ns / NSEC_PER_SEC > 36500ULL * DAY)
		return refuse(error, "@every: '%s' is not whole seconds, from 1s to 36500d",
			      word);
	*schedule = (struct schedule){
		.kind = SCHEDULE_EVERY,
		.every = (time_t)(ns / NSEC_PER_SEC),
	};
	return 0;
}

static int parse_nickname(struct schedule *schedule, const char *text,
			  const char **rest, char *error)
{
	const char *unused;
	char word[16];
	size_t i;

	*rest = take_word(text, word, sizeof(word));
	if (*rest && !strcasecmp(word, "@every"))
		return parse_every(schedule, *rest, rest, error);
	if (*rest && !strcasecmp(word, "@reboot")) {
		*schedule = (struct schedule){ .kind = SCHEDULE_REBOOT };
		return 0;
	}
	for (i = 0; *rest && i < NICKNAMES; i++)
		if (!strcasecmp(word, nicknames[i].name))
			return parse_fields(schedule, nicknames[i].meaning, &unused, error);
	return refuse(error,
		      "'%.*s' is none of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every and @reboot",
		      (int)strcspn(text, blanks), text);
}

int schedule_parse(struct schedule *schedule, const char *text, const char **rest,
		   char error[SCHEDULE_ERROR_SIZE])
{
	int ret;

	text += strspn(text, blanks);
	if (*text == '@')
		ret = parse_nickname(schedule, text, rest, error);
	else
		ret = parse_fields(schedule, text, rest, error);
	if (!ret)
		*rest += strspn(*rest, blanks);
	return ret;
}

/*
 * The calendar
 */

/* The first value in @set from @from on, or -1 if there is none. */
static int next_in(uint64_t set, int from)
{
	set = from < 64 ? set >> from : 0;
	return set ? from + __builtin_ctzll(set) : -1;
}

/* Find the first wall time from @from on that is in the schedule. */
static bool next_wall(const struct schedule *schedule, time_t from, time_t *wall)
{
	struct tm tm;
	int last_year;

	/* Round up to the beginning of a minute. */
	from += 59;
	if (!gmtime_r(&from, &tm))
		return false;
	tm.tm_sec = 0;
	last_year = tm.tm_year + YEARS;

	while (tm.tm_year <= last_year) {
		int hour = next_in(schedule->hours, tm.tm_hour);
		int minute = next_in(schedule->minutes, tm.tm_hour == hour ? tm.tm_min : 0);

		if (!(schedule->months & 2U << tm.tm_mon)) {
			tm.tm_mon++;
			tm.tm_mday = 1;
			tm.tm_hour = 0;
			tm.tm_min = 0;
		} else if (hour < 0 || !is_day(schedule, tm.tm_mday, tm.tm_wday,
					       month_length(tm.tm_mon, tm.tm_year + 1900))) {
			tm.tm_mday++;
			tm.tm_hour = 0;
			tm.tm_min = 0;
		} else if (minute < 0) {
			tm.tm_hour = hour + 1;
			tm.tm_min = 0;
		} else {
			tm.tm_hour = hour;
			tm.tm_min = minute;
			*wall = timegm(&tm);
			return true;
		}
		/* timegm() carries values that are too large, and sets the day of the week. */
		if (timegm(&tm) == -1)
			return false;
	}
	return false;
}

/*
 * The zone
 */

static time_t offset_at(time_t t)
{
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

/* The offset changes between @from and @to. Returns the first instant after the change. */
static time_t find_change(time_t from, time_t to)
{
	time_t offset = offset_at(from);

	while (to - from > 1) {
		time_t middle = from + (to - from) / 2;

		if (offset_at(middle) == offset)
			from = middle;
		else
			to = middle;
	}
	return to;
}

/* The first instant from @t on whose wall time is not a repetition. */
static time_t skip_repeated(time_t t)
{
	time_t change;
	time_t end;

	if (offset_at(t - WINDOW) == offset_at(t))
		return t;
	change = find_change(t - WINDOW, t);
	end = change + offset_at(change - 1) - offset_at(change);
	return t < end ? end : t;
}

bool schedule_next(const struct schedule *schedule, time_t after, time_t *next)
{
	time_t t = after + 1;

	if (schedule->kind == SCHEDULE_REBOOT)
		return false;
	if (schedule->kind == SCHEDULE_EVERY) {
		*next = after + schedule->every;
		return true;
	}

	for (;;) {
		bool changes;
		time_t offset;
		time_t before;
		time_t wall;
		time_t end;

		if (!schedule->wildcard)
			t = skip_repeated(t);
		offset = offset_at(t);
		before = offset_at(t - 1);
		if (!schedule->wildcard && before < offset &&
		    next_wall(schedule, t + before, &wall) && wall < t + offset) {
			*next = t;
			return true;
		}

		if (!next_wall(schedule, t + offset, &wall))
			return false;
		end = t + WINDOW;
		changes = offset_at(end) != offset;
		if (changes)
			end = find_change(t, end);
		if (wall < end + offset) {
			*next = wall - offset;
			return true;
		}
		t = end;
		/* Skip ahead. A change of the offset that is undone on the way does not matter. */
		if (!changes && wall - offset - MARGIN > t)
			t = wall - offset - MARGIN;
	}
}
