// SPDX-License-Identifier: GPL-2.0-only
/*
 * tsc - print how fast this machine's time stamp counter runs, in kHz
 *
 * An emulated guest reads the same counter. On a busy machine it stands still
 * just while it compares the counter with another clock, and goes by a wrong rate
 * from then on: so it is told.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

struct moment {
	uint64_t ns;
	uint64_t ticks;
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Of many looks at both clocks the one that was the least disturbed. */
static struct moment look(void)
{
	uint64_t before, ticks, after, best = UINT64_MAX;
	struct moment m = { 0, 0 };
	int i;

	for (i = 0; i < 1000; i++) {
		before = now();
		ticks = __rdtsc();
		after = now();
		if (after - before < best) {
			best = after - before;
			m.ns = before + best / 2;
			m.ticks = ticks;
		}
	}
	return m;
}

int main(void)
{
	struct moment from = look(), to;

	usleep(500000);
	to = look();
	printf("%" PRIu64 "\n", (to.ticks - from.ticks) * 1000000 / (to.ns - from.ns));
	return 0;
}
