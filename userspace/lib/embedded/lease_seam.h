/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * module/core/lease.h for an embedded context, with the atomic operations that it needs.
 */
#ifndef TWHEEL_EMB_LEASE_SEAM_H
#define TWHEEL_EMB_LEASE_SEAM_H

#define SHIM_ATOMICS
#include <linux/atomic.h>

static inline s64 atomic64_read(const atomic64_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_ACQUIRE);
}

static inline void atomic64_set_release(atomic64_t *v, s64 new)
{
	__atomic_store_n(&v->counter, new, __ATOMIC_RELEASE);
}

static inline void atomic64_or(s64 bits, atomic64_t *v)
{
	__atomic_fetch_or(&v->counter, bits, __ATOMIC_SEQ_CST);
}

static inline s64 atomic64_xchg(atomic64_t *v, s64 new)
{
	return __atomic_exchange_n(&v->counter, new, __ATOMIC_ACQ_REL);
}

static inline bool atomic64_try_cmpxchg(atomic64_t *v, s64 *old, s64 new)
{
	return __atomic_compare_exchange_n(&v->counter, old, new, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

#include "lease.h"

/* The module's side of a word. */
static inline atomic64_t *emb_atomic(uint64_t *word)
{
	return (atomic64_t *)word;
}

/* When a lease whose word is @word is due; @deadline is that of the timer itself. */
static inline uint64_t emb_word_deadline(uint64_t word, uint64_t deadline)
{
	return word & TWHEEL_LEASE_EXPIRED ? deadline : twheel_lease_deadline(word);
}

#endif /* TWHEEL_EMB_LEASE_SEAM_H */
