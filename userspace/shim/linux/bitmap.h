/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The same. */
#ifndef SHIM_LINUX_BITMAP_H
#define SHIM_LINUX_BITMAP_H

#include <linux/bitops.h>
#include <linux/minmax.h>

static inline unsigned long find_next_bit(const unsigned long *map,
					  unsigned long size,
					  unsigned long start)
{
	unsigned long word, i = start / BITS_PER_LONG;

	if (start >= size)
		return size;

	word = map[i] & (~0UL << (start % BITS_PER_LONG));
	while (!word) {
		if (++i >= BITS_TO_LONGS(size))
			return size;
		word = map[i];
	}
	start = i * BITS_PER_LONG + (unsigned long)__builtin_ctzl(word);
	return min_t(unsigned long, start, size);
}

#endif /* SHIM_LINUX_BITMAP_H */
