// SPDX-License-Identifier: GPL-2.0-only
/* A reader: waits for records, by a read or by poll(), and has the oracle look at each. */
#include <linux/errno.h>

#include "oracle.h"

#define MAX_ROOM	24

/* Wait by poll(), then read what there is. Returns the result of the read. */
static long poll_and_read(struct context *c, struct twheel_event *events, u32 room)
{
	if (!call_poll(c, true)) {
		c->waiting++;
		sim_wait_as_poller();
		c->waiting--;
	} else {
		sim_wait_end();
	}
	return call_read(c, events, room, false);
}

static long wait_and_read(struct context *c, struct twheel_event *events, u32 room)
{
	long ret;

	c->waiting++;
	ret = call_read(c, events, room, true);
	c->waiting--;
	return ret;
}

void reader_main(void *arg)
{
	struct context *c = arg;
	struct twheel_event events[MAX_ROOM];

	while (!world.stop) {
		u32 room = sim_below(3) ? 1 + sim_below(MAX_ROOM) : 1;
		long ret;

		if (world.lazy || !sim_below(8))
			sim_sleep_until(sim_now() + sim_below(world.lazy ? 40 * TICK : 4 * TICK));
		ret = sim_below(3) ? poll_and_read(c, events, room) :
				     wait_and_read(c, events, room);
		expect(ret > 0 || ret == -EAGAIN || ret == -ECANCELED ||
		       (ret == -ERESTARTSYS && sim_config.signal_chance) ||
		       oracle_may_lack(ret) || (ret == -EFAULT && sim_config.fault_chance),
		       CONTAINED, "a read fails with %ld", ret);
	}
	world.readers_left--;
}
