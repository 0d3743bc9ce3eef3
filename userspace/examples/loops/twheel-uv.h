/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A twheel context in a loop of libuv. Copy this file into your program.
 *
 * Open the context with TWHEEL_OPEN_NONBLOCK. Detach it before you close it.
 */
#ifndef TWHEEL_UV_H
#define TWHEEL_UV_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <uv.h>
#include <twheel.h>

/** struct twheel_uv - a context as a source of a loop */
struct twheel_uv {
	uv_poll_t	poll;
	uv_prepare_t	prepare;
	struct twheel	*tw;
	void		(*failed)(struct twheel *tw, int err);
	/* How many handles are not closed yet; the last one frees this. */
	int		handles;
};

static inline void twheel_uv_fail(struct twheel_uv *source, int err)
{
	/* A timer's function may have detached it. */
	if (err == -EINTR || uv_is_closing((uv_handle_t *)&source->poll))
		return;
	if (err != -ECANCELED && err != -ENOSPC && err != -EDQUOT && err != -ENOMEM) {
		uv_poll_stop(&source->poll);
		uv_prepare_stop(&source->prepare);
	}
	source->failed(source->tw, err);
}

static inline void twheel_uv_ready(uv_poll_t *poll, int status, int events)
{
	struct twheel_uv *source = (struct twheel_uv *)poll->data;
	int ret = status < 0 ? status : twheel_dispatch(source->tw);

	(void)events;
	if (ret < 0)
		twheel_uv_fail(source, ret);
}

static inline void twheel_uv_flush(uv_prepare_t *prepare)
{
	struct twheel_uv *source = (struct twheel_uv *)prepare->data;
	int ret = twheel_timer_flush(source->tw);

	if (ret)
		twheel_uv_fail(source, ret);
}

/**
 * twheel_uv_attach() - call the functions of a context's timers from a loop
 * @failed: called with the -errno of twheel_dispatch() or twheel_timer_flush()
 *
 * After -ECANCELED, -ENOSPC, -EDQUOT and -ENOMEM the source goes on. Any other error would come
 * again in each round, so the source is stopped before @failed is told: detach it, there or later.
 *
 * The loop does not end before the source is detached; but see uv_unref() of its poll.
 *
 * Return: the source; or NULL with errno, which is EINVAL for a context with keys, as timer
 * objects are not for these.
 */
static inline struct twheel_uv *twheel_uv_attach(uv_loop_t *loop, struct twheel *tw,
						 void (*failed)(struct twheel *tw, int err))
{
	bool keyed = twheel_config_flags(tw) & TWHEEL_CONFIG_KEYED;
	int ret = keyed ? -EINVAL : twheel_timer_flush(tw);
	struct twheel_uv *source = NULL;

	if (!ret) {
		source = (struct twheel_uv *)malloc(sizeof(*source));
		ret = source ? uv_poll_init(loop, &source->poll, twheel_fd(tw)) : -ENOMEM;
	}
	if (ret) {
		free(source);
		errno = -ret;
		return NULL;
	}
	source->tw = tw;
	source->failed = failed;
	source->handles = 2;
	source->poll.data = source;
	source->prepare.data = source;
	uv_poll_start(&source->poll, UV_READABLE, twheel_uv_ready);
	uv_prepare_init(loop, &source->prepare);
	uv_prepare_start(&source->prepare, twheel_uv_flush);
	uv_unref((uv_handle_t *)&source->prepare);
	return source;
}

static inline void twheel_uv_closed(uv_handle_t *handle)
{
	struct twheel_uv *source = (struct twheel_uv *)handle->data;

	if (!--source->handles)
		free(source);
}

/**
 * twheel_uv_detach() - end it, from wherever; the loop frees @source at the end of this round
 *
 * Nothing of @tw is used from then on: the context may be closed at once. If the program has
 * closed the handles itself, as by uv_walk(), this does nothing: then free() the source when they
 * are closed.
 */
static inline void twheel_uv_detach(struct twheel_uv *source)
{
	/* Both at once: the descriptor may belong to another handle in the next round. */
	if (!uv_is_closing((uv_handle_t *)&source->poll)) {
		uv_close((uv_handle_t *)&source->poll, twheel_uv_closed);
		uv_close((uv_handle_t *)&source->prepare, twheel_uv_closed);
	}
}

#endif /* TWHEEL_UV_H */
