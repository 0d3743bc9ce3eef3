/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel as a host: what core/host.h says that a host has. */
#ifndef TWHEEL_LINUX_HOST_H
#define TWHEEL_LINUX_HOST_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/poll.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "compat.h"
#include "counters.h"
#include "program.h"
#include "quota.h"
#include "trace.h"

/**
 * struct twheel_waiters - those who wait for a context
 * @readers:	readers; they wait exclusively, as a record goes to one of them
 * @pollers:	poll, epoll and io_uring
 * @entry:	from twheel_clock_watch() to twheel_clock_unwatch(); of clock.c
 */
struct twheel_waiters {
	wait_queue_head_t	readers;
	wait_queue_head_t	pollers;
	struct list_head	entry;
};

static inline void twheel_waiters_init(struct twheel_waiters *waiters)
{
	init_waitqueue_head(&waiters->readers);
	init_waitqueue_head(&waiters->pollers);
}

static inline void twheel_waiters_wake(struct twheel_waiters *waiters)
{
	wake_up_interruptible_poll(&waiters->pollers, EPOLLIN | EPOLLRDNORM);
	wake_up_interruptible(&waiters->readers);
}

/* Words in a page. */
#define TWHEEL_PAGE_WORDS	(PAGE_SIZE / sizeof(u64))

/**
 * struct twheel_words - the words of one context, in pages that the kernel and programs share
 * @pages:	by index, as programs map them. They live as long as this
 * @quota:	where the pages are counted; constant
 */
struct twheel_words {
	struct xarray		pages;
	struct twheel_quota	*quota;
};

#endif /* TWHEEL_LINUX_HOST_H */
