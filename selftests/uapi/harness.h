/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all programs that include the kernel's harness add to it, with and without libtwheel.
 */
#ifndef TWHEEL_HARNESS_H
#define TWHEEL_HARNESS_H

#include <unistd.h>

#include "kselftest_harness.h"

/*
 * An emulated machine under load may need long for work that takes milliseconds elsewhere,
 * and would fail with the harness's limit of 30 s.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	180

/*
 * SETUP_SKIP() skips a test from the setup of its fixture, and leaves out the teardown. Before
 * Linux 6.9 (which added XFAIL) the harness runs the test even after a plain SKIP() in the
 * setup. It also stores in another way whether a test has passed.
 */
#ifdef XFAIL_ADD
#define SETUP_SKIP(...)		SKIP(_exit(KSFT_SKIP), __VA_ARGS__)
#define tw_passed()		__test_passed(_metadata)
#else
#define SETUP_SKIP(...)		SKIP(longjmp(_metadata->env, 1), __VA_ARGS__)
#define tw_passed()		(_metadata->passed)
#endif

/* Short enough for a table with a line or two for each variant */
#define VARIANT FIXTURE_VARIANT_ADD

/* Makes a child, in which @pid is 0. */
#define ASSERT_FORKED(pid) do { \
	pid_t made_ = fork(); \
	ASSERT_LE(0, made_); \
	pid = made_; \
} while (0)

/* Skips the whole program if there is no device. */
static void __attribute__((constructor)) need_device(void)
{
	if (access("/dev/twheel", F_OK) == 0)
		return;
	ksft_print_header();
	ksft_exit_skip("no /dev/twheel: is the module loaded?\n");
}

#ifdef EMBEDDED_TESTS
#include "skips.h"
#endif

#endif /* TWHEEL_HARNESS_H */
