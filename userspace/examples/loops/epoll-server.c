// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The echo server in a loop of plain epoll.
 */
#include <sys/epoll.h>
#include <unistd.h>

#include "server.h"
#include "twheel-epoll.h"

const bool loop_flushes = true;
static struct twheel *timers;
static bool stopped;
static int epoll;

int loop_open(void)
{
	epoll = epoll_create1(EPOLL_CLOEXEC);
	return epoll < 0 ? -errno : 0;
}

int loop_attach(struct twheel *tw)
{
	int ret = twheel_epoll_attach(epoll, tw);

	if (!ret)
		timers = tw;
	return ret;
}

void loop_detach(void)
{
	twheel_epoll_detach(epoll, timers);
	timers = NULL;
}

int loop_watch(struct watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, watch->fd, &event) ? -errno : 0;
}

/* A watch ends itself, or a timer does that, which comes last: no event of it is left. */
void loop_unwatch(struct watch *watch)
{
	epoll_ctl(epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->gone(watch);
}

int loop_run(void)
{
	struct epoll_event events[256];
	int i, n, ret = 0;

	while (!stopped && (ret >= 0 || ret == -EINTR)) {
		struct twheel *tw = timers;

		n = twheel_epoll_wait(epoll, tw, events, 256, -1);
		ret = n;
		for (i = 0; i < n; i++) {
			struct watch *watch = events[i].data.ptr;

			if (events[i].data.ptr != tw)
				watch->ready(watch);
			else if (tw == timers)
				ret = twheel_dispatch(tw);
			/* Otherwise a watch has detached it in this round. */
		}
	}
	return ret < 0 && ret != -EINTR ? ret : 0;
}

void loop_stop(void)
{
	stopped = true;
}

void loop_close(void)
{
	close(epoll);
}
