/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The kernel's side of a lease: one word that a program may change at any time.
 *
 * The word holds a deadline, without TWHEEL_LEASE_EXPIRED while the lease runs. The program
 * replaces a deadline by a later one, and the kernel claims the word by setting the bit.
 * Both use compare-and-swap, so only one of them wins, and the other one learns it. The
 * kernel does not rely on anything that it reads here.
 *
 * The number of tries is bounded. Where an atomic operation is itself a loop of
 * load-linked and store-conditional (arm64 without LSE), a program that stores to the word
 * all the time can make that loop go round more often. How often is up to the CPU, as for
 * any such operation on memory that is shared with a program.
 *
 * selftests/lease compiles this file in user space, to try all interleavings.
 */
#ifndef TWHEEL_LEASE_H
#define TWHEEL_LEASE_H

#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include <linux/twheel.h>

/* If a program changes the word more often meanwhile, the kernel looks again a tick later. */
#define TWHEEL_LEASE_TRIES	4

/**
 * twheel_lease_claim() - end a lease if it is due
 * @word:	the word
 * @now:	the time, on the word's clock
 * @deadline:	set to the last deadline of the lease, at most @now; or, if it is not over,
 *		to when to look again, after @now
 *
 * Context: any.
 * Return: true if the lease was due and was claimed.
 */
static inline bool twheel_lease_claim(atomic64_t *word, u64 now, u64 *deadline)
{
	u64 old = atomic64_read(word);
	unsigned int tries;

	for (tries = 0; tries < TWHEEL_LEASE_TRIES; tries++) {
		s64 seen = old;

		*deadline = min_t(u64, old & ~TWHEEL_LEASE_EXPIRED, now);
		/* Only the program can have set the bit, and ended its own lease. */
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
 * Extending a lease costs the user one store, and this CPU a look. Looks at leases that were
 * extended are charged to the user, and get no more than one part in TWHEEL_LEASE_SHARE of
 * the CPU's time. Leases of a user who has used up more than that have to wait. They may
 * expire late, and nobody else's timers do.
 */
#define TWHEEL_LEASE_SHARE	8
/* A user may use up this much at once, in ns of CPU time. */
#define TWHEEL_LEASE_BURST_NS	6000000ULL

/**
 * twheel_lease_charge() - charge for a look at a lease that was extended
 * @account:	the time until which the looks of the user on this CPU are paid for, in ns
 * @now:	the time, in ns
 * @cost:	what the look has taken, in ns
 *
 * Context: the caller serialises all calls for @account.
 * Return: for how many ns the lease is not to be looked at again; usually 0.
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

/**
 * twheel_lease_set() - store a value in a word, whatever the program does meanwhile
 * @word:	the word
 * @value:	the value
 *
 * Context: any.
 * Return: the value before.
 */
static inline u64 twheel_lease_set(atomic64_t *word, u64 value)
{
	return atomic64_xchg(word, value);
}

#endif /* TWHEEL_LEASE_H */
