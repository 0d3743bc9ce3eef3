/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included by every test program of the bare interface: the harness, and a fixture with a
 * context.
 */
#ifndef TWHEEL_TEST_H
#define TWHEEL_TEST_H

#include "harness.h"
#include "twheel_util.h"

/* Opens a context, whose descriptor is stored in @fd. */
#define ASSERT_OPEN(fd) do { \
	int opened_ = tw_open(); \
	ASSERT_LE(0, opened_); \
	fd = opened_; \
} while (0)

/* Arms a one-shot timer, as tw_arm(), and stores its handle in @handle. */
#define ASSERT_ARMED(handle, ...) do { \
	__u64 armed_ = tw_arm(__VA_ARGS__); \
	ASSERT_NE(0, armed_); \
	handle = armed_; \
} while (0)

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
	ASSERT_OPEN(self->fd);
}

FIXTURE_TEARDOWN(tw)
{
	close(self->fd);
}

#pragma GCC diagnostic pop

#endif /* TWHEEL_TEST_H */
