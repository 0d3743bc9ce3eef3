/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Expectations, and a runner that reports tests in TAP version 13.
 */
#ifndef TWHEEL_TAP_H
#define TWHEEL_TAP_H

#include <stddef.h>

/**
 * struct tap_test - a test
 * @name:	what it shows
 * @run:	returns if it holds; expect() leaves it if it does not
 */
struct tap_test {
	const char	*name;
	void		(*run)(void);
};

#define TAP_TEST(fn)	{ .name = #fn, .run = fn }
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/*
 * Runs all @tests, each to its end or its first failure. Prints the plan first and flushes
 * every line, so that a crash shows as missing results. Returns the exit status of the
 * program.
 */
int tap_run(const struct tap_test *tests, size_t n);

/* Prints why, and ends the test. The fuzzer has a version of its own, which aborts. */
void test_fail(const char *file, int line, const char *cond, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 4, 5)));

/* Fails the test unless @cond holds. The other arguments print the circumstances. */
#define expect(cond, ...) do {						\
	if (__builtin_expect(!(cond), 0))				\
		test_fail(__FILE__, __LINE__, #cond, __VA_ARGS__);	\
} while (0)

#endif /* TWHEEL_TAP_H */
