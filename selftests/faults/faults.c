// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on purpose: the kernel's fault injection, for tests of /dev/twheel.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "faults.h"
#include "kselftest.h"
#include "twheel_util.h"

struct fault_figures fault_figures;
const char *faults_at;

/* Faults that are in the figures already. */
static long counted[NR_FAULT_KINDS];
static int nth_fd;

void faults_init(void)
{
	int ret = inject_begin();

	if (ret == -ENOENT || ret == -EACCES)
		ksft_exit_skip("this kernel injects no faults, or we are not root\n");
	if (ret)
		ksft_exit_fail_msg("fault injection: %s\n", strerror(-ret));
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		ksft_exit_skip("no /proc/thread-self/fail-nth in this kernel\n");
}

static void arm(int fd, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(fd, text, len, 0) != len)
		ksft_exit_fail_msg("fail-nth: %s\n", strerror(errno));
}

/* Adds what has fired since it was counted last to the figures. */
static void count_fired(void)
{
	enum fault_kind kind;

	for (kind = 0; kind < NR_FAULT_KINDS; kind++) {
		long fired = inject_fired(kind);

		if (fired < 0)
			ksft_exit_fail_msg("%s: %s\n", inject_names[kind], strerror(-fired));
		fault_figures.fired[kind] += fired - counted[kind];
		counted[kind] = fired;
	}
}

/* Ends the countdown, and tells what was left of it. */
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
	fault_figures.fired[FAULT_USERCOPY] -= here;
	count_fired();
	errno = saved;
	return left;
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

void faults_arm(pid_t tid, unsigned int n)
{
	int fd = tid ? open_nth(tid) : nth_fd;

	arm(fd, n);
	if (tid)
		close(fd);
}

unsigned int faults_disarm(pid_t tid)
{
	int fd = tid ? open_nth(tid) : nth_fd;
	unsigned int left = disarm(fd);

	if (tid)
		close(fd);
	return left;
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
		printf(" %s %lu", inject_names[kind], fault_figures.fired[kind]);
	for (i = 0; i < ARRAY_SIZE(fault_figures.errors); i++)
		if (fault_figures.errors[i])
			printf(" %s %lu", strerrorname_np(i), fault_figures.errors[i]);
	printf(" violations %lu\n", fault_figures.violations);
}
