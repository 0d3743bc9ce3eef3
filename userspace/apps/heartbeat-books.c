// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * heartbeat: what the two sides, the drivers' and the one that watches, share.
 */
#include <inttypes.h>

#include "heartbeat.h"
#include "options.h"

/* How many complaints about single drivers are worth reading. */
#define COMPLAINTS	5

volatile sig_atomic_t heartbeat_interrupted;

uint64_t heartbeat_handle(const struct heartbeat *hb, uint32_t driver)
{
	if (hb->config & TWHEEL_CONFIG_KEYED)
		return driver;
	return hb->handles ? hb->handles[driver] : 0;
}

void heartbeat_complain(struct heartbeat *hb, uint64_t driver, const char *what,
			uint64_t seen, uint64_t expected)
{
	if (hb->complaints++ < COMPLAINTS)
		complain("driver %" PRIu64 ": %s: %" PRIu64 ", not %" PRIu64,
			 driver, what, seen, expected);
}
