// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * twheel stat: what the module, or wheels in processes, have counted.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "counters.h"
#include "duration.h"
#include "terminal.h"
#include "tool.h"

static const char help[] =
"Usage: twheel stat [OPTION]...\n"
"Show what each CPU has counted since the module was loaded or the counters were\n"
"reset. Takes root, and debugfs. Where there is no device: what each process has\n"
"counted that runs with TWHEEL_STATS=1 in its environment.\n"
"\n"
"  -p, --pid PID         what this process has counted, for each of its descriptors\n"
"  -e, --every DURATION  show again and again what was counted in this time\n"
"  -c, --count N         end after N times (with --every)\n"
"  -r, --reset           set all to 0, and show nothing\n"
"  -j, --json            a JSON object in each line\n"
"  -h, --help            show this help\n"
"\n"
"Exit codes: 0 done, 1 failure at run time, 2 wrong usage.\n";

/* The titles of the histograms, for people. */
static const char *const titles[HISTOGRAMS] = {
	[HISTOGRAM_LATENESS]	= "late by",
	[HISTOGRAM_EXPIRED]	= "expired a run",
	[HISTOGRAM_READ]	= "records a read",
};

static void print_json(const struct source *source, const struct counters *counters, uint64_t ns)
{
	const char *row_name = counters_row_name(source);
	size_t i, k, b;

	putchar('{');
	if (ns)
		printf("\"interval\":%" PRIu64 ",", ns);
	printf("\"%ss\":[", row_name);
	for (i = 0; i < counters->n; i++) {
		const struct counters_row *row = &counters->rows[i];

		printf("%s{\"%s\":%" PRIu32, i ? "," : "", row_name, row->nr);
		for (k = 0; k < COUNTERS; k++)
			printf(",\"%s\":%" PRIu64, counters_name(source, k), row->counts[k]);
		printf(",\"histograms\":{");
		for (k = 0; k < HISTOGRAMS; k++) {
			printf("%s\"%s\":[", k ? "," : "", histogram_names[k]);
			for (b = 0; b < BUCKETS; b++)
				printf("%s%" PRIu64, b ? "," : "", row->buckets[k][b]);
			putchar(']');
		}
		printf("}}");
	}
	puts("]}");
}

static void print_row(int width, const char *name, const uint64_t *counts, const int *widths)
{
	size_t i;

	printf("%*s", width, name);
	for (i = 0; i < COUNTERS; i++)
		printf("  %*" PRIu64, widths[i], counts[i]);
	putchar('\n');
}

static void print_counts(const struct source *source, const struct counters *counters,
			 const struct counters_row *sum)
{
	int width = source->programs ? 7 : 3;
	int widths[COUNTERS];
	size_t i;

	printf("%*s", width, counters_row_name(source));
	for (i = 0; i < COUNTERS; i++) {
		const char *name = counters_name(source, i);
		int len = (int)strlen(name);

		/* No row's number has more digits than the sum. */
		widths[i] = snprintf(NULL, 0, "%" PRIu64, sum->counts[i]);
		if (widths[i] < len)
			widths[i] = len;
		printf("  %*s", widths[i], name);
	}
	putchar('\n');

	for (i = 0; i < counters->n; i++) {
		char name[16];

		/* Many of the possible CPUs may not exist: leave out those without counts. */
		snprintf(name, sizeof(name), "%" PRIu32, counters->rows[i].nr);
		if (source->programs || counters_any(&counters->rows[i]))
			print_row(width, name, counters->rows[i].counts, widths);
	}
	print_row(width, "all", sum->counts, widths);
}

static void print_limit(enum histogram histogram, int bucket)
{
	char buf[DURATION_SIZE];

	if (histogram == HISTOGRAM_LATENESS)
		duration_format(buf, bucket_limit(bucket));
	else
		snprintf(buf, sizeof(buf), "%" PRIu64, bucket_limit(bucket));
	printf("  %10s", buf);
}

static void print_histograms(const struct counters_row *sum)
{
	static const unsigned int percents[] = { 50, 90, 99, 100 };
	size_t i, k;

	printf("\n%-14s  %10s  %10s  %10s  %10s\n", "at most", "p50", "p90", "p99", "max");
	for (i = 0; i < HISTOGRAMS; i++) {
		printf("%-14s", titles[i]);
		for (k = 0; k < sizeof(percents) / sizeof(percents[0]); k++) {
			int bucket = bucket_of(sum->buckets[i], percents[k]);

			if (bucket < 0)
				printf("  %10s", "-");
			else
				print_limit(i, bucket);
		}
		putchar('\n');
	}
}

static enum tool_exit show(const struct source *source, const struct counters *counters,
			   uint64_t ns, bool json)
{
	struct counters_row sum;
	char time[DURATION_SIZE];

	if (json) {
		print_json(source, counters, ns);
		return tool_flush();
	}

	counters_sum(counters, &sum);
	if (ns)
		printf("in %s:\n", duration_format(time, ns));
	print_counts(source, counters, &sum);
	print_histograms(&sum);
	if (ns)
		putchar('\n');
	return tool_flush();
}

static void sleep_until(uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / NSEC_PER_SEC),
		.tv_nsec = (long)(ns % NSEC_PER_SEC),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static enum tool_exit show_once(const struct source *source, bool json)
{
	struct counters counters;
	enum tool_exit code;
	int ret;

	ret = counters_read(source, &counters);
	if (ret)
		return counters_complain(source, ret);
	code = show(source, &counters, 0, json);
	counters_free(&counters);
	return code;
}

/* Show what was counted in each @interval, @count times, or for ever if @count is 0. */
static enum tool_exit show_every(const struct source *source, uint64_t interval,
				 uint64_t count, bool json)
{
	struct counters then, now, delta;
	uint64_t since = clock_now(CLOCK_MONOTONIC), next = since;
	enum tool_exit code = TOOL_OK;
	struct progress progress;
	uint64_t rounds = 0;
	int ret;

	ret = counters_read(source, &then);
	if (ret)
		return counters_complain(source, ret);

	progress_begin(&progress, "periods", count);
	while (code == TOOL_OK && (!count || rounds < count)) {
		uint64_t time;

		next += interval;
		sleep_until(next);
		time = clock_now(CLOCK_MONOTONIC);
		/* After a stop the periods that passed meanwhile are not shown one by one. */
		if (time - next > interval)
			next = time;
		ret = counters_read(source, &now);
		if (ret)
			break;
		ret = counters_since(&now, &then, &delta);
		counters_free(&then);
		then = now;
		if (ret)
			break;
		code = show(source, &delta, time - since, json);
		counters_free(&delta);
		since = time;
		progress_update(&progress, ++rounds);
	}
	progress_end(&progress);
	counters_free(&then);
	return ret ? counters_complain(source, ret) : code;
}

enum tool_exit tool_stat(int argc, char **argv)
{
	static const struct option options[] = {
		{ "every",	required_argument,	NULL, 'e' },
		{ "count",	required_argument,	NULL, 'c' },
		{ "pid",	required_argument,	NULL, 'p' },
		{ "reset",	no_argument,		NULL, 'r' },
		{ "json",	no_argument,		NULL, 'j' },
		{ "help",	no_argument,		NULL, 'h' },
		{ }
	};
	uint64_t interval = 0, count = 0, pid = 0;
	struct source source;
	bool every = false;
	bool reset = false;
	bool json = false;
	int ret;
	int c;

	while ((c = getopt_long(argc, argv, "e:c:p:rjh", options, NULL)) != -1) {
		switch (c) {
		case 'e':
			if (!tool_every("stat", optarg, &interval))
				return TOOL_USAGE;
			every = true;
			break;
		case 'c':
			if (!tool_number("stat", optarg, 1, UINT64_MAX, &count))
				return TOOL_USAGE;
			break;
		case 'p':
			if (!tool_number("stat", optarg, 1, INT_MAX, &pid))
				return TOOL_USAGE;
			break;
		case 'r':
			reset = true;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return tool_flush();
		default:
			return tool_usage("stat");
		}
	}
	if (optind < argc)
		return tool_complain(TOOL_USAGE, "stat: '%s' is too much: no argument is taken",
				     argv[optind]);
	if (count && !every)
		return tool_complain(TOOL_USAGE, "stat: --count needs --every");
	if (reset && (every || json || pid))
		return tool_complain(TOOL_USAGE, "stat: --reset goes with no other option");

	if (!tool_backend())
		return TOOL_FAILED;
	source = counters_of("stat", (pid_t)pid);
	if (reset) {
		source.programs = false;
		ret = counters_reset();
		return ret ? counters_complain(&source, ret) : TOOL_OK;
	}
	return every ? show_every(&source, interval, count, json) : show_once(&source, json);
}
