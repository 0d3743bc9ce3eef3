// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The echo server in a loop of sd-event.
 */
#include "server.h"
#include "twheel-sd-event.h"

const bool loop_flushes = true;
static sd_event_source *timers;
static sd_event *loop;

int loop_open(void)
{
	int ret = sd_event_new(&loop);

	return ret < 0 ? ret : 0;
}

int loop_attach(struct twheel *tw)
{
	int ret = twheel_sd_event_attach(loop, &timers, tw);

	return ret < 0 ? ret : 0;
}

void loop_detach(void)
{
	sd_event_source_disable_unref(timers);
}

static int ready(sd_event_source *source, int fd, uint32_t events, void *watch)
{
	(void)source;
	(void)fd;
	(void)events;
	((struct watch *)watch)->ready(watch);
	return 0;
}

int loop_watch(struct watch *watch)
{
	sd_event_source *source;
	int ret = sd_event_add_io(loop, &source, watch->fd, EPOLLIN, ready, watch);

	watch->source = source;
	return ret < 0 ? ret : 0;
}

void loop_unwatch(struct watch *watch)
{
	sd_event_source_disable_unref(watch->source);
	watch->gone(watch);
}

int loop_run(void)
{
	return sd_event_loop(loop);
}

void loop_stop(void)
{
	sd_event_exit(loop, 0);
}

void loop_close(void)
{
	sd_event_unref(loop);
}
