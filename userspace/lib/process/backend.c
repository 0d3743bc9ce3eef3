// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the library sees of an embedded context.
 *
 * After a fork parent and child have the same descriptors, but a wheel each. So only the process
 * that made the context may use it, or a child that has taken it over.
 */
#include <errno.h>
#include <fcntl.h>

#include "../internal.h"
#include "calls.h"

static int embedded_ioctl(const struct twheel *tw, unsigned long request, void *arg)
{
	return twheel_inherited(tw) ? -ECHILD : twheel_emb_ioctl(tw->emb, request, arg);
}

static ssize_t embedded_read(const struct twheel *tw, void *buf, size_t size)
{
	return twheel_inherited(tw) ? -ECHILD : twheel_emb_read(tw->emb, buf, size);
}

static ssize_t embedded_write(const struct twheel *tw, const void *buf, size_t size)
{
	return twheel_inherited(tw) ? -ECHILD : twheel_emb_write(tw->emb, buf, size);
}

static int embedded_map(const struct twheel *tw, uint32_t segment, uint64_t **words)
{
	return twheel_inherited(tw) ? -ECHILD : twheel_emb_map(tw->emb, segment, words);
}

/* They go with the context. */
static void embedded_unmap(uint64_t *words)
{
	(void)words;
}

static int embedded_set_now(struct twheel *tw, uint64_t ns)
{
	if (twheel_inherited(tw))
		return -ECHILD;
	twheel_emb_set_now(tw->emb, ns);
	return 0;
}

static void embedded_take_over(struct twheel *tw)
{
	twheel_emb_take_over(tw->emb);
}

static void embedded_close(struct twheel *tw)
{
	twheel_emb_destroy(tw->emb);
}

static const struct twheel_backend twheel_embedded = {
	.ioctl		= embedded_ioctl,
	.read		= embedded_read,
	.write		= embedded_write,
	.map		= embedded_map,
	.unmap		= embedded_unmap,
	.set_now	= embedded_set_now,
	.take_over	= embedded_take_over,
	.close		= embedded_close,
};

int twheel_embedded_open(struct twheel *tw, unsigned int flags)
{
	int oflags = 0;

	if (flags & TWHEEL_OPEN_NONBLOCK)
		oflags |= O_NONBLOCK;
	if (flags & TWHEEL_OPEN_CLOEXEC)
		oflags |= O_CLOEXEC;
	tw->backend = &twheel_embedded;
	tw->fd = twheel_emb_new(&tw->emb, oflags);
	return tw->fd < 0 ? tw->fd : 0;
}
