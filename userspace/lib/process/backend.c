// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the library sees of an embedded context.
 *
 * After a fork parent and child have the same descriptors, but a wheel each. So only the process
 * that made the context may use it, or a child that has taken it over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

#include "../internal.h"
#include "calls.h"
#include "stats.h"

static int embedded_ioctl(const struct twheel *tw, unsigned long request, void *arg)
{
	return twheel_inherited(tw) ? -ECHILD : twheel_emb_ioctl(tw->emb, request, arg);
}

static ssize_t embedded_read(const struct twheel *tw, void *buf, size_t size, bool wait)
{
	return twheel_inherited(tw) ? -ECHILD : twheel_emb_read(tw->emb, buf, size, wait);
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

/* From now on the library does not read the clock either. */
static void keep_now(struct twheel *tw)
{
	__atomic_store_n(&tw->now, twheel_emb_now(tw->emb), __ATOMIC_RELEASE);
}

static int embedded_set_now(struct twheel *tw, uint64_t ns)
{
	if (twheel_inherited(tw))
		return -ECHILD;
	/* What is queued has taken effect, to the program, by the time of then. */
	twheel_queue_flush(tw);
	twheel_emb_set_now(tw->emb, ns);
	keep_now(tw);
	return 0;
}

static int embedded_update_now(struct twheel *tw)
{
	if (twheel_inherited(tw))
		return -ECHILD;
	if (__atomic_load_n(&tw->now, __ATOMIC_RELAXED))
		twheel_emb_update_now(tw->emb);
	return 0;
}

/* The core counts by its enums. */
#define COUNTED(field, index) \
	_Static_assert(offsetof(struct twheel_counters, field) == (index) * sizeof(uint64_t), "")
#define DISTRIBUTED(field, index) \
	COUNTED(field, TWHEEL_NR_COUNTERS + (index) * TWHEEL_BUCKETS)
COUNTED(armed, TWHEEL_COUNT_ARMED);
COUNTED(rearmed, TWHEEL_COUNT_REARMED);
COUNTED(cancelled, TWHEEL_COUNT_CANCELLED);
COUNTED(expired, TWHEEL_COUNT_EXPIRED);
COUNTED(read, TWHEEL_COUNT_READ);
COUNTED(cascaded, TWHEEL_COUNT_CASCADED);
COUNTED(migrated, TWHEEL_COUNT_MIGRATED);
COUNTED(turns, TWHEEL_COUNT_INTERRUPTS);
DISTRIBUTED(lateness, TWHEEL_HIST_LATENESS);
DISTRIBUTED(expired_a_turn, TWHEEL_HIST_EXPIRED);
DISTRIBUTED(read_a_call, TWHEEL_HIST_READ);
_Static_assert(sizeof(struct twheel_counters) == TWHEEL_SHARE_COUNTS * sizeof(uint64_t), "");

static int embedded_stats(const struct twheel *tw, struct twheel_counters *counters)
{
	if (twheel_inherited(tw))
		return -ECHILD;
	twheel_emb_stats(tw->emb, (uint64_t *)counters);
	return 0;
}

static bool embedded_take_over(struct twheel *tw)
{
	return twheel_emb_take_over(tw->emb);
}

static void embedded_close(struct twheel *tw)
{
	twheel_emb_destroy(tw->emb, twheel_inherited(tw));
}

static const struct twheel_backend twheel_embedded = {
	.ioctl		= embedded_ioctl,
	.read		= embedded_read,
	.write		= embedded_write,
	.map		= embedded_map,
	.unmap		= embedded_unmap,
	.set_now	= embedded_set_now,
	.update_now	= embedded_update_now,
	.stats		= embedded_stats,
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
	if (flags & TWHEEL_OPEN_THREADS)
		return twheel_shards_open(tw, oflags);
	tw->backend = &twheel_embedded;
	tw->fd = twheel_emb_new(&tw->emb, oflags, flags & TWHEEL_OPEN_CACHE_NOW, NULL);
	if (tw->fd < 0)
		return tw->fd;
	if (flags & TWHEEL_OPEN_CACHE_NOW)
		keep_now(tw);
	return 0;
}
