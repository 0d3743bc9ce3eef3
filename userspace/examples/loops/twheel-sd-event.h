/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A twheel context in a loop of sd-event. Copy this file into your program.
 *
 * Open the context with TWHEEL_OPEN_NONBLOCK. Release the source before you close it.
 */
#ifndef TWHEEL_SD_EVENT_H
#define TWHEEL_SD_EVENT_H

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <twheel.h>

static inline int twheel_sd_event_ready(sd_event_source *source, int fd, uint32_t events,
					void *tw)
{
	int ret = twheel_dispatch((struct twheel *)tw);

	(void)fd;
	(void)events;
	if (ret < 0 && ret != -EINTR)
		return sd_event_exit(sd_event_source_get_event(source), ret);
	return 0;
}

static inline int twheel_sd_event_flush(sd_event_source *source, void *tw)
{
	int ret = twheel_timer_flush((struct twheel *)tw);

	return ret ? sd_event_exit(sd_event_source_get_event(source), ret) : 0;
}

/**
 * twheel_sd_event_attach() - call the functions of a context's timers from a loop
 * @source: where the source is stored
 *
 * If twheel_dispatch() or twheel_timer_flush() fails, sd_event_loop() returns that -errno.
 * To detach it call sd_event_source_disable_unref(), from wherever. The context may be closed at
 * once.
 *
 * The source comes before those of normal priority. Otherwise, as sd-event calls one source
 * a round, 256 timers at most would expire for each turn of all else that is ready.
 *
 * Return: 0 or more; or -errno, which is -EINVAL for a context with keys, as timer objects are not
 * for these.
 */
static inline int twheel_sd_event_attach(sd_event *loop, sd_event_source **source,
					 struct twheel *tw)
{
	bool keyed = twheel_config_flags(tw) & TWHEEL_CONFIG_KEYED;
	int ret = keyed ? -EINVAL : twheel_timer_flush(tw);

	if (!ret)
		ret = sd_event_add_io(loop, source, twheel_fd(tw), EPOLLIN,
				      twheel_sd_event_ready, tw);
	if (ret < 0)
		return ret;
	sd_event_source_set_description(*source, "twheel");
	sd_event_source_set_priority(*source, SD_EVENT_PRIORITY_IMPORTANT);
	ret = sd_event_source_set_prepare(*source, twheel_sd_event_flush);
	if (ret < 0)
		*source = sd_event_source_disable_unref(*source);
	return ret;
}

#endif /* TWHEEL_SD_EVENT_H */
