// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a program inherits of whoever starts it.
 */
#include <signal.h>
#include <stddef.h>

#include "inherited.h"

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
