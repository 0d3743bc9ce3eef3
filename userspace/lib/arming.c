// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: what a timer object knows of how it is armed.
 *
 * Both loop.c, which calls the device at once, and queue.c, which does so later, note here what
 * the device has done.
 *
 * Locking rules: as in loop.c.
 */
#include "lease_word.h"
#include "loop.h"

void twheel_timer_disarmed(struct twheel_timer *timer)
{
	timer->handle = 0;
	timer->word = NULL;
	timer->ended = false;
}

/*
 * The word of the lease that @arm has armed, or NULL if it must not be used. The word is on
 * the clock of the time namespace in which the context was configured. If it does not hold
 * the deadline that was asked for, this process is in another one.
 */
static uint64_t *twheel_timer_word(struct twheel *tw, const struct twheel_arm *arm)
{
	struct twheel_lease lease;

	if (twheel_lease_at(tw, arm->word, arm->tag, &lease)) {
		/* Do not try that again for each timer. */
		tw->loop->wordless = true;
		return NULL;
	}
	return twheel_lease_deadline(lease) == lease_word_ns(lease_word_units(arm->expires)) ?
	       lease.word : NULL;
}

void twheel_timer_armed_by(struct twheel_timer *timer, const struct twheel_arm *arm)
{
	timer->handle = arm->handle;
	timer->arming = (uint32_t)(arm->user_data >> 32);
	timer->tag = arm->tag;
	timer->ended = false;
	timer->word = arm->flags & TWHEEL_ARM_LEASE ?
		      twheel_timer_word(timer->tw, arm) : NULL;
}
