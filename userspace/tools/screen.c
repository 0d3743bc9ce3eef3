// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What twheel top shows.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "counters.h"
#include "duration.h"
#include "histogram.h"
#include "screen.h"
#include "terminal.h"

/* The columns to the left of the bars. */
#define TABLE_COLS	68

/* The lines that are not rows of the table, without the histogram. */
#define HEAD_LINES	7

/* The lines of the histogram's bars, in a terminal. */
#define LEAST_HEIGHT	4
#define MOST_HEIGHT	12
#define HISTOGRAM_COLS	78

/* Print a rate in @width columns. */
static void put_rate(FILE *out, int width, uint64_t count, uint64_t ns)
{
	static const char units[] = " kMGT";
	double rate = ns ? (double)count * 1e9 / (double)ns : 0;
	const char *unit = units;
	char buf[32];

	while (rate >= 9999.5 && unit[1]) {
		rate /= 1000;
		unit++;
	}
	if (unit == units)
		snprintf(buf, sizeof(buf), "%.0f", rate);
	else
		snprintf(buf, sizeof(buf), "%.*f%c", rate < 999.95, rate, *unit);
	fprintf(out, " %*s", width, buf);
}

/* Print the longest time of a bucket in six columns, or '-' if @bucket is negative. */
static void put_time(FILE *out, int bucket)
{
	char buf[BUCKET_TEXT];

	fprintf(out, " %6s", bucket < 0 ? "-" : bucket_text(buf, bucket, 3));
}

/* How many columns a bar is long. Each column stands for one bucket or two. */
static int bar_cols(int cols)
{
	return cols - TABLE_COLS >= HISTOGRAM_BARS ? HISTOGRAM_BARS : HISTOGRAM_BARS / 2;
}

static void put_bar(FILE *out, int cols, int p50, int p99, int max)
{
	int each = HISTOGRAM_BARS / bar_cols(cols);
	int i;

	if (max < 0)
		return;
	putc(' ', out);
	for (i = 0; i < bar_cols(cols); i++) {
		/* The first column also stands for all shorter times. */
		int bucket = i ? HISTOGRAM_FIRST + i * each : 0;

		if (bucket > max)
			break;
		fprintf(out, "%s%c", terminal_colour(histogram_colour(bucket, p50, p99)),
			bucket <= p50 ? '#' : bucket <= p99 ? '=' : '-');
	}
	fputs(terminal_colour(COLOUR_NONE), out);
}

static void put_row(FILE *out, int cols, const struct source *source, const char *name,
		    const struct counters_row *row, uint64_t ns)
{
	const uint64_t *late = row->buckets[HISTOGRAM_LATENESS];
	int p50 = bucket_of(late, 50), p99 = bucket_of(late, 99);
	int max = bucket_of(late, 100);

	fprintf(out, "%*s", source->programs ? 7 : 3, name);
	put_rate(out, 6, row->counts[COUNTER_ARMED], ns);
	put_rate(out, 6, row->counts[COUNTER_REARMED], ns);
	put_rate(out, 6, row->counts[COUNTER_CANCELLED], ns);
	put_rate(out, 6, row->counts[COUNTER_EXPIRED], ns);
	/* The numbers of processes take the room of this. */
	if (!source->programs)
		put_rate(out, 7, row->counts[COUNTER_CASCADED], ns);
	put_rate(out, 6, row->counts[COUNTER_INTERRUPTS], ns);
	put_time(out, p50);
	put_time(out, p99);
	put_time(out, max);
	put_bar(out, cols, p50, p99, max);
	putc('\n', out);
}

static void put_batches(FILE *out, const char *what, const uint64_t *buckets)
{
	int max = bucket_of(buckets, 100);

	fprintf(out, "%s ", what);
	if (max < 0)
		fprintf(out, "-\n");
	else
		fprintf(out, "p50 %" PRIu64 "  p99 %" PRIu64 "  max %" PRIu64 "\n",
			bucket_limit(bucket_of(buckets, 50)),
			bucket_limit(bucket_of(buckets, 99)), bucket_limit(max));
}

/* Print the @n rows that have counted something, in no more than @rows lines. */
static void put_rows(FILE *out, int rows, int cols, const struct sample *sample, size_t n)
{
	char name[16];
	size_t i;

	for (i = 0; i < sample->total.n; i++) {
		/* Many of the possible CPUs may not exist. */
		if (!counters_any(&sample->total.rows[i]))
			continue;
		if (rows == 1 && n > 1) {
			fprintf(out, "and %zu more\n", n);
			return;
		}
		snprintf(name, sizeof(name), "%" PRIu32, sample->total.rows[i].nr);
		put_row(out, cols, &sample->source, name, &sample->delta.rows[i], sample->ns);
		rows--;
		n--;
	}
}

static void put_title(FILE *out, const struct source *source)
{
	static const char late[] = "--- late by at most ---";

	if (source->programs) {
		fprintf(out, "%8s------------ a second ------------ %s\n", "", late);
		fprintf(out, "%7s    arm  rearm cancel expire   turn    p50    p99    max ",
			counters_row_name(source));
	} else {
		fprintf(out, "%4s---------------- a second ----------------- %s\n", "", late);
		fprintf(out, "%s    arm  rearm cancel expire cascade   intr    p50    p99    max ",
			"cpu");
	}
}

/* How high the histogram can be if the table has @n rows; 0 if there is no room for it. */
static int histogram_height(int rows, int cols, size_t n)
{
	int room = rows - HEAD_LINES - HISTOGRAM_LINES - 2;
	int height = room - (n < (size_t)room ? (int)n : room);

	if (room < 2 * LEAST_HEIGHT || cols < HISTOGRAM_COLS)
		return 0;
	if (height > MOST_HEIGHT)
		return MOST_HEIGHT;
	return height < LEAST_HEIGHT ? LEAST_HEIGHT : height & ~1;
}

void screen_put(FILE *out, int rows, int cols, const struct sample *sample)
{
	int scale = 10 * bar_cols(cols) / HISTOGRAM_BARS;
	struct counters_row sum;
	char buf[DURATION_SIZE];
	bool programs = sample->source.programs;
	size_t i, n = 0;
	int height;

	counters_sum(&sample->delta, &sum);
	if (sample->ns)
		fprintf(out, "twheel top: the last %s\n\n",
			duration_format(buf, sample->ns));
	else
		fprintf(out, "twheel top: counting\n\n");
	put_batches(out, programs ? "timers expired by one turn, at most:     " :
		    "timers expired by one interrupt, at most:",
		    sum.buckets[HISTOGRAM_EXPIRED]);
	put_batches(out, "records returned by one read(), at most: ",
		    sum.buckets[HISTOGRAM_READ]);
	fprintf(out, "\n%s", terminal_colour(COLOUR_BOLD));
	put_title(out, &sample->source);
	fprintf(out, "%-*s%-*s1s%s\n", scale, "1us", scale, "1ms", terminal_colour(COLOUR_NONE));
	put_row(out, cols, &sample->source, "all", &sum, sample->ns);

	for (i = 0; i < sample->total.n; i++)
		n += counters_any(&sample->total.rows[i]);
	height = rows < INT32_MAX ? histogram_height(rows, cols, n) : 0;
	put_rows(out, rows - HEAD_LINES - 1 - (height ? height + HISTOGRAM_LINES + 1 : 0), cols,
		 sample, n);
	if (height) {
		putc('\n', out);
		histogram_draw(out, sample->late, height);
	}
}
