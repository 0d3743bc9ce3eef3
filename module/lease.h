/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's side of a lease: one word that a program may change at any time.
 *
 * The word holds a deadline, without TWHEEL_LEASE_EXPIRED while the lease runs.
 * The program replaces a deadline by a later one, the kernel claims the word by
 * setting the bit: both by compare-and-swap, so the two cannot both win, and the
 * loser learns it. Nothing that is read here is trusted to make sense.
 *
 * The number of tries is bounded here. Where an atomic operation is itself a loop, of
 * load-linked and store-conditional (arm64 without LSE), a program that stores to the
 * word all the time can make that loop go round more often; how often is up to the
 * CPU, as for any such operation on memory that is shared with a program.
 *
 * selftests/lease compiles this file in user space, to try all interleavings.
 */
#ifndef TWHEEL_LEASE_H
#define TWHEEL_LEASE_H

#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include <linux/twheel.h>

/* A program that changes the word more often just then waits for a tick. */
#define TWHEEL_LEASE_TRIES	4

/*
 * The lease in @word may be due at @now, on the word's clock. True if it is and
 * was claimed: *@deadline is its last deadline then, at most @now. False if it
 * was not: *@deadline is when to look again, after @now.
 */
static inline bool twheel_lease_claim(atomic64_t *word, u64 now, u64 *deadline)
{
	u64 old = atomic64_read(word);
	unsigned int tries;

	for (tries = 0; tries < TWHEEL_LEASE_TRIES; tries++) {
		s64 seen = old;

		*deadline = min_t(u64, old & ~TWHEEL_LEASE_EXPIRED, now);
		/* Only a program that spoils its own lease sets the bit. */
		if (old & TWHEEL_LEASE_EXPIRED)
			return true;
		if (old > now) {
			*deadline = old;
			return false;
		}
		if (atomic64_try_cmpxchg(word, &seen, old | TWHEEL_LEASE_EXPIRED))
			return true;
		old = seen;
	}

	*deadline = now + 1;
	return false;
}

/*
 * To extend a lease costs its user a store, and this CPU a look: so looks that find one
 * extended are put on the user's account, and get no more than one part in
 * TWHEEL_LEASE_SHARE of the CPU's time. What is ahead of that has to wait: then it may
 * be told late that the lease is over, and nobody else is told late of anything.
 */
#define TWHEEL_LEASE_SHARE	8
/* So much may be put on an account at once, in ns of CPU time. */
#define TWHEEL_LEASE_BURST_NS	6000000ULL

/*
 * A lease was looked at in vain, at @now, which has taken @cost. @account is when all
 * such looks of its user on this CPU are worked off. Returns for how long it has to be
 * left alone from now on; 0 as a rule. All in ns.
 */
static inline u64 twheel_lease_charge(u64 *account, u64 now, u64 cost)
{
	u64 ahead;

	if (*account < now)
		*account = now;
	*account += TWHEEL_LEASE_SHARE * cost;
	ahead = *account - now;
	return ahead - min_t(u64, ahead, TWHEEL_LEASE_SHARE * TWHEEL_LEASE_BURST_NS);
}

/* Give @word a value that whoever uses it has to take. Returns the old one. */
static inline u64 twheel_lease_set(atomic64_t *word, u64 value)
{
	return atomic64_xchg(word, value);
}

#endif /* TWHEEL_LEASE_H */
