/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs that situations.sh runs share.
 *
 * A program that finds a wrong result says so and exits with 1. What merely cannot be
 * measured is a line with "-" in place of the figure and with the reason, and is no error.
 */
#ifndef TWHEEL_SITUATIONS_H
#define TWHEEL_SITUATIONS_H

#include "twheel_util.h"

/* Requests in a call, and records in a read. */
#define BATCH	256

/**
 * fail - say what went wrong, and exit with 1
 * @what: which call or check
 * @error: the errno, or 0 if the result of the call was wrong
 */
void fail(const char *what, long error) __attribute__((noreturn));

/**
 * open_timers - make a context on CLOCK_MONOTONIC whose reads wait
 * @flags: TWHEEL_CONFIG_* bits
 *
 * Returns the descriptor. Fails for any error.
 */
int open_timers(__u32 flags);

/**
 * arm_batch - arm timers by one call
 * @fd: the context
 * @arms: the requests, which get the results
 * @n: how many
 *
 * Returns 0, or the -errno of the first entry that could not be armed.
 */
int arm_batch(int fd, struct twheel_arm *arms, unsigned int n);

/**
 * arm_all - arm one-shot timers, whose user_data are 0 and so on
 * @fd: the context
 * @n: how many
 * @deadlines: when they are due
 * @step: 1 if each has a deadline of its own, or 0 if all have the first
 *
 * Fails for any error.
 */
void arm_all(int fd, unsigned long n, const __u64 *deadlines, unsigned int step);

/**
 * read_batch - wait for records, and check that they are not early
 * @fd: the context
 * @events: room for BATCH records
 * @now: the time at which the program has them, in ns
 *
 * Returns how many there are. Fails for an early record, one that is not of one expiration,
 * and any error.
 */
unsigned int read_batch(int fd, struct twheel_event *events, __u64 *now);

/**
 * check_empty - fail if the context has a timer left
 * @fd: the context
 */
void check_empty(int fd);

#endif /* TWHEEL_SITUATIONS_H */
