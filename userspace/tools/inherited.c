// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a program inherits of whoever starts it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "inherited.h"

void inherited_descriptors(void)
{
	/* What one write() puts into a pipe as a whole. */
	static char line[PIPE_BUF];
	int fd;

	setvbuf(stderr, line, _IOLBF, sizeof(line));

	/* open() takes the lowest number, which is this one. */
	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

bool inherited_ignored(int sig)
{
	struct sigaction action;

	return !sigaction(sig, NULL, &action) && action.sa_handler == SIG_IGN;
}

void inherited_catch(int sig, void (*handler)(int sig))
{
	struct sigaction action = { .sa_handler = handler };

	if (!inherited_ignored(sig))
		sigaction(sig, &action, NULL);
}

void inherited_catch_all(void (*handler)(int sig), sigset_t *waiting, ...)
{
	sigset_t now;
	va_list args;
	int sig;

	/* None is to come before all of this is done. */
	sigfillset(&now);
	sigprocmask(SIG_SETMASK, &now, waiting);
	now = *waiting;
	va_start(args, waiting);
	while ((sig = va_arg(args, int))) {
		sigaddset(&now, sig);
		sigdelset(waiting, sig);
		inherited_catch(sig, handler);
	}
	va_end(args);
	sigprocmask(SIG_SETMASK, &now, NULL);
}

void inherited_let_in(const sigset_t *waiting)
{
	const struct timespec no_time = { };

	ppoll(NULL, 0, &no_time, waiting);
}
