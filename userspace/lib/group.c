// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: groups of timer objects, which are cancelled together.
 *
 * Locking rules: as in loop.c.
 *
 * Lifetime rules: a timer is in one group at most, and leaves it when it is freed or the group is.
 * A group lives until it is freed, or as long as the loop.
 */
#include <errno.h>
#include <stdlib.h>

#include "loop.h"

TWHEEL_API int twheel_group_new(struct twheel_group **groupp, struct twheel *tw)
{
	struct twheel_group *group;
	int ret = twheel_loop_begin(tw);

	if (ret)
		return ret;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	group->tw = tw;
	group->link = &tw->loop->groups;
	group->next = *group->link;
	if (group->next)
		group->next->link = &group->next;
	*group->link = group;
	*groupp = group;
	return 0;
}

TWHEEL_API int twheel_timer_set_group(struct twheel_timer *timer, struct twheel_group *group)
{
	if (twheel_inherited(timer->tw))
		return -ECHILD;
	if (!timer->fn || (group && group->tw != timer->tw))
		return -EINVAL;
	twheel_group_leave(timer);
	if (!group)
		return 0;
	timer->group_next = group->first;
	timer->group_link = &group->first;
	if (timer->group_next)
		timer->group_next->group_link = &timer->group_next;
	group->first = timer;
	return 0;
}

TWHEEL_API int twheel_group_cancel(struct twheel_group *group)
{
	struct twheel_timer *timers[TWHEEL_CANCEL_MAX];
	struct twheel_timer *timer = group->first;
	ssize_t ret;
	size_t n;

	if (twheel_inherited(group->tw))
		return -ECHILD;
	twheel_queue_flush(group->tw);
	while (timer) {
		for (n = 0; timer && n < TWHEEL_CANCEL_MAX; timer = timer->group_next)
			if (timer->handle)
				timers[n++] = timer;
		ret = twheel_timers_cancel(group->tw, timers, n);
		if (ret != (ssize_t)n)
			return ret < 0 ? (int)ret : -EFAULT;
	}
	return 0;
}

TWHEEL_API void twheel_group_free(struct twheel_group *group)
{
	int ret;

	if (!group)
		return;
	/* In a child this fails, and leaves the parent's timers alone. */
	ret = twheel_group_cancel(group);
	while (group->first) {
		/* Even if the cancel has failed, their functions are not called. */
		if (ret != -ECHILD)
			twheel_timer_disarmed(group->first);
		twheel_group_leave(group->first);
	}
	*group->link = group->next;
	if (group->next)
		group->next->link = group->link;
	free(group);
}
