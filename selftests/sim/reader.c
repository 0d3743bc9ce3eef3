// SPDX-License-Identifier: GPL-2.0-only
/* A reader: waits for records, by a read, poll() or epoll, and has the oracle look at each. */
#include <linux/errno.h>

#include "oracle.h"

#define MAX_ROOM	24

static long read_some(struct context *c, struct twheel_event *events, u32 room, bool wait)
{
	long ret;

	if (sim_config.efault_chance && !sim_below(8))
		sim_hole((char *)events + sim_below(room * sizeof(*events)));
	ret = call_read(c, events, room, wait);
	expect(ret > 0 || ret == -EAGAIN || ret == -ECANCELED ||
	       (ret == -ERESTARTSYS && (sim_config.signal_chance || sim_config.cancel_chance)) ||
	       oracle_may_lack(ret) ||
	       (ret == -EFAULT && sim_config.fault_chance),
	       CONTAINED, "a read fails with %ld", ret);
	return ret;
}

/* From now on until it leaves, a reader of @c waits, or reads what it has waited for. */
static void attend(struct context *c)
{
	if (!c->attending++)
		c->attended = time_of(c);
}

static void leave(struct context *c)
{
	c->attending--;
}

/* Wait by poll(), then read what there is. */
static void poll_and_read(struct context *c, struct twheel_event *events, u32 room)
{
	attend(c);
	if (!call_poll(c, true)) {
		c->waiting++;
		sim_wait_as_poller();
		c->waiting--;
	} else {
		sim_wait_end();
	}
	read_some(c, events, room, false);
	leave(c);
}

static void wait_and_read(struct context *c, struct twheel_event *events, u32 room)
{
	attend(c);
	c->waiting++;
	read_some(c, events, room, true);
	c->waiting--;
	leave(c);
}

/* With an epoll that is triggered by edges: after each, read until there is nothing more. */
static void read_by_edges(struct context *c, struct twheel_event *events, u32 room)
{
	u32 edges = 1 + sim_below(4);

	/* What is there already is the first edge. */
	call_poll(c, true);
	sim_watch();
	for (;;) {
		attend(c);
		while (read_some(c, events, room, false) != -EAGAIN && !world.stop)
			;
		if (!--edges || world.stop)
			break;
		c->waiting++;
		do
			sim_wait_for_edge();
		while (!call_poll(c, false));
		c->waiting--;
		leave(c);
		if (world.lazy)
			sim_sleep_until(sim_now() + sim_below(4 * TICK));
	}
	leave(c);
	sim_unwatch();
}

void reader_main(void *arg)
{
	struct context *c = arg;
	struct twheel_event events[MAX_ROOM];
	struct twheel_arm past = { .flags = TWHEEL_ARM_ABS, .expires = 1 };

	/* A thread that has made a timer begins its reads with the wheel that has it. */
	if (world.threads && !keyed(c) && sim_below(2))
		call_arm(c, &past);
	while (!world.stop) {
		u32 room = sim_below(3) ? 1 + sim_below(MAX_ROOM) : 1;

		if (world.lazy || !sim_below(8))
			sim_sleep_until(sim_now() + sim_below(world.lazy ? 40 * TICK : 4 * TICK));
		if (!sim_below(3))
			wait_and_read(c, events, room);
		else if (sim_below(4))
			poll_and_read(c, events, room);
		else
			read_by_edges(c, events, room);
	}
	world.readers_left--;
}
