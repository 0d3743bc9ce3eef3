/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the verbs of the twheel tool share.
 */
#ifndef TOOL_H
#define TOOL_H

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
 * To be called when getopt_long() has said what is wrong with it.
 *
 * Return: %TOOL_USAGE.
 */
enum tool_exit tool_usage(const char *verb);

/**
 * tool_open() - open a context, or complain
 * @twp: where it is stored
 * @path: the device, or NULL
 * @flags: as for twheel_open()
 * @config: as for twheel_open()
 *
 * Return: %TOOL_OK or %TOOL_FAILED.
 */
enum tool_exit tool_open(struct twheel **twp, const char *path,
			 unsigned int flags, const struct twheel_config *config);

/**
 * tool_flush() - write out what was printed, or complain
 *
 * Return: %TOOL_OK or %TOOL_FAILED.
 */
enum tool_exit tool_flush(void);

/* The verbs. Each gets as argv[0] what its messages are to begin with. */
enum tool_exit tool_info(int argc, char **argv);
enum tool_exit tool_arm(int argc, char **argv);

#endif /* TOOL_H */
