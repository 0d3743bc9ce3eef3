// SPDX-License-Identifier: GPL-2.0-only
/*
 * Torture: the actors of the simulator where the kernel is real, several programs of them at once,
 * and its oracle, which accounts for every timer (KTAP, and a line of figures at the end).
 *
 * Programs (program.c) begin and end together, wave after wave. In every other wave the first of
 * them takes CPUs away and sets the clock; in the others nobody does, and records have to be in
 * order. Of the other three one is killed. Two of them at a time have one user.
 */
#include <err.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../faults/inject.h"
#include "program.h"
#include "twheel_util.h"

#define NR_PROGRAMS	4
#define USER_LIMIT	"/sys/module/twheel/parameters/max_user_timers"
/* The users that are not root */
#define FIRST_UID	61000
/* A limit that is reached now and then */
#define FEW_TIMERS	"100"
/* In so many of 65536 calls something fails. */
#define FAULTS		6000
/* How long programs may take on a busy machine; and how long a run waits for what it lacks */
#define END_S		300
#define PATIENCE_S	240

static const char help[] =
"Usage: torture [OPTION]...\n"
"  --seconds N   run for N seconds (60); programs that have begun come to their end\n"
"  --each N      so many operations does each thread (500)\n"
"  --seed N      of the random numbers; printed\n"
"  --faults      make calls fail, where the kernel can\n"
"  --quiet       leave out what is done to CPUs and to the clock\n"
"  --verbose     tell all that is done\n";

static struct {
	__u64 seconds, seed;
	unsigned int each;
	int faults, quiet, verbose;
} options = { .seconds = 60, .each = 500 };

static struct figures *figures;
/* How many timers a user may have as a rule */
static char user_limit[32];
static __u64 state, kills, waves, violations;

static __u64 below(__u64 n)
{
	return tw_random(&state) % n;
}

static void violation(const char *what)
{
	violations++;
	printf("# VIOLATION: %s\n", what);
	fflush(stdout);
}

static void read_user_limit(void)
{
	FILE *file = fopen(USER_LIMIT, "r");

	if (!file || !fgets(user_limit, sizeof(user_limit), file))
		err(1, USER_LIMIT);
	fclose(file);
}

/* Not as root, and yet allowed to make its own calls fail */
static void become(uid_t uid)
{
	if (uid && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		err(1, "user %u", uid);
	prctl(PR_SET_DUMPABLE, 1);
}

static uid_t uid_of(int i)
{
	return i / 2 ? FIRST_UID + i / 2 : 0;
}

static pid_t start(int i, bool chaos, bool limited)
{
	struct program program = {
		.seed		= below(1ULL << 32) << 8 | i,
		.each		= options.each,
		.chaos		= chaos && !i,
		.quiet		= !chaos,
		.limited	= limited,
		.faults		= options.faults && below(2) ? FAULTS : 0,
		.verbose	= options.verbose,
	};
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	become(uid_of(i));
	program_run(&program, figures);
	fflush(stdout);
	_exit(0);
}

/* Wait until @pid has ended, which has to be by @limit. @killed: somebody has killed it. */
static void await(pid_t pid, __u64 limit, bool killed)
{
	const struct timespec pause = { .tv_nsec = 10 * TW_MSEC };
	int status = 0, signal = SIGTERM;

	while (!waitpid(pid, &status, WNOHANG)) {
		nanosleep(&pause, NULL);
		if (tw_now(CLOCK_MONOTONIC) < limit)
			continue;
		/* First it may say what it has done last. */
		kill(pid, signal);
		signal = SIGKILL;
		limit += 10 * TW_SEC;
	}
	if (killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		kills++;
	else if (WIFSIGNALED(status))
		violation(strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		violations++;
}

/* All CPUs are there, also when a program was killed that has taken one away. */
static void restore_cpus(void)
{
	long cpu, cpus = sysconf(_SC_NPROCESSORS_CONF);
	char path[64];

	for (cpu = 1; cpu < cpus; cpu++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld/online", cpu);
		tw_write_file(path, "1");
	}
}

/* When all programs have ended, nothing that they had is left. */
static void check_users(void)
{
	int i, fd;

	for (i = 0; i < NR_PROGRAMS; i += 2) {
		pid_t pid = fork();
		int status = 0;

		if (pid < 0)
			err(1, "fork");
		if (pid) {
			waitpid(pid, &status, 0);
			if (status)
				violation("timers are left when all contexts are closed");
			continue;
		}
		become(uid_of(i));
		fd = tw_open();
		_exit(fd < 0 || !tw_all_given_back(fd));
	}
}

static void wave(void)
{
	bool chaos = !options.quiet && waves % 2 == 0, limited = !below(3);
	__u64 limit = tw_now(CLOCK_MONOTONIC) + END_S * TW_SEC;
	int victim = 1 + below(NR_PROGRAMS - 1), i;
	pid_t pids[NR_PROGRAMS];

	tw_write_file(USER_LIMIT, limited ? FEW_TIMERS : user_limit);
	for (i = 0; i < NR_PROGRAMS; i++)
		pids[i] = start(i, chaos, limited);
	nanosleep(&(struct timespec){ .tv_nsec = below(TW_SEC) }, NULL);
	kill(pids[victim], SIGKILL);
	for (i = 0; i < NR_PROGRAMS; i++)
		await(pids[i], limit, i == victim);
	restore_cpus();
	check_users();
	waves++;
}

static void parse(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "each", required_argument, NULL, 'e' },
		{ "seed", required_argument, NULL, 'r' },
		{ "faults", no_argument, &options.faults, true },
		{ "quiet", no_argument, &options.quiet, true },
		{ "verbose", no_argument, &options.verbose, true },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		switch (c) {
		case 0:
			break;
		case 's':
			options.seconds = strtoull(optarg, NULL, 10);
			break;
		case 'e':
			options.each = strtoul(optarg, NULL, 10);
			break;
		case 'r':
			options.seed = strtoull(optarg, NULL, 0);
			break;
		default:
			fputs(help, stderr);
			exit(2);
		}
	}
}

/* In the form that selftests/faults/figures.awk adds up */
static void print_faults(void)
{
	enum fault_kind kind;

	printf("# figures: calls %llu", figures->operations);
	for (kind = 0; kind < NR_FAULT_KINDS; kind++)
		printf(" %s %ld", inject_names[kind], inject_fired(kind));
	printf(" violations %llu\n", violations);
}

/* What was asked for and has not happened yet; a run of a few seconds need not see all. */
static const char *missing(void)
{
	if (options.seconds < 30)
		return NULL;
	if (!options.quiet && sysconf(_SC_NPROCESSORS_CONF) > 1 && !figures->hotplugs)
		return "no CPU went offline";
	if (!options.quiet && !figures->steps)
		return "the clock was not set";
	if (waves < 2)
		return "nothing was done in order";
	if (!kills)
		return "nobody was killed";
	if (options.faults && !figures->faults)
		return "no call was made to fail";
	return NULL;
}

int main(int argc, char **argv)
{
	__u64 end;

	options.seed = tw_now(CLOCK_REALTIME);
	parse(argc, argv);
	if (geteuid()) {
		puts("TAP version 13\n1..0 # SKIP needs root");
		return 4;
	}
	if (options.faults && inject_begin())
		errx(1, "this kernel injects no faults");
	read_user_limit();
	figures = mmap(NULL, sizeof(*figures), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (figures == MAP_FAILED)
		err(1, "mmap");
	printf("TAP version 13\n1..1\n# seed %llu\n", options.seed);
	/* From 0 the generator never goes on. */
	state = options.seed ?: 1;

	end = tw_now(CLOCK_MONOTONIC) + options.seconds * TW_SEC;
	do
		wave();
	while (!violations && (tw_now(CLOCK_MONOTONIC) < end ||
			       (missing() &&
				tw_now(CLOCK_MONOTONIC) < end + PATIENCE_S * TW_SEC)));
	tw_write_file(USER_LIMIT, user_limit);
	if (!violations && missing())
		violation(missing());
	if (options.faults)
		print_faults();
	printf("%sok 1 every timer is accounted for\n", violations ? "not " : "");
	printf("torture: %llu programs, %llu operations, %llu armings, %llu records, ",
	       figures->programs, figures->operations, figures->armings, figures->records);
	printf("%llu hotplug cycles, %llu clock steps, %llu kills, %llu faults, violations %llu\n",
	       figures->hotplugs, figures->steps, kills, figures->faults, violations);
	return violations != 0;
}
