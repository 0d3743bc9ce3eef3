// SPDX-License-Identifier: GPL-2.0-only
/*
 * A context of which all that it holds is known, and can be checked.
 */
#include <stdint.h>

#include "faults.h"
#include "kselftest.h"
#include "world.h"

/* Calls of this file are made without faults: they do not fail. */
#define must(call) do { \
	int __ret = (call); \
	if (__ret < 0) \
		ksft_exit_fail_msg("%s: %s\n", #call, strerror(-__ret)); \
} while (0)

void world_open(struct world *w, __u32 clock, __u32 config)
{
	memset(w, 0, sizeof(*w));
	w->clock = clock;
	w->config = config;
	w->next = 1;
	w->fd = tw_open();
	must(w->fd);
	must(tw_configure(w->fd, clock, config));
}

struct twheel_arm world_request(struct world *w, __u64 delay)
{
	struct twheel_arm arm = tw_request(delay, 0, w->next++);

	if (w->config & TWHEEL_CONFIG_KEYED)
		arm.handle = arm.user_data * 1000;
	if (w->clock == CLOCK_REALTIME) {
		arm.expires = delay ? tw_now(w->clock) + delay : 0;
		arm.flags = TWHEEL_ARM_ABS;
	}
	return arm;
}

void world_add(struct world *w, __u64 delay, __u64 interval, __u32 flags)
{
	struct twheel_arm arm = world_request(w, delay);

	arm.interval = interval;
	arm.flags |= flags;
	must(tw_call(w->fd, TWHEEL_IOC_ARM, &arm));
	world_armed(w, arm.handle, arm.user_data);
}

static int find(const struct world *w, __u64 handle)
{
	int i;

	for (i = 0; i < w->nr; i++)
		if (w->timers[i].handle == handle)
			return i;
	return -1;
}

void world_armed(struct world *w, __u64 handle, __u64 user_data)
{
	struct twheel_timer_info info;
	int i = find(w, handle);
	int ret = tw_get(w->fd, handle, &info);

	if (ret || info.user_data != user_data) {
		fault_violation("timer %llx was armed: GET says %d, user data %llu for %llu",
				handle, ret, info.user_data, user_data);
		return;
	}
	if (i < 0)
		i = w->nr++;
	w->timers[i] = info;
}

void world_removed(struct world *w, int i)
{
	w->timers[i] = w->timers[--w->nr];
}

void world_unsure(struct world *w, int i, __u64 user_data)
{
	struct twheel_timer_info info;
	int ret = tw_get(w->fd, w->timers[i].handle, &info);

	if (ret == -ENOENT && !user_data)
		world_removed(w, i);
	else if (!ret && user_data && info.user_data == user_data)
		w->timers[i] = info;
}

/* Of @info, only the time that is left may have changed since. */
static bool unchanged(const struct twheel_timer_info *was, struct twheel_timer_info info)
{
	info.remaining = was->remaining;
	return !memcmp(was, &info, sizeof(info));
}

/* All of them, in as many calls as it takes: a signal ends one early. */
static int list_all(const struct world *w, struct twheel_timer_info *entries)
{
	struct twheel_list list = { .entries = (__u64)(uintptr_t)entries, .count = WORLD_MAX };
	int n = 0, ret;

	do {
		ret = tw_call(w->fd, TWHEEL_IOC_LIST, &list);
		if (ret > 0) {
			n += ret;
			list.entries += ret * sizeof(*entries);
			list.count -= ret;
		}
	} while ((ret > 0 && list.count) || ret == -EINTR);
	return ret < 0 ? ret : n;
}

static void check_list(const struct world *w, int pending, const char *what)
{
	static struct twheel_timer_info entries[WORLD_MAX];
	int n = list_all(w, entries), i;

	if (n != pending)
		fault_violation("%s: LIST finds %d timers, not %d", what, n, pending);
	for (i = 0; i < n; i++) {
		int k = find(w, entries[i].handle);

		if (k < 0 || !unchanged(&w->timers[k], entries[i]))
			fault_violation("%s: LIST finds an odd timer %llx", what,
					entries[i].handle);
	}
}

void world_check(struct world *w, const char *what)
{
	struct twheel_info info = tw_info(w->fd);
	struct twheel_timer_info now;
	int i, ret, pending = 0;

	for (i = 0; i < w->nr; i++) {
		pending += w->timers[i].state == TWHEEL_STATE_PENDING;
		ret = tw_get(w->fd, w->timers[i].handle, &now);
		if (ret || !unchanged(&w->timers[i], now))
			fault_violation("%s: timer %llx, user data %llu, has changed (%d)", what,
					w->timers[i].handle, w->timers[i].user_data, ret);
	}
	if (info.pending != pending || info.ready != w->nr - pending ||
	    info.user_timers != w->nr)
		fault_violation("%s: %llu pending, %llu ready, %llu of the user, not %d, %d, %d",
				what, info.pending, info.ready, info.user_timers, pending,
				w->nr - pending, w->nr);
	check_list(w, pending, what);
}

void world_events(struct world *w, const struct twheel_event *events, ssize_t bytes)
{
	struct twheel_timer_info info;
	int n = bytes / (int)sizeof(*events), i, k;

	for (i = 0; i < n; i++) {
		k = find(w, events[i].handle);
		if (k < 0 || w->timers[k].user_data != events[i].user_data ||
		    events[i].expirations < 1 || events[i].deadline > events[i].expired) {
			fault_violation("a record of timer %llx, user data %llu, out of place",
					events[i].handle, events[i].user_data);
			continue;
		}
		if (w->nr_read < WORLD_MAX)
			w->read[w->nr_read++] = events[i].user_data;
		if (events[i].flags & TWHEEL_EVENT_LAST)
			world_removed(w, k);
		else if (!tw_get(w->fd, events[i].handle, &info))
			w->timers[k] = info;
	}
}

/* One shot from now on, and soon. */
static void hasten(const struct world *w, const struct twheel_timer_info *timer)
{
	__u64 expires = tw_now(w->clock) + TW_MSEC;
	struct twheel_arm arm = tw_request(expires, TWHEEL_ARM_ABS, timer->user_data);

	arm.handle = timer->handle;
	arm.flags |= timer->flags & TWHEEL_ARM_LEASE;
	must(tw_call(w->fd, TWHEEL_IOC_ARM, &arm));
}

void world_finish(struct world *w, const char *what)
{
	static struct twheel_event events[WORLD_MAX];
	int i, n, want = w->nr;

	for (i = 0; i < want; i++)
		hasten(w, &w->timers[i]);
	n = tw_collect(w->fd, events, want);
	world_events(w, events, n * sizeof(*events));
	if (n != want || w->nr)
		fault_violation("%s: of %d timers %d were delivered, %d are left", what, want, n,
				w->nr);
	world_check(w, what);
	close(w->fd);
}
