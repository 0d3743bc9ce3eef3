// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How late timers expired, as a histogram: a drawing in SVG.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "duration.h"
#include "histogram.h"

/* The drawing, and the place of the bars in it. */
#define WIDTH		760
#define HEIGHT		400
#define LEFT		60
#define TOP		70
#define BAR_STEP	28
#define PLOT_WIDTH	(HISTOGRAM_BARS * BAR_STEP)
#define PLOT_HEIGHT	260
#define BOTTOM		(TOP + PLOT_HEIGHT)

static const char *const fills[] = {
	[COLOUR_GOOD]	= "#2f6f9f",
	[COLOUR_NOTE]	= "#8ab6d6",
	[COLOUR_BAD]	= "#d9822b",
};

static void put_head(FILE *out, const struct bars *sum, uint64_t ns)
{
	char p50[BUCKET_TEXT], p99[BUCKET_TEXT], max[BUCKET_TEXT], time_text[DURATION_SIZE];
	time_t now = time(NULL);
	struct tm utc;
	char date[32];

	gmtime_r(&now, &utc);
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &utc);
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\"\n"
		"viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n"
		"<title>How late timers expired</title>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text x=\"%d\" y=\"26\" font-size=\"17\">How late timers expired</text>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	fprintf(out, "<text x=\"%d\" y=\"48\" fill=\"#555\">%" PRIu64 " timers in %s, until %s",
		LEFT, sum->total, duration_format(time_text, ns), date);
	if (sum->total)
		fprintf(out, "; at most: p50 %s, p99 %s, max %s", bucket_text(p50, sum->p50, 3),
			bucket_text(p99, sum->p99, 3), bucket_text(max, sum->max, 3));
	fputs("</text>\n", out);
}

/* The lines of the scale of percents, with their names. */
static void put_grid(FILE *out, const struct bars *sum)
{
	int i;

	for (i = 0; i <= 5; i++) {
		double y = BOTTOM - PLOT_HEIGHT * i / 5.0;

		fprintf(out, "<path d=\"M%d %.1fh%d\" stroke=\"%s\"/>\n", LEFT, y, PLOT_WIDTH,
			i ? "#ddd" : "#222");
		fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g%%</text>\n",
			LEFT - 8, y + 4, sum->percent * i / 5.0);
	}
}

/* Where a power of ten, in nanoseconds, is on the logarithmic scale of the bars. */
static double power_x(int power)
{
	static const double log2_10 = 3.321928;

	return LEFT + (power * log2_10 - HISTOGRAM_FIRST + 1) * BAR_STEP;
}

static void put_times(FILE *out)
{
	static const char *const times[] = {
		"1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s",
	};
	size_t i;

	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		double x = power_x((int)i + 3);

		fprintf(out, "<path d=\"M%.1f %dv5\" stroke=\"#222\"/>\n", x, BOTTOM);
		fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			x, BOTTOM + 20, times[i]);
	}
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
		LEFT + PLOT_WIDTH / 2, BOTTOM + 44, "late by, up to the right edge of a bar");
}

static void put_bars(FILE *out, const struct bars *sum)
{
	char limit[BUCKET_TEXT];
	int i;

	for (i = 0; i < HISTOGRAM_BARS; i++) {
		int bucket = i + HISTOGRAM_FIRST;
		double percent, height;

		if (!sum->bars[i])
			continue;
		percent = 100.0 * (double)sum->bars[i] / (double)sum->total;
		height = PLOT_HEIGHT * percent / sum->percent;
		/* A bar that is not empty can be seen. */
		if (height < 1.5)
			height = 1.5;
		fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"%s\">",
			LEFT + i * BAR_STEP + 1, BOTTOM - height, BAR_STEP - 2, height,
			fills[histogram_colour(bucket, sum->p50, sum->p99)]);
		fprintf(out, "<title>up to %s: %" PRIu64 " (%.3g%%)</title></rect>\n",
			bucket_text(limit, bucket, 3), sum->bars[i], percent);
	}
}

static void put_legend(FILE *out)
{
	static const char *const names[] = {
		[COLOUR_GOOD]	= "up to the median",
		[COLOUR_NOTE]	= "up to the 99th percentile",
		[COLOUR_BAD]	= "later",
	};
	static const int places[] = {
		[COLOUR_GOOD]	= LEFT + 290,
		[COLOUR_NOTE]	= LEFT + 430,
		[COLOUR_BAD]	= LEFT + 620,
	};
	int i;

	for (i = COLOUR_GOOD; i <= COLOUR_BAD; i++)
		fprintf(out, "<rect x=\"%d\" y=\"15\" width=\"12\" height=\"12\" fill=\"%s\"/>\n"
			"<text x=\"%d\" y=\"26\">%s</text>\n",
			places[i], fills[i], places[i] + 18, names[i]);
}

void histogram_svg(FILE *out, const uint64_t buckets[BUCKETS], uint64_t ns)
{
	struct bars sum;

	histogram_sum(buckets, &sum);
	put_head(out, &sum, ns);
	put_legend(out);
	put_grid(out, &sum);
	put_bars(out, &sum);
	put_times(out);
	fputs("</svg>\n", out);
}
