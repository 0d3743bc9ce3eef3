// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: reading events, and buffers of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

/* The most events that one read() returns: the kernel limits it to 0x7ffff000 bytes. */
#define TWHEEL_READ_MAX		(0x7ffff000 / sizeof(struct twheel_event))

TWHEEL_API ssize_t twheel_read(struct twheel *tw, struct twheel_event *events,
			       size_t n)
{
	ssize_t ret;

	/* A read() of no bytes need not reach the device, so it is refused here. */
	if (!n)
		return -EINVAL;
	if (n > TWHEEL_READ_MAX)
		n = TWHEEL_READ_MAX;
	ret = tw->backend->read(tw, events, n * sizeof(*events));
	return ret < 0 ? ret : ret / (ssize_t)sizeof(*events);
}

/**
 * struct twheel_event_buffer - events that were read and not handled yet
 * @capacity: length of @events
 * @next: index in @events of the next event to take out
 * @filled: how many of @events were read
 * @events: the events
 */
struct twheel_event_buffer {
	size_t			capacity;
	size_t			next;
	size_t			filled;
	struct twheel_event	events[];
};

TWHEEL_API int twheel_event_buffer_new(struct twheel_event_buffer **bufp,
				       size_t capacity)
{
	struct twheel_event_buffer *buf;

	if (!capacity)
		return -EINVAL;
	if (capacity > TWHEEL_READ_MAX)
		return -ENOMEM;

	buf = malloc(sizeof(*buf) + capacity * sizeof(buf->events[0]));
	if (!buf)
		return -ENOMEM;
	buf->capacity = capacity;
	buf->next = 0;
	buf->filled = 0;
	*bufp = buf;
	return 0;
}

TWHEEL_API void twheel_event_buffer_free(struct twheel_event_buffer *buf)
{
	free(buf);
}

TWHEEL_API ssize_t twheel_event_buffer_fill(struct twheel_event_buffer *buf,
					    struct twheel *tw)
{
	if (buf->next == buf->filled) {
		ssize_t ret = twheel_read(tw, buf->events, buf->capacity);

		if (ret < 0)
			return ret;
		buf->next = 0;
		buf->filled = (size_t)ret;
	}
	return (ssize_t)(buf->filled - buf->next);
}

TWHEEL_API const struct twheel_event *
twheel_event_buffer_next(struct twheel_event_buffer *buf)
{
	if (buf->next == buf->filled)
		return NULL;
	return &buf->events[buf->next++];
}
