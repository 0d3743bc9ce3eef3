// SPDX-License-Identifier: GPL-2.0-only
/* A reader: waits for records, by a read, poll() or epoll, and has the oracle look at each. */
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

static void check_result(long ret)
{
	expect(ret > 0 || ret == -EAGAIN || ret == -ECANCELED ||
	       (ret == -ERESTARTSYS && sim_config.signal_chance) || oracle_may_lack(ret) ||
	       (ret == -EFAULT && sim_config.fault_chance),
	       CONTAINED, "a read fails with %ld", ret);
}

/*
 * With an epoll that is triggered by edges: after each, read until there is nothing more. Returns
 * the result of the last read.
 */
static long read_by_edges(struct context *c, struct twheel_event *events, u32 room)
{
	u32 edges = 1 + sim_below(4);
	long ret;

	/* What is there already is the first edge. */
	call_poll(c, true);
	for (;;) {
		do
			check_result(ret = call_read(c, events, room, false));
		while (ret != -EAGAIN);
		if (!--edges || world.stop)
			break;
		c->waiting++;
		do
			sim_wait_for_edge();
		while (!call_poll(c, false));
		c->waiting--;
		if (world.lazy)
			sim_sleep_until(sim_now() + sim_below(4 * TICK));
	}
	sim_wait_end();
	return ret;
}

static long wait_somehow(struct context *c, struct twheel_event *events, u32 room)
{
	if (!sim_below(3))
		return wait_and_read(c, events, room);
	return sim_below(4) ? poll_and_read(c, events, room) : read_by_edges(c, events, room);
}

void reader_main(void *arg)
{
	struct context *c = arg;
	struct twheel_event events[MAX_ROOM];

	while (!world.stop) {
		u32 room = sim_below(3) ? 1 + sim_below(MAX_ROOM) : 1;

		if (world.lazy || !sim_below(8))
			sim_sleep_until(sim_now() + sim_below(world.lazy ? 40 * TICK : 4 * TICK));
		check_result(wait_somehow(c, events, room));
	}
	world.readers_left--;
}
