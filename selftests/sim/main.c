// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim - simulate the module: see Documentation/simulator.md
 *
 * usage: sim [--seed n] [--episodes n | --operations n | --minutes n | --seconds n] [--cpus n]
 *	      [--owners n] [--each n] [--without knob,...] [--fair | --tenants | --many |
 *	      --process] [--rt] [--each-fault n | --fault n] [--verbose] [--minimise]
 *
 * Episodes are numbered by their seeds, from --seed on. --seconds are of CPU time. With --fair all
 * of them are about promise 11, with --tenants about limits, and with --many all have many
 * contexts. With --process all are of the library with a wheel in its process. With --rt all that
 * are not about promise 11 have the rules of PREEMPT_RT. With --each-fault each episode is
 * repeated, and each time another one of its allocations or copies fails, and nothing else: n at
 * most of each. --fault says which. --minimise looks for a smaller episode that fails as that of
 * --seed does, and prints how to see it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/cpumask.h>

#include "world.h"

/* And from here on by what was broken */
#define EXIT_PROMISE	16
#define PROGRESS_S	5
#define MORE_TRIES	300
/* How the Makefile was told to build this, as it is to be told again */
#ifndef SIM_BUILD
#define SIM_BUILD	""
#endif

static struct settings settings = {
	.owners	= MAX_OWNERS - 1,
	.each	= 60,
	.fault	= AT_RANDOM,
};

static u64 seed, first_seed;
/* So many of each kind fail at most, one in a repeated episode; 0: all fails at random. */
static u64 most_faults;
static u32 cpu_count;
static bool minimising;

static double seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* An option that has something in each episode is that plus the knob for it. */
#define ALWAYS		256

static const struct option options[] = {
	{ "seed", required_argument, NULL, 's' },
	{ "episodes", required_argument, NULL, 'e' },
	{ "operations", required_argument, NULL, 'o' },
	{ "minutes", required_argument, NULL, 'm' },
	{ "seconds", required_argument, NULL, 'c' },
	{ "cpus", required_argument, NULL, 'n' },
	{ "owners", required_argument, NULL, 'w' },
	{ "each", required_argument, NULL, 'a' },
	{ "fair", no_argument, NULL, ALWAYS + FAIRNESS },
	{ "tenants", no_argument, NULL, ALWAYS + TENANCY },
	{ "many", no_argument, NULL, ALWAYS + MANY },
	{ "rt", no_argument, NULL, ALWAYS + RT },
	{ "process", no_argument, NULL, ALWAYS + PROCESS },
	{ "each-fault", required_argument, NULL, 'k' },
	{ "fault", required_argument, NULL, 'u' },
	{ "without", required_argument, NULL, 'x' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "minimise", no_argument, NULL, 'i' },
	{ }
};

/* How to run an episode of @s on @n CPUs again, by make */
static void print_command(FILE *file, const struct settings *s, u32 n)
{
	const struct option *option;
	const char *comma = "";
	int i;

	fprintf(file, "make sim SEED=%llu%s", seed, SIM_BUILD);
	if (n)
		fprintf(file, " CPUS=%u", n);
	if (s->owners == MAX_OWNERS - 1 && s->each == 60 && !s->without && !s->always &&
	    s->fault == AT_RANDOM) {
		fprintf(file, " V=1\n");
		return;
	}
	fprintf(file, " V=1 ARGS=\"--owners %u --each %u", s->owners, s->each);
	for (option = options; option->name; option++)
		if (option->val >= ALWAYS && s->always >> (option->val - ALWAYS) & 1)
			fprintf(file, " --%s", option->name);
	if (s->fault != AT_RANDOM)
		fprintf(file, " --fault %llu", s->fault);
	for (i = 0; i < NR_KNOBS; i++)
		if (s->without >> i & 1) {
			fprintf(file, "%s%s", *comma ? comma : " --without ", knob_names[i]);
			comma = ",";
		}
	fprintf(file, "\"\n");
}

static void how_to_repeat(void)
{
	fprintf(stderr, "seed %llu, %u CPUs, point %llu, after %llu operations and %.2f CPU s\n",
		seed, sim_config.cpus, sim_stats.episode_points, counts.operations,
		seconds(CLOCK_PROCESS_CPUTIME_ID));
	fprintf(stderr, "again, with a trace: ");
	print_command(stderr, &settings, cpu_count);
}

/* What a sanitizer has found, or a signal */
static void died(void)
{
	fprintf(stderr, "\nFAILED: promise 8 is broken (contained): see above\n");
	how_to_repeat();
	fflush(stderr);
}

#if defined(__SANITIZE_ADDRESS__) || defined(SIM_TSAN)
void __sanitizer_set_death_callback(void (*function)(void));

static void catch_crashes(void)
{
	__sanitizer_set_death_callback(died);
}
#else
#include <signal.h>

static void crashed(int sig)
{
	/* For a debugger, and sim_broken() has said all. */
	if (sig == SIGABRT && getenv("SIM_ABORT")) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	fprintf(stderr, "signal %d\n", sig);
	died();
	_exit(EXIT_BROKEN);
}

static void catch_crashes(void)
{
	static char stack[1 << 16];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_handler = crashed, .sa_flags = SA_ONSTACK };

	sigaltstack(&ss, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGFPE, &sa, NULL);
	/* As free() raises when it finds what was overwritten */
	sigaction(SIGABRT, &sa, NULL);
}
#endif

/* Where things are in memory is no part of the seed, and should not matter. But be sure. */
static void same_addresses(char **argv)
{
	int old = personality(0xffffffff);

	if (old == -1 || old & ADDR_NO_RANDOMIZE)
		return;
	if (personality((unsigned long)old | ADDR_NO_RANDOMIZE) != -1)
		execv("/proc/self/exe", argv);
}

static void print_progress(double began, double share)
{
	double took = seconds(CLOCK_MONOTONIC) - began;

	printf("%4.0f s: %llu episodes, %.2f million operations, %.2f million a second", took,
	       counts.episodes, (double)counts.operations / 1e6,
	       (double)counts.operations / took / 1e6);
	if (share > 0 && share < 1)
		printf(", %.0f s left", took / share - took);
	printf("\n");
	fflush(stdout);
}

/* When a run is to end; what is 0 does not matter. */
static struct {
	u64 episodes, operations;
	double minutes, seconds;
} limits;

/* Which part of the run is done */
static double done(double began)
{
	if (limits.episodes)
		return (double)(seed - first_seed) / (double)limits.episodes;
	if (limits.operations)
		return (double)counts.operations / (double)limits.operations;
	if (limits.seconds > 0)
		return seconds(CLOCK_PROCESS_CPUTIME_ID) / limits.seconds;
	return (seconds(CLOCK_MONOTONIC) - began) / (limits.minutes * 60);
}

/* Repeat the episode of @seed with each of its @n things of @kind failing, one at a time. */
static void each_of_kind(enum fault_kind kind, u64 n)
{
	u64 times = n < most_faults ? n : most_faults, i, nr;

	for (i = 0; i < times; i++) {
		/* If there are too many, evenly chosen */
		nr = 1 + (i * n + seed % n) / times;
		settings.fault = sim_fault(kind, nr);
		episode(seed, cpu_count, &settings);
		expect(sim_stats.may_fail[kind] >= nr, SIM_ITSELF,
		       "a repeated episode is another one before something fails in it");
	}
}

/* Returns how many allocations and copies the episode of @seed has. */
static u64 each_fault(void)
{
	u64 allocations, copies;

	settings.fault = 0;
	episode(seed, cpu_count, &settings);
	allocations = sim_stats.may_fail[ALLOCATION];
	copies = sim_stats.may_fail[COPY];
	each_of_kind(ALLOCATION, allocations);
	each_of_kind(COPY, copies);
	return allocations + copies;
}

static void run(void)
{
	u64 may_fail = 0;
	double began = seconds(CLOCK_MONOTONIC), shown = began, share, cpu;

	do {
		if (most_faults)
			may_fail += each_fault();
		else
			episode(seed, cpu_count, &settings);
		seed++;
		share = done(began);
		if (seconds(CLOCK_MONOTONIC) - shown > PROGRESS_S) {
			shown = seconds(CLOCK_MONOTONIC);
			print_progress(began, share);
		}
	} while (share < 1);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	if (most_faults)
		printf("%llu of %llu allocations and copies failed, one in an episode\n",
		       counts.episodes - (seed - first_seed), may_fail);
	printf("no failure: %llu episodes to seed %llu; %llu operations, ", counts.episodes,
	       seed - 1, counts.operations);
	printf("%llu armings, %llu records in %.1f CPU s: ", counts.armings, counts.records, cpu);
	printf("%.2f million operations and %.2f million armings a second\n",
	       (double)counts.operations / cpu / 1e6, (double)counts.armings / cpu / 1e6);
	printf("%llu points, %llu switches, %llu soft interrupts, %llu kicks, ", sim_stats.points,
	       sim_stats.switches, sim_stats.softirqs, sim_stats.kicks);
	printf("%llu wake-ups, %llu faults, %llu RCU callbacks, %llu stale reads\n",
	       sim_stats.wakes, sim_stats.faults, sim_stats.grace_periods, sim_stats.stale);
	printf("most: %llu ns with a spinlock held, %llu ns in one turn of a wheel, ",
	       sim_stats.held_ns, sim_stats.run_ns);
	printf("%llu points in a call for one timer, ", counts.call_points);
	printf("a timer beside attackers %llu ns late\n", counts.late);
}

static void tell_by_status(void)
{
	_exit(EXIT_PROMISE + (int)sim_promise);
}

/* Run an episode in a child. Returns the promise that it breaks, or -1. */
static int try_episode(u64 s, u32 cpus, const struct settings *with)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
			_exit(0);
		sim_how_to_repeat = tell_by_status;
		episode(s, cpus, with);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (!status)
		return -1;
	/* A sanitizer, or a signal, found it. */
	if (!WIFEXITED(status) || WEXITSTATUS(status) < EXIT_PROMISE)
		return CONTAINED;
	return WEXITSTATUS(status) - EXIT_PROMISE;
}

/* Take over @with and @cpus if an episode still breaks @promise with them. */
static bool try_smaller(struct settings with, u32 cpus, int promise)
{
	u64 s = seed, tries;

	/* A smaller episode takes other ways: so look at some more. */
	for (tries = 0; tries < MORE_TRIES && try_episode(s, cpus, &with) != promise; tries++)
		s = tries + 1;
	if (tries == MORE_TRIES)
		return false;
	seed = s;
	settings = with;
	cpu_count = cpus;
	print_command(stdout, &settings, cpu_count);
	fflush(stdout);
	return true;
}

static void minimise(void)
{
	int promise = try_episode(seed, cpu_count, &settings), i;
	struct settings with;

	if (promise < 0) {
		printf("the episode of seed %llu does not fail\n", seed);
		exit(1);
	}
	for (i = 0; i < NR_KNOBS; i++) {
		with = settings;
		with.without |= 1ULL << i;
		try_smaller(with, cpu_count, promise);
	}
	for (i = 1; i <= 2 && cpu_count != (u32)i; i++)
		if (try_smaller(settings, (u32)i, promise))
			break;
	for (i = 1; i < (int)settings.owners; i++) {
		with = settings;
		with.owners = (u32)i;
		if (try_smaller(with, cpu_count, promise))
			break;
	}
	do {
		with = settings;
		with.each /= 2;
	} while (with.each && try_smaller(with, cpu_count, promise));
	printf("the smallest that was found: ");
	print_command(stdout, &settings, cpu_count);
}

static void parse_without(char *list)
{
	char *name;
	int i;

	for (name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		for (i = 0; i < NR_KNOBS && strcmp(name, knob_names[i]); i++)
			;
		if (i == NR_KNOBS) {
			fprintf(stderr, "there is no knob %s; there are", name);
			for (i = 0; i < NR_KNOBS; i++)
				fprintf(stderr, " %s", knob_names[i]);
			fprintf(stderr, "\n");
			exit(2);
		}
		settings.without |= 1ULL << i;
	}
}

static u64 number(const char *text, u64 most)
{
	char *end;
	u64 n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || n > most) {
		fprintf(stderr, "%s is no number up to %llu\n", text, most);
		exit(2);
	}
	return n;
}

static void parse(int argc, char **argv)
{
	bool seeded = false;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (option) {
		case 's':
			seed = number(optarg, ~0ULL / 128);
			seeded = true;
			break;
		case 'e':
			limits.episodes = number(optarg, ~0ULL);
			break;
		case 'o':
			limits.operations = number(optarg, ~0ULL);
			break;
		case 'm':
			limits.minutes = (double)number(optarg, 100000);
			break;
		case 'c':
			limits.seconds = (double)number(optarg, 1000000);
			break;
		case 'n':
			cpu_count = (u32)number(optarg, CONFIG_NR_CPUS);
			break;
		case 'w':
			settings.owners = (u32)number(optarg, MAX_OWNERS);
			break;
		case 'a':
			settings.each = (u32)number(optarg, 1000);
			break;
		case 'k':
			most_faults = number(optarg, 1000000);
			break;
		case 'u':
			settings.fault = number(optarg, AT_RANDOM - 1);
			break;
		case 'x':
			parse_without(optarg);
			break;
		case 'v':
			sim_verbose = true;
			break;
		case 'i':
			minimising = true;
			break;
		case ALWAYS ... ALWAYS + NR_KNOBS - 1:
			settings.always |= 1ULL << (option - ALWAYS);
			break;
		default:
			exit(2);
		}
	if (!seeded) {
		u32 chosen = (u32)time(NULL);

		if (getrandom(&chosen, sizeof(chosen), 0) != sizeof(chosen))
			fprintf(stderr, "the seed is the time\n");
		seed = chosen;
	}
	first_seed = seed;
	if (sim_verbose && !limits.episodes)
		limits.episodes = 1;
	if (!limits.minutes && !limits.episodes && !limits.operations && !limits.seconds)
		limits.minutes = 1;
	if (!settings.owners)
		settings.owners = 1;
}

int main(int argc, char **argv)
{
	same_addresses(argv);
	parse(argc, argv);
	catch_crashes();
	sim_how_to_repeat = how_to_repeat;
	if (minimising) {
		minimise();
		return 0;
	}
	printf("seed %llu\n", seed);
	fflush(stdout);
	run();
	return 0;
}
