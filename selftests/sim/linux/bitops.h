/* SPDX-License-Identifier: GPL-2.0-only */
/* Bits that several CPUs change: atomic operations without a result. */
#ifndef SIM_LINUX_BITOPS_H
#define SIM_LINUX_BITOPS_H

#define SHIM_BITOPS
#include_next <linux/bitops.h>

#include <linux/compiler.h>

static inline void set_bit(unsigned long nr, unsigned long *map)
{
	sim_point();
	__atomic_fetch_or(&map[nr / BITS_PER_LONG], 1UL << nr % BITS_PER_LONG, __ATOMIC_RELAXED);
}

static inline void clear_bit(unsigned long nr, unsigned long *map)
{
	sim_point();
	__atomic_fetch_and(&map[nr / BITS_PER_LONG], ~(1UL << nr % BITS_PER_LONG),
			   __ATOMIC_RELAXED);
}

#endif /* SIM_LINUX_BITOPS_H */
