// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * heartbeat: the watching side. Expirations, and at the end the timers that are pending,
 * are checked against the books.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "duration.h"
#include "heartbeat.h"
#include "options.h"

/* Is @handle this driver's? The handles of leases without keys are not kept. */
static bool is_handle_of(const struct heartbeat *hb, uint32_t driver, uint64_t handle)
{
	uint64_t expected = heartbeat_handle(hb, driver);

	return handle == expected || (!expected && hb->config == TWHEEL_CONFIG_LEASE);
}

/* Checks a record, read at @now, against the books. */
static void judge(struct heartbeat *hb, const struct twheel_event *event, uint64_t now)
{
	struct driver *driver;
	const char *wrong = NULL;
	uint64_t expected = 0;
	uint64_t seen = 0;

	if (event->user_data >= hb->n) {
		heartbeat_complain(hb, event->user_data, "nobody's timer: drivers",
				   event->user_data, hb->n);
		hb->wrong++;
		return;
	}
	driver = &hb->drivers[event->user_data];
	if (driver->state != DRIVER_ONLINE && driver->state != DRIVER_LATE) {
		heartbeat_complain(hb, event->user_data, "declared again: deadline",
				   event->deadline, driver->deadline);
		hb->twice++;
		return;
	}

	if (!is_handle_of(hb, (uint32_t)event->user_data, event->handle)) {
		wrong = "another timer's record: handle";
		seen = event->handle;
		expected = heartbeat_handle(hb, (uint32_t)event->user_data);
	} else if (event->deadline != driver->deadline) {
		wrong = "a record of another arming: deadline";
		seen = event->deadline;
		expected = driver->deadline;
	} else if (event->expired < event->deadline || now < event->deadline) {
		wrong = "early: expired";
		seen = event->expired < now ? event->expired : now;
		expected = event->deadline;
	} else if (event->expirations != 1 || event->flags != TWHEEL_EVENT_LAST) {
		wrong = "not one last expiration: expirations";
		seen = event->expirations;
		expected = 1;
	}

	hb->silent_left -= driver->stop != NEVER;
	if (wrong) {
		driver->state = DRIVER_WRONG;
		hb->wrong++;
		heartbeat_complain(hb, event->user_data, wrong, seen, expected);
		return;
	}

	driver->state = DRIVER_OFFLINE;
	if (event->expired - event->deadline > hb->grace) {
		heartbeat_complain(hb, event->user_data, "expired too late: expired",
				   event->expired, event->deadline);
		hb->missed++;
		return;
	}
	hb->expired++;
	/* The driver's reports had not stopped: this program was too slow to take the next. */
	if (driver->stop == NEVER ||
	    event->expired < hb->start + driver->stop * NSEC_PER_MSEC)
		hb->late_reports++;
	lateness_add(&hb->by_expiry, event->expired - event->deadline);
	lateness_add(&hb->by_read, now - event->deadline);
}

bool heartbeat_watch(struct heartbeat *hb)
{
	unsigned int i;

	for (i = 0; i < BURST; i++) {
		ssize_t n = twheel_read(hb->tw, hb->events, hb->batch);
		uint64_t now = twheel_now(hb->tw);
		ssize_t k;

		hb->reads++;
		if (n == -EAGAIN)
			return false;
		if (n == -EINTR)
			continue;
		if (n < 0)
			die(EXIT_FAILED, "cannot read: %s", strerror((int)-n));
		for (k = 0; k < n; k++)
			judge(hb, &hb->events[k], now);
		if (n < (ssize_t)hb->batch)
			return false;
	}
	return true;
}

/* Checks a timer that was pending at the end, at @now, against the books. */
static void judge_pending(struct heartbeat *hb, const struct twheel_timer_info *info,
			  uint64_t now)
{
	struct driver *driver;

	if (info->user_data >= hb->n) {
		heartbeat_complain(hb, info->user_data, "nobody's timer was pending: drivers",
				   info->user_data, hb->n);
		hb->wrong++;
		return;
	}
	driver = &hb->drivers[info->user_data];
	if (driver->state != DRIVER_ONLINE) {
		heartbeat_complain(hb, info->user_data, "pending when it had ended: deadline",
				   info->deadline, driver->deadline);
		hb->twice++;
		return;
	}
	driver->state = DRIVER_DRAINED;
	if (!is_handle_of(hb, (uint32_t)info->user_data, info->handle) ||
	    info->deadline != driver->deadline) {
		heartbeat_complain(hb, info->user_data, "pending with another deadline",
				   info->deadline, driver->deadline);
		hb->wrong++;
	} else if (driver->deadline + hb->grace < now) {
		heartbeat_complain(hb, info->user_data, "still pending: at least",
				   now - driver->deadline, hb->grace);
		hb->missed++;
	}
}

static void drain(struct heartbeat *hb)
{
	uint64_t now = twheel_now(hb->tw);
	struct twheel_timer_info infos[256];
	uint64_t cursor = 0;

	for (;;) {
		ssize_t n = twheel_drain(hb->tw, &cursor, infos, 256);
		ssize_t k;

		hb->ioctls++;
		if (n == -EINTR)
			continue;
		if (n < 0)
			die(EXIT_FAILED, "cannot drain: %s", strerror((int)-n));
		if (!n)
			return;
		for (k = 0; k < n; k++)
			judge_pending(hb, &infos[k], now);
	}
}

void heartbeat_settle(struct heartbeat *hb)
{
	struct twheel_info info;
	uint32_t i;
	int ret;

	drain(hb);
	/* Read the records of timers that expired before they could be drained. */
	while (heartbeat_watch(hb))
		;

	for (i = 0; i < hb->n; i++) {
		if (hb->drivers[i].state == DRIVER_ONLINE ||
		    hb->drivers[i].state == DRIVER_LATE) {
			heartbeat_complain(hb, i, "its timer is lost: deadline",
					   hb->drivers[i].deadline, 0);
			hb->missed++;
		}
	}

	ret = twheel_get_info(hb->tw, 0, &info);
	hb->ioctls++;
	if (ret)
		die(EXIT_FAILED, "cannot get information: %s", strerror(-ret));
	if (info.pending || info.ready) {
		complain("%" PRIu64 " timers pending and %" PRIu64 " ready at the end",
			 (uint64_t)info.pending, (uint64_t)info.ready);
		hb->wrong += info.pending + info.ready;
	}
}
