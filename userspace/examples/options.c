// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the examples share on their command lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <twheel.h>

#include "device.h"
#include "duration.h"
#include "number.h"
#include "options.h"

/* Sums of a few of these and of the time now do not wrap. */
#define DURATION_MOST	(36500ULL * 86400 * NSEC_PER_SEC)

static void vcomplain(const char *format, va_list args)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vcomplain(format, args);
	va_end(args);
}

void die(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vcomplain(format, args);
	va_end(args);
	exit(code);
}

void die_without_device(int err)
{
	die(EXIT_FAILED, "%s: %s%s", TWHEEL_DEVICE, strerror(-err),
	    device_hint(TWHEEL_DEVICE, err));
}

uint64_t option_duration(const char *name, const char *text)
{
	uint64_t ns;
	int ret;

	ret = duration_parse(text, &ns);
	if (ret)
		die(EXIT_USAGE, "--%s: '%s' %s", name, text, duration_error(ret));
	if (!ns || ns > DURATION_MOST)
		die(EXIT_USAGE, "--%s: '%s' is not more than 0 and at most 36500d",
		    name, text);
	return ns;
}

uint64_t option_number(const char *name, const char *text, uint64_t least,
		       uint64_t most)
{
	uint64_t number;

	if (number_parse(text, most, &number) || number < least)
		die(EXIT_USAGE, "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64,
		    name, text, least, most);
	return number;
}
