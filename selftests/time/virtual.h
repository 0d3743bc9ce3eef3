/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests in virtual time share.
 *
 * Time there goes on while everybody waits, from one event to the next, and a
 * little whenever a program reads a clock; code takes no time. So whatever comes
 * late was made late.
 */
#ifndef TWHEEL_VIRTUAL_H
#define TWHEEL_VIRTUAL_H

#include <stdio.h>

#include "twheel_test.h"
#include "twheel_counters.h"

/* It is virtual time too by which the harness gives up: whoever runs us does. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	2000000000

#define RECORD		sizeof(struct twheel_event)
#define MINUTE		(60 * TW_SEC)
#define HOUR		(60 * MINUTE)
#define DAY		(24 * HOUR)
#define YEAR		(365 * DAY)

/* What the guest may read clocks for, in all, between a tick and an expiry. */
#define VIRTUAL_WORK	(50 * 1000ULL)

/* Days that a test lasts: what the environment says in @name, or @days. */
static inline __u64 virtual_days(const char *name, __u64 days)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : days;
}

/* The end of the tick that @deadline lies in, which is when it expires. */
static inline __u64 virtual_due(__u64 deadline, __u64 tick_ns)
{
	return (deadline + tick_ns - 1) / tick_ns * tick_ns;
}

/* Did it expire on its tick? */
static inline bool virtual_on_tick(const struct twheel_event *event, __u64 tick_ns)
{
	__u64 due = virtual_due(event->deadline, tick_ns);

	return event->expired >= due && event->expired - due < VIRTUAL_WORK;
}

/**
 * struct virtual_cost - what the module has done
 * @expired: timers expired
 * @moved: timers moved from one bucket to another
 * @interrupts: runs of the function that turns a wheel
 */
struct virtual_cost {
	__u64 expired;
	__u64 moved;
	__u64 interrupts;
};

/* What was done since @before; all there is for the zero one. */
static inline struct virtual_cost virtual_cost(const struct virtual_cost *before)
{
	return (struct virtual_cost) {
		.expired = tw_counter(TW_ALL_CPUS, "expired") - before->expired,
		.moved = tw_counter(TW_ALL_CPUS, "cascaded") - before->moved,
		.interrupts = tw_counter(TW_ALL_CPUS, "interrupts") - before->interrupts,
	};
}

#endif /* TWHEEL_VIRTUAL_H */
