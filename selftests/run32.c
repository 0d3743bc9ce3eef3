// SPDX-License-Identifier: GPL-2.0-only
/*
 * run32 - run the 32-bit program that is beside this one, or skip it where none can run
 *
 * NAME32 runs NAME32.elf, with its own arguments. A kernel may be built, or booted, so that
 * it runs no 32-bit programs; to a shell such a program is a bad script.
 */

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "kselftest.h"

int main(int argc, char **argv)
{
	char path[PATH_MAX + sizeof(".elf")];
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);

	(void)argc;
	if (len < 0)
		ksft_exit_fail_msg("/proc/self/exe: %s\n", strerror(errno));
	strcpy(path + len, ".elf");
	execv(path, argv);
	ksft_print_header();
	if (errno == ENOEXEC)
		ksft_exit_skip("this kernel runs no 32-bit programs\n");
	ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
}
