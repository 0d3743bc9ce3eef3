/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the counters of the module from debugfs, for tests that depend on counts. */
#ifndef TWHEEL_COUNTERS_H
#define TWHEEL_COUNTERS_H

#include <stdio.h>

#include "twheel_util.h"

#define TW_COUNTERS	"/sys/kernel/debug/twheel/counters"

/* Stands for the sum over all CPUs. */
#define TW_ALL_CPUS	(-1)

/* Returns the counter named @column of @cpu, or all ones if it cannot be read. */
static inline __u64 tw_counter(int cpu, const char *column)
{
	FILE *file = fopen(TW_COUNTERS, "re");
	int wanted = -1, of = -1, i;
	char line[512], *word, *rest;
	bool found = false;
	__u64 sum = 0;

	while (file && fgets(line, sizeof(line), file)) {
		rest = line;
		for (i = 0; (word = strtok_r(rest, "\n ", &rest)); i++) {
			if (wanted < 0 && !strcmp(word, column)) {
				wanted = i;
				break;
			}
			if (i == 0)
				of = atoi(word);
			if (i == wanted && (cpu == TW_ALL_CPUS || cpu == of)) {
				sum += strtoull(word, NULL, 10);
				found = true;
			}
		}
	}
	if (file)
		fclose(file);
	return found ? sum : ~0ULL;
}

#endif /* TWHEEL_COUNTERS_H */
