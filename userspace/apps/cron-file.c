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

/* Read a line of the file. Returns whether nothing is wrong with it. */
static bool read_line(struct cron *cron, const char *text, unsigned int number)
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
	line.text = strdup(text);
	if (!line.text)
		die(EXIT_FAILED, "%s", strerror(ENOMEM));
	line.command = line.text + (rest - text);
	if (cron->count == cron->room)
		cron->lines = grow_array(cron->lines, &cron->room, sizeof(*cron->lines));
	cron->lines[cron->count++] = line;
	return true;
}

bool cron_read_file(struct cron *cron)
{
	FILE *file = fopen(cron->file, "re");
	unsigned int number = 0;
	char *text = NULL;
	size_t room = 0;
	bool good = true;
	ssize_t len;

	if (!file) {
		complain("%s: %s", cron->file, strerror(errno));
		return false;
	}
	while ((len = getline(&text, &room, file)) >= 0) {
		while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
			text[--len] = '\0';
		number++;
		if (memchr(text, '\0', (size_t)len)) {
			complain("%s:%u: a zero byte", cron->file, number);
			good = false;
		} else if (!read_line(cron, text, number)) {
			good = false;
		}
	}
	if (ferror(file)) {
		complain("%s: %s", cron->file, strerror(errno));
		good = false;
	} else if (good && !cron->count) {
		complain("%s: no line to run", cron->file);
		good = false;
	}
	free(text);
	fclose(file);
	return good;
}

/* The next line from @from on, round the end, that has begun and has this text; or NULL. */
static struct line *find_line(const struct cron *cron, size_t from, const char *text)
{
	size_t i;

	for (i = 0; i < cron->count; i++) {
		struct line *line = &cron->lines[(from + i) % cron->count];

		if (line->begun && !strcmp(line->text, text))
			return line;
	}
	return NULL;
}

bool cron_read_again(struct cron *cron)
{
	struct cron again = { .file = cron->file };
	size_t from = 0;
	size_t i;

	if (!cron_read_file(&again)) {
		cron_free_lines(&again);
		return false;
	}
	for (i = 0; i < again.count; i++) {
		struct line *old = find_line(cron, from, again.lines[i].text);
		struct line line = again.lines[i];

		if (!old)
			continue;
		/* Exchange them: the new one, which has not begun, is not found again. */
		again.lines[i] = *old;
		again.lines[i].number = line.number;
		*old = line;
		from = (size_t)(old - cron->lines) + 1;
	}
	cron_free_lines(cron);
	cron->lines = again.lines;
	cron->count = again.count;
	cron->room = again.room;
	return true;
}

void cron_free_lines(struct cron *cron)
{
	size_t i;

	for (i = 0; i < cron->count; i++)
		free(cron->lines[i].text);
	free(cron->lines);
}
