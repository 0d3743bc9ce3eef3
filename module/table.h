/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A table that grows by pages.
 *
 * A look-up takes the same few instructions however large the table is. That of the kernel's
 * xarray takes 77 with one level, and 29 for each level more.
 */
#ifndef TWHEEL_TABLE_H
#define TWHEEL_TABLE_H

#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "quota.h"

/**
 * struct twheel_table_pages - where the pages of a table are
 * @rcu:	frees it once it was replaced by a larger one
 * @room:	for how many pages there is room; constant
 * @pages:	the pages, which live as long as the table, and NULL after them
 */
struct twheel_table_pages {
	struct rcu_head	rcu;
	u32		room;
	void		*pages[];
};

/**
 * struct twheel_table - memory by page
 * @pages:	where the pages are; NULL while there are none. Looked up under RCU, changed by
 *		twheel_table_reserve()
 * @nr:		how many pages there are; used by twheel_table_reserve()
 * @quota:	where pages are counted; constant
 * @kind:	as what; constant
 * @charge:	for how many timers a page is counted; constant once there is a page
 */
struct twheel_table {
	struct twheel_table_pages __rcu	*pages;
	u32				nr;
	struct twheel_quota		*quota;
	enum twheel_memory		kind;
	u32				charge;
};

/**
 * twheel_table_init() - begin without a page
 * @table:	the table, zeroed
 * @quota:	where pages are to be counted. Outlives @table
 * @kind:	as what
 * @charge:	for how many timers a page is counted
 */
void twheel_table_init(struct twheel_table *table, struct twheel_quota *quota,
		       enum twheel_memory kind, u32 charge);

/**
 * twheel_table_reserve() - make pages
 * @table:	the table
 * @page:	number of the last page that is needed
 *
 * New pages are zeroed. Those that were made before an error stay.
 *
 * Context: may sleep. The caller serialises all calls for @table.
 * Return: 0, -ENOMEM or -EDQUOT.
 */
int twheel_table_reserve(struct twheel_table *table, u32 page);

/**
 * twheel_table_destroy() - free the memory of a table
 * @table:	the table, which nobody uses any more
 *
 * Takes O(pages).
 *
 * Context: may sleep.
 */
void twheel_table_destroy(struct twheel_table *table);

/**
 * twheel_table_page() - find a page
 * @table:	the table
 * @nr:		any number
 *
 * Context: under RCU, or the caller serialises calls of twheel_table_reserve().
 * Return: the page, or NULL if it was not made.
 */
static inline void *twheel_table_page(const struct twheel_table *table, u32 nr)
{
	const struct twheel_table_pages *pages = rcu_dereference_raw(table->pages);

	if (unlikely(!pages || nr >= pages->room))
		return NULL;
	/* Programs choose it. */
	return READ_ONCE(pages->pages[array_index_nospec(nr, pages->room)]);
}

#endif /* TWHEEL_TABLE_H */
