// SPDX-License-Identifier: GPL-2.0-only
/*
 * Torture: everything at once for a given time, and an oracle that accounts for
 * every timer (KTAP, and a line of figures at the end).
 *
 * Worker processes (worker.c) use contexts at random and log what they do; chaos
 * (chaos.c) changes the world around them; this one, the supervisor, kills them
 * and starts others; the oracle (oracle.c, model.c) reads the logs and checks that
 * the interface's description explains all that came of it; probes (late.c) see
 * how late anything is on this machine.
 */
#include <err.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "context.h"
#include "late.h"
#include "shared.h"

/* How long processes may take to end when told to. */
#define END_NS		(120 * TW_SEC)
/* How much longer than asked for a run waits for chaos that has not happened yet. */
#define PATIENCE_NS	(240 * TW_SEC)

struct shared *shared;

static const char help[] =
"Usage: torture [OPTION]...\n"
"  -m, --minutes N   run for N minutes (1)\n"
"  -s, --seconds N   or for N seconds\n"
"  -r, --seed N      of the random numbers; printed\n"
"  -f, --faults      inject faults, where the kernel can\n"
"  -q, --quiet WHAT  leave out hotplug, clock, limits, memory, eyes or kill\n"
"  -h, --help        show this help\n";

static const char *const chaos_names[] = {
	"hotplug", "clock", "limits", "memory", "eyes", "faults", "kill",
};

#define CHAOS_KILL	64

static pid_t start(void (*function)(__u32 argument), __u32 argument)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	function(argument);
	_exit(0);
}

/* A process has ended: complete its logs, and note that its own context is closed. */
static void bury_worker(int process)
{
	struct log *log = &shared->logs[LOG_SUPERVISOR];
	struct ctx *own = &shared->ctx[NR_SHARED_CTX + process];
	struct call *call;
	int i;

	for (i = 0; i < NR_WORKERS; i++)
		call_abandoned(&shared->logs[process * NR_WORKERS + i]);
	if (!own->serial)
		return;
	call = call_new(log, CALL_CLOSED, own);
	call_begin(log, call);
	call_end(log, call, 0);
	own->serial = 0;
}

static __u32 kinds;

static bool all_injected(void)
{
	enum fault_kind kind;

	for (kind = 0; kind < NR_FAULT_KINDS; kind++)
		if (!shared->injected[kind])
			return false;
	return true;
}

/* What was asked for and has not happened yet, in words; NULL if all has. */
static const char *missing_chaos(void)
{
	if (kinds & CHAOS_HOTPLUG && sysconf(_SC_NPROCESSORS_CONF) > 1 && !shared->hotplugs)
		return "no CPU went offline";
	if (kinds & CHAOS_CLOCK && !shared->steps)
		return "the clock was not set";
	if (kinds & CHAOS_KILL && !shared->kills)
		return "nobody was killed";
	if (kinds & CHAOS_LIMITS && !shared->refusals)
		return "no limit was reached";
	if (kinds & CHAOS_MEMORY && !shared->denied)
		return "no cgroup ran out of memory";
	if (kinds & CHAOS_FAULTS && !all_injected())
		return "a kind of faults was not injected";
	return NULL;
}

/*
 * Kill workers, and start others, until the time @end. On a machine that gets little done
 * by then, go on until all kinds of chaos have happened, but for @patience ns at most.
 */
static void supervise(pid_t *pids, __u64 end, __u64 patience)
{
	const struct timespec pause = { .tv_nsec = 20 * TW_MSEC };
	__u64 random = random_begin(~8ULL), next = 0, now;
	int process, status;
	char text[64];

	while (!shared->violations) {
		now = tw_now(CLOCK_MONOTONIC);
		if (now >= end && (now >= end + patience || !missing_chaos()))
			return;
		nanosleep(&pause, NULL);
		for (process = 0; process < NR_PROCESSES; process++) {
			if (waitpid(pids[process], &status, WNOHANG) != pids[process])
				continue;
			snprintf(text, sizeof(text), "a worker has died, status %#x", status);
			violation(text);
			bury_worker(process);
			pids[process] = start(work, process);
		}
		if (now < next || !(kinds & CHAOS_KILL))
			continue;
		next = now + tw_random(&random) % (2 * TW_SEC);
		process = tw_random(&random) % NR_PROCESSES;
		kill(pids[process], SIGKILL);
		waitpid(pids[process], NULL, 0);
		count(&shared->kills, 1);
		bury_worker(process);
		pids[process] = start(work, process);
	}
}

/* Wait for a process to end by itself; @what is wrong if it does not. */
static void await(pid_t pid, const char *what)
{
	const struct timespec pause = { .tv_nsec = 10 * TW_MSEC };
	__u64 limit = tw_now(CLOCK_MONOTONIC) + END_NS;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		nanosleep(&pause, NULL);
		if (tw_now(CLOCK_MONOTONIC) < limit)
			continue;
		violation(what);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return;
	}
	if (status)
		violation(what);
}

static void open_contexts(void)
{
	struct twheel_info info;
	int i, ret;

	for (i = 0; i < NR_SHARED_CTX; i++) {
		/* Two of them are read by those who wait in read(). */
		ret = context_open(&shared->ctx[i], i, i == 2 || i == 6);
		if (ret)
			errx(1, "context %d: %s", i, strerror(-ret));
	}
	info = tw_info(shared->ctx[0].fd);
	shared->tick = info.tick_ns;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, shared->sockets))
		err(1, "socketpair");
}

/* Close all contexts, and check that no timer is left. */
static void close_contexts(void)
{
	int i, fd, byte;

	for (i = 0; i < NR_SHARED_CTX; i++) {
		if (shared->ctx[i].words)
			munmap(shared->ctx[i].words, WORDS_SIZE);
		close(shared->ctx[i].fd);
	}
	while ((fd = context_receive(&byte)) >= 0)
		close(fd);
	close(shared->sockets[0]);
	close(shared->sockets[1]);
	fd = tw_open();
	if (!tw_all_given_back(fd))
		violation("timers are left when all contexts are closed");
	close(fd);
}

static void print_lateness(const char *who, const __u64 *hist, __u64 worst)
{
	printf("# %s late by: p50 < %llu us, p99 < %llu us, worst %llu us\n", who,
	       late_percentile(hist, 50) / 1000, late_percentile(hist, 99) / 1000,
	       worst / 1000);
}

/* In the form that selftests/faults/figures.awk adds up. */
static void print_injected(__u64 operations)
{
	enum fault_kind kind;

	printf("# figures: calls %llu", operations);
	for (kind = 0; kind < NR_FAULT_KINDS; kind++)
		printf(" %s %llu", inject_names[kind], shared->injected[kind]);
	printf(" violations %llu\n", shared->violations);
}

static void print_figures(void)
{
	__u64 operations = 0;
	int i;

	for (i = 0; i < NR_LOGS; i++)
		operations += shared->logs[i].operations;
	print_lateness("timers", shared->hist, shared->worst);
	print_lateness("probes", shared->probe_hist, shared->worst_probe);
	printf("# %llu records, %llu refused by limits, %llu for want of memory",
	       shared->records, shared->refusals, shared->denied);
	printf(", %llu calls cut off by a kill, %llu timers given up on\n", shared->resolved,
	       shared->blurred);
	if (kinds & CHAOS_FAULTS)
		print_injected(operations);
	printf("%sok 1 every timer is accounted for\n", shared->violations ? "not " : "");
	printf("torture: %llu operations, %llu expirations", operations, shared->expirations);
	printf(", %llu hotplug cycles, %llu clock steps, %llu kills, %llu faults injected",
	       shared->hotplugs, shared->steps, shared->kills, shared->faults);
	printf(", worst lateness %llu.%03llu ms (probes %llu.%03llu ms)",
	       shared->worst / 1000000, shared->worst / 1000 % 1000,
	       shared->worst_probe / 1000000, shared->worst_probe / 1000 % 1000);
	printf(", violations %llu\n", shared->violations);
}

static void parse(int argc, char **argv, __u64 *seconds)
{
	static const struct option options[] = {
		{ "minutes", required_argument, NULL, 'm' },
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'r' },
		{ "faults", no_argument, NULL, 'f' },
		{ "quiet", required_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	size_t i;
	int c;

	while ((c = getopt_long(argc, argv, "m:s:r:fq:h", options, NULL)) >= 0) {
		switch (c) {
		case 'm':
			*seconds = 60 * strtoull(optarg, NULL, 10);
			break;
		case 's':
			*seconds = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			shared->seed = strtoull(optarg, NULL, 0);
			break;
		case 'f':
			kinds |= CHAOS_FAULTS;
			break;
		case 'q':
			for (i = 0; i < sizeof(chaos_names) / sizeof(chaos_names[0]); i++)
				if (!strcmp(optarg, chaos_names[i]))
					kinds &= ~(1U << i);
			break;
		default:
			fputs(help, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
}

int main(int argc, char **argv)
{
	pid_t pids[NR_PROCESSES], oracle, probes, chaos;
	__u64 seconds = 60, patience = 0;
	const char *missing;
	int i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (shared == MAP_FAILED)
		err(1, "mmap");
	shared->seed = tw_now(CLOCK_REALTIME);
	kinds = CHAOS_HOTPLUG | CHAOS_CLOCK | CHAOS_LIMITS | CHAOS_MEMORY | CHAOS_EYES |
		CHAOS_KILL;
	parse(argc, argv, &seconds);
	if (geteuid()) {
		puts("TAP version 13\n1..0 # SKIP needs root");
		return 4;
	}
	if (kinds & CHAOS_FAULTS && access("/proc/self/make-it-fail", W_OK))
		errx(1, "this kernel injects no faults");

	shared->begun = tw_now(CLOCK_MONOTONIC);
	shared->faults_wanted = kinds & CHAOS_FAULTS;
	shared->may_fail = (kinds & CHAOS_LIMITS ? ERR_LIMIT : 0) |
			   (kinds & CHAOS_FAULTS ? ERR_FAULT | ERR_NOMEM : 0);
	printf("TAP version 13\n1..1\n# seed %llu\n", shared->seed);
	fflush(stdout);

	open_contexts();
	oracle = start(oracle_main, 0);
	probes = start(probe_main, 0);
	chaos = start(chaos_main, kinds);
	for (i = 0; i < NR_PROCESSES; i++)
		pids[i] = start(work, i);

	/* A run of a few seconds need not see all kinds of chaos. */
	if (seconds >= 30)
		patience = PATIENCE_NS;
	supervise(pids, shared->begun + seconds * TW_SEC, patience);
	__atomic_store_n(&shared->stop, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < NR_PROCESSES; i++) {
		await(pids[i], "a worker does not end, or not well");
		bury_worker(i);
	}
	await(chaos, "chaos does not end, or not well");
	chaos_undo();
	for (i = 0; i < NR_SHARED_CTX; i++)
		context_settle(&shared->logs[LOG_SUPERVISOR], &shared->ctx[i]);
	__atomic_store_n(&shared->quiet, true, __ATOMIC_SEQ_CST);
	await(oracle, "the oracle does not end, or not well");
	kill(probes, SIGKILL);
	waitpid(probes, NULL, 0);
	close_contexts();
	missing = missing_chaos();
	if (patience && missing && !shared->violations)
		violation(missing);

	print_figures();
	return shared->violations != 0;
}
