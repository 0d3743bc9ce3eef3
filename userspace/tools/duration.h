/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Durations as people write them, and the time.
 */
#ifndef DURATION_H
#define DURATION_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

/* Help for error messages: how a duration is written. */
#define DURATION_HINT	"use e.g. 250ms, 10m, 1h30m " \
			"(units: d, h, m or min, s or sec, ms, us, ns; the larger first)"

/* Room that duration_format() needs. */
#define DURATION_SIZE	32

/**
 * duration_parse() - read a duration
 * @text: numbers with units, the larger first: "1h30m", "1.5s", "250ms"; a
 *	number without a unit is seconds. Units are d, h, m or min, s or sec, ms,
 *	us, ns.
 *	A fraction may not be finer than a nanosecond.
 * @ns: the duration in nanoseconds
 *
 * Return: 0; -EINVAL when @text is not a duration; -ERANGE when it is one of
 * more than 2^63 - 1 ns, which the device refuses. After an error @ns is as it was.
 */
int duration_parse(const char *text, uint64_t *ns);

/**
 * duration_error() - say what was wrong with a duration, in one line
 * @err: what duration_parse() returned
 *
 * Return: text to follow the quoted duration and a space.
 */
const char *duration_error(int err);

/**
 * duration_format() - write a duration with three or four digits and a unit
 * @buf: at least %DURATION_SIZE long
 * @ns: the duration
 *
 * Return: @buf.
 */
char *duration_format(char buf[DURATION_SIZE], uint64_t ns);

/* The time in nanoseconds on a clock. */
uint64_t clock_now(clockid_t clock);

#endif /* DURATION_H */
