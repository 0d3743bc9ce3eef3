/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included by every test program of the bare interface: the harness, and a fixture with a
 * context.
 */
#ifndef TWHEEL_TEST_H
#define TWHEEL_TEST_H

#include "harness.h"
#include "twheel_util.h"

/*
 * Linux 6.9, which added XFAIL, changed how the harness stores whether a test has passed.
 */
#ifdef XFAIL_ADD
#define tw_passed()	__test_passed(_metadata)
#else
#define tw_passed()	(_metadata->passed)
#endif

/*
 * The fixture that nearly every test begins with. Since Linux 6.12 the functions of the
 * harness are not marked inline any more, so a program without such a test would cause
 * warnings.
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
