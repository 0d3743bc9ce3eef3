// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * heartbeat: what is shown, as progress and in the table at the end.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "duration.h"
#include "heartbeat.h"

const char *heartbeat_form(const struct heartbeat *hb)
{
	static const char * const names[] = {
		[0]						= "handles",
		[TWHEEL_CONFIG_KEYED]				= "keys",
		[TWHEEL_CONFIG_LEASE]				= "leases",
		[TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE]	= "keyed leases",
	};

	if (hb->by_write)
		return hb->config ? "pushed keys" : "pushed";
	return names[hb->config];
}

void heartbeat_end_line(const struct heartbeat *hb)
{
	if (hb->progress && hb->terminal)
		fputs("\r\033[K", stdout);
}

void heartbeat_show(struct heartbeat *hb, uint64_t now)
{
	uint64_t pause = hb->terminal ? NSEC_PER_SEC / 5 : 5 * NSEC_PER_SEC;
	double seconds;

	if (!hb->progress || now - hb->shown < pause)
		return;
	seconds = (double)(now - hb->shown) / 1e9;

	heartbeat_end_line(hb);
	printf("%s: ", heartbeat_form(hb));
	if (!hb->start)
		printf("arming: %" PRIu64 " of %" PRIu32 " drivers", hb->armed, hb->n);
	else
		printf("%.1f s: pushed back %" PRIu64 " (%.0f a second), offline %" PRIu64
		       " of %" PRIu32 ", wrongly %" PRIu64,
		       (double)(now - hb->start) / 1e9, hb->pushed,
		       (double)(hb->pushed - hb->shown_pushed) / seconds,
		       hb->expired, hb->dead, hb->wrong);
	if (!hb->terminal)
		putchar('\n');
	fflush(stdout);
	hb->shown = now;
	hb->shown_pushed = hb->pushed;
}

/**
 * enum row_kind - what a row of the table shows
 * @ROW_TITLE: nothing
 * @ROW_NUMBER: a uint32_t
 * @ROW_COUNT: a uint64_t
 * @ROW_TIME: an int64_t of nanoseconds
 * @ROW_BYTES: a double, negative if it was not measured
 * @ROW_LATENESS: a percentile of a &struct lateness
 */
enum row_kind {
	ROW_TITLE,
	ROW_NUMBER,
	ROW_COUNT,
	ROW_TIME,
	ROW_BYTES,
	ROW_LATENESS,
};

/**
 * struct row - a row of the table
 * @name: the name of the figure
 * @kind: &enum row_kind
 * @offset: offset of the figure in &struct heartbeat
 * @permille: for %ROW_LATENESS, which percentile
 */
struct row {
	const char	*name;
	enum row_kind	kind;
	size_t		offset;
	unsigned int	permille;
};

#define TITLE(name)	{ name, ROW_TITLE, 0, 0 }

#define FIGURE(name, kind, member) \
	{ name, ROW_##kind, offsetof(struct heartbeat, member), 0 }

#define PERCENTILE(name, member, permille) \
	{ name, ROW_LATENESS, offsetof(struct heartbeat, member), permille }

static const struct row rows[] = {
	FIGURE("drivers", NUMBER, n),
	FIGURE("of which fall silent", NUMBER, dead),
	FIGURE("armed", COUNT, armed),
	FIGURE("pushed back", COUNT, pushed),
	FIGURE("  withdrawn", COUNT, withdrawn),
	FIGURE("lost to expiry", COUNT, lost),
	FIGURE("expired", COUNT, expired),
	FIGURE("  late reports", COUNT, late_reports),
	FIGURE("wrongly expired", COUNT, wrong),
	FIGURE("missed", COUNT, missed),
	FIGURE("declared twice", COUNT, twice),
	TITLE("lateness, by kernel"),
	PERCENTILE("  p50", by_expiry, 500),
	PERCENTILE("  p99", by_expiry, 990),
	PERCENTILE("  max", by_expiry, 1000),
	TITLE("lateness, when read"),
	PERCENTILE("  p50", by_read, 500),
	PERCENTILE("  p99", by_read, 990),
	PERCENTILE("  max", by_read, 1000),
	TITLE("system calls"),
	FIGURE("  ioctl", COUNT, ioctls),
	FIGURE("    to push back", COUNT, rearms),
	FIGURE("  write", COUNT, writes),
	FIGURE("  read", COUNT, reads),
	FIGURE("  epoll_wait", COUNT, waits),
	TITLE("CPU time"),
	FIGURE("  user", TIME, usage.user),
	FIGURE("  system", TIME, usage.system),
	FIGURE("  the whole machine", TIME, usage.busy),
	FIGURE("elapsed", TIME, elapsed),
	FIGURE("  to arm them all", TIME, arm_time),
	TITLE("memory a timer, bytes"),
	FIGURE("  kernel", BYTES, kernel_bytes),
	FIGURE("  table of its own", BYTES, table_bytes),
};

static const char notes[] =
"\n"
"withdrawn: pushed back after an expiration that was not read yet. lost to expiry:\n"
"too late to push back, and the record of that not read yet. late reports: rightly expired, as\n"
"this program was too slow. the whole machine: with all interrupts, and whatever else\n"
"it does. kernel memory: what was taken while arming, less what this process grew by.\n";

static const char embedded_note[] =
"Without the device: ioctl, write and read are calls of the wheel in this process, not\n"
"of the kernel, and by kernel is when such a call has noticed that a timer is due.\n";

static void print_figure(const struct heartbeat *hb, const struct row *row)
{
	const void *figure = (const char *)hb + row->offset;
	const struct lateness *late = figure;
	char text[DURATION_SIZE] = "-";

	switch (row->kind) {
	case ROW_TITLE:
		return;
	case ROW_NUMBER:
		snprintf(text, sizeof(text), "%" PRIu32, *(const uint32_t *)figure);
		break;
	case ROW_COUNT:
		snprintf(text, sizeof(text), "%" PRIu64, *(const uint64_t *)figure);
		break;
	case ROW_TIME:
		duration_format(text, *(const uint64_t *)figure);
		break;
	case ROW_BYTES:
		if (*(const double *)figure >= 0)
			snprintf(text, sizeof(text), "%.1f", *(const double *)figure);
		break;
	case ROW_LATENESS:
		if (late->count)
			duration_format(text, lateness_percentile(late, row->permille));
		break;
	}
	printf(" %12s", text);
}

void heartbeat_print(const struct heartbeat *forms, unsigned int n)
{
	unsigned int i;
	size_t k;

	printf("%-22s", "");
	for (i = 0; i < n; i++)
		printf(" %12s", heartbeat_form(&forms[i]));
	putchar('\n');
	for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		printf("%-*s", rows[k].kind == ROW_TITLE ? 0 : 22, rows[k].name);
		for (i = 0; i < n; i++)
			print_figure(&forms[i], &rows[k]);
		putchar('\n');
	}
	fputs(notes, stdout);
	if (forms[0].embedded)
		fputs(embedded_note, stdout);
}
