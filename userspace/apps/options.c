// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How the applications read their command lines, complain, and get memory.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <twheel.h>

#include "device.h"
#include "duration.h"
#include "inherited.h"
#include "number.h"
#include "options.h"

/* How many options a program may take, besides --help. */
#define OPTIONS_MOST	16

/* The longest duration: sums of a few of these and of the time now do not wrap. */
#define DURATION_MOST	(36500ULL * 86400 * NSEC_PER_SEC)

static void vcomplain(const char *format, va_list args)
{
	fflush(stdout);
	/* The whole of it, whatever other threads say */
	flockfile(stderr);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	funlockfile(stderr);
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

void flush_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		die(EXIT_FAILED, "standard output: %s", strerror(errno));
}

void *grow_array(void *array, size_t *room, size_t size)
{
	*room = *room ? *room * 2 : 64;
	array = reallocarray(array, *room, size);
	if (!array)
		die(EXIT_FAILED, "%s", strerror(ENOMEM));
	return array;
}

void die_without_device(int err)
{
	const char *backend = err == -EINVAL ? backend_misspelt() : NULL;

	if (backend)
		die(EXIT_FAILED, BACKEND_MISSPELT, backend);
	if (backend_in_process())
		die(EXIT_FAILED, "a wheel in the process: %s", strerror(-err));
	die(EXIT_FAILED, "%s: %s%s", TWHEEL_DEVICE, strerror(-err),
	    device_hint(TWHEEL_DEVICE, err));
}

static uint64_t read_duration(const char *name, const char *text)
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

static uint64_t read_number(const struct option_rule *rule, const char *text)
{
	uint64_t number;

	if (number_parse(text, rule->most, &number) || number < rule->least)
		die(EXIT_USAGE, "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64,
		    rule->name, text, rule->least, rule->most);
	return number;
}

static void store(const struct option_rule *rule, const char *text)
{
	switch (rule->kind) {
	case OPTION_SET:
		*(bool *)rule->value = true;
		break;
	case OPTION_TEXT:
		*(const char **)rule->value = text;
		break;
	case OPTION_DURATION:
		*(uint64_t *)rule->value = read_duration(rule->name, text);
		break;
	case OPTION_NUMBER:
		*(uint64_t *)rule->value = read_number(rule, text);
		break;
	case OPTION_NUMBER32:
		*(uint32_t *)rule->value = (uint32_t)read_number(rule, text);
		break;
	}
}

char **options_parse(int argc, char **argv, const struct option_rule *rules,
		     const char *help)
{
	struct option options[OPTIONS_MOST + 2] = { { "help", no_argument, NULL, 'h' } };
	char letters[2 * OPTIONS_MOST + 2] = "h";
	char *end = letters + 1;
	size_t n;
	int c;

	inherited_descriptors();
	for (n = 0; rules[n].name && n < OPTIONS_MOST; n++) {
		bool takes = rules[n].kind != OPTION_SET;

		options[n + 1] = (struct option){
			rules[n].name, takes ? required_argument : no_argument, NULL,
			rules[n].letter,
		};
		*end++ = rules[n].letter;
		if (takes)
			*end++ = ':';
	}

	while ((c = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		const struct option_rule *rule = rules;

		if (c == 'h') {
			fputs(help, stdout);
			flush_output();
			exit(EXIT_DONE);
		}
		while (rule->name && rule->letter != c)
			rule++;
		/* getopt_long() has already said what is wrong. */
		if (!rule->name)
			exit(EXIT_USAGE);
		store(rule, optarg);
	}
	return argv + optind;
}
