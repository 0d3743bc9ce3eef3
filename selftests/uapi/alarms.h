/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that come again and again, for tests of calls that they interrupt. */
#ifndef TWHEEL_ALARMS_H
#define TWHEEL_ALARMS_H

#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

/* How many came. */
static volatile sig_atomic_t alarms;

static void count_alarm(int sig)
{
	(void)sig;
	alarms++;
}

/* Has SIGALRM come every @us; never, if that is 0. @flags are those of its handler. */
static void alarm_every(int us, int flags)
{
	struct itimerval every = { { 0, us }, { 0, us } };
	struct sigaction action = { .sa_handler = count_alarm, .sa_flags = flags };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

#endif /* TWHEEL_ALARMS_H */
