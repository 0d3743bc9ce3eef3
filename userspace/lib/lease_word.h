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

/*
 * Replace the word by @deadline, unless it holds that or a later one. Returns the word as
 * it was found: it holds @deadline now if that is not more than @deadline. A word of a lease
 * that is over is more than any deadline, as %TWHEEL_LEASE_EXPIRED is the top bit.
 *
 * A deadline is only ever replaced by a later one. So if several threads extend a lease
 * at once, the latest deadline stays, in whatever order they come. An exchange that
 * fails means that another thread has extended the lease, that the lease is over, or
 * that it was re-armed.
 */
static inline uint64_t lease_word_push(uint64_t *word, uint64_t deadline)
{
	uint64_t old = lease_word_load(word);

	while (old < deadline && !lease_word_cas(word, &old, deadline))
		;
	return old;
}

static inline int lease_word_extend(uint64_t *word, uint64_t deadline)
{
	if (deadline & TWHEEL_LEASE_EXPIRED)
		return -EINVAL;
	return !(lease_word_push(word, deadline) & TWHEEL_LEASE_EXPIRED);
}

static inline uint64_t lease_word_deadline(const uint64_t *word)
{
	return lease_word_load(word) & ~TWHEEL_LEASE_EXPIRED;
}

static inline int lease_word_expired(const uint64_t *word)
{
	return !!(lease_word_load(word) & TWHEEL_LEASE_EXPIRED);
}

#endif /* TWHEEL_LEASE_WORD_H */
