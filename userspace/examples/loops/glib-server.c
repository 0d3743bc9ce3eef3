// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The echo server in a main loop of GLib.
 */
#include <glib-unix.h>

#include "server.h"
#include "twheel-glib.h"

const bool loop_flushes = true;
static GMainLoop *loop;
static GSource *timers;

int loop_open(void)
{
	loop = g_main_loop_new(NULL, FALSE);
	return 0;
}

int loop_attach(struct twheel *tw)
{
	timers = twheel_glib_attach(NULL, tw, server_failed);
	return timers ? 0 : -errno;
}

void loop_detach(void)
{
	g_source_destroy(timers);
	g_source_unref(timers);
}

static gboolean ready(gint fd, GIOCondition condition, gpointer watch)
{
	(void)fd;
	(void)condition;
	((struct watch *)watch)->ready(watch);
	return G_SOURCE_CONTINUE;
}

int loop_watch(struct watch *watch)
{
	watch->source = g_unix_fd_source_new(watch->fd, G_IO_IN | G_IO_HUP);
	g_source_set_callback(watch->source, G_SOURCE_FUNC(ready), watch, NULL);
	g_source_attach(watch->source, NULL);
	return 0;
}

void loop_unwatch(struct watch *watch)
{
	g_source_destroy(watch->source);
	g_source_unref(watch->source);
	watch->gone(watch);
}

int loop_run(void)
{
	g_main_loop_run(loop);
	return 0;
}

void loop_stop(void)
{
	g_main_loop_quit(loop);
}

void loop_close(void)
{
	g_main_loop_unref(loop);
}
