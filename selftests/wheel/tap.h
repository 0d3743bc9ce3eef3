/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Expectations, and a runner that reports tests in TAP version 13.
 */
#ifndef TWHEEL_TAP_H
#define TWHEEL_TAP_H

#include <stddef.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/**
 * struct tap_test - a test
 * @name:	what it shows
 * @run:	returns if it holds; expect() leaves it if it does not
 * @line:	where it is, as tests are run in the order of the source
 * @next:	the test after it
 */
struct tap_test {
	const char	*name;
	void		(*run)(void);
	int		line;
	struct tap_test	*next;
};

/* Adds @test to those that main() runs, each to its end or its first failure. */
void tap_add(struct tap_test *test);

/* Begins the test @name. The program needs no other list of its tests. */
#define TEST(name)								\
static void tap_##name(void);							\
static void __attribute__((constructor)) tap_add_##name(void)			\
{										\
	static struct tap_test test_ = { #name, tap_##name, __LINE__, NULL };	\
										\
	tap_add(&test_);							\
}										\
static void tap_##name(void)

/* Prints why, and ends the test. The fuzzer has a version of its own, which aborts. */
void test_fail(const char *file, int line, const char *cond, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 4, 5)));

/* Fails the test unless @cond holds. The other arguments print the circumstances. */
#define expect(cond, ...) do {						\
	if (__builtin_expect(!(cond), 0))				\
		test_fail(__FILE__, __LINE__, #cond, __VA_ARGS__);	\
} while (0)

#endif /* TWHEEL_TAP_H */
