/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Both sides of a lease, compiled unchanged, with atomics of the test's own in which every
 * access to the word is a step.
 *
 * It is enough to interleave whole accesses: the two sides share only one word, and every
 * machine has a single order of the accesses to one word.
 */
#ifndef TWHEEL_SEAM_H
#define TWHEEL_SEAM_H

#include <stdint.h>

#define SHIM_ATOMICS
#include <linux/atomic.h>

/* The accesses of the kernel and of the program: see test_interleave.c. */
uint64_t word_read(const uint64_t *word);
bool word_cmpxchg(uint64_t *word, uint64_t *old, uint64_t new);
uint64_t word_set(uint64_t *word, uint64_t new);
void word_or(uint64_t *word, uint64_t bits);
void word_store(uint64_t *word, uint64_t new);

/* How often the kernel has read the word or tried to change it. */
extern unsigned int kernel_accesses;

/* The kernel sees the program's word as an atomic. */
static inline atomic64_t *kernel_word(uint64_t *word)
{
	return (atomic64_t *)word;
}

static inline s64 atomic64_read(const atomic64_t *v)
{
	kernel_accesses++;
	return (s64)word_read((const uint64_t *)v);
}

static inline bool atomic64_try_cmpxchg(atomic64_t *v, s64 *old, s64 new)
{
	uint64_t seen = (uint64_t)*old;
	bool done;

	kernel_accesses++;
	done = word_cmpxchg((uint64_t *)v, &seen, (uint64_t)new);
	*old = (s64)seen;
	return done;
}

static inline s64 atomic64_xchg(atomic64_t *v, s64 new)
{
	return (s64)word_set((uint64_t *)v, (uint64_t)new);
}

static inline void atomic64_set_release(atomic64_t *v, s64 new)
{
	word_set((uint64_t *)v, (uint64_t)new);
}

static inline void atomic64_or(s64 bits, atomic64_t *v)
{
	word_or((uint64_t *)v, (uint64_t)bits);
}

/* Only mutations use this: see mutations.sh. */
static inline void atomic64_set(atomic64_t *v, s64 new)
{
	word_set((uint64_t *)v, (uint64_t)new);
}

#define LEASE_WORD_ATOMICS

static inline uint64_t lease_word_load(const uint64_t *word)
{
	return word_read(word);
}

static inline bool lease_word_cas(uint64_t *word, uint64_t *old, uint64_t new)
{
	return word_cmpxchg(word, old, new);
}

/* Only hostile programs and mutations use this. */
static inline void lease_word_store(uint64_t *word, uint64_t new)
{
	word_store(word, new);
}

#include "lease.h"
#include "lease_word.h"

#endif /* TWHEEL_SEAM_H */
