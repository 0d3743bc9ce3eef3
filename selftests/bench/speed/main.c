// SPDX-License-Identifier: GPL-2.0-only
/*
 * speed: measure operations on timers, in /dev/twheel and in what else there is.
 *
 * Prints a line for each measure as soon as it is known, with tabs between:
 *
 *	facility  batch  operation  pending  threads  nanoseconds an operation
 *
 * The batch is 0 where there are none. Where there is no figure the last column is "-", and
 * another one says why, and after what time. Lines that begin with # are remarks. What the
 * operations are is in operations.c.
 *
 * For each number of pending timers one facility after the other is measured: so whatever else the
 * machine does at the moment falls on all of them. Each is measured in a process of its own.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "speed.h"

#define LIST_MAX	16
#define PENDING_MAX	100000000
/* For heartbeats, of which 1% expire, and for figures that are worth anything */
#define PENDING_MIN	100
#define BATCH_MAX	4096
#define THREADS_MAX	16
#define LIMIT_MAX	3600

static const struct facility *const facilities[] = {
	&twheel, &twheel_writes, &twheel_keyed, &twheel_lease, &word, &libtwheel, &timerfd,
	&timerfd_et, &posix_timer, &io_uring_timeout, &embedded, &embedded_cached,
	&embedded_threads, &embedded_push, &embedded_keyed, &embedded_objects, &embedded_timers,
	&embedded_cached_timers, &embedded_deferred, &libuv, &libevent, &libevent_common, &heap,
	&heap4, &hashed, &core6, &empty_call,
};

#define NR_FACILITIES	(sizeof(facilities) / sizeof(facilities[0]))

/* struct list - numbers from the command line */
struct list {
	unsigned int	nr;
	uint32_t	of[LIST_MAX];
};

static struct list pendings = { 4, { 1000, 10000, 100000, 1000000 } };
static struct list batches = { 5, { 1, 16, 64, 256, 1024 } };
static unsigned long chosen = (1UL << NR_FACILITIES) - 1;
static unsigned int ops = (1U << NR_OPS) - 1;
static unsigned int threads = 1, seconds = 20;
static bool shared, cpu_time;

static void usage(void) __attribute__((noreturn));
static void usage(void)
{
	fputs("usage: speed [-f facility,...] [-n pending,...] [-o operation,...] [-b batch,...]\n"
	      "             [-t threads] [-s] [-c] [-w seconds]\n"
	      "  -n  pending timers of all threads together; k and M are thousand and million\n"
	      "      (1k,10k,100k,1M)\n"
	      "  -b  timers in a call, where calls take several (1,16,64,256,1024)\n"
	      "  -s  one descriptor for all threads, and not one each\n"
	      "  -c  CPU time, and not the time that passes, for what does not wait\n"
	      "  -w  limit for one measure (20)\n", stderr);
	exit(2);
}

static void refuse(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void refuse(const char *fmt, ...)
{
	va_list args;

	fputs("speed: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

/* A number with an optional k or M */
static uint32_t number(char option, const char *text, uint32_t min, uint32_t max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (end != text && (*end == 'k' || *end == 'M') && value <= max)
		value *= *end++ == 'k' ? 1000 : 1000000;
	if (text[0] < '0' || text[0] > '9' || *end || errno || value < min || value > max)
		refuse("-%c: '%s' is not a number from %u to %u", option, text, min, max);
	return value;
}

static void numbers(char option, char *text, uint32_t min, uint32_t max, struct list *list)
{
	char *word;

	list->nr = 0;
	while ((word = strsep(&text, ","))) {
		if (list->nr == LIST_MAX)
			refuse("-%c: %u numbers at most", option, LIST_MAX);
		list->of[list->nr++] = number(option, word, min, max);
	}
}

static const char *facility_name(unsigned int i)
{
	return facilities[i]->name;
}

static const char *op_name(unsigned int i)
{
	return op_names[i];
}

/* A bit for each of the @nr names that is in @text */
static unsigned long names(char option, char *text, const char *(*name)(unsigned int),
			   unsigned int nr)
{
	unsigned long bits = 0;
	unsigned int i;
	char *word;

	while ((word = strsep(&text, ","))) {
		for (i = 0; i < nr && strcmp(word, name(i)); i++)
			;
		if (i == nr) {
			fprintf(stderr, "speed: -%c: there is no '%s'; there are:", option, word);
			for (i = 0; i < nr; i++)
				fprintf(stderr, " %s", name(i));
			fputc('\n', stderr);
			exit(2);
		}
		bits |= 1UL << i;
	}
	return bits;
}

/* Carries out a plan in a child. Returns whether that went well. */
static bool run(const struct plan *plan)
{
	sigset_t signals;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Those that POSIX timers queue: no thread is to be interrupted. */
		sigfillset(&signals);
		sigdelset(&signals, SIGINT);
		sigdelset(&signals, SIGTERM);
		sigdelset(&signals, SIGSEGV);
		sigdelset(&signals, SIGBUS);
		sigprocmask(SIG_BLOCK, &signals, NULL);
		status = measure(plan);
		fflush(stdout);
		_exit(status);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		fprintf(stderr, "speed: %s with %u pending was killed by signal %d\n",
			plan->facility->name, plan->pending, WTERMSIG(status));
	return status == 0;
}

/* All batches of one facility */
static bool run_facility(const struct facility *f, uint32_t pending)
{
	struct plan plan = {
		.facility	= f,
		.pending	= pending,
		.batch		= 1,
		.threads	= threads,
		.shared		= shared,
		.cpu_time	= cpu_time,
		.ops		= ops & f->ops,
		.limit		= seconds * 1000000000ULL,
	};
	unsigned int i;
	bool ok = true;

	/* A thread that reads gets timers of all. */
	if (shared)
		plan.ops &= ~(OPS(OP_HEARTBEAT) | OPS(OP_SOON) | OPS(OP_EXPIRE));
	for (i = 0; i < (f->batches ? batches.nr : 1); i++) {
		if (f->batches)
			plan.batch = batches.of[i];
		/* This one has no batches, whatever the others have. */
		if (i && f->later)
			plan.ops &= ~OPS(OP_LATER);
		if (plan.ops)
			ok &= run(&plan);
	}
	return ok;
}

/* Takes out what cannot be measured, and says so. */
static void remark(void)
{
	unsigned int i;

	for (i = 0; i < NR_FACILITIES; i++) {
		const struct facility *f = facilities[i];
		const char *why = NULL;

		if (!(chosen & 1UL << i))
			continue;
		if (f->absent)
			why = f->absent();
		if (!why && shared && threads > 1 && !f->shares && f->ops & OPS_ALL)
			why = "has no descriptor that threads share";
		if (!why && !(f->ops & ops))
			why = "has none of these operations";
		if (why) {
			printf("# %s: %s\n", f->name, why);
			chosen &= ~(1UL << i);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned int n, i;
	bool ok = true;
	int opt;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((opt = getopt(argc, argv, "f:n:o:b:t:scw:")) >= 0) {
		switch (opt) {
		case 'f':
			chosen = names(opt, optarg, facility_name, NR_FACILITIES);
			break;
		case 'n':
			numbers(opt, optarg, PENDING_MIN, PENDING_MAX, &pendings);
			break;
		case 'o':
			ops = names(opt, optarg, op_name, NR_OPS);
			break;
		case 'b':
			numbers(opt, optarg, 1, BATCH_MAX, &batches);
			break;
		case 't':
			threads = number(opt, optarg, 1, THREADS_MAX);
			break;
		case 's':
			shared = true;
			break;
		case 'c':
			cpu_time = true;
			break;
		case 'w':
			seconds = number(opt, optarg, 1, LIMIT_MAX);
			break;
		default:
			usage();
		}
	}
	if (optind < argc)
		usage();
	for (n = 0; n < pendings.nr; n++)
		if (pendings.of[n] / threads < PENDING_MIN)
			refuse("-n: %u timers are too few for %u threads: %u each at least",
			       pendings.of[n], threads, PENDING_MIN);

	shared &= threads > 1;
	remark();
	for (n = 0; n < pendings.nr; n++)
		for (i = 0; i < NR_FACILITIES; i++)
			if (chosen & 1UL << i)
				ok &= run_facility(facilities[i], pendings.of[n]);
	return ok ? 0 : 1;
}
