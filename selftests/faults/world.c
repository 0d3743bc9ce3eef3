// SPDX-License-Identifier: GPL-2.0-only
/*
 * A context of which all that it holds is known, and can be checked.
 */
#include <stdint.h>

#include "kselftest.h"
#include "world.h"

/* Calls of this file are made without faults: they do not fail. */
#define must(call) do { \
	int __ret = (call); \
	if (__ret < 0) \
		ksft_exit_fail_msg("%s: %s\n", #call, strerror(-__ret)); \
} while (0)

void world_begin(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->fd = -1;
	w->next = 1;
	oracle_begin(&w->ctx, w->known, WORLD_HANDLES);
	w->ctx.exact = true;
}

void world_opened(struct world *w, int fd)
{
	w->fd = fd;
	w->ctx.tick_ns = tw_info(fd).tick_ns;
}

void world_open(struct world *w, __u32 clock, __u32 config)
{
	int fd = tw_open();

	must(fd);
	must(tw_configure(fd, clock, config));
	world_begin(w);
	world_opened(w, fd);
	w->ctx.clock = clock;
	w->ctx.config = config;
}

struct twheel_arm world_request(struct world *w, __u64 delay)
{
	struct twheel_arm arm = tw_request(delay, 0, w->next++);

	if (w->ctx.config & TWHEEL_CONFIG_KEYED)
		arm.handle = arm.user_data * 1000;
	if (w->ctx.clock == CLOCK_REALTIME) {
		arm.expires = delay ? tw_now(w->ctx.clock) + delay : 0;
		arm.flags = TWHEEL_ARM_ABS;
	}
	return arm;
}

static void must_arm(struct world *w, struct twheel_arm *arm)
{
	struct twheel_arm sent = *arm;

	must(tw_call(w->fd, TWHEEL_IOC_ARM, arm));
	oracle_armed(&w->ctx, &sent, arm);
}

void world_add(struct world *w, __u64 delay, __u64 interval, __u32 flags)
{
	struct twheel_arm arm = world_request(w, delay);

	arm.interval = interval;
	arm.flags |= flags;
	must_arm(w, &arm);
	world_armed(w, arm.handle, arm.user_data);
}

int world_find(const struct world *w, __u64 handle)
{
	int i;

	for (i = 0; i < w->nr; i++)
		if (w->timers[i].handle == handle)
			return i;
	return -1;
}

void world_armed(struct world *w, __u64 handle, __u64 user_data)
{
	int i = world_find(w, handle), ret;
	struct twheel_timer_info info;

	oracle_turned_out(&w->ctx, handle, user_data, true);
	ret = tw_get(w->fd, handle, &info);
	if (ret) {
		violation("timer %llx was armed, and GET says %d", handle, ret);
		return;
	}
	oracle_told(&w->ctx, &info, false, false);
	if (i < 0)
		i = w->nr++;
	w->timers[i] = info;
}

void world_removed(struct world *w, int i)
{
	oracle_turned_out(&w->ctx, w->timers[i].handle, w->timers[i].user_data, false);
	w->timers[i] = w->timers[--w->nr];
}

/* Is @info as it was? Only the time that is left may have changed. */
static bool unchanged(const struct twheel_timer_info *was, struct twheel_timer_info info)
{
	info.remaining = was->remaining;
	return !memcmp(was, &info, sizeof(info));
}

/* List all timers, in as many calls as it takes: a signal ends one early. */
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

static void check_list(struct world *w, int pending)
{
	static struct twheel_timer_info entries[WORLD_MAX];
	int n = list_all(w, entries), i, k;

	if (n != pending)
		violation("LIST finds %d timers, not %d", n, pending);
	for (i = 0; i < n; i++) {
		oracle_told(&w->ctx, &entries[i], true, false);
		k = world_find(w, entries[i].handle);
		if (k < 0 || !unchanged(&w->timers[k], entries[i]))
			violation("LIST finds timer %llx, which has changed", entries[i].handle);
	}
}

void world_check(struct world *w)
{
	struct twheel_info info = tw_info(w->fd);
	struct twheel_timer_info now;
	int i, ret, pending = 0;

	for (i = 0; i < w->nr; i++) {
		pending += w->timers[i].state == TWHEEL_STATE_PENDING;
		ret = tw_get(w->fd, w->timers[i].handle, &now);
		if (!ret)
			oracle_told(&w->ctx, &now, false, false);
		if (ret || !unchanged(&w->timers[i], now))
			violation("timer %llx, user data %llu, has changed (%d)",
				  w->timers[i].handle, w->timers[i].user_data, ret);
	}
	oracle_info(&w->ctx, &info, true);
	if (info.pending != pending || info.ready != w->nr - pending ||
	    info.user_timers != w->nr)
		violation("%llu pending, %llu ready, %llu of the user, not %d, %d, %d",
			  info.pending, info.ready, info.user_timers, pending,
			  w->nr - pending, w->nr);
	check_list(w, pending);
}

void world_events(struct world *w, const struct twheel_event *events, ssize_t bytes)
{
	int n = bytes / (int)sizeof(*events), i, k;

	for (i = 0; i < n; i++) {
		oracle_read(&w->ctx, &events[i]);
		k = world_find(w, events[i].handle);
		if (k < 0)
			continue;
		if (events[i].flags & TWHEEL_EVENT_LAST)
			world_removed(w, k);
		else
			world_armed(w, events[i].handle, events[i].user_data);
	}
}

/* Make a timer expire soon, for the last time. */
static void hasten(struct world *w, const struct twheel_timer_info *timer)
{
	__u64 expires = tw_now(w->ctx.clock) + TW_MSEC;
	struct twheel_arm arm = tw_request_for(timer->handle, expires, TWHEEL_ARM_ABS,
					       timer->user_data);

	arm.flags |= timer->flags & TWHEEL_ARM_LEASE;
	must_arm(w, &arm);
}

void world_finish(struct world *w)
{
	static struct twheel_event events[WORLD_MAX];
	int i, n, want = w->nr;

	for (i = 0; i < want; i++)
		hasten(w, &w->timers[i]);
	n = tw_collect(w->fd, events, want);
	world_events(w, events, n * sizeof(*events));
	if (n != want || w->nr)
		violation("of %d timers %d were delivered, %d are left", want, n, w->nr);
	world_check(w);
	close(w->fd);
}
