/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Functions that the verbs of the twheel tool share.
 */
#ifndef TOOL_H
#define TOOL_H

#include <stdbool.h>
#include <sys/types.h>

#include <twheel.h>

/**
 * enum tool_exit - exit codes of the twheel tool
 * @TOOL_OK: done
 * @TOOL_FAILED: something went wrong at run time
 * @TOOL_USAGE: the command line makes no sense
 */
enum tool_exit {
	TOOL_OK		= 0,
	TOOL_FAILED	= 1,
	TOOL_USAGE	= 2,
};

/**
 * tool_complain() - say in one line on standard error what is wrong
 * @code: what to return
 * @format: as for printf(), without a newline
 *
 * Return: @code.
 */
__attribute__((format(printf, 2, 3)))
enum tool_exit tool_complain(enum tool_exit code, const char *format, ...);

/**
 * tool_usage() - say that the command line makes no sense
 * @verb: the verb
 *
 * To be called after getopt_long() has said what is wrong with the command line.
 *
 * Return: %TOOL_USAGE.
 */
enum tool_exit tool_usage(const char *verb);

/**
 * tool_duration() - read a duration from the command line, or complain
 * @verb: the verb
 * @text: the argument
 * @ns: the duration in nanoseconds
 *
 * Return: whether @text is a duration.
 */
bool tool_duration(const char *verb, const char *text, uint64_t *ns);

/* Read the duration of --every, which must be more than 0, or complain. */
bool tool_every(const char *verb, const char *text, uint64_t *ns);

/**
 * tool_number() - read a number from the command line, or complain
 * @verb: the verb
 * @text: the argument
 * @least: the smallest allowed
 * @most: the largest allowed
 * @number: the number
 *
 * Return: whether @text is such a number.
 */
bool tool_number(const char *verb, const char *text, uint64_t least,
		 uint64_t most, uint64_t *number);

/* Is TWHEEL_BACKEND what programs can use? If not, complain. */
bool tool_backend(void);

/**
 * tool_open() - open a context, or complain
 * @twp: where it is stored
 * @path: the device; or NULL for what programs get, which may be a wheel in the process
 * @flags: as for twheel_open()
 * @config: as for twheel_open()
 *
 * Return: %TOOL_OK or %TOOL_FAILED.
 */
enum tool_exit tool_open(struct twheel **twp, const char *path,
			 unsigned int flags, const struct twheel_config *config);

/**
 * tool_adopt() - make a context of an inherited descriptor, or complain
 * @twp: where it is stored
 * @verb: the verb
 * @fd: the descriptor
 *
 * Return: %TOOL_OK or %TOOL_FAILED.
 */
enum tool_exit tool_adopt(struct twheel **twp, const char *verb, int fd);

/**
 * tool_copy() - get hold of a descriptor, or complain
 * @verb: the verb
 * @pid: the process that has it; 0 for this one
 * @fd: the descriptor there
 *
 * It takes the right to trace the process: see pidfd_getfd(2).
 *
 * Return: @fd if it is of this process; a copy otherwise, which the caller closes; -1 after an
 * error.
 */
int tool_copy(const char *verb, pid_t pid, int fd);

/**
 * tool_flush() - write out what was printed, or complain
 *
 * Return: %TOOL_OK or %TOOL_FAILED.
 */
enum tool_exit tool_flush(void);

/* The verbs. The messages of each begin with its argv[0]. */
enum tool_exit tool_info(int argc, char **argv);
enum tool_exit tool_arm(int argc, char **argv);
enum tool_exit tool_list(int argc, char **argv);
enum tool_exit tool_save(int argc, char **argv);
enum tool_exit tool_load(int argc, char **argv);
enum tool_exit tool_stat(int argc, char **argv);
enum tool_exit tool_top(int argc, char **argv);
enum tool_exit tool_ps(int argc, char **argv);
enum tool_exit tool_doctor(int argc, char **argv);

#endif /* TOOL_H */
