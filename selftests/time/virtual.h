/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers for the tests in virtual time.
 *
 * Time goes on there while everybody waits, from one event to the next, and a little
 * whenever a program reads a clock. Code takes no time, so the module has made late
 * whatever comes late.
 */
#ifndef TWHEEL_VIRTUAL_H
#define TWHEEL_VIRTUAL_H

#include <stdio.h>

#include "twheel_test.h"
#include "twheel_counters.h"

/*
 * The harness counts its timeout in virtual time, too. Whoever runs the guest sets the real
 * limit.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	2000000000

#define RECORD		sizeof(struct twheel_event)
#define MINUTE		(60 * TW_SEC)
#define HOUR		(60 * MINUTE)
#define DAY		(24 * HOUR)

/*
 * How much time the guest may spend on reading clocks between a tick and an expiry, in all.
 */
#define VIRTUAL_WORK	(50 * 1000ULL)

/* Returns how many days a test lasts: the value of the environment variable @name, or @days. */
static inline __u64 virtual_days(const char *name, __u64 days)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : days;
}

/* Returns the end of the tick that @deadline lies in, which is when its timer expires. */
static inline __u64 virtual_due(__u64 deadline, __u64 tick_ns)
{
	return (deadline + tick_ns - 1) / tick_ns * tick_ns;
}

/* Returns whether the timer expired on its tick. */
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

/* Returns the costs since @before, or all costs if that is zero. */
static inline struct virtual_cost virtual_cost(const struct virtual_cost *before)
{
	return (struct virtual_cost) {
		.expired = tw_counter(TW_ALL_CPUS, "expired") - before->expired,
		.moved = tw_counter(TW_ALL_CPUS, "cascaded") - before->moved,
		.interrupts = tw_counter(TW_ALL_CPUS, "interrupts") - before->interrupts,
	};
}

#endif /* TWHEEL_VIRTUAL_H */
