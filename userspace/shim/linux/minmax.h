/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
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

#endif /* SHIM_LINUX_MINMAX_H */
