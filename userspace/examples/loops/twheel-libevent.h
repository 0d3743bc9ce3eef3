/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A twheel context in a loop of libevent. Copy this file into your program.
 *
 * Open the context with TWHEEL_OPEN_NONBLOCK. Detach it before you close it or free the loop.
 */
#ifndef TWHEEL_LIBEVENT_H
#define TWHEEL_LIBEVENT_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <event2/event.h>
#include <twheel.h>

/** struct twheel_libevent - a context as a source of a loop; @event may get a priority */
struct twheel_libevent {
	/* NULL: it was detached by a function that is being called. */
	struct event	*event;
	struct twheel	*tw;
	void		(*failed)(struct twheel *tw, int err);
	bool		dispatching;
};

/** twheel_libevent_detach() - end it, from wherever; the context may be closed at once */
static inline void twheel_libevent_detach(struct twheel_libevent *source)
{
	if (source->event)
		event_free(source->event);
	source->event = NULL;
	if (!source->dispatching)
		free(source);
}

static inline void twheel_libevent_ready(evutil_socket_t fd, short what, void *arg)
{
	struct twheel_libevent *source = (struct twheel_libevent *)arg;
	int ret;

	(void)fd;
	(void)what;
	source->dispatching = true;
	ret = twheel_dispatch(source->tw);
	source->dispatching = false;
	if (!source->event) {
		free(source);
	} else if (ret < 0 && ret != -EINTR) {
		if (ret != -ECANCELED && ret != -ENOSPC && ret != -EDQUOT && ret != -ENOMEM)
			event_del(source->event);
		source->failed(source->tw, ret);
	}
}

/**
 * twheel_libevent_attach() - call the functions of a context's timers from a loop
 * @failed: called with the -errno of twheel_dispatch()
 *
 * After -ECANCELED, -ENOSPC, -EDQUOT and -ENOMEM the source goes on. Any other error would come
 * again in each round, so the source is stopped before @failed is told: detach it, there or later.
 *
 * libevent 2.1 calls nothing before it waits: if you use twheel_timer_defer(), call
 * twheel_timer_flush() at the end of every callback that touches a timer.
 *
 * Return: the source; or NULL with errno, which is EINVAL for a context with keys, as timer
 * objects are not for these.
 */
static inline struct twheel_libevent *
twheel_libevent_attach(struct event_base *base, struct twheel *tw,
		       void (*failed)(struct twheel *tw, int err))
{
	bool keyed = twheel_config_flags(tw) & TWHEEL_CONFIG_KEYED;
	int ret = keyed ? -EINVAL : twheel_timer_flush(tw);
	struct twheel_libevent *source;

	errno = -ret;
	source = ret ? NULL : (struct twheel_libevent *)calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	source->tw = tw;
	source->failed = failed;
	source->event = event_new(base, twheel_fd(tw), EV_READ | EV_PERSIST,
				  twheel_libevent_ready, source);
	if (source->event && !event_add(source->event, NULL))
		return source;
	twheel_libevent_detach(source);
	errno = ENOMEM;
	return NULL;
}

#endif /* TWHEEL_LIBEVENT_H */
