/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of libtwheel share.
 */
#ifndef LIB_UTIL_H
#define LIB_UTIL_H

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <twheel.h>

#include "harness.h"

#define MSEC	1000000ULL
#define SEC	1000000000ULL

/* So far ahead that no test ever sees it expire. */
#define FAR	(24 * 3600 * SEC)

/* The limit for anything that should happen soon. */
#define LIMIT	(60 * SEC)

/* How most tests open a context */
#define NONBLOCK	(TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC)

/* The unit of the deadlines in words */
#define UNIT	(1ULL << TWHEEL_LEASE_UNIT_SHIFT)

/* The deadline of a lease that is armed or extended until then. */
static inline uint64_t rounded(uint64_t ns)
{
	return (ns + UNIT - 1) & -UNIT;
}

/* How many timers a context has. */
static inline uint64_t live(struct twheel *tw)
{
	struct twheel_info info;

	return twheel_get_info(tw, 0, &info) ? UINT64_MAX : info.pending + info.ready;
}

/*
 * Calls a function whose last argument is a struct twheel_old. Evaluates to the state that
 * it stored there, or to its error. If it returns another value, or stores nothing, the
 * result is no valid state.
 */
#define REPLACED(function, ...) \
({ \
	struct twheel_old old_ = { .state = 0xcc }; \
	int ret_ = function(__VA_ARGS__, &old_); \
	ret_ > 0 ? 0xbad : ret_ ? ret_ : (int)old_.state; \
})

/* Waits until a context has @ready timers to be read. Returns whether that happened. */
static inline int wait_ready(struct twheel *tw, uint64_t ready)
{
	uint64_t end = twheel_now(tw) + LIMIT;
	struct twheel_info info;

	do {
		if (twheel_get_info(tw, 0, &info))
			return 0;
		if (info.ready >= ready)
			return info.ready == ready;
		usleep(1000);
	} while (twheel_now(tw) < end);
	return 0;
}

/* What poll() returns for the descriptor of a context */
static inline int readable(struct twheel *tw, int ms)
{
	struct pollfd pollfd = { .fd = twheel_fd(tw), .events = POLLIN };

	return poll(&pollfd, 1, ms);
}

/* Waits until there is something to read. Returns whether there was. */
static inline int wait_readable(struct twheel *tw)
{
	struct twheel_info info;

	do {
		if (readable(tw, LIMIT / MSEC) != 1 || twheel_get_info(tw, 0, &info))
			return 0;
		/* A lease that was extended makes an embedded wheel look, too. */
	} while (!info.ready && info.config & TWHEEL_CONFIG_LEASE &&
		 info.features & TWHEEL_FEATURE_EMBEDDED);
	return 1;
}

#endif /* LIB_UTIL_H */
