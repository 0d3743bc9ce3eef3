// SPDX-License-Identifier: GPL-2.0-only
/* What is said: the trace, and what is wrong. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/tracepoint.h>

#include "kernel.h"

bool sim_verbose;
void (*sim_how_to_repeat)(void);
enum promise sim_promise;

#define MAX_ADDRESSES	100
static unsigned long addresses[MAX_ADDRESSES];
static int nr_addresses;

void report_begin(void)
{
	nr_addresses = 0;
}

/* When, where and by whom */
static void print_place(FILE *file)
{
	fprintf(file, "%14.6f ms  ", (double)(sim_now() - (1ULL << 40)) / 1e6);
	if (!self)
		fprintf(file, "%-23s  ", "at rest");
	else if (self->nr < 0)
		fprintf(file, "CPU %d  %-16s  ", self->cpu, self->name);
	else
		fprintf(file, "CPU %d  %-14s %-2d ", self->cpu, self->name, self->nr);
}

void sim_trace(const char *format, ...)
{
	va_list args;

	if (!sim_verbose)
		return;
	print_place(stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void report_freed(const void *p)
{
	int i;

	for (i = 0; i < nr_addresses; i++)
		if (addresses[i] == (unsigned long)p)
			addresses[i] = 0;
}

/* Addresses differ from run to run: so say which one it is of those that were seen so far. */
static int number_of(unsigned long address)
{
	int i;

	for (i = 0; i < nr_addresses && addresses[i] != address; i++)
		;
	if (i == nr_addresses && i < MAX_ADDRESSES)
		addresses[nr_addresses++] = address;
	return i;
}

void sim_trace_event(const char *event, const char *format, ...)
{
	char line[256], *p, *end;
	va_list args;

	if (!sim_verbose)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	print_place(stdout);
	/* All events are the module's. */
	printf("  %s: ", strncmp(event, "twheel_", 7) ? event : event + 7);
	p = strstr(line, "ctx=0x");
	if (p) {
		printf("%.*sctx=%d", (int)(p - line), line, number_of(strtoul(p + 4, &end, 16)));
		p = end;
	}
	printf("%s\n", p ? p : line);
}

void sim_broken(enum promise promise, const char *format, ...)
{
	va_list args;

	sim_promise = promise;
	fflush(stdout);
	fprintf(stderr, "\nFAILED: %s\n", sim_promises[promise]);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nthere: ");
	print_place(stderr);
	fprintf(stderr, "\n");
	if (sim_how_to_repeat)
		sim_how_to_repeat();
	fflush(stderr);
	if (getenv("SIM_ABORT"))
		abort();
	_exit(EXIT_BROKEN);
}

void sim_warned(const char *file, int line, const char *what)
{
	sim_broken(CONTAINED, "the module warns: %s, at %s:%d", what, file, line);
}
