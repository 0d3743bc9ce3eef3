/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A stand-in: of the numbers that are free the last one that was freed comes first. */
#ifndef SHIM_LINUX_IDR_H
#define SHIM_LINUX_IDR_H

#include <errno.h>
#include <stdlib.h>

#include <linux/types.h>

/**
 * struct ida - which numbers are taken
 * @freed: those that were, and are not any more
 * @nr_freed: how many
 * @room: how many @freed has room for: at least @next
 * @next: the lowest number that was never taken
 */
struct ida {
	u32	*freed;
	u32	nr_freed;
	u32	room;
	u32	next;
};

static inline void ida_init(struct ida *ida)
{
	*ida = (struct ida){ };
}

static inline void ida_destroy(struct ida *ida)
{
	free(ida->freed);
}

static inline int ida_alloc_max(struct ida *ida, u32 max, gfp_t gfp)
{
	(void)gfp;
	if (ida->nr_freed)
		return (int)ida->freed[--ida->nr_freed];
	if (ida->next > max)
		return -ENOSPC;
	if (ida->next == ida->room) {
		u32 room = ida->room ? 2 * ida->room : 8;
		/* None is freed now. */
		u32 *freed = malloc(room * sizeof(*freed)), *old = ida->freed;

		if (!freed)
			return -ENOMEM;
		/* A child that fork() makes meanwhile finds one of them. */
		ida->freed = freed;
		ida->room = room;
		free(old);
	}
	return (int)ida->next++;
}

static inline void ida_free(struct ida *ida, u32 number)
{
	ida->freed[ida->nr_freed++] = number;
}

#endif /* SHIM_LINUX_IDR_H */
