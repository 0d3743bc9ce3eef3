// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz - a coverage-guided fuzzer of the interface of /dev/twheel
 *
 * Workers, each a user of its own without privileges but that to set the clock,
 * run short programs of calls. A program that reaches what none did before is
 * kept, reduced to what it takes, and changed to make others. The kernel says
 * when something is wrong, and so does the oracle.
 *
 * It needs a module and a kernel with KCOV; fuzz.sh runs it in a
 * guest that has them.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>

#include "../uapi/twheel_util.h"
#include "exec.h"
#include "ring.h"

#define WORKERS		8
#define CORPUS		4096
#define FIRST_UID	1000
/* A program that takes longer is taken to hang. */
#define STUCK_SECONDS	180
#define PROGRESS_SECONDS 15

/**
 * struct shared - what the workers have in common
 * @cover: what was reached
 * @calls: calls made
 * @runs: programs run
 * @stop: the workers shall end
 * @nr_corpus: programs in @corpus; more than fit are forgotten
 * @complete: which of them are stored
 * @corpus: those that reached something new
 * @worker_runs: of each worker, to see that it goes on
 * @wrong: a worker has found something; the first one stores the next two
 * @failed: the program that was run then
 * @why: what was wrong
 * @worlds: one for each worker
 */
struct shared {
	struct cover cover;
	__u64 calls;
	__u64 runs;
	bool stop;
	__u32 nr_corpus;
	bool complete[CORPUS];
	struct prog corpus[CORPUS];
	__u64 worker_runs[WORKERS];
	bool wrong;
	struct prog failed;
	char why[256];
	struct world worlds[WORKERS];
};

static struct shared *shared;
static struct exec exec;
static int worker;
static __u64 state;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static void run(const struct prog *prog)
{
	ring_put(__atomic_add_fetch(&shared->runs, 1, __ATOMIC_RELAXED), worker, prog);
	exec_run(prog);
	__atomic_add_fetch(&shared->worker_runs[worker], 1, __ATOMIC_RELAXED);

	if (exec.world->violations) {
		__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
		if (!__atomic_exchange_n(&shared->wrong, true, __ATOMIC_ACQ_REL) ||
		    exec.verbose) {
			shared->failed = *prog;
			memcpy(shared->why, exec.world->first, sizeof(shared->why));
		}
		exit(1);
	}
}

/* The edges of the last run that nobody had reached: how many, in @edges. */
static int take_new(__u16 *edges)
{
	int n = 0, i;
	__u32 k;

	for (i = 0; i < PROG_THREADS; i++) {
		for (k = 0; k < exec.runs[i].nr; k++) {
			__u16 edge = exec.runs[i].list[k];

			if (__atomic_exchange_n(&shared->cover.edges[edge], 1, __ATOMIC_RELAXED))
				continue;
			__atomic_add_fetch(&shared->cover.nr_edges, 1, __ATOMIC_RELAXED);
			if (n < COVER_RUN)
				edges[n++] = edge;
		}
	}
	return n;
}

static bool reached(__u16 edge)
{
	int i;

	for (i = 0; i < PROG_THREADS; i++)
		if (cover_run_has(&exec.runs[i], edge))
			return true;
	return false;
}

static bool reaches(const struct prog *prog, const __u16 *edges, int n)
{
	run(prog);
	while (n--)
		if (!reached(edges[n]))
			return false;
	return true;
}

static void keep(const struct prog *prog)
{
	__u32 i = __atomic_fetch_add(&shared->nr_corpus, 1, __ATOMIC_RELAXED);

	if (i >= CORPUS)
		return;
	shared->corpus[i] = *prog;
	__atomic_store_n(&shared->complete[i], true, __ATOMIC_RELEASE);
}

/* Keep @prog without the calls that are not needed to reach @edges. */
static void reduce(struct prog *prog, const __u16 *edges, int n)
{
	struct prog less;
	int i;

	if (reaches(prog, edges, n)) {
		for (i = prog->nr - 1; i >= 0 && prog->nr > 1; i--) {
			less = *prog;
			prog_remove(&less, i);
			if (reaches(&less, edges, n))
				*prog = less;
		}
	}
	keep(prog);
}

static void try(struct prog *prog, bool tested)
{
	static __u16 edges[COVER_RUN];
	int n;

	run(prog);
	n = take_new(edges);
	if (n && tested)
		keep(prog);
	else if (n)
		reduce(prog, edges, n);
}

static const struct prog *pick(void)
{
	__u32 n = __atomic_load_n(&shared->nr_corpus, __ATOMIC_RELAXED), i;

	if (n > CORPUS)
		n = CORPUS;
	if (!n)
		return NULL;
	/* Programs that were found last have been changed less often so far. */
	i = prog_below(&state, 3) ? prog_below(&state, n) :
				    n - 1 - prog_below(&state, n / 8 + 1);
	return __atomic_load_n(&shared->complete[i], __ATOMIC_ACQUIRE) ?
	       &shared->corpus[i] : NULL;
}

static bool stopped(void)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

/* Run this worker's share of the programs in @path. */
static void load(const char *path, int nr_workers)
{
	FILE *file = fopen(path, "r");
	char line[2 * PROG_TEXT];
	struct prog prog;
	int i = 0;

	if (!file)
		die(path);
	while (!stopped() && fgets(line, sizeof(line), file)) {
		if (i++ % nr_workers != worker)
			continue;
		if (!prog_parse(&prog, line)) {
			fprintf(stderr, "%s:%d: no program\n", path, i);
			exit(1);
		}
		try(&prog, true);
	}
	fclose(file);
}

static void fuzz(void)
{
	const struct prog *from, *other;
	struct prog prog;

	while (!stopped()) {
		from = pick();
		other = pick();
		if (!from || !other || !prog_below(&state, 12)) {
			prog_generate(&prog, &state);
		} else {
			prog = *from;
			prog_mutate(&prog, other, &state);
		}
		try(&prog, false);
	}
}

/* Become an ordinary user, with timers of its own, that may set the clock. */
static void become_user(int uid)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = 1 << CAP_SYS_TIME, .permitted = 1 << CAP_SYS_TIME },
	};

	if (prctl(PR_SET_KEEPCAPS, 1) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
	    syscall(SYS_capset, &header, data))
		die("setuid");
	/* Without this it may not open its own files in /proc. */
	prctl(PR_SET_DUMPABLE, 1);
}

static void start(int nr, bool verbose)
{
	int ret;

	worker = nr;
	exec.cover = &shared->cover;
	exec.calls = &shared->calls;
	exec.world = &shared->worlds[nr];
	exec.verbose = verbose;
	ret = exec_init(&exec);
	if (ret) {
		errno = -ret;
		die("KCOV");
	}
	become_user(FIRST_UID + nr);
	ret = exec_start();
	if (ret) {
		errno = -ret;
		die("start");
	}
}

/* Children that are forked from here on have clocks of their own. */
static void shift_clocks(void)
{
	if (unshare(CLONE_NEWTIME) ||
	    tw_write_file("/proc/self/timens_offsets", "monotonic 86400 1\nboottime 172800 2\n"))
		die("time namespace");
}

/* Did the kernel say that something is wrong? It may go on running after that. */
static bool kernel_complains(int kmsg)
{
	static const char *const words[] = {
		"BUG:", "WARNING:", "KASAN", "UBSAN", "ODEBUG", "possible circular",
		"possible recursive", "inconsistent lock", "corruption", "refcount_t",
	};

	return tw_kernel_says(kmsg, words, sizeof(words) / sizeof(*words));
}

static void progress(time_t since)
{
	printf("# %4ld s: %llu executions, %llu calls, %u places, %u edges, corpus %u\n",
	       (long)(now() - since), shared->runs, shared->calls, shared->cover.nr_pcs,
	       shared->cover.nr_edges, shared->nr_corpus);
	fflush(stdout);
}

/* Wait until all workers have ended, or something is wrong. Returns how many failed. */
static int supervise(pid_t *pids, int nr, long seconds)
{
	int kmsg = tw_kernel_log(), wrong = 0;
	time_t started = now(), said = started, since[WORKERS];
	int left = nr, status, i;
	__u64 runs[WORKERS] = { 0 };

	if (kmsg < 0)
		die("/dev/kmsg");
	for (i = 0; i < nr; i++)
		since[i] = started;

	while (left) {
		usleep(200000);
		if (kernel_complains(kmsg)) {
			/* The ring has the programs that run now: keep others out of it. */
			for (i = 0; i < nr; i++)
				if (pids[i])
					kill(pids[i], SIGKILL);
			printf("the kernel complained\n");
			exit(1);
		}
		if (now() - started >= seconds)
			__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
		if (now() - said >= PROGRESS_SECONDS) {
			progress(started);
			said = now();
		}
		for (i = 0; i < nr; i++) {
			if (!pids[i])
				continue;
			if (shared->worker_runs[i] != runs[i]) {
				runs[i] = shared->worker_runs[i];
				since[i] = now();
			} else if (now() - since[i] > STUCK_SECONDS) {
				printf("worker %d is stuck\n", i);
				exit(1);
			}
			if (waitpid(pids[i], &status, WNOHANG) != pids[i])
				continue;
			pids[i] = 0;
			left--;
			if (!status)
				continue;
			wrong++;
			shared->stop = true;
			printf("worker %d ended with status %#x\n", i, status);
		}
	}
	progress(started);
	close(kmsg);
	return wrong;
}

static void print_failure(void)
{
	char text[PROG_TEXT + 1];

	if (!shared->why[0])
		return;
	prog_print(&shared->failed, text);
	printf("wrong: %s\nprogram: %s\n", shared->why, text);
}

/* Print the programs that were kept, and the addresses that were reached. */
static void print_corpus(void)
{
	__u32 i, n = shared->nr_corpus < CORPUS ? shared->nr_corpus : CORPUS;
	char text[PROG_TEXT + 1];

	for (i = 0; i < n; i++) {
		prog_print(&shared->corpus[i], text);
		printf("corpus %s\n", text);
	}
	for (i = 0; i < COVER_TEXT; i++)
		if (shared->cover.pcs[i])
			printf("pc %x\n", i);
}

static int replay(const char *path, int times)
{
	FILE *file = fopen(path, "r");
	char line[2 * PROG_TEXT];
	struct prog prog;
	int i;

	if (!file)
		die(path);
	start(0, times == 1);
	atexit(print_failure);
	while (fgets(line, sizeof(line), file)) {
		if (!prog_parse(&prog, line)) {
			fprintf(stderr, "no program: %s", line);
			return 1;
		}
		fputs(line, stderr);
		for (i = 0; i < times; i++)
			run(&prog);
	}
	return 0;
}

static void usage(void)
{
	fputs("usage: fuzz [-t seconds] [-s seed] [-c corpus]\n"
	      "       fuzz -r file [-n times]\n", stderr);
	exit(2);
}

/**
 * struct options - what the command line asks for
 * @seconds: -t
 * @nr_workers: one per processor, but not too many
 * @seed: -s
 * @corpus: -c, or NULL
 * @again: -r, or NULL
 * @times: -n
 */
struct options {
	long seconds;
	int nr_workers;
	unsigned long seed;
	const char *corpus;
	const char *again;
	int times;
};

static struct options parse(int argc, char **argv)
{
	struct options o = {
		.seconds = 60, .nr_workers = sysconf(_SC_NPROCESSORS_ONLN),
		.seed = time(NULL), .times = 1,
	};
	int opt;

	while ((opt = getopt(argc, argv, "t:s:c:r:n:")) != -1) {
		switch (opt) {
		case 't':
			o.seconds = atol(optarg);
			break;
		case 's':
			o.seed = strtoul(optarg, NULL, 0);
			break;
		case 'c':
			o.corpus = optarg;
			break;
		case 'r':
			o.again = optarg;
			break;
		case 'n':
			o.times = atoi(optarg);
			break;
		default:
			usage();
		}
	}
	if (optind != argc)
		usage();
	if (o.nr_workers > WORKERS)
		o.nr_workers = WORKERS;
	return o;
}

static void start_workers(const struct options *o, pid_t *pids)
{
	int i;

	for (i = 0; i < o->nr_workers; i++) {
		if (i == 1)
			shift_clocks();
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork");
		if (pids[i])
			continue;
		start(i, false);
		state = (o->seed + i) * 0x9e3779b97f4a7c15ULL | 1;
		if (o->corpus)
			load(o->corpus, o->nr_workers);
		fuzz();
		exit(0);
	}
}

int main(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	pid_t pids[WORKERS];
	int wrong;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("memory");
	if (!cover_init())
		die("/sys/module/twheel/sections/.text");
	if (!ring_init())
		fprintf(stderr, "no ivshmem: a kernel that dies takes its programs along\n");
	if (o.again)
		return replay(o.again, o.times);

	printf("# seed %lu, %d workers\n", o.seed, o.nr_workers);
	fflush(stdout);
	start_workers(&o, pids);
	wrong = supervise(pids, o.nr_workers, o.seconds);
	print_failure();
	if (wrong)
		return 1;
	print_corpus();
	printf("figures %llu %llu %u %u\n", shared->runs, shared->calls,
	       shared->cover.nr_edges, shared->nr_corpus);
	return 0;
}
