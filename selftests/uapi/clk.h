/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fixture with a context on each of the clocks that allow relative deadlines. A test that
 * can also use wall time adds that variant.
 */
#ifndef TWHEEL_CLK_H
#define TWHEEL_CLK_H

#include "twheel_test.h"

FIXTURE(clk)
{
	int fd;
	clockid_t clock;
};

FIXTURE_VARIANT(clk)
{
	clockid_t clock;
};

VARIANT(clk, monotonic) { .clock = CLOCK_MONOTONIC };
VARIANT(clk, boottime) { .clock = CLOCK_BOOTTIME };

FIXTURE_SETUP(clk)
{
	self->clock = variant->clock;
	ASSERT_OPEN(self->fd);
	ASSERT_EQ(0, tw_configure(self->fd, variant->clock, 0));
}

FIXTURE_TEARDOWN(clk)
{
	close(self->fd);
}

#endif /* TWHEEL_CLK_H */
