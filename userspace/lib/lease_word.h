/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The program's side of a lease: what may be done with its word.
 *
 * The kernel's side, and what the two promise each other, is described at
 * %TWHEEL_LEASE_EXPIRED in <linux/twheel.h>.
 *
 * All access to a word goes through lease_word_load() and lease_word_cas(). Who
 * defines LEASE_WORD_ATOMICS brings his own: so a model checker can compile this
 * file as it is, and choose what happens between any two accesses.
 */
#ifndef TWHEEL_LEASE_WORD_H
#define TWHEEL_LEASE_WORD_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <linux/twheel.h>

#ifndef LEASE_WORD_ATOMICS

/*
 * Who finds the lease to be over also sees what came before that, and what a
 * program does before it extends a lease has happened when the lease goes on:
 * hence acquire and release.
 */
static inline uint64_t lease_word_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Stores @new if the word is *@old; otherwise stores what it is in *@old. */
static inline bool lease_word_cas(uint64_t *word, uint64_t *old, uint64_t new)
{
	return __atomic_compare_exchange_n(word, old, new, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

#endif /* LEASE_WORD_ATOMICS */

/*
 * A deadline is replaced by a later one only: of several extenders the latest
 * deadline stays, in whatever order they come, and each failed exchange means
 * that another one has moved it on, or that the lease is over, or re-armed.
 */
static inline int lease_word_extend(uint64_t *word, uint64_t deadline)
{
	uint64_t old;

	if (deadline & TWHEEL_LEASE_EXPIRED)
		return -EINVAL;
	old = lease_word_load(word);
	do {
		if (old & TWHEEL_LEASE_EXPIRED)
			return 0;
		if (old >= deadline)
			return 1;
	} while (!lease_word_cas(word, &old, deadline));
	return 1;
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
