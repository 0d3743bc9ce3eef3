/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The words of leases: pages that the kernel and programs share. */
#ifndef TWHEEL_WORDS_H
#define TWHEEL_WORDS_H

#include <linux/atomic.h>
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
 * twheel_words_init() - begin without a page
 * @words:	the words
 * @quota:	where pages are to be counted. Outlives @words
 */
void twheel_words_init(struct twheel_words *words, struct twheel_quota *quota);

/**
 * twheel_words_destroy() - free all pages
 * @words:	the words. No program maps a page any more
 *
 * Takes O(pages).
 *
 * Context: may sleep.
 */
void twheel_words_destroy(struct twheel_words *words);

/**
 * twheel_words_get() - find a word, and make its page if there is none yet
 * @words:	the words
 * @nr:		number of the word
 *
 * All words of a new page are %TWHEEL_LEASE_EXPIRED.
 *
 * Context: may sleep. The caller serialises all calls for @words.
 * Return: the word, which lives as long as @words; or the error -EDQUOT, -ENOMEM or
 * -EINTR.
 */
atomic64_t *twheel_words_get(struct twheel_words *words, unsigned long nr);

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
