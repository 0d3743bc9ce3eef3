/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults on purpose, for tests of /dev/twheel: see inject.h for what that takes.
 */
#ifndef TWHEEL_FAULTS_H
#define TWHEEL_FAULTS_H

#include <sys/types.h>

/* Here is violation(), too. */
#include "../oracle/oracle.h"
#include "inject.h"

/**
 * struct fault_figures - what came of it
 * @calls: calls made with faults on
 * @fired: faults that fired, by kind
 * @errors: calls that failed, by errno
 * @violations: what must not happen
 */
struct fault_figures {
	unsigned long calls;
	unsigned long fired[NR_FAULT_KINDS];
	unsigned long errors[256];
	unsigned long violations;
};

extern struct fault_figures fault_figures;

/* What is being done, for violation() to tell; NULL if that has to be told elsewhere. */
extern const char *faults_at;

/* Get ready, with nothing failing yet; skips the whole program if it cannot. */
void faults_init(void);

/* The n-th thing from now on that can fail does, in thread @tid, or in this one if that is 0. */
void faults_arm(pid_t tid, unsigned int n);

/*
 * End that; tells how many things were still to go, 0 if it has fired. What fired
 * is added to the figures.
 */
unsigned int faults_disarm(pid_t tid);

/* Make a note of a call's return value, 0 or -errno, in the figures. */
void faults_note(long ret);

/* Print the figures, as a line of comment in KTAP. */
void faults_report(void);

#endif /* TWHEEL_FAULTS_H */
