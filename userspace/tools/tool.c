// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The functions that the verbs of the twheel tool share.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"
#include "duration.h"
#include "number.h"
#include "tool.h"

enum tool_exit tool_complain(enum tool_exit code, const char *format, ...)
{
	va_list args;

	/* Keep the order if standard output and error go to the same place. */
	fflush(stdout);
	fputs("twheel: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return code;
}

enum tool_exit tool_usage(const char *verb)
{
	fprintf(stderr, "See 'twheel %s --help'.\n", verb);
	return TOOL_USAGE;
}

bool tool_duration(const char *verb, const char *text, uint64_t *ns)
{
	int ret = duration_parse(text, ns);

	if (ret)
		tool_complain(TOOL_USAGE, "%s: '%s' %s", verb, text,
			      duration_error(ret));
	return !ret;
}

bool tool_every(const char *verb, const char *text, uint64_t *ns)
{
	if (!tool_duration(verb, text, ns))
		return false;
	if (!*ns)
		tool_complain(TOOL_USAGE, "%s: --every needs more than 0", verb);
	return *ns;
}

bool tool_number(const char *verb, const char *text, uint64_t least,
		 uint64_t most, uint64_t *number)
{
	int ret = number_parse(text, most, number);

	if (!ret && *number >= least)
		return true;
	tool_complain(TOOL_USAGE, "%s: '%s' is not a number from %" PRIu64 " to %" PRIu64,
		      verb, text, least, most);
	return false;
}

bool tool_backend(void)
{
	const char *misspelt = backend_misspelt();

	if (misspelt)
		tool_complain(TOOL_FAILED, BACKEND_MISSPELT, misspelt);
	return !misspelt;
}

enum tool_exit tool_open(struct twheel **twp, const char *path,
			 unsigned int flags, const struct twheel_config *config)
{
	int ret;

	if (!path && !tool_backend())
		return TOOL_FAILED;
	ret = twheel_open(twp, path, flags, config);
	if (!ret)
		return TOOL_OK;
	if (!path && backend_in_process())
		return tool_complain(TOOL_FAILED, "a wheel in the process: %s", strerror(-ret));
	if (!path)
		path = TWHEEL_DEVICE;
	return tool_complain(TOOL_FAILED, "%s: %s%s", path, strerror(-ret),
			     device_hint(path, ret));
}

enum tool_exit tool_adopt(struct twheel **twp, const char *verb, int fd)
{
	int ret = twheel_adopt(twp, fd);

	if (!ret)
		return TOOL_OK;
	return tool_complain(TOOL_FAILED, "%s: descriptor %d: %s%s", verb, fd,
			     strerror(-ret), device_hint("", ret));
}

int tool_copy(const char *verb, pid_t pid, int fd)
{
	int copy, pidfd, err;

	if (!pid)
		return fd;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		tool_complain(TOOL_FAILED, "%s: process %d: %s", verb, (int)pid, strerror(errno));
		return -1;
	}
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	err = errno;
	close(pidfd);
	if (copy < 0)
		tool_complain(TOOL_FAILED, "%s: process %d, descriptor %d: %s%s", verb, (int)pid,
			      fd, strerror(err),
			      err == EPERM ? " (it takes the right to trace it)" : "");
	return copy;
}

enum tool_exit tool_flush(void)
{
	if (fflush(stdout) || ferror(stdout))
		return tool_complain(TOOL_FAILED, "standard output: %s",
				     strerror(errno));
	return TOOL_OK;
}
