// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What is different when a person looks on: colours, and how far long work has come.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "terminal.h"
#include "tool.h"

/* Work that takes no longer is not shown, and other work is shown this often. */
#define PATIENCE	(2 * NSEC_PER_SEC)
#define SHOW_EVERY	(200 * NSEC_PER_MSEC)

bool terminal_colours(void)
{
	const char *terminal = getenv("TERM");
	const char *refused = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && !(refused && *refused) &&
	       terminal && *terminal && strcmp(terminal, "dumb");
}

const char *terminal_colour(enum colour colour)
{
	static const char *const sequences[] = {
		[COLOUR_NONE]	= "\033[0m",
		[COLOUR_GOOD]	= "\033[32m",
		[COLOUR_NOTE]	= "\033[33m",
		[COLOUR_BAD]	= "\033[1;31m",
		[COLOUR_FAINT]	= "\033[2m",
		[COLOUR_BOLD]	= "\033[1m",
	};

	return terminal_colours() ? sequences[colour] : "";
}

bool terminal_blocks(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL;
	size_t i;

	/* By its name: a static program, or a small system, has no data on locales. */
	for (i = 0; i < sizeof(names) / sizeof(names[0]) && !(locale && *locale); i++)
		locale = getenv(names[i]);
	return locale && (strcasestr(locale, "UTF-8") || strcasestr(locale, "UTF8"));
}

void progress_begin(struct progress *progress, const char *what, uint64_t total)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	*progress = (struct progress){
		.what = what,
		.total = total,
		.begun = now,
		.shown = now,
		.on = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO),
	};
}

void progress_update(struct progress *progress, uint64_t done)
{
	double seconds, rate;
	uint64_t now;

	if (!progress->on)
		return;
	now = clock_now(CLOCK_MONOTONIC);
	if (now - progress->begun < PATIENCE || now - progress->shown < SHOW_EVERY)
		return;

	progress->shown = now;
	seconds = (double)(now - progress->begun) / 1e9;
	rate = (double)done / seconds;
	fprintf(stderr, "\r\033[K%" PRIu64, done);
	if (progress->total)
		fprintf(stderr, " of %" PRIu64, progress->total);
	fprintf(stderr, " %s, %.*f a second", progress->what, rate < 10 ? 1 : 0, rate);
	if (progress->total > done && done)
		fprintf(stderr, ", %.0f s left", (double)(progress->total - done) / rate);
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->shown != progress->begun) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	progress->on = false;
}
