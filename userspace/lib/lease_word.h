/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The program's side of a lease: what may be done with its word.
 *
 * <linux/twheel.h> describes the kernel's side, and what the two sides promise each
 * other, at %TWHEEL_LEASE_EXPIRED.
 *
 * All access to a word goes through lease_word_load() and lease_word_cas(). A file that
 * defines LEASE_WORD_ATOMICS has to define these two itself. So a model checker can
 * compile this file as it is, and choose what happens between any two accesses.
 */
#ifndef TWHEEL_LEASE_WORD_H
#define TWHEEL_LEASE_WORD_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <linux/twheel.h>

#ifndef LEASE_WORD_ATOMICS

/*
 * Acquire: a program that finds the lease to be over also sees all that happened before
 * the lease ended. Release: code that sees the later deadline also sees all that the
 * program did before it extended the lease.
 */
static inline uint64_t lease_word_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Store @new if the word is *@old. Otherwise store the word in *@old. */
static inline bool lease_word_cas(uint64_t *word, uint64_t *old, uint64_t new)
{
	return __atomic_compare_exchange_n(word, old, new, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

#endif /* LEASE_WORD_ATOMICS */

/* Does a word belong to the lease with @tag, which is not over? */
static inline bool lease_word_runs(uint64_t word, uint16_t tag)
{
	return word >> TWHEEL_LEASE_TAG_SHIFT == tag;
}

/* The deadline that a word holds, in ns. */
static inline uint64_t lease_word_ns(uint64_t word)
{
	return (word & TWHEEL_LEASE_UNITS_MASK) << TWHEEL_LEASE_UNIT_SHIFT;
}

/* A time of at most 2^63 - 1 ns as it is in a word: rounded up, but at most the largest one. */
static inline uint64_t lease_word_units(uint64_t ns)
{
	uint64_t units = (ns + (1ULL << TWHEEL_LEASE_UNIT_SHIFT) - 1) >> TWHEEL_LEASE_UNIT_SHIFT;

	return units < TWHEEL_LEASE_UNITS_MASK ? units : TWHEEL_LEASE_UNITS_MASK;
}

/*
 * Replace the deadline in the word by @deadline, in ns, unless the word holds that or a later
 * one, or is not the word of the lease with @tag any more. Returns the word as it was found,
 * or as it was replaced: lease_word_runs() tells whether the lease goes on.
 *
 * A deadline is only ever replaced by a later one. So if several threads extend a lease
 * at once, the latest deadline stays, in whatever order they come. An exchange that
 * fails means that another thread has extended the lease, that the lease is over, or
 * that it was re-armed; or that the word has another lease by now.
 */
static inline uint64_t lease_word_push(uint64_t *word, uint16_t tag, uint64_t deadline)
{
	uint64_t new = (uint64_t)tag << TWHEEL_LEASE_TAG_SHIFT | lease_word_units(deadline);
	uint64_t old = lease_word_load(word);

	while (lease_word_runs(old, tag) && old < new && !lease_word_cas(word, &old, new))
		;
	return old;
}

static inline int lease_word_extend(uint64_t *word, uint16_t tag, uint64_t deadline)
{
	if (deadline & TWHEEL_LEASE_EXPIRED)
		return -EINVAL;
	return lease_word_runs(lease_word_push(word, tag, deadline), tag);
}

/* 0 if the word has another lease by now, so that nothing is known of that with @tag. */
static inline uint64_t lease_word_deadline(const uint64_t *word, uint16_t tag)
{
	uint64_t seen = lease_word_load(word);

	return lease_word_runs(seen & ~TWHEEL_LEASE_EXPIRED, tag) ? lease_word_ns(seen) : 0;
}

static inline int lease_word_expired(const uint64_t *word, uint16_t tag)
{
	return !lease_word_runs(lease_word_load(word), tag);
}

#endif /* TWHEEL_LEASE_WORD_H */
