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

/* The context that nearly every test begins with. */
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

#endif /* TWHEEL_TEST_H */
