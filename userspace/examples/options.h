/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the examples share on their command lines.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

/* Exit codes. */
#define EXIT_DONE	0
#define EXIT_FAILED	1
#define EXIT_USAGE	2

/**
 * complain() - say in one line on standard error what is wrong
 * @format: as for printf(), without a newline
 */
__attribute__((format(printf, 1, 2)))
void complain(const char *format, ...);

/**
 * die() - complain(), and end the program
 * @code: its exit code
 * @format: as for printf(), without a newline
 */
__attribute__((noreturn, format(printf, 2, 3)))
void die(int code, const char *format, ...);

/**
 * die_without_device() - say why the device could not be opened, and end
 * @err: what twheel_open() has returned
 */
__attribute__((noreturn))
void die_without_device(int err);

/**
 * option_duration() - the duration in an option; ends the program if it is none
 * @name: the option
 * @text: its argument
 *
 * Return: nanoseconds, more than 0 and less than a hundred years.
 */
uint64_t option_duration(const char *name, const char *text);

/**
 * option_number() - the number in an option; ends the program if it is none
 * @name: the option
 * @text: its argument
 * @least: the smallest allowed
 * @most: the largest allowed
 *
 * Return: the number.
 */
uint64_t option_number(const char *name, const char *text, uint64_t least,
		       uint64_t most);

#endif /* OPTIONS_H */
