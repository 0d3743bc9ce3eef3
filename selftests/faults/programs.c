// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run other tests while some of all that can fail does, and see that the kernel
 * comes through: their own results do not count, as an error that was made is one
 * that they may fail on. What counts is that they end, and leave nothing behind.
 *
 * usage: programs PROGRAM...
 *
 * The harness of the programs forks a process for each test. It is that process
 * that is marked to fail, and all that it starts, before its first instruction;
 * the harness itself is not, or it would get no further than the first fork.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "faults.h"
#include "kselftest.h"
#include "twheel_util.h"

/* Tests whose time was lost with an event they wait for are ended. */
#define SECONDS		15

/* What a test that is ended may have changed. */
static const char * const parameters[] = {
	TW_PARAMETERS "max_user_timers", TW_PARAMETERS "max_fd_timers",
};

static char saved[ARRAY_SIZE(parameters)][32];
static volatile sig_atomic_t expired;
static unsigned int nr_marked;
/* The tests of a program: each has a process group of its own. */
static pid_t marked[256];

static void save_parameters(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(parameters); i++) {
		int fd = open(parameters[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0 || read(fd, saved[i], sizeof(saved[i]) - 1) <= 0)
			ksft_exit_fail_msg("%s: %s\n", parameters[i], strerror(errno));
		close(fd);
	}
}

static void restore_parameters(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(parameters); i++)
		tw_write_file(parameters[i], saved[i]);
}

static void on_alarm(int sig)
{
	(void)sig;
	expired = 1;
}

static pid_t start(const char *program)
{
	pid_t pid = fork();
	int null;

	if (pid)
		return pid;
	setpgid(0, 0);
	null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execl(program, program, NULL);
	_exit(127);
}

/* A child that was forked by @pid stops before it runs: mark it and let it go. */
static void mark_child(pid_t pid)
{
	unsigned long child = 0;
	int status;

	if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child))
		return;
	waitpid(child, &status, __WALL);
	if (inject_mark(child, true))
		violation("cannot mark %lu", child);
	ptrace(PTRACE_DETACH, child, NULL, NULL);
	if (nr_marked < ARRAY_SIZE(marked))
		marked[nr_marked] = child;
	nr_marked++;
}

/* Follow @pid until it ends; its wait status. */
static int follow(pid_t pid)
{
	int status, sig;

	waitpid(pid, &status, __WALL);
	if (!WIFSTOPPED(status))
		return status;
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
	       PTRACE_O_EXITKILL);
	for (sig = 0;;) {
		ptrace(PTRACE_CONT, pid, NULL, (unsigned long)sig);
		while (waitpid(pid, &status, __WALL) < 0) {
			if (expired)
				kill(-pid, SIGKILL);
		}
		if (!WIFSTOPPED(status))
			return status;
		sig = WSTOPSIG(status);
		if (status >> 16 == PTRACE_EVENT_FORK || status >> 16 == PTRACE_EVENT_VFORK) {
			mark_child(pid);
			sig = 0;
		}
	}
}

/* Are all timers given back? As long as there are fewer and fewer it is only slow. */
static bool given_back(int fd)
{
	__u64 before;

	do {
		before = tw_info(fd).user_timers;
		if (tw_all_given_back(fd))
			return true;
	} while (tw_info(fd).user_timers < before);
	return false;
}

static void run(const char *program, unsigned int rate)
{
	unsigned long violations = fault_figures.violations, fired = 0;
	enum fault_kind kind;
	unsigned int i;
	int fd, status;
	pid_t pid;

	for (kind = 0; kind < NR_FAULT_KINDS; kind++)
		fired -= fault_figures.fired[kind];
	nr_marked = 0;
	expired = 0;
	faults_rate(rate);
	pid = start(program);
	alarm(SECONDS);
	status = follow(pid);
	alarm(0);
	/* A test that never ended, and those that one has started and left. */
	kill(-pid, SIGKILL);
	for (i = 0; i < nr_marked && i < ARRAY_SIZE(marked); i++)
		kill(-marked[i], SIGKILL);
	faults_rate(0);
	faults_count();
	restore_parameters();
	for (kind = 0; kind < NR_FAULT_KINDS; kind++)
		fired += fault_figures.fired[kind];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		violation("%s was not run", program);
	fd = tw_open();
	if (fd < 0 || !given_back(fd))
		violation("%s has left %llu timers", program, tw_info(fd).user_timers);
	if (!tw_pass(TW_MSEC))
		violation("after %s timers do not work", program);
	close(fd);
	ksft_test_result(fault_figures.violations == violations,
			 "%s, %u %%: %u tests, %lu faults, %s\n", program, rate, nr_marked, fired,
			 expired ? "ended" : "came to its end");
}

int main(int argc, char **argv)
{
	static const unsigned int rates[] = { 1, 10, 50 };
	struct sigaction action = { .sa_handler = on_alarm };
	unsigned int i;
	int k;

	setlinebuf(stdout);
	ksft_print_header();
	faults_init();
	save_parameters();
	ksft_set_plan((argc - 1) * ARRAY_SIZE(rates));
	sigaction(SIGALRM, &action, NULL);
	for (i = 0; i < ARRAY_SIZE(rates); i++)
		for (k = 1; k < argc; k++)
			run(argv[k], rates[i]);
	faults_report();
	ksft_finished();
}
