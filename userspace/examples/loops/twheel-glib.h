/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A twheel context in a main loop of GLib. Copy this file into your program.
 *
 * Open the context with TWHEEL_OPEN_NONBLOCK. Destroy the source before you close it.
 */
#ifndef TWHEEL_GLIB_H
#define TWHEEL_GLIB_H

#include <errno.h>
#include <stdbool.h>
#include <glib.h>
#include <twheel.h>

/** struct twheel_glib - a context as a source */
struct twheel_glib {
	GSource		source;
	struct twheel	*tw;
	void		(*failed)(struct twheel *tw, int err);
};

static inline void twheel_glib_fail(GSource *source, int err)
{
	struct twheel_glib *self = (struct twheel_glib *)source;

	/* A timer's function may have destroyed it. */
	if (err == -EINTR || g_source_is_destroyed(source))
		return;
	if (err != -ECANCELED && err != -ENOSPC && err != -EDQUOT && err != -ENOMEM)
		g_source_destroy(source);
	self->failed(self->tw, err);
}

static inline gboolean twheel_glib_prepare(GSource *source, gint *timeout)
{
	int ret = twheel_timer_flush(((struct twheel_glib *)source)->tw);

	if (ret)
		twheel_glib_fail(source, ret);
	*timeout = -1;
	return FALSE;
}

/* Called when the descriptor is readable, as there is no function to check that. */
static inline gboolean twheel_glib_dispatch(GSource *source, GSourceFunc fn, gpointer arg)
{
	int ret = twheel_dispatch(((struct twheel_glib *)source)->tw);

	(void)fn;
	(void)arg;
	if (ret < 0)
		twheel_glib_fail(source, ret);
	return G_SOURCE_CONTINUE;
}

/**
 * twheel_glib_attach() - call the functions of a context's timers from a main loop
 * @loop: the context of GLib; NULL for the default one
 * @failed: called with the -errno of twheel_dispatch() or twheel_timer_flush()
 *
 * After -ECANCELED, -ENOSPC, -EDQUOT and -ENOMEM the source goes on. Any other error would come
 * again in each round, so the source is destroyed before @failed is told.
 *
 * To detach it call g_source_destroy() and g_source_unref(), from wherever. The context may be
 * closed at once.
 *
 * Return: the source; or NULL with errno, which is EINVAL for a context with keys, as timer
 * objects are not for these.
 */
static inline GSource *twheel_glib_attach(GMainContext *loop, struct twheel *tw,
					  void (*failed)(struct twheel *tw, int err))
{
	static GSourceFuncs funcs = {
		twheel_glib_prepare, NULL, twheel_glib_dispatch, NULL, NULL, NULL
	};
	bool keyed = twheel_config_flags(tw) & TWHEEL_CONFIG_KEYED;
	int ret = keyed ? -EINVAL : twheel_timer_flush(tw);
	struct twheel_glib *self;
	GSource *source;

	if (ret) {
		errno = -ret;
		return NULL;
	}
	source = g_source_new(&funcs, sizeof(*self));
	self = (struct twheel_glib *)source;
	self->tw = tw;
	self->failed = failed;
	g_source_add_unix_fd(source, twheel_fd(tw), G_IO_IN);
	g_source_attach(source, loop);
	return source;
}

#endif /* TWHEEL_GLIB_H */
