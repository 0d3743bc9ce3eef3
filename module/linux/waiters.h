/* SPDX-License-Identifier: GPL-2.0-only */
/* Those who wait for a context. */
#ifndef TWHEEL_WAITERS_H
#define TWHEEL_WAITERS_H

#include <linux/poll.h>
#include <linux/wait.h>

/**
 * struct twheel_waiters - those who wait for a context
 * @readers:	readers; they wait exclusively, as a record goes to one of them
 * @pollers:	poll, epoll and io_uring
 */
struct twheel_waiters {
	wait_queue_head_t	readers;
	wait_queue_head_t	pollers;
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

#endif /* TWHEEL_WAITERS_H */
