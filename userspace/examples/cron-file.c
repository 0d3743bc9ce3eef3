// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * cron: read the lines of the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cron.h"
#include "duration.h"
#include "options.h"

/* The longest random delay. */
#define DELAY_MOST	(365 * 86400 * NSEC_PER_SEC)

void *cron_grow(void *array, size_t *room, size_t size)
{
	*room = *room ? *room * 2 : 64;
	array = realloc(array, *room * size);
	if (!array)
		die(EXIT_FAILED, "%s", strerror(ENOMEM));
	return array;
}

/* Read a line of the file. Returns whether nothing is wrong with it. */
static bool read_line(struct cron *cron, char *text, unsigned int number)
{
	char error[SCHEDULE_ERROR_SIZE];
	struct line line = { .number = number };
	const char *rest = text + strspn(text, " \t");

	if (!*rest || *rest == '#')
		return true;
	if (*rest == '~') {
		size_t len = strcspn(++rest, " \t");
		char *word = strndup(rest, len);
		int ret;

		if (!word)
			die(EXIT_FAILED, "%s", strerror(ENOMEM));
		ret = duration_parse(word, &line.delay);
		if (ret || line.delay > DELAY_MOST)
			complain("%s:%u: delay '%s' %s", cron->file, number, word,
				 ret ? duration_error(ret) : "is more than 365d");
		free(word);
		if (ret || line.delay > DELAY_MOST)
			return false;
		rest += len;
	}
	if (schedule_parse(&line.schedule, rest, &rest, error)) {
		complain("%s:%u: %s", cron->file, number, error);
		return false;
	}
	if (!*rest) {
		complain("%s:%u: no command behind the time", cron->file, number);
		return false;
	}
	line.command = strdup(rest);
	if (!line.command)
		die(EXIT_FAILED, "%s", strerror(ENOMEM));
	if (cron->count == cron->room)
		cron->lines = cron_grow(cron->lines, &cron->room, sizeof(*cron->lines));
	cron->lines[cron->count++] = line;
	return true;
}

void cron_read_file(struct cron *cron)
{
	FILE *file = fopen(cron->file, "re");
	unsigned int number = 0;
	char *text = NULL;
	size_t room = 0;
	bool good = true;
	ssize_t len;

	if (!file)
		die(EXIT_USAGE, "%s: %s", cron->file, strerror(errno));
	while ((len = getline(&text, &room, file)) >= 0) {
		while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
			text[--len] = '\0';
		if (!read_line(cron, text, ++number))
			good = false;
	}
	if (ferror(file))
		die(EXIT_USAGE, "%s: %s", cron->file, strerror(errno));
	free(text);
	fclose(file);
	if (!good)
		exit(EXIT_USAGE);
	if (!cron->count)
		die(EXIT_USAGE, "%s: no line to run", cron->file);
}
