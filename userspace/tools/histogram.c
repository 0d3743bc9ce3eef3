// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How late timers expired, as a histogram: for a terminal.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "histogram.h"

/* The columns of a bar and of the gap behind it. */
#define BAR_COLS	2
#define GAP_COLS	1

char *bucket_text(char buf[BUCKET_TEXT], int bucket, int digits)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double time = (double)bucket_limit(bucket);
	size_t unit = 0;

	while (time >= 999.5 && unit < 3) {
		time /= 1000;
		unit++;
	}
	snprintf(buf, BUCKET_TEXT, "%.*g%s", time >= 99.5 && digits < 3 ? 3 : digits, time,
		 units[unit]);
	return buf;
}

enum colour histogram_colour(int bucket, int p50, int p99)
{
	return bucket <= p50 ? COLOUR_GOOD : bucket <= p99 ? COLOUR_NOTE : COLOUR_BAD;
}

void histogram_sum(const uint64_t buckets[BUCKETS], struct bars *sum)
{
	static const unsigned int steps[] = { 5, 10, 20, 30, 40, 50, 60, 80, 100 };
	uint64_t most = 0;
	int i;

	*sum = (struct bars){
		.p50 = bucket_of(buckets, 50),
		.p99 = bucket_of(buckets, 99),
		.max = bucket_of(buckets, 100),
	};
	for (i = 0; i < BUCKETS; i++) {
		int bar = i - HISTOGRAM_FIRST;

		if (bar < 0)
			bar = 0;
		else if (bar >= HISTOGRAM_BARS)
			bar = HISTOGRAM_BARS - 1;
		sum->bars[bar] += buckets[i];
		sum->total += buckets[i];
		if (sum->bars[bar] > most)
			most = sum->bars[bar];
	}
	for (i = 0; steps[i] < 100 && (double)most * 100 > (double)sum->total * steps[i]; )
		i++;
	sum->percent = steps[i];
}

/*
 * The character of a bar in a line: @eighths of the line are filled, which may be less than
 * 0 or more than 8. A bar that is not empty shows in the lowest line, however short it is.
 */
static const char *cell(double eighths, bool lowest, bool empty, bool blocks)
{
	static const char *const unicode[] = {
		" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587",
		"\u2588",
	};
	int n = eighths >= 8 ? 8 : eighths < 0 ? 0 : (int)(eighths + 0.5);

	if (lowest && !empty && !n)
		n = 1;
	if (blocks)
		return unicode[n];
	return n > 5 ? "#" : n > 2 ? ":" : n ? "." : " ";
}

static void draw_line(FILE *out, const struct bars *sum, int line, int height,
		      bool blocks)
{
	double scale = sum->total ? 800.0 * height / ((double)sum->total * sum->percent) : 0;
	int i, k, blanks = 1;

	/* Blanks are printed with what follows them, and so never at the end. */
	for (i = 0; i < HISTOGRAM_BARS; i++) {
		double eighths = (double)sum->bars[i] * scale - 8.0 * line;
		const char *c = cell(eighths, !line, !sum->bars[i], blocks);

		if (*c == ' ') {
			blanks += BAR_COLS + GAP_COLS;
			continue;
		}
		fprintf(out, "%*s%s", blanks, "",
			terminal_colour(histogram_colour(i + HISTOGRAM_FIRST, sum->p50,
							 sum->p99)));
		for (k = 0; k < BAR_COLS; k++)
			fputs(c, out);
		fputs(terminal_colour(COLOUR_NONE), out);
		blanks = GAP_COLS;
	}
	putc('\n', out);
}

void histogram_draw(FILE *out, const uint64_t buckets[BUCKETS], int height)
{
	bool blocks = terminal_blocks();
	struct bars sum;
	char buf[BUCKET_TEXT];
	int line, i;

	histogram_sum(buckets, &sum);
	fprintf(out, "late by at most, of %" PRIu64 " timers that expired since the start:\n",
		sum.total);
	for (line = height - 1; line >= 0; line--) {
		/* The scale is at the top and in the middle. */
		if (line == height - 1)
			fprintf(out, "%3u%%", sum.percent);
		else if (line == height / 2 - 1 && height >= 4 && height % 2 == 0)
			fprintf(out, "%3g%%", sum.percent / 2.0);
		else
			fprintf(out, "%4s", "");
		draw_line(out, &sum, line, height, blocks);
	}
	fprintf(out, "  0%% ");
	for (i = 0; i < HISTOGRAM_BARS; i++)
		fprintf(out, "%s", "---");
	fprintf(out, "\n%5s", "");
	for (i = 0; i < HISTOGRAM_BARS; i += 2)
		fprintf(out, "%-*s", i + 2 < HISTOGRAM_BARS ? 2 * (BAR_COLS + GAP_COLS) : 0,
			bucket_text(buf, i + HISTOGRAM_FIRST, 2));
	putc('\n', out);
}
