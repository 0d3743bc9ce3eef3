// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * reminder: run a command for each.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "outlet.h"

/* How long to wait before the next attempt to start one, in milliseconds. */
#define RETRY_MS	200

/**
 * struct job - a command that runs
 * @pid: its process, or 0 if there is none
 * @reminder: what it was given
 */
struct job {
	pid_t		pid;
	struct reminder	*reminder;
};

/**
 * struct commands - the outlet
 * @outlet: what all kinds have
 * @command: what the shell is given
 * @ends: a descriptor that tells when commands end
 * @retry: when to start the next one, on CLOCK_BOOTTIME, if the last could not be
 * @told: it was said that it could not
 * @running: how many do run
 * @n: how many may
 * @jobs: those
 */
struct commands {
	struct outlet	outlet;
	const char	*command;
	int		ends;
	uint64_t	retry;
	bool		told;
	unsigned int	running;
	unsigned int	n;
	struct job	jobs[];
};

/* In the child. No other thread of this program changes the environment. */
__attribute__((noreturn))
static void become(const struct commands *c, const struct reminder *r)
{
	char id[32], due[32], attempt[32];
	sigset_t none;

	snprintf(id, sizeof(id), "%" PRId64, r->id);
	snprintf(due, sizeof(due), "%" PRIu64, r->due);
	snprintf(attempt, sizeof(attempt), "%" PRIu32, r->attempts);
	sigemptyset(&none);
	/* In a session of its own neither Ctrl-C nor the end of the node's terminal reaches it. */
	setsid();
	if (!setenv("REMINDER_ID", id, 1) && !setenv("REMINDER_DUE", due, 1) &&
	    !setenv("REMINDER_ATTEMPT", attempt, 1) &&
	    !setenv("REMINDER_PAYLOAD", r->payload, 1) && !sigprocmask(SIG_SETMASK, &none, NULL))
		execl("/bin/sh", "sh", "-c", c->command, NULL);
	complain("reminder %" PRId64 ": /bin/sh: %s", r->id, strerror(errno));
	_exit(127);
}

static void start(struct commands *c)
{
	struct reminder *r;
	unsigned int i;
	pid_t pid;

	for (i = 0; i < c->n && c->running < c->n; i++) {
		if (c->jobs[i].pid)
			continue;
		r = outlet_next(&c->outlet);
		if (!r)
			return;
		pid = fork();
		if (!pid)
			become(c, r);
		if (pid < 0) {
			if (!c->told)
				complain("fork: %s", strerror(errno));
			c->told = true;
			c->retry = clock_now(CLOCK_BOOTTIME) + RETRY_MS * 1000000ULL;
			outlet_put_back(&c->outlet, r);
			return;
		}
		c->told = false;
		outlet_count(&c->outlet, r);
		c->jobs[i] = (struct job){ .pid = pid, .reminder = r };
		c->running++;
	}
}

static void reap(struct commands *c)
{
	struct signalfd_siginfo info;
	unsigned int i;
	int status;

	while (read(c->ends, &info, sizeof(info)) > 0)
		;
	for (i = 0; i < c->n; i++) {
		struct job *job = &c->jobs[i];
		pid_t ended = job->pid ? waitpid(job->pid, &status, WNOHANG) : 0;

		if (!ended)
			continue;
		if (ended > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
			queue_push(&c->outlet.taken, job->reminder);
		else
			outlet_drop(&c->outlet, job->reminder);
		*job = (struct job){ };
		c->running--;
	}
}

static int prepare(struct outlet *outlet, struct pollfd *fd)
{
	struct commands *c = (struct commands *)outlet;

	fd->fd = c->ends;
	fd->events = POLLIN;
	return c->told && outlet->waiting.n && !outlet->stopped ? RETRY_MS : -1;
}

static void turn(struct outlet *outlet, short events)
{
	struct commands *c = (struct commands *)outlet;

	if (events)
		reap(c);
	if (clock_now(CLOCK_BOOTTIME) >= c->retry)
		start(c);
}

static bool ready(const struct outlet *outlet)
{
	const struct commands *c = (const struct commands *)outlet;

	/* Where none can be started, one that waits is the one to try it with. */
	return c->running < c->n && !(c->told && outlet->waiting.n);
}

static size_t under_way(const struct outlet *outlet, struct queue *list)
{
	const struct commands *c = (const struct commands *)outlet;
	unsigned int i;

	for (i = 0; list && i < c->n; i++)
		if (c->jobs[i].pid)
			queue_push_copy(list, c->jobs[i].reminder);
	return c->running;
}

static uint64_t ends(const struct outlet *outlet)
{
	const struct commands *c = (const struct commands *)outlet;
	uint64_t first = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < c->n; i++)
		if (c->jobs[i].pid && c->jobs[i].reminder->held < first)
			first = c->jobs[i].reminder->held;
	return first;
}

static void renew(struct outlet *outlet, uint64_t held)
{
	struct commands *c = (struct commands *)outlet;
	unsigned int i;

	for (i = 0; i < c->n; i++)
		if (c->jobs[i].pid)
			c->jobs[i].reminder->held = held;
}

struct outlet *outlet_command(const char *command, unsigned int jobs)
{
	static const struct outlet_kind kind = { .prepare = prepare, .turn = turn,
						 .ready = ready, .under_way = under_way,
						 .ends = ends, .renew = renew };
	struct commands *c = calloc(1, sizeof(*c) + jobs * sizeof(*c->jobs));
	sigset_t child;

	if (!c)
		die(EXIT_FAILED, "%s", strerror(ENOMEM));
	outlet_init(&c->outlet, &kind);
	c->command = command;
	c->n = jobs;
	/* The commands inherit it: they run side by side, and could not share another input. */
	if (!freopen("/dev/null", "r", stdin))
		die(EXIT_FAILED, "/dev/null: %s", strerror(errno));
	/* Where it is ignored, as it may have been before this program, nobody learns of ends. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	c->ends = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
	if (c->ends < 0)
		die(EXIT_FAILED, "signalfd: %s", strerror(errno));
	return &c->outlet;
}
