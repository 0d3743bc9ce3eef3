// SPDX-License-Identifier: GPL-2.0-only
/*
 * The test runner. It catches no signals, so a crash or a report of a sanitizer ends the
 * program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "tap.h"

static struct tap_test *tests;
static int nr_tests;
static jmp_buf failed;

void test_fail(const char *file, int line, const char *cond, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: expected %s: ", file, line, cond);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	longjmp(failed, 1);
}

static bool passes(const struct tap_test *test)
{
	if (setjmp(failed))
		return false;
	test->run();
	return true;
}

void tap_add(struct tap_test *test)
{
	struct tap_test **at = &tests;

	while (*at && (*at)->line < test->line)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
	nr_tests++;
}

/* Prints the plan first and flushes every line, so that a crash shows as missing results. */
int main(void)
{
	const struct tap_test *test;
	int status = 0, n = 0;

	printf("TAP version 13\n1..%d\n", nr_tests);
	fflush(stdout);
	for (test = tests; test; test = test->next) {
		bool ok = passes(test);

		printf("%sok %d %s\n", ok ? "" : "not ", ++n, test->name);
		fflush(stdout);
		if (!ok)
			status = 1;
	}
	return status;
}
