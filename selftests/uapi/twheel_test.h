/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every test program of the bare interface begins with: the harness, and a
 * context.
 */
#ifndef TWHEEL_TEST_H
#define TWHEEL_TEST_H

#include "kselftest_harness.h"

#include "twheel_util.h"

/*
 * An emulated machine under load may need long for what takes milliseconds
 * elsewhere; the harness's 30 s would make such a machine fail.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	180

static void __attribute__((constructor)) tw_need_device(void)
{
	if (access(TW_DEVICE, F_OK) == 0)
		return;
	ksft_print_header();
	ksft_exit_skip("no " TW_DEVICE ": is the module loaded?\n");
}

/* The harness has another name for it since Linux 6.9, which added XFAIL. */
#ifdef XFAIL_ADD
#define tw_passed()	__test_passed(_metadata)
#else
#define tw_passed()	(_metadata->passed)
#endif

/*
 * The context that nearly every test begins with. Where none does: the harness
 * has no longer marked its functions inline since Linux 6.12.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
FIXTURE(tw)
{
	int fd;
};

FIXTURE_SETUP(tw)
{
	self->fd = tw_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(tw)
{
	close(self->fd);
}

#pragma GCC diagnostic pop

#endif /* TWHEEL_TEST_H */
