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

int tap_run(const struct tap_test *tests, size_t n)
{
	int status = 0;
	size_t i;

	printf("TAP version 13\n1..%zu\n", n);
	fflush(stdout);
	for (i = 0; i < n; i++) {
		bool ok = passes(&tests[i]);

		printf("%sok %zu %s\n", ok ? "" : "not ", i + 1, tests[i].name);
		fflush(stdout);
		if (!ok)
			status = 1;
	}
	return status;
}
