// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The echo server in a loop of libevent.
 */
#include "server.h"
#include "twheel-libevent.h"

const bool loop_flushes;
static struct twheel_libevent *timers;
static struct event_base *base;

int loop_open(void)
{
	base = event_base_new();
	return base ? 0 : -ENOMEM;
}

int loop_attach(struct twheel *tw)
{
	timers = twheel_libevent_attach(base, tw, server_failed);
	return timers ? 0 : -errno;
}

void loop_detach(void)
{
	twheel_libevent_detach(timers);
}

static void ready(evutil_socket_t fd, short what, void *watch)
{
	(void)fd;
	(void)what;
	((struct watch *)watch)->ready(watch);
}

int loop_watch(struct watch *watch)
{
	watch->source = event_new(base, watch->fd, EV_READ | EV_PERSIST, ready, watch);
	if (watch->source && !event_add(watch->source, NULL))
		return 0;
	if (watch->source)
		event_free(watch->source);
	return -ENOMEM;
}

void loop_unwatch(struct watch *watch)
{
	event_free(watch->source);
	watch->gone(watch);
}

int loop_run(void)
{
	return event_base_dispatch(base) < 0 ? -EIO : 0;
}

void loop_stop(void)
{
	event_base_loopbreak(base);
}

void loop_close(void)
{
	event_base_free(base);
}
