// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The echo server in a loop of libuv.
 */
#include "server.h"
#include "twheel-uv.h"

const bool loop_flushes = true;
static struct twheel_uv *timers;
static uv_loop_t loop;

int loop_open(void)
{
	return uv_loop_init(&loop);
}

int loop_attach(struct twheel *tw)
{
	timers = twheel_uv_attach(&loop, tw, server_failed);
	return timers ? 0 : -errno;
}

void loop_detach(void)
{
	twheel_uv_detach(timers);
}

static void ready(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = poll->data;

	(void)status;
	(void)events;
	watch->ready(watch);
}

int loop_watch(struct watch *watch)
{
	uv_poll_t *poll = malloc(sizeof(*poll));
	int ret = poll ? uv_poll_init(&loop, poll, watch->fd) : -ENOMEM;

	if (ret) {
		free(poll);
		return ret;
	}
	poll->data = watch;
	watch->source = poll;
	return uv_poll_start(poll, UV_READABLE, ready);
}

static void closed(uv_handle_t *poll)
{
	struct watch *watch = poll->data;

	free(poll);
	watch->gone(watch);
}

void loop_unwatch(struct watch *watch)
{
	uv_close(watch->source, closed);
}

int loop_run(void)
{
	uv_run(&loop, UV_RUN_DEFAULT);
	return 0;
}

void loop_stop(void)
{
	uv_stop(&loop);
}

/* The handles that are not closing are those of watches. */
static void close_handle(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, closed);
}

void loop_close(void)
{
	uv_walk(&loop, close_handle, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
}
