// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on purpose: the kernel's fault injection, for tests of /dev/twheel.
 */
#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "faults.h"
#include "kselftest.h"
#include "twheel_util.h"

#define DEBUGFS		"/sys/kernel/debug/"
/* More than ever fire: how far it was counted down is how many did. */
#define TIMES		1000000000

static const char * const kinds[NR_FAULT_KINDS] = {
	[FAULT_SLAB]		= "failslab",
	[FAULT_PAGE]		= "fail_page_alloc",
	[FAULT_USERCOPY]	= "fail_usercopy",
};

struct fault_figures fault_figures;
const char *faults_at;

static unsigned long times[NR_FAULT_KINDS];
static int nth_fd;

/*
 * The kernel tells each thread on which CPU it is, in a word of the C library's
 * (rseq), and kills the program if it cannot write there: after a fork, when that
 * takes memory which is made to fail. Nobody needs it here.
 */
static void __attribute__((constructor)) without_rseq(int argc, char **argv)
{
	(void)argc;
	if (getenv("GLIBC_TUNABLES"))
		return;
	setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
	execv("/proc/self/exe", argv);
}

static int set(enum fault_kind kind, const char *attribute, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kinds[kind], attribute);
	return tw_write_file(path, value);
}

static void must_set(enum fault_kind kind, const char *attribute, const char *value)
{
	int ret = set(kind, attribute, value);

	if (ret)
		ksft_exit_fail_msg("%s/%s: %s\n", kinds[kind], attribute, strerror(-ret));
}

static void set_all(const char *attribute, const char *value)
{
	enum fault_kind kind;

	for (kind = 0; kind < NR_FAULT_KINDS; kind++)
		must_set(kind, attribute, value);
}

static unsigned long times_left(enum fault_kind kind)
{
	char path[128], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "%s/times", kinds[kind]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	close(fd);
	return strtoul(text, NULL, 10);
}

void faults_init(void)
{
	enum fault_kind kind;
	char text[16];

	for (kind = 0; kind < NR_FAULT_KINDS; kind++)
		if (set(kind, "probability", "0"))
			ksft_exit_skip("this kernel has no %s, or we are not root\n", kinds[kind]);
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		ksft_exit_skip("no /proc/thread-self/fail-nth in this kernel\n");

	set_all("interval", "1");
	set_all("space", "0");
	set_all("verbose", "0");
	set_all("task-filter", "Y");
	snprintf(text, sizeof(text), "%d", TIMES);
	set_all("times", text);
	/* By default only what cannot wait fails, and that is next to nothing. */
	must_set(FAULT_SLAB, "ignore-gfp-wait", "N");
	must_set(FAULT_PAGE, "ignore-gfp-wait", "N");
	must_set(FAULT_PAGE, "ignore-gfp-highmem", "N");
	must_set(FAULT_PAGE, "min-order", "0");
	for (kind = 0; kind < NR_FAULT_KINDS; kind++)
		times[kind] = TIMES;
	/* For vm/log.sh: from here on traces of allocations that failed are due. */
	tw_write_file("/dev/kmsg", "twheel-vm: faults\n");
	/* Programs that take a failure badly shall not fill the kernel's log. */
	tw_write_file("/proc/sys/debug/exception-trace", "0");
}

static void arm(int fd, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(fd, text, len, 0) != len)
		ksft_exit_fail_msg("fail-nth: %s\n", strerror(errno));
}

static unsigned int disarm(int fd)
{
	unsigned int left = 1, here = 0;
	char text[16] = "";
	int saved = errno;

	/* With one to go it fires as it is read out: it had not before. */
	if (pread(fd, text, sizeof(text) - 1, 0) > 0)
		left = atoi(text);
	else
		here++;
	while (left && pwrite(fd, "0", 1, 0) != 1)
		here++;
	faults_count();
	fault_figures.fired[FAULT_USERCOPY] -= here;
	errno = saved;
	return left;
}

void faults_arm(unsigned int n)
{
	arm(nth_fd, n);
}

unsigned int faults_disarm(void)
{
	return disarm(nth_fd);
}

static int open_nth(pid_t tid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fail-nth", tid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	return fd;
}

void faults_arm_thread(pid_t tid, unsigned int n)
{
	int fd = tid ? open_nth(tid) : nth_fd;

	arm(fd, n);
	if (tid)
		close(fd);
}

unsigned int faults_disarm_thread(pid_t tid)
{
	int fd = tid ? open_nth(tid) : nth_fd;
	unsigned int left = disarm(fd);

	if (tid)
		close(fd);
	return left;
}

void faults_rate(unsigned int percent)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", percent);
	set_all("probability", text);
}

int faults_mark(pid_t tid, bool on)
{
	char path[64] = "/proc/thread-self/make-it-fail";
	int ret;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/make-it-fail", tid);
	/* The write itself may be made to fail. */
	do {
		ret = tw_write_file(path, on ? "1" : "0");
	} while (ret == -ENOMEM || ret == -EFAULT);
	return ret;
}

void faults_mark_workers(bool on)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		char path[300], name[32] = "";
		int fd;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		fd = atoi(entry->d_name) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		if (fd < 0)
			continue;
		if (read(fd, name, sizeof(name) - 1) > 0 && !strncmp(name, "kworker/", 8))
			faults_mark(atoi(entry->d_name), on);
		close(fd);
	}
	if (proc)
		closedir(proc);
}

void faults_count(void)
{
	enum fault_kind kind;

	for (kind = 0; kind < NR_FAULT_KINDS; kind++) {
		unsigned long left = times_left(kind);

		fault_figures.fired[kind] += times[kind] - left;
		times[kind] = left;
	}
}

void faults_note(long ret)
{
	__atomic_add_fetch(&fault_figures.calls, 1, __ATOMIC_RELAXED);
	if (ret < 0 && ret > -256)
		__atomic_add_fetch(&fault_figures.errors[-ret], 1, __ATOMIC_RELAXED);
}

void violation(const char *format, ...)
{
	va_list args;

	if (__atomic_fetch_add(&fault_figures.violations, 1, __ATOMIC_RELAXED) >= 50)
		return;
	printf("# violation: %s%s", faults_at ?: "", faults_at ? ": " : "");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void faults_report(void)
{
	enum fault_kind kind;
	unsigned int i;

	printf("# figures: calls %lu", fault_figures.calls);
	for (kind = 0; kind < NR_FAULT_KINDS; kind++)
		printf(" %s %lu", kinds[kind], fault_figures.fired[kind]);
	for (i = 0; i < ARRAY_SIZE(fault_figures.errors); i++)
		if (fault_figures.errors[i])
			printf(" %s %lu", strerrorname_np(i), fault_figures.errors[i]);
	printf(" violations %lu\n", fault_figures.violations);
}
