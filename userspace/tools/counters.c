// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The module's counters and histograms, from debugfs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/magic.h>
#include <sys/vfs.h>

#include "counters.h"
#include "device.h"
#include "root.h"

#define DEBUGFS	"/sys/kernel/debug"
#define FOLDER	DEBUGFS "/twheel"

const char *const counter_names[COUNTERS] = {
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
	struct cpu_counters *cpus, *cpu;
	uint64_t number;

	cpus = reallocarray(counters->cpus, counters->n + 1, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	counters->cpus = cpus;

	cpu = &cpus[counters->n++];
	*cpu = (struct cpu_counters){ };
	if (!pass_numbers(&line, &number, 1) ||
	    !pass_numbers(&line, cpu->counts, COUNTERS) || *line)
		return -EPROTO;
	cpu->cpu = (uint32_t)number;
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
		if (counters->cpus[k].cpu == number)
			break;
	if (k == counters->n ||
	    !pass_numbers(&line, counters->cpus[k].buckets[i], BUCKETS) || *line)
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

int counters_read(struct counters *counters)
{
	int ret;

	*counters = (struct counters){ };
	ret = parse_file("counters", true, counters, parse_counts);
	if (!ret)
		ret = parse_file("histograms", false, counters, parse_buckets);
	if (!ret && !counters->n)
		ret = -EPROTO;
	if (ret)
		counters_free(counters);
	return ret;
}

void counters_free(struct counters *counters)
{
	free(counters->cpus);
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

enum tool_exit counters_complain(const char *verb, int err)
{
	const char *hint = "";
	char path[ROOT_PATH];
	struct statfs fs;

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

int counters_since(const struct counters *now, const struct counters *then,
		   struct counters *delta)
{
	size_t i, k;

	delta->cpus = calloc(now->n, sizeof(*delta->cpus));
	if (!delta->cpus)
		return -ENOMEM;

	/* The set of possible CPUs does not change. */
	delta->n = now->n;
	memcpy(delta->cpus, now->cpus, now->n * sizeof(*delta->cpus));
	for (i = 0; i < now->n && i < then->n; i++) {
		subtract(delta->cpus[i].counts, then->cpus[i].counts, COUNTERS);
		for (k = 0; k < HISTOGRAMS; k++)
			subtract(delta->cpus[i].buckets[k],
				 then->cpus[i].buckets[k], BUCKETS);
	}
	return 0;
}

void counters_sum(const struct counters *counters, struct cpu_counters *sum)
{
	size_t i, k, b;

	*sum = (struct cpu_counters){ };
	for (i = 0; i < counters->n; i++) {
		const struct cpu_counters *cpu = &counters->cpus[i];

		for (k = 0; k < COUNTERS; k++)
			sum->counts[k] += cpu->counts[k];
		for (k = 0; k < HISTOGRAMS; k++)
			for (b = 0; b < BUCKETS; b++)
				sum->buckets[k][b] += cpu->buckets[k][b];
	}
}

bool counters_any(const struct cpu_counters *cpu)
{
	size_t i;

	for (i = 0; i < COUNTERS; i++)
		if (cpu->counts[i])
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
