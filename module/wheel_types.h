/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The seam between the wheel and where it runs: the kernel's lists and bitmaps,
 * or the few of them that the wheel uses, rewritten for user space.
 */
#ifndef TWHEEL_WHEEL_TYPES_H
#define TWHEEL_WHEEL_TYPES_H

#ifdef __KERNEL__

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>

#else

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define BITS_PER_LONG		(8 * sizeof(long))
#define BITS_TO_LONGS(n)	(((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define U64_MAX			(~0ULL)

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#define min_t(type, a, b) ({			\
	type min_a = (a);			\
	type min_b = (b);			\
	min_a < min_b ? min_a : min_b;		\
})

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline int ilog2(unsigned long n)
{
	return (int)(BITS_PER_LONG - 1) - __builtin_clzl(n);
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline void __set_bit(unsigned long nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] |= 1UL << (nr % BITS_PER_LONG);
}

static inline void __clear_bit(unsigned long nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] &= ~(1UL << (nr % BITS_PER_LONG));
}

static inline bool test_bit(unsigned long nr, const unsigned long *map)
{
	return map[nr / BITS_PER_LONG] >> (nr % BITS_PER_LONG) & 1;
}

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

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

#define INIT_HLIST_HEAD(h)	((h)->first = NULL)
#define hlist_entry(ptr, type, member) container_of(ptr, type, member)

static inline bool hlist_empty(const struct hlist_head *h)
{
	return !h->first;
}

static inline bool hlist_unhashed(const struct hlist_node *n)
{
	return !n->pprev;
}

static inline void INIT_HLIST_NODE(struct hlist_node *n)
{
	n->next = NULL;
	n->pprev = NULL;
}

static inline void hlist_del_init(struct hlist_node *n)
{
	if (!n->pprev)
		return;
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
	INIT_HLIST_NODE(n);
}

static inline void hlist_add_head(struct hlist_node *n, struct hlist_head *h)
{
	n->next = h->first;
	if (h->first)
		h->first->pprev = &n->next;
	h->first = n;
	n->pprev = &h->first;
}

static inline void hlist_move_list(struct hlist_head *old,
				   struct hlist_head *new)
{
	new->first = old->first;
	if (new->first)
		new->first->pprev = &new->first;
	old->first = NULL;
}

#endif /* __KERNEL__ */

#endif /* TWHEEL_WHEEL_TYPES_H */
