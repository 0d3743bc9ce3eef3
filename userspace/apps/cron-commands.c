// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * cron: start the commands, and learn how they end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cron.h"
#include "duration.h"
#include "options.h"

void cron_print_time(time_t t)
{
	char text[64] = "";
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(text, sizeof(text), "%F %T %z", &tm);
	fputs(text, stdout);
}

/* Starts a command. Returns 0 or an errno. */
static int spawn(struct cron *cron, const struct line *line)
{
	char *const argv[] = { "sh", "-c", line->command, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	char *command;
	sigset_t none;
	pid_t pid;
	int ret;

	if (cron->children_len == cron->children_room)
		cron->children = grow_array(cron->children, &cron->children_room,
					    sizeof(*cron->children));

	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	/* In a session of its own neither Ctrl-C nor the end of cron's terminal reaches it. */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	ret = posix_spawn(&pid, "/bin/sh", &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (ret)
		return ret;

	command = strdup(line->command);
	if (!command)
		die(EXIT_FAILED, "%s", strerror(ENOMEM));
	cron->children[cron->children_len++] = (struct child){
		.pid = pid,
		.number = line->number,
		.command = command,
	};
	return 0;
}

void cron_run_line(struct cron *cron, const struct line *line)
{
	uint64_t now = twheel_now(cron->tw);
	int ret;

	/* The clock may have been set back since the expiration was read. */
	lateness_add(&cron->lateness, now > line->deadline ? now - line->deadline : 0);
	cron->runs++;
	if (cron->verbose) {
		char late[DURATION_SIZE];

		cron_print_time((time_t)(line->due / NSEC_PER_SEC));
		printf(" line %u: %s (%s late)\n", line->number, line->command,
		       duration_format(late, now > line->due ? now - line->due : 0));
		/* This line comes before the output of the command. */
		fflush(stdout);
	}
	if (cron->dry)
		return;
	ret = spawn(cron, line);
	if (ret) {
		complain("%s:%u: cannot start '%s': %s", cron->file, line->number,
			 line->command, strerror(ret));
		cron->failed++;
	}
}

void cron_reap(struct cron *cron)
{
	struct child child;
	int status;
	pid_t pid;
	size_t i;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (i = 0; i < cron->children_len && cron->children[i].pid != pid; i++)
			;
		/* The process may have had this child before it executed cron. */
		if (i == cron->children_len)
			continue;
		child = cron->children[i];
		cron->children[i] = cron->children[--cron->children_len];
		cron->failed += status != 0;
		if (WIFSIGNALED(status))
			complain("%s:%u: '%s' was killed by signal %d", cron->file,
				 child.number, child.command, WTERMSIG(status));
		else if (status)
			complain("%s:%u: '%s' returned %d", cron->file, child.number,
				 child.command, WEXITSTATUS(status));
		free(child.command);
	}
}
