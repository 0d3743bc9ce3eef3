/* SPDX-License-Identifier: GPL-2.0-only */
/* Reference counts; saturation is not simulated. */
#ifndef SIM_LINUX_REFCOUNT_H
#define SIM_LINUX_REFCOUNT_H

#include <linux/atomic.h>

typedef struct { int refs; } refcount_t;

static inline bool sim_refcount_dec_not_one(refcount_t *r)
{
	int refs = READ_ONCE(r->refs);

	while (refs != 1)
		if (SIM_HALF(__atomic_compare_exchange_n(&r->refs, &refs, refs - 1, false,
							 __ATOMIC_RELEASE, __ATOMIC_RELAXED)))
			return true;
	return false;
}

#define refcount_set(r, n)	((void)((r)->refs = (n)))
#define refcount_inc(r)		\
	SIM_HALF((void)__atomic_fetch_add(&(r)->refs, 1, __ATOMIC_RELAXED))
#define refcount_dec_not_one(r)	sim_refcount_dec_not_one(r)
#define refcount_dec_and_test(r) \
	SIM_FULL(__atomic_sub_fetch(&(r)->refs, 1, __ATOMIC_ACQ_REL) == 0)

#endif /* SIM_LINUX_REFCOUNT_H */
