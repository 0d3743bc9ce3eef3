/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The kernel's side of a lease: one word that a program may change at any time.
 *
 * See TWHEEL_LEASE_EXPIRED in uapi/linux/twheel.h for what is in it. The tag is kept nowhere else:
 * the kernel does not rely on anything that it reads here.
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
#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include <linux/twheel.h>

static_assert(TWHEEL_LEASE_EXPIRED >> TWHEEL_LEASE_TAG_SHIFT == TWHEEL_LEASE_TAG_MASK + 1);
static_assert(TWHEEL_LEASE_UNITS_MASK == (1ULL << TWHEEL_LEASE_TAG_SHIFT) - 1);
static_assert(TWHEEL_LEASE_UNITS_MASK << TWHEEL_LEASE_UNIT_SHIFT < TWHEEL_LEASE_EXPIRED);

#define TWHEEL_LEASE_TAG_BITS	((u64)TWHEEL_LEASE_TAG_MASK << TWHEEL_LEASE_TAG_SHIFT)

/**
 * twheel_lease_deadline() - the deadline that a word holds
 * @word:	what it says
 *
 * Context: any.
 * Return: the deadline on the word's clock, in ns; at most 2^63 - 1.
 */
static inline u64 twheel_lease_deadline(u64 word)
{
	return (word & TWHEEL_LEASE_UNITS_MASK) << TWHEEL_LEASE_UNIT_SHIFT;
}

/**
 * twheel_lease_tag() - the tag that a word holds
 * @word:	what it says
 *
 * Context: any.
 * Return: the tag.
 */
static inline u16 twheel_lease_tag(u64 word)
{
	return word >> TWHEEL_LEASE_TAG_SHIFT & TWHEEL_LEASE_TAG_MASK;
}

/**
 * twheel_lease_units() - the deadline as it is in a word
 * @deadline:	the deadline on the word's clock, in ns; at most 2^63 - 1
 *
 * Context: any.
 * Return: the deadline in units, rounded up; but at most the largest one.
 */
static inline u64 twheel_lease_units(u64 deadline)
{
	u64 units = (deadline + (1ULL << TWHEEL_LEASE_UNIT_SHIFT) - 1) >> TWHEEL_LEASE_UNIT_SHIFT;

	return min_t(u64, units, TWHEEL_LEASE_UNITS_MASK);
}

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

		*deadline = min_t(u64, twheel_lease_deadline(old), now);
		/* Only the program can have set the bit, and ended its own lease. */
		if (old & TWHEEL_LEASE_EXPIRED)
			return true;
		if (twheel_lease_deadline(old) > now) {
			*deadline = twheel_lease_deadline(old);
			return false;
		}
		if (atomic64_try_cmpxchg(word, &seen, old | TWHEEL_LEASE_EXPIRED))
			return true;
		old = seen;
	}

	*deadline = now + 1;
	return false;
}

/**
 * twheel_lease_begin() - give a word to a new timer
 * @word:	the word. The timer that had it before, if any, has ended
 * @value:	its deadline in units, or 0 if it is no lease; with %TWHEEL_LEASE_EXPIRED
 *		unless it is a lease that runs
 *
 * Context: any.
 * Return: what the word says now, which has the tag after that of the last timer.
 */
static inline u64 twheel_lease_begin(atomic64_t *word, u64 value)
{
	u64 next = atomic64_read(word) + (1ULL << TWHEEL_LEASE_TAG_SHIFT);

	value |= next & TWHEEL_LEASE_TAG_BITS;
	/* The bit is set, so nobody changes the word but a program that harms itself. */
	atomic64_set_release(word, value);
	return value;
}

/**
 * twheel_lease_renew() - arm a lease anew, whatever the program does meanwhile
 * @word:	the word
 * @value:	the new deadline in units; with %TWHEEL_LEASE_EXPIRED if it has passed
 * @old:	set to what the word said before
 *
 * Context: any.
 * Return: what the word says now, which has the tag that it had.
 */
static inline u64 twheel_lease_renew(atomic64_t *word, u64 value, u64 *old)
{
	/* A program that extends the lease meanwhile does not change the tag. */
	value |= atomic64_read(word) & TWHEEL_LEASE_TAG_BITS;
	*old = atomic64_xchg(word, value);
	return value;
}

/**
 * twheel_lease_end() - end a lease that has not expired, whatever the program does meanwhile
 * @word:	the word, which keeps its tag and its deadline
 *
 * Context: any.
 * Return: what the word said before; without %TWHEEL_LEASE_EXPIRED, unless the program itself
 * had ended the lease.
 */
static inline u64 twheel_lease_end(atomic64_t *word)
{
	u64 old = atomic64_read(word);

	if (old & TWHEEL_LEASE_EXPIRED)
		return old;
	/* Code that finds the bit sees all that happened before. A fetch_or might be a loop. */
	smp_mb__before_atomic();
	atomic64_or(TWHEEL_LEASE_EXPIRED, word);
	/* Orders the read after it: from then on no program changes the word. */
	smp_mb__after_atomic();
	return atomic64_read(word) & ~TWHEEL_LEASE_EXPIRED;
}

#endif /* TWHEEL_LEASE_H */
