/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How the applications read their command lines, complain, and get memory.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stddef.h>
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
 * flush_output() - write what standard output holds
 *
 * Ends the program if that, or what was printed before, could not be written.
 */
void flush_output(void);

/**
 * grow_array() - make room for twice as many elements
 * @array: the elements, or NULL
 * @room: how many there is room for
 * @size: bytes of one
 *
 * Ends the program if there is no memory.
 *
 * Return: where the elements are now.
 */
void *grow_array(void *array, size_t *room, size_t size);

/**
 * die_without_device() - say why a context could not be opened, and end
 * @err: what twheel_open() without a path has returned
 */
__attribute__((noreturn))
void die_without_device(int err);

/**
 * enum option_kind - what an option does
 * @OPTION_SET: it takes no argument, and sets a bool
 * @OPTION_TEXT: its argument is stored as a const char *
 * @OPTION_DURATION: its argument is stored as uint64_t nanoseconds, more than 0 and at
 *	most a hundred years
 * @OPTION_NUMBER: its argument is stored as a uint64_t
 * @OPTION_NUMBER32: its argument is stored as a uint32_t
 */
enum option_kind {
	OPTION_SET,
	OPTION_TEXT,
	OPTION_DURATION,
	OPTION_NUMBER,
	OPTION_NUMBER32,
};

/**
 * struct option_rule - an option that a program takes
 * @name: its long name
 * @letter: its short name
 * @kind: &enum option_kind
 * @value: where its argument is stored; left alone if the option is not given
 * @least: the smallest number allowed
 * @most: the largest number allowed
 */
struct option_rule {
	const char		*name;
	char			letter;
	enum option_kind	kind;
	void			*value;
	uint64_t		least;
	uint64_t		most;
};

/**
 * options_parse() - read the command line, which is what a program does first
 * @argc: as of main()
 * @argv: as of main()
 * @rules: the options; one without a name ends them
 * @help: what --help, or -h, prints
 *
 * Opens descriptors 0, 1 and 2 if they are closed: see inherited_descriptors().
 * Ends the program after --help, and with %EXIT_USAGE when something is wrong.
 *
 * Return: the arguments after the options, with a NULL at the end.
 */
char **options_parse(int argc, char **argv, const struct option_rule *rules,
		     const char *help);

#endif /* OPTIONS_H */
