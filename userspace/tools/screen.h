/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What twheel top shows.
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdint.h>
#include <stdio.h>

#include "counters.h"

/**
 * struct sample - what was counted in a period
 * @source: whose counters these are
 * @delta: the counts of the period
 * @total: the counts up to its end
 * @ns: how long the period was; 0 for the first sample
 * @late: how late timers expired since the first sample, by buckets
 * @watched: how long ago that was
 */
struct sample {
	struct source	source;
	struct counters	delta;
	struct counters	total;
	uint64_t	ns;
	uint64_t	late[BUCKETS];
	uint64_t	watched;
};

/**
 * screen_put() - print a screen
 * @out: where to
 * @rows: it has at most so many lines; %INT32_MAX is a file, which has no histogram
 * @cols: the columns of the terminal
 * @sample: what is shown
 */
void screen_put(FILE *out, int rows, int cols, const struct sample *sample);

#endif /* SCREEN_H */
