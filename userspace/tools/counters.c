// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Counters and histograms: the module's, from debugfs, or those of wheels in processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/magic.h>
#include <sys/vfs.h>

#include "contexts.h"
#include "counters.h"
#include "device.h"
#include "root.h"

#define DEBUGFS	"/sys/kernel/debug"
#define FOLDER	DEBUGFS "/twheel"

/* What a process can show */
#define COUNTERS_SHOWN	"counters of a wheel in the process: run it with TWHEEL_STATS=1"

static const char *const counter_names[COUNTERS] = {
	[COUNTER_ARMED]		= "armed",
	[COUNTER_REARMED]	= "rearmed",
	[COUNTER_CANCELLED]	= "cancelled",
	[COUNTER_EXPIRED]	= "expired",
	[COUNTER_READ]		= "read",
	[COUNTER_CASCADED]	= "cascaded",
	[COUNTER_MIGRATED]	= "migrated",
	[COUNTER_INTERRUPTS]	= "interrupts",
};

const char *const histogram_names[HISTOGRAMS] = {
	[HISTOGRAM_LATENESS]	= "lateness",
	[HISTOGRAM_EXPIRED]	= "expired",
	[HISTOGRAM_READ]	= "read",
};

/* If the next word of *@line is @want, skip it and the blank after it. */
static bool pass_word(const char **line, const char *want)
{
	size_t len = strlen(want);

	if (strncmp(*line, want, len) || ((*line)[len] != ' ' && (*line)[len] != '\n'))
		return false;
	*line += len + 1;
	return true;
}

/* Read the next @n numbers of *@line, and skip them and the blank after each. */
static bool pass_numbers(const char **line, uint64_t *numbers, size_t n)
{
	char *end;
	size_t i;

	for (i = 0; i < n; i++) {
		if (**line < '0' || **line > '9')
			return false;
		errno = 0;
		numbers[i] = strtoull(*line, &end, 10);
		if (errno || (*end != ' ' && *end != '\n'))
			return false;
		*line = end + 1;
	}
	return true;
}

static bool parse_header(const char *line)
{
	size_t i;

	if (!pass_word(&line, "cpu"))
		return false;
	for (i = 0; i < COUNTERS; i++)
		if (!pass_word(&line, counter_names[i]))
			return false;
	return !*line;
}

static int parse_counts(struct counters *counters, const char *line)
{
	struct counters_row *rows, *row;
	uint64_t number;

	rows = reallocarray(counters->rows, counters->n + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	counters->rows = rows;

	row = &rows[counters->n++];
	*row = (struct counters_row){ };
	if (!pass_numbers(&line, &number, 1) ||
	    !pass_numbers(&line, row->counts, COUNTERS) || *line)
		return -EPROTO;
	row->nr = (uint32_t)number;
	return 0;
}

static int parse_buckets(struct counters *counters, const char *line)
{
	uint64_t number;
	size_t i, k;

	for (i = 0; i < HISTOGRAMS; i++)
		if (pass_word(&line, histogram_names[i]))
			break;
	if (i == HISTOGRAMS || !pass_numbers(&line, &number, 1))
		return -EPROTO;
	for (k = 0; k < counters->n; k++)
		if (counters->rows[k].nr == number)
			break;
	if (k == counters->n ||
	    !pass_numbers(&line, counters->rows[k].buckets[i], BUCKETS) || *line)
		return -EPROTO;
	return 0;
}

/* Call @parse with each line of the file. With @header the first line is not for it. */
static int parse_file(const char *name, bool header, struct counters *counters,
		      int (*parse)(struct counters *counters, const char *line))
{
	char path[ROOT_PATH], *line = NULL;
	size_t size = 0;
	FILE *file;
	int ret = 0;

	file = fopen(root_path(path, FOLDER "/%s", name), "re");
	if (!file)
		return -errno;

	while (!ret && getline(&line, &size, file) > 0) {
		if (!header)
			ret = parse(counters, line);
		else if (!parse_header(line))
			ret = -EPROTO;
		header = false;
	}
	if (!ret && ferror(file))
		ret = -EIO;
	free(line);
	fclose(file);
	return ret;
}

/* Read the counters of the module. */
static int read_module(struct counters *counters)
{
	int ret = parse_file("counters", true, counters, parse_counts);

	if (!ret)
		ret = parse_file("histograms", false, counters, parse_buckets);
	return !ret && !counters->n ? -EPROTO : ret;
}

/* Add what a context has counted to the last row, or to a new one if that is not @nr. */
static int add_slot(struct counters *counters, uint32_t nr, const struct twheel_share_slot *slot)
{
	const uint64_t *from = slot->counts;
	struct counters_row *rows, *row;
	size_t i, b;

	_Static_assert(COUNTERS + HISTOGRAMS * BUCKETS == TWHEEL_SHARE_COUNTS, "share.h");
	if (!counters->n || counters->rows[counters->n - 1].nr != nr) {
		rows = reallocarray(counters->rows, counters->n + 1, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		counters->rows = rows;
		rows[counters->n++] = (struct counters_row){ .nr = nr };
	}
	row = &counters->rows[counters->n - 1];
	for (i = 0; i < COUNTERS; i++)
		row->counts[i] += *from++;
	for (i = 0; i < HISTOGRAMS; i++)
		for (b = 0; b < BUCKETS; b++)
			row->buckets[i][b] += *from++;
	return 0;
}

/* Why does no wheel in a process show its counters? Returns -errno, for counters_complain(). */
static int why_none(const struct contexts *contexts, pid_t pid)
{
	char path[ROOT_PATH];

	if (pid && access(root_path(path, "/proc/%d", (int)pid), F_OK))
		return -ESRCH;
	if (contexts->hidden)
		return -EACCES;
	return contexts->unseen ? -ENOSPC : -ENODATA;
}

/* Read the counters of wheels in processes. */
static int read_programs(struct counters *counters, pid_t pid)
{
	struct contexts contexts;
	size_t i;
	int ret;

	ret = contexts_read_programs(&contexts, pid);
	if (ret)
		return ret;
	for (i = 0; i < contexts.n && !ret; i++) {
		const struct holder *holder = contexts.all[i].holders;

		if (!pid || holder->fd >= 0)
			ret = add_slot(counters, (uint32_t)(pid ? holder->fd : holder->pid),
				       contexts.all[i].slot);
	}
	if (!ret && !counters->n)
		ret = why_none(&contexts, pid);
	contexts_free(&contexts);
	return ret;
}

struct source counters_of(const char *verb, pid_t pid)
{
	return (struct source){
		.verb = verb,
		.programs = pid || backend_is("embedded") ||
			    (!backend_is("device") && !device_registered(root_folder())),
		.pid = pid,
	};
}

const char *counters_row_name(const struct source *source)
{
	return !source->programs ? "cpu" : source->pid ? "fd" : "pid";
}

const char *counters_name(const struct source *source, enum counter counter)
{
	/* No interrupt turns the wheel of a process. */
	return source->programs && counter == COUNTER_INTERRUPTS ? "turns" : counter_names[counter];
}

int counters_read(const struct source *source, struct counters *counters)
{
	int ret;

	*counters = (struct counters){ };
	ret = source->programs ? read_programs(counters, source->pid) : read_module(counters);
	if (ret)
		counters_free(counters);
	return ret;
}

void counters_free(struct counters *counters)
{
	free(counters->rows);
	*counters = (struct counters){ };
}

int counters_reset(void)
{
	char path[ROOT_PATH];
	int fd, ret;

	fd = open(root_path(path, FOLDER "/reset"), O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write(fd, "1", 1) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static enum tool_exit complain_programs(const struct source *source, int err)
{
	const char *verb = source->verb;
	int pid = (int)source->pid;

	if (pid && err == -ENODATA)
		return tool_complain(TOOL_FAILED, "%s: process %d shows no " COUNTERS_SHOWN, verb,
				     pid);
	if (pid && err == -ENOSPC)
		return tool_complain(TOOL_FAILED,
				     "%s: process %d has had too many wheels at once to show these",
				     verb, pid);
	if (pid && (err == -ESRCH || err == -EACCES))
		return tool_complain(TOOL_FAILED, "%s: process %d: %s%s", verb, pid,
				     strerror(-err),
				     err == -EACCES ? " (to look at it takes root)" : "");
	if (err == -ENODATA || err == -EACCES)
		return tool_complain(TOOL_FAILED, "%s: no process shows " COUNTERS_SHOWN "%s", verb,
				     err == -EACCES ?
				     " (processes of others were not looked at: that takes root)" :
				     "");
	return tool_complain(TOOL_FAILED, "%s: /proc: %s", verb, strerror(-err));
}

enum tool_exit counters_complain(const struct source *source, int err)
{
	const char *verb = source->verb;
	const char *hint = "";
	char path[ROOT_PATH];
	struct statfs fs;

	if (source->programs)
		return complain_programs(source, err);
	if (err == -EACCES || err == -EPERM)
		hint = " (the counters are for root)";
	else if (err == -ENOENT && !device_registered(root_folder()))
		hint = " (is the module loaded? see 'twheel doctor')";
	else if (err == -ENOENT && (statfs(root_path(path, DEBUGFS), &fs) ||
				    fs.f_type != DEBUGFS_MAGIC))
		hint = " (debugfs is not mounted there)";
	else if (err == -EPROTO)
		return tool_complain(TOOL_FAILED,
				     "%s: " FOLDER ": not the counters that this program knows",
				     verb);
	return tool_complain(TOOL_FAILED, "%s: " FOLDER ": %s%s", verb,
			     strerror(-err), hint);
}

static void subtract(uint64_t *now, const uint64_t *then, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (now[i] >= then[i])
			now[i] -= then[i];
}

/* Find the row of number @nr, which is most likely at @hint. NULL if there is none. */
static const struct counters_row *find_row(const struct counters *counters, uint32_t nr,
					   size_t hint)
{
	size_t i;

	if (hint < counters->n && counters->rows[hint].nr == nr)
		return &counters->rows[hint];
	for (i = 0; i < counters->n; i++)
		if (counters->rows[i].nr == nr)
			return &counters->rows[i];
	return NULL;
}

int counters_since(const struct counters *now, const struct counters *then,
		   struct counters *delta)
{
	size_t i, k;

	delta->rows = calloc(now->n + 1, sizeof(*delta->rows));
	if (!delta->rows)
		return -ENOMEM;

	delta->n = now->n;
	memcpy(delta->rows, now->rows, now->n * sizeof(*delta->rows));
	for (i = 0; i < now->n; i++) {
		const struct counters_row *old = find_row(then, now->rows[i].nr, i);

		if (!old)
			continue;
		subtract(delta->rows[i].counts, old->counts, COUNTERS);
		for (k = 0; k < HISTOGRAMS; k++)
			subtract(delta->rows[i].buckets[k], old->buckets[k], BUCKETS);
	}
	return 0;
}

void counters_sum(const struct counters *counters, struct counters_row *sum)
{
	size_t i, k, b;

	*sum = (struct counters_row){ };
	for (i = 0; i < counters->n; i++) {
		const struct counters_row *row = &counters->rows[i];

		for (k = 0; k < COUNTERS; k++)
			sum->counts[k] += row->counts[k];
		for (k = 0; k < HISTOGRAMS; k++)
			for (b = 0; b < BUCKETS; b++)
				sum->buckets[k][b] += row->buckets[k][b];
	}
}

bool counters_any(const struct counters_row *row)
{
	size_t i;

	for (i = 0; i < COUNTERS; i++)
		if (row->counts[i])
			return true;
	return false;
}

int bucket_of(const uint64_t buckets[BUCKETS], unsigned int percent)
{
	uint64_t total = 0, seen = 0, rank;
	int i;

	for (i = 0; i < BUCKETS; i++)
		total += buckets[i];
	if (!total)
		return -1;

	/* How many values the first @percent of all are, rounded up. */
	rank = total / 100 * percent + (total % 100 * percent + 99) / 100;
	for (i = 0; i < BUCKETS - 1; i++) {
		seen += buckets[i];
		if (seen >= rank)
			break;
	}
	return i;
}

uint64_t bucket_limit(int bucket)
{
	return bucket == BUCKETS - 1 ? UINT64_MAX : (1ULL << bucket) - 1;
}
