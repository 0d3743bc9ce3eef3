// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * heartbeat: the reporting side. Drivers are registered, and their reports push their
 * timers back.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "duration.h"
#include "heartbeat.h"
#include "options.h"

/* The memory of fewer timers cannot be told from what else the kernel allocates. */
#define MEASURABLE	50000

static void send_batch(struct heartbeat *hb, uint32_t count)
{
	ssize_t ret = twheel_arm_batch(hb->tw, hb->arms, count);

	hb->ioctls++;
	if (ret != (ssize_t)count)
		die(EXIT_FAILED, "cannot arm: %s", strerror(ret < 0 ? (int)-ret : EFAULT));
}

/*
 * The deadline of a timer that is armed or pushed back at @now. The deadline of a lease is in
 * units: with whole ones a record has exactly what was asked for.
 */
static uint64_t deadline_from(const struct heartbeat *hb, uint64_t now)
{
	uint64_t unit = 1 << TWHEEL_LEASE_UNIT_SHIFT;

	return (now + hb->timeout + unit - 1) & -unit;
}

static void prepare(struct heartbeat *hb, uint32_t count, uint32_t driver, uint64_t now)
{
	hb->who[count] = driver;
	hb->arms[count] = (struct twheel_arm){
		.handle = heartbeat_handle(hb, driver),
		.user_data = driver,
		.expires = deadline_from(hb, now),
		.flags = TWHEEL_ARM_ABS | (hb->leases ? TWHEEL_ARM_LEASE : 0),
	};
}

static uint32_t next_driver(struct heartbeat *hb)
{
	uint32_t driver = hb->cursor;
	uint64_t next = (uint64_t)driver + hb->stride;

	hb->cursor = (uint32_t)(next < hb->n ? next : next - hb->n);
	return driver;
}

/* Keep the handle or the lease by which the timer of a new driver is pushed back. */
static void keep(struct heartbeat *hb, uint32_t driver, const struct twheel_arm *arm)
{
	int ret;

	if (hb->handles)
		hb->handles[driver] = arm->handle;
	if (!hb->leases)
		return;
	ret = twheel_lease_at(hb->tw, arm->word, arm->tag, &hb->leases[driver]);
	if (ret)
		die(EXIT_FAILED, "cannot map the word of a lease: %s", strerror(-ret));
}

void heartbeat_register(struct heartbeat *hb)
{
	uint64_t begin = twheel_now(hb->tw);
	struct usage usage;

	usage_read(&usage);
	hb->shown = begin;
	while (hb->armed < hb->n && !heartbeat_interrupted) {
		uint64_t left = hb->n - hb->armed;
		uint32_t count = left < hb->batch ? (uint32_t)left : hb->batch;
		uint64_t now = twheel_now(hb->tw);
		uint32_t i;

		for (i = 0; i < count; i++)
			prepare(hb, i, next_driver(hb), now);
		send_batch(hb, count);
		for (i = 0; i < count; i++) {
			struct driver *driver = &hb->drivers[hb->who[i]];

			if (hb->arms[i].result)
				die(EXIT_FAILED, "cannot arm timer %" PRIu64 ": %s",
				    hb->armed + i + 1, strerror(-hb->arms[i].result));
			keep(hb, hb->who[i], &hb->arms[i]);
			driver->deadline = hb->arms[i].expires;
			driver->state = DRIVER_ONLINE;
		}
		hb->armed += count;
		heartbeat_show(hb, now);
	}
	hb->arm_time = twheel_now(hb->tw) - begin;

	usage_since(&usage);
	hb->kernel_bytes = -1;
	if (usage.taken && hb->armed >= MEASURABLE)
		hb->kernel_bytes = (double)(usage.taken - usage.own) / (double)hb->armed;
}

/* A driver reported at @now, and its timer was pushed back. */
static void pushed_back(struct heartbeat *hb, uint32_t index, uint64_t now)
{
	struct driver *driver = &hb->drivers[index];

	driver->deadline = deadline_from(hb, now);
	hb->pushed++;
}

/* A driver's timer was pending at @now. Should it have expired long before? */
static void check_pending(struct heartbeat *hb, uint32_t index, uint64_t now)
{
	const struct driver *driver = &hb->drivers[index];

	if (driver->deadline + hb->grace < now) {
		heartbeat_complain(hb, index, "pending long after its deadline: now",
				   now, driver->deadline);
		hb->missed++;
	}
}

/* A driver's timer was gone before its deadline, and no record had said so. */
static void vanished(struct heartbeat *hb, uint32_t index, const char *what,
		     uint64_t seen, uint64_t expected)
{
	struct driver *driver = &hb->drivers[index];

	driver->state = DRIVER_WRONG;
	hb->silent_left -= driver->stop != NEVER;
	hb->wrong++;
	heartbeat_complain(hb, index, what, seen, expected);
}

/* Carry out the reports of the @count drivers in @who, by re-arming their timers. */
static void rearm_timers(struct heartbeat *hb, uint32_t count, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		prepare(hb, i, hb->who[i], now);
	send_batch(hb, count);
	hb->rearms++;

	for (i = 0; i < count; i++) {
		const struct twheel_arm *arm = &hb->arms[i];

		/* With keys a timer that is gone is made anew. */
		if (arm->result || arm->old_state == TWHEEL_STATE_NONE) {
			vanished(hb, hb->who[i], "no timer when it reported: result",
				 (uint64_t)-arm->result, 0);
			continue;
		}
		if (arm->old_state == TWHEEL_STATE_PENDING)
			check_pending(hb, hb->who[i], now);
		else
			hb->withdrawn++;
		pushed_back(hb, hb->who[i], now);
	}
}

/*
 * A report came too late to push the driver's timer back, so a record has to follow. @what: that
 * this is wrong, if it came before the deadline
 */
static void too_late(struct heartbeat *hb, uint32_t index, const char *what, uint64_t now)
{
	struct driver *driver = &hb->drivers[index];

	if (twheel_now(hb->tw) < driver->deadline) {
		vanished(hb, index, what, now, driver->deadline);
		return;
	}
	driver->state = DRIVER_LATE;
	hb->lost++;
}

/*
 * Carry out the reports of the @count drivers in @who, by writing when their timers are to expire.
 * A timer that has expired ends the call, unless it has a key. What was pending is not told.
 */
static void push_timers(struct heartbeat *hb, uint32_t count, uint64_t now)
{
	uint32_t i;
	ssize_t ret;

	for (i = 0; i < count; i++)
		hb->pushes[i] = (struct twheel_push){
			.handle = heartbeat_handle(hb, hb->who[i]),
			.expires = deadline_from(hb, now),
		};
	for (i = 0; i < count;) {
		ret = twheel_push_batch(hb->tw, hb->pushes + i, count - i);
		hb->writes++;
		if (ret < 0 && ret != -ENOENT)
			die(EXIT_FAILED, "cannot write: %s", strerror((int)-ret));
		if (ret < 0)
			too_late(hb, hb->who[i++], "no timer when it reported: now", now);
		for (; ret > 0; ret--)
			pushed_back(hb, hb->who[i++], now);
	}
}

/* Carry out the reports of the @count drivers in @who, by extending their leases. */
static void extend_leases(struct heartbeat *hb, uint32_t count, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint32_t index = hb->who[i];

		if (twheel_lease_extend(hb->leases[index], deadline_from(hb, now)) > 0) {
			check_pending(hb, index, now);
			pushed_back(hb, index, now);
			continue;
		}
		too_late(hb, index, "its lease is over before its deadline: now", now);
	}
}

void heartbeat_report(struct heartbeat *hb, uint64_t turns, uint64_t now)
{
	uint64_t elapsed_ms = (now - hb->start) / NSEC_PER_MSEC;
	uint32_t count = 0;

	while (turns && count < hb->batch) {
		uint32_t index = next_driver(hb);
		const struct driver *driver = &hb->drivers[index];

		turns--;
		hb->turns++;
		if (driver->state == DRIVER_ONLINE &&
		    (driver->stop == NEVER || elapsed_ms < driver->stop))
			hb->who[count++] = index;
	}
	if (!count)
		return;
	if (hb->leases)
		extend_leases(hb, count, now);
	else if (hb->by_write)
		push_timers(hb, count, now);
	else
		rearm_timers(hb, count, now);
}
