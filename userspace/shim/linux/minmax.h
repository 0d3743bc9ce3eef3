/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same, but that no types are compared. */
#ifndef SHIM_LINUX_MINMAX_H
#define SHIM_LINUX_MINMAX_H

#define min_t(type, a, b) ({			\
	type min_a = (a);			\
	type min_b = (b);			\
	min_a < min_b ? min_a : min_b;		\
})

#define max_t(type, a, b) ({			\
	type max_a = (a);			\
	type max_b = (b);			\
	max_a > max_b ? max_a : max_b;		\
})

#define min(a, b)	min_t(__typeof__(a), a, b)
#define max(a, b)	max_t(__typeof__(a), a, b)

#define swap(a, b) do {				\
	__typeof__(a) swap_a = (a);		\
	(a) = (b);				\
	(b) = swap_a;				\
} while (0)

#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)

#endif /* SHIM_LINUX_MINMAX_H */
