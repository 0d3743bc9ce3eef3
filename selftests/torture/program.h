/* SPDX-License-Identifier: GPL-2.0-only */
/* One program among several: an episode of the simulator's actors, and its oracle. */
#ifndef TORTURE_PROGRAM_H
#define TORTURE_PROGRAM_H

#include <stdbool.h>

/**
 * struct program - what a program is to do
 * @seed:	chooses what can be chosen
 * @each:	so many operations does each of its owners
 * @chaos:	CPUs come and go, and the clock is set, by this program
 * @quiet:	that does nobody, and so records are in order
 * @limited:	a user may have few timers
 * @faults:	in so many of 65536 calls something fails
 * @verbose:	it tells all that it does
 */
struct program {
	unsigned long long seed;
	unsigned int each;
	bool chaos, quiet, limited;
	unsigned int faults;
	bool verbose;
};

/* What all programs have done, in memory that they share */
struct figures {
	unsigned long long programs, operations, armings, records, hotplugs, steps, faults;
};

/* Run it, and add to @sum what was done. If something is wrong the process ends, not with 0. */
void program_run(const struct program *program, struct figures *sum);

#endif /* TORTURE_PROGRAM_H */
