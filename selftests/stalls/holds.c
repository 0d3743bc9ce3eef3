// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a wheel's lock is held by the code that turns it.
 *
 * Nearly all of that function runs with the lock held, so its run time as the
 * function graph tracer shows it is the hold.
 */
#include <stdio.h>

#include "holds.h"
#include "twheel_util.h"

/* The module's function that takes the lock and turns the wheel. */
#define TURNING		"expire_batch"
#define TRACE		"/sys/kernel/tracing/"
/* Enough for 10 million timers, 32 a hold. */
#define BUFFER_KB	"49152"

static char buffer[64], trace[64], stats[64];

static bool put(const char *name, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), TRACE "%s", name);
	return tw_write_file(path, text) == 0;
}

static void forget(void)
{
	/* Opening the file for writing clears the trace. */
	int fd = open(TRACE "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
}

bool holds_begin(int cpu)
{
	snprintf(buffer, sizeof(buffer), "per_cpu/cpu%d/buffer_size_kb", cpu);
	snprintf(trace, sizeof(trace), TRACE "per_cpu/cpu%d/trace", cpu);
	snprintf(stats, sizeof(stats), TRACE "per_cpu/cpu%d/stats", cpu);

	forget();
	return put("tracing_on", "0") && put("current_tracer", "nop") &&
	       put(buffer, BUFFER_KB) && put("set_ftrace_filter", TURNING) &&
	       put("current_tracer", "function_graph") &&
	       put("tracing_on", "1");
}

/* A line " 3) + 12.345 us   |  function [twheel]();" is 12345 ns; others are 0. */
static __u64 duration(const char *line)
{
	const char *at = strchr(line, ')');
	double us;

	if (!at || !strstr(line, " us "))
		return 0;
	at += strcspn(at, "0123456789");
	return sscanf(at, "%lf us", &us) == 1 ? us * 1000 : 0;
}

static bool overrun(void)
{
	FILE *file = fopen(stats, "re");
	unsigned long lost = 1;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "overrun: %lu", &lost) == 1)
			break;
	if (file)
		fclose(file);
	return lost;
}

struct holds holds_end(void)
{
	struct holds holds = { };
	__u64 *all = NULL, size = 0;
	char line[256];
	FILE *file;

	put("tracing_on", "0");
	file = fopen(trace, "re");
	while (file && fgets(line, sizeof(line), file)) {
		__u64 ns = duration(line);

		if (!ns)
			continue;
		if (holds.nr == size) {
			size = size ? 2 * size : 1024;
			all = realloc(all, size * sizeof(*all));
			if (!all)
				abort();
		}
		all[holds.nr++] = ns;
	}
	if (file)
		fclose(file);
	if (overrun())
		holds.nr = 0;
	put("current_tracer", "nop");
	forget();
	put(buffer, "1");

	if (holds.nr) {
		qsort(all, holds.nr, sizeof(*all), tw_compare);
		holds.median = all[holds.nr / 2];
		holds.p99 = all[holds.nr - 1 - holds.nr / 100];
		holds.longest = all[holds.nr - 1];
	}
	free(all);
	return holds;
}
