// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Durations as people write them, and the time.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "duration.h"

/**
 * struct duration_unit - a unit of time
 * @name: what follows the number
 * @other: what else may, or NULL
 * @ns: its length
 */
struct duration_unit {
	const char	*name;
	const char	*other;
	uint64_t	ns;
};

/* Larger units come first, as they have to in a duration. */
static const struct duration_unit units[] = {
	{ "d",	NULL,	86400 * NSEC_PER_SEC },
	{ "h",	NULL,	3600 * NSEC_PER_SEC },
	{ "m",	"min",	60 * NSEC_PER_SEC },
	{ "s",	"sec",	NSEC_PER_SEC },
	{ "ms",	NULL,	NSEC_PER_MSEC },
	{ "us",	NULL,	NSEC_PER_USEC },
	{ "ns",	NULL,	1 },
};

#define UNITS	(sizeof(units) / sizeof(units[0]))

/* A duration is written in the same way in every locale. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return c >= 'a' && c <= 'z';
}

static size_t span(const char *p, bool (*is)(char c))
{
	size_t n = 0;

	while (is(p[n]))
		n++;
	return n;
}

/* Is @unit, which may be NULL, written as the @len characters at @name? */
static bool is_unit(const char *unit, const char *name, size_t len)
{
	return unit && strlen(unit) == len && !strncmp(name, unit, len);
}

/* The unit named by the @len characters at @name, UNITS when there is none. */
static size_t find_unit(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < UNITS; i++)
		if (is_unit(units[i].name, name, len) || is_unit(units[i].other, name, len))
			break;
	return i;
}

/* Adds @whole.@fraction, both strings of digits, times @scale to @sum. */
static int add(uint64_t *sum, const char *whole, size_t whole_len,
	       const char *fraction, size_t fraction_len, uint64_t scale)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < whole_len; i++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(whole[i] - '0'), &value))
			return -ERANGE;
	}
	if (__builtin_mul_overflow(value, scale, &value))
		return -ERANGE;

	for (i = 0; i < fraction_len; i++) {
		uint64_t digit = (uint64_t)(fraction[i] - '0');

		if (digit && (!scale || scale % 10))
			return -EINVAL;
		scale /= 10;
		if (__builtin_add_overflow(value, digit * scale, &value))
			return -ERANGE;
	}
	if (__builtin_add_overflow(*sum, value, &value) || value > INT64_MAX)
		return -ERANGE;
	*sum = value;
	return 0;
}

int duration_parse(const char *text, uint64_t *ns)
{
	const char *p = text;
	size_t next_unit = 0;
	bool too_long = false;
	uint64_t sum = 0;

	do {
		const char *fraction = "";
		size_t fraction_len = 0;
		const char *whole = p;
		size_t whole_len;
		size_t unit_len;
		size_t unit;
		int ret;

		whole_len = span(p, is_digit);
		if (!whole_len)
			return -EINVAL;
		p += whole_len;
		if (*p == '.') {
			fraction = ++p;
			fraction_len = span(p, is_digit);
			if (!fraction_len)
				return -EINVAL;
			p += fraction_len;
		}

		unit_len = span(p, is_letter);
		if (!unit_len && whole == text && !*p)
			unit = find_unit("s", 1);
		else
			unit = find_unit(p, unit_len);
		if (unit == UNITS || unit < next_unit)
			return -EINVAL;
		p += unit_len;
		next_unit = unit + 1;

		/* Read on: that the rest is no duration at all would be the worse error. */
		ret = add(&sum, whole, whole_len, fraction, fraction_len, units[unit].ns);
		if (ret == -EINVAL)
			return ret;
		if (ret)
			too_long = true;
	} while (*p);

	if (too_long)
		return -ERANGE;
	*ns = sum;
	return 0;
}

const char *duration_error(int err)
{
	if (err == -ERANGE)
		return "is too long: at most 106751d is possible";
	return "is not a duration: " DURATION_HINT;
}

char *duration_format(char buf[DURATION_SIZE], uint64_t ns)
{
	if (ns < NSEC_PER_USEC)
		snprintf(buf, DURATION_SIZE, "%u ns", (unsigned int)ns);
	else if (ns < NSEC_PER_MSEC)
		snprintf(buf, DURATION_SIZE, "%.4g us", (double)ns / NSEC_PER_USEC);
	else if (ns < NSEC_PER_SEC)
		snprintf(buf, DURATION_SIZE, "%.4g ms", (double)ns / NSEC_PER_MSEC);
	else if (ns < 100 * NSEC_PER_SEC)
		snprintf(buf, DURATION_SIZE, "%.4g s", (double)ns / NSEC_PER_SEC);
	else
		snprintf(buf, DURATION_SIZE, "%llu s",
			 (unsigned long long)(ns / NSEC_PER_SEC));
	return buf;
}

uint64_t clock_now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}
