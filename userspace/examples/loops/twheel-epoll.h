/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A twheel context in a loop of plain epoll. Copy this file into your program.
 *
 * Open the context with TWHEEL_OPEN_NONBLOCK. Detach it before you close it.
 */
#ifndef TWHEEL_EPOLL_H
#define TWHEEL_EPOLL_H

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <twheel.h>

/**
 * twheel_epoll_attach() - have epoll wait for the timers of a context
 * @epoll: as of epoll_create1()
 * @tw: the context; the data.ptr of its event is this address
 *
 * Return: 0 or -errno, which is -EINVAL for a context with keys, as timer objects are not for
 * these.
 */
static inline int twheel_epoll_attach(int epoll, struct twheel *tw)
{
	struct epoll_event event = { EPOLLIN, { tw } };
	bool keyed = twheel_config_flags(tw) & TWHEEL_CONFIG_KEYED;
	int ret = keyed ? -EINVAL : twheel_timer_flush(tw);

	return !ret && epoll_ctl(epoll, EPOLL_CTL_ADD, twheel_fd(tw), &event) ? -errno : ret;
}

/**
 * twheel_epoll_wait() - epoll_wait() that puts the event of the timers last
 * @tw: the context, or NULL
 *
 * When an event's data.ptr is @tw, call twheel_dispatch(). As it comes last, what a timer's
 * function closes and frees has no other event left in @events. If a function leaves it by an
 * exception or longjmp(), call it again.
 *
 * After -ECANCELED, -ENOSPC, -EDQUOT and -ENOMEM of either call go on. Any other error would come
 * again at once, in each round.
 *
 * Return: the number of events, or -errno, which may be that of twheel_timer_flush().
 */
static inline int twheel_epoll_wait(int epoll, struct twheel *tw, struct epoll_event *events,
				    int max, int timeout)
{
	int i, n = tw ? twheel_timer_flush(tw) : 0;

	if (n)
		return n;
	n = epoll_wait(epoll, events, max, timeout);
	for (i = 0; i < n; i++) {
		if (events[i].data.ptr == tw) {
			struct epoll_event last = events[n - 1];

			events[n - 1] = events[i];
			events[i] = last;
			break;
		}
	}
	return n < 0 ? -errno : n;
}

/**
 * twheel_epoll_detach() - the opposite of twheel_epoll_attach()
 *
 * The context may be closed at once. That of a timer's function is the last event of its round.
 * From any other one the event of @tw may still be in the array that twheel_epoll_wait() has
 * filled in: leave that out. In a child after a fork the epoll is the parent's, too: there close
 * the context without this.
 */
static inline void twheel_epoll_detach(int epoll, struct twheel *tw)
{
	epoll_ctl(epoll, EPOLL_CTL_DEL, twheel_fd(tw), NULL);
}

#endif /* TWHEEL_EPOLL_H */
