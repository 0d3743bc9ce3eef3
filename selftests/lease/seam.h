/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Both sides of a lease, compiled as they are, over atomics of our own in which
 * every access to the word is a step.
 *
 * To interleave whole accesses is enough: all that the two share lies in one
 * word, and any machine keeps one order of what happens to one word.
 */
#ifndef TWHEEL_SEAM_H
#define TWHEEL_SEAM_H

#include <stdbool.h>
#include <stdint.h>

typedef int64_t s64;
typedef uint64_t u64;

/* As the program sees it, too. */
#define atomic64_t u64

/* Accesses of the kernel and of the program; see test_interleave.c. */
u64 word_read(const u64 *word);
bool word_cmpxchg(u64 *word, u64 *old, u64 new);
u64 word_set(u64 *word, u64 new);
void word_store(u64 *word, u64 new);

/* How often the kernel has looked at the word, or tried to change it. */
extern unsigned int kernel_accesses;

#define min_t(type, a, b) ({			\
	type min_a = (a);			\
	type min_b = (b);			\
	min_a < min_b ? min_a : min_b;		\
})

static inline u64 atomic64_read(const atomic64_t *word)
{
	kernel_accesses++;
	return word_read(word);
}

static inline bool atomic64_try_cmpxchg(atomic64_t *word, s64 *old, u64 new)
{
	u64 seen = (u64)*old;
	bool done;

	kernel_accesses++;
	done = word_cmpxchg(word, &seen, new);
	*old = (s64)seen;
	return done;
}

static inline u64 atomic64_xchg(atomic64_t *word, u64 new)
{
	return word_set(word, new);
}

/* Not used, but by the mutations: see mutate.sh. */
static inline void atomic64_set(atomic64_t *word, u64 new)
{
	word_set(word, new);
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

/* A hostile program's, and the mutations'. */
static inline void lease_word_store(uint64_t *word, uint64_t new)
{
	word_store(word, new);
}

#include "lease.h"
#include "lease_word.h"

#endif /* TWHEEL_SEAM_H */
