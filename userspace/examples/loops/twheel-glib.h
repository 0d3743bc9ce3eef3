/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A twheel context in a main loop of GLib. Copy this file into your program.
 *
 * Open the context with TWHEEL_OPEN_NONBLOCK. Destroy the source before you close it.
 */
#ifndef TWHEEL_GLIB_H
#define TWHEEL_GLIB_H

#include <errno.h>
#include <glib.h>
#include <twheel.h>

/** struct twheel_glib - a context as a source */
struct twheel_glib {
	GSource		source;
	struct twheel	*tw;
	void		(*failed)(struct twheel *tw, int err);
};

static inline gboolean twheel_glib_prepare(GSource *source, gint *timeout)
{
	struct twheel_glib *self = (struct twheel_glib *)source;
	int ret = twheel_timer_flush(self->tw);

	if (ret)
		self->failed(self->tw, ret);
	*timeout = -1;
	return FALSE;
}

/* Called when the descriptor is readable, as there is no function to check that. */
static inline gboolean twheel_glib_dispatch(GSource *source, GSourceFunc fn, gpointer arg)
{
	struct twheel_glib *self = (struct twheel_glib *)source;
	int ret = twheel_dispatch(self->tw);

	(void)fn;
	(void)arg;
	if (ret < 0 && ret != -EINTR)
		self->failed(self->tw, ret);
	return G_SOURCE_CONTINUE;
}

/**
 * twheel_glib_attach() - call the functions of a context's timers from a main loop
 * @loop: the context of GLib; NULL for the default one
 * @failed: called with the -errno of twheel_dispatch() or twheel_timer_flush()
 *
 * To detach it call g_source_destroy() and g_source_unref().
 *
 * Return: the source.
 */
static inline GSource *twheel_glib_attach(GMainContext *loop, struct twheel *tw,
					  void (*failed)(struct twheel *tw, int err))
{
	static GSourceFuncs funcs = {
		.prepare = twheel_glib_prepare,
		.dispatch = twheel_glib_dispatch,
	};
	GSource *source = g_source_new(&funcs, sizeof(struct twheel_glib));
	struct twheel_glib *self = (struct twheel_glib *)source;

	self->tw = tw;
	self->failed = failed;
	g_source_add_unix_fd(source, twheel_fd(tw), G_IO_IN);
	g_source_attach(source, loop);
	return source;
}

#endif /* TWHEEL_GLIB_H */
