/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How late timers expired, as a histogram: for a terminal, and as a drawing in SVG.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

#include "counters.h"
#include "terminal.h"

/*
 * Times from 1 us to 8.6 s are shown, one bar for each bucket of the counters. The first bar
 * also stands for all shorter times and the last one for all longer ones, so that the scale
 * is always the same.
 */
#define HISTOGRAM_FIRST	10
#define HISTOGRAM_BARS	24

/* The lines that histogram_draw() needs beside its bars. */
#define HISTOGRAM_LINES	3

/* Room that bucket_text() needs. */
#define BUCKET_TEXT	16

/**
 * bucket_text() - write the longest time of a bucket
 * @buf: filled in
 * @bucket: 0 to 63
 * @digits: how many digits it may have, rounded
 *
 * Return: @buf.
 */
char *bucket_text(char buf[BUCKET_TEXT], int bucket, int digits);

/**
 * histogram_colour() - the colour of a bar
 * @bucket: its bucket
 * @p50: the bucket of the median
 * @p99: that of the 99th percentile
 */
enum colour histogram_colour(int bucket, int p50, int p99);

/**
 * struct bars - buckets, as they are drawn
 * @bars: how many timers each bar stands for
 * @total: all of them
 * @percent: where the scale ends: no bar is higher
 * @p50: the bucket of the median; -1 if there are none
 * @p99: that of the 99th percentile
 * @max: that of the maximum
 */
struct bars {
	uint64_t	bars[HISTOGRAM_BARS];
	uint64_t	total;
	unsigned int	percent;
	int		p50;
	int		p99;
	int		max;
};

/**
 * histogram_sum() - make bars of buckets
 * @buckets: how many timers were late by how much
 * @sum: filled in
 */
void histogram_sum(const uint64_t buckets[BUCKETS], struct bars *sum);

/**
 * histogram_draw() - draw a histogram with characters
 * @out: where to; at most 78 columns are used
 * @buckets: how many timers were late by how much
 * @height: the lines of the highest bar; %HISTOGRAM_LINES more are printed
 */
void histogram_draw(FILE *out, const uint64_t buckets[BUCKETS], int height);

/**
 * histogram_svg() - draw a histogram as SVG
 * @out: where to
 * @buckets: how many timers were late by how much
 * @ns: in how long a time they expired
 */
void histogram_svg(FILE *out, const uint64_t buckets[BUCKETS], uint64_t ns);

#endif /* HISTOGRAM_H */
