/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Counters and histograms: the module's, from debugfs, or those of wheels in processes.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tool.h"

/* In the order of the file's columns. */
enum counter {
	COUNTER_ARMED,
	COUNTER_REARMED,
	COUNTER_CANCELLED,
	COUNTER_EXPIRED,
	COUNTER_READ,
	COUNTER_CASCADED,
	COUNTER_MIGRATED,
	COUNTER_INTERRUPTS,
	COUNTERS,
};

enum histogram {
	HISTOGRAM_LATENESS,
	HISTOGRAM_EXPIRED,
	HISTOGRAM_READ,
	HISTOGRAMS,
};

#define BUCKETS	64

extern const char *const histogram_names[HISTOGRAMS];

/**
 * struct counters_row - what one CPU, process or context has counted
 * @nr: its number: of a context its descriptor
 * @counts: by &enum counter
 * @buckets: by &enum histogram. Bucket 0 is for the value 0, bucket k for
 *	[2^(k-1), 2^k).
 */
struct counters_row {
	uint32_t	nr;
	uint64_t	counts[COUNTERS];
	uint64_t	buckets[HISTOGRAMS][BUCKETS];
};

/**
 * struct counters - what all of them have counted
 * @rows: an array: one for each possible CPU; or for each process, or each context of one, that
 *	is there and shows its counters
 * @n: its length
 */
struct counters {
	struct counters_row	*rows;
	size_t			n;
};

/**
 * struct source - whose counters they are
 * @verb: the verb that wants them, for messages
 * @programs: those of wheels in processes, and not the module's
 * @pid: of this process, by context; 0 for all, by process
 */
struct source {
	const char	*verb;
	bool		programs;
	pid_t		pid;
};

/**
 * counters_of() - say whose counters they are
 * @verb: the verb
 * @pid: of this process; if it is 0, the module's, or those of all processes if there is no
 *	device or TWHEEL_BACKEND is embedded
 */
struct source counters_of(const char *verb, pid_t pid);

/* What a row is: "cpu", "pid" or "fd". */
const char *counters_row_name(const struct source *source);

/* What a counter is called in these rows. */
const char *counters_name(const struct source *source, enum counter counter);

/**
 * counters_read() - read the present counters
 * @source: whose
 * @counters: filled in; to be freed by counters_free() after a success
 *
 * Return: 0 or -errno, for counters_complain(): -EPROTO when the files are not in the
 * form that this program knows; where no process shows counters, -ESRCH if @source's is none,
 * -EACCES if some may not be looked at, -ENOSPC if its wheels had no room, or else -ENODATA.
 */
int counters_read(const struct source *source, struct counters *counters);
void counters_free(struct counters *counters);

/**
 * counters_reset() - have all counters of the module count from 0 again
 *
 * Return: 0 or -errno, for counters_complain().
 */
int counters_reset(void);

/**
 * counters_complain() - say why the counters cannot be read or reset
 * @source: whose
 * @err: negative errno
 *
 * Return: %TOOL_FAILED.
 */
enum tool_exit counters_complain(const struct source *source, int err);

/**
 * counters_since() - what was counted between two readings
 * @now: the later reading
 * @then: the earlier one
 * @delta: filled in; to be freed by counters_free()
 *
 * A number that is lower than before was reset in between, and counts from the reset. What has
 * come in between counts from its beginning.
 *
 * Return: 0 or -ENOMEM.
 */
int counters_since(const struct counters *now, const struct counters *then,
		   struct counters *delta);

/**
 * counters_sum() - add up all rows
 * @counters: the counters
 * @sum: filled in, except for its number
 */
void counters_sum(const struct counters *counters, struct counters_row *sum);

/**
 * counters_any() - has this one counted anything?
 * @row: its counters
 */
bool counters_any(const struct counters_row *row);

/**
 * bucket_of() - the bucket that a quantile lies in
 * @buckets: a histogram
 * @percent: which quantile: 50 for the median, 100 for the maximum
 *
 * Return: the bucket, or -1 when the histogram is empty.
 */
int bucket_of(const uint64_t buckets[BUCKETS], unsigned int percent);

/**
 * bucket_limit() - the largest value that a bucket counts
 * @bucket: 0 to 63
 */
uint64_t bucket_limit(int bucket);

#endif /* COUNTERS_H */
