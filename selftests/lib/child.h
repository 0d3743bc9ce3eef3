/* SPDX-License-Identifier: GPL-2.0-only */
/* Children of a test, which cannot use the harness. */
#ifndef CHILD_H
#define CHILD_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends a child with an exit status that says what was wrong. */
#define CHECK(condition) \
do { \
	if (!(condition)) { \
		fprintf(stderr, "# in the child, line %d: %s\n", __LINE__, #condition); \
		_exit(1); \
	} \
} while (0)

/* Waits for a child. Returns whether it found everything right. */
static inline int well(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

#endif /* CHILD_H */
