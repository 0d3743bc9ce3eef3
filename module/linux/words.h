/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of leases: pages that the kernel and programs share. */
#ifndef TWHEEL_WORDS_H
#define TWHEEL_WORDS_H

#include <linux/mm_types.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct twheel_quota;

/* Words in a page. */
#define TWHEEL_PAGE_WORDS	(PAGE_SIZE / sizeof(u64))

/**
 * struct twheel_words - the words of one context
 * @pages:	by index, as programs map them
 * @quota:	where the pages are counted; constant
 */
struct twheel_words {
	struct xarray		pages;
	struct twheel_quota	*quota;
};

/**
 * twheel_words_page() - find a page
 * @words:	the words
 * @index:	of the page
 *
 * Context: any.
 * Return: the page, which lives as long as @words, or NULL.
 */
struct page *twheel_words_page(struct twheel_words *words, unsigned long index);

#endif /* TWHEEL_WORDS_H */
