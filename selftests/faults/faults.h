/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults on purpose: the kernel's fault injection, for tests of /dev/twheel.
 *
 * It makes calls inside the kernel fail that hardly ever do: allocations of slab
 * objects and of pages, and copies from and to user space. Needs root, debugfs,
 * and a kernel with FAILSLAB, FAIL_PAGE_ALLOC, FAULT_INJECTION_USERCOPY and
 * FAULT_INJECTION_DEBUG_FS.
 */
#ifndef TWHEEL_FAULTS_H
#define TWHEEL_FAULTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Here is violation(), too. */
#include "../oracle/oracle.h"

/**
 * enum fault_kind - what is made to fail
 * @FAULT_SLAB: failslab, allocations of slab objects
 * @FAULT_PAGE: fail_page_alloc, allocations of pages
 * @FAULT_USERCOPY: fail_usercopy, copies from and to user space
 * @NR_FAULT_KINDS: how many there are
 */
enum fault_kind {
	FAULT_SLAB,
	FAULT_PAGE,
	FAULT_USERCOPY,
	NR_FAULT_KINDS,
};

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

/* The n-th thing from now on that can fail does, in this thread only. */
void faults_arm(unsigned int n);

/*
 * End that; tells how many things were still to go, 0 if it has fired. What fired
 * is added to the figures.
 */
unsigned int faults_disarm(void);

/* The same for another thread, or for this one if it is 0. */
void faults_arm_thread(pid_t tid, unsigned int n);
unsigned int faults_disarm_thread(pid_t tid);

/* Of what threads with make-it-fail ask for, @percent per cent fail. */
void faults_rate(unsigned int percent);

/* Set or clear make-it-fail of thread @tid, 0 for this one: 0 or -errno. */
int faults_mark(pid_t tid, bool on);

/* Mark the kernel's worker threads. */
void faults_mark_workers(bool on);

/* Faults of each kind since faults_init() or the last call are added up. */
void faults_count(void);

/* Make a note of a call's return value, 0 or -errno, in the figures. */
void faults_note(long ret);

/* Print the figures, as a line of comment in KTAP. */
void faults_report(void);

#endif /* TWHEEL_FAULTS_H */
