// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How much time and memory a program, and the machine that it runs on, have used.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "duration.h"
#include "usage.h"

static int64_t timeval_ns(const struct timeval *tv)
{
	return tv->tv_sec * (int64_t)NSEC_PER_SEC + tv->tv_usec * (int64_t)NSEC_PER_USEC;
}

/*
 * Computed from idle time, which the kernel measures to the microsecond. Busy time is
 * only sampled by most kernels.
 */
static int64_t busy_time(void)
{
	FILE *file = fopen("/proc/stat", "r");
	int64_t iowait;
	int64_t idle;
	int fields;

	if (!file)
		return 0;
	fields = fscanf(file, "cpu %*u %*u %*u %" SCNd64 " %" SCNd64, &idle, &iowait);
	fclose(file);
	if (fields != 2)
		return 0;
	return (int64_t)clock_now(CLOCK_MONOTONIC) * sysconf(_SC_NPROCESSORS_ONLN) -
	       (idle + iowait) * ((int64_t)NSEC_PER_SEC / sysconf(_SC_CLK_TCK));
}

/* Pages that a program shares, for instance with the kernel, are not its own. */
static int64_t own_memory(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	int64_t resident;
	int64_t shared;
	int fields;

	if (!file)
		return 0;
	fields = fscanf(file, "%*d %" SCNd64 " %" SCNd64, &resident, &shared);
	fclose(file);
	return fields == 2 ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

/* Sums the numbers that follow any of @names at the start of a line. */
static int64_t sum(const char *path, const char * const *names)
{
	FILE *file = fopen(path, "r");
	int64_t total = 0;
	char line[128];

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		const char *field = line + strspn(line, " ");
		const char * const *name;

		for (name = names; *name; name++) {
			size_t len = strlen(*name);

			if (!strncmp(field, *name, len))
				total += strtoll(field + len, NULL, 10);
		}
	}
	fclose(file);
	return total;
}

/* Free pages that CPUs keep at hand are megabytes, which no field of meminfo counts. */
static int64_t taken_memory(void)
{
	static const char * const unused[] = {
		"MemFree:", "Buffers:", "Cached:", "SReclaimable:", NULL
	};
	static const char * const all[] = { "MemTotal:", NULL };
	static const char * const at_hand[] = { "count:", NULL };

	return (sum("/proc/meminfo", all) - sum("/proc/meminfo", unused)) * 1024 -
	       sum("/proc/zoneinfo", at_hand) * sysconf(_SC_PAGESIZE);
}

void usage_read(struct usage *usage)
{
	struct rusage rusage;

	getrusage(RUSAGE_SELF, &rusage);
	usage->user = timeval_ns(&rusage.ru_utime);
	usage->system = timeval_ns(&rusage.ru_stime);
	usage->busy = busy_time();
	usage->own = own_memory();
	usage->taken = taken_memory();
}

void usage_since(struct usage *usage)
{
	struct usage now;

	usage_read(&now);
	usage->user = now.user - usage->user;
	usage->system = now.system - usage->system;
	usage->busy = now.busy - usage->busy;
	usage->own = now.own - usage->own;
	usage->taken = now.taken - usage->taken;
}
