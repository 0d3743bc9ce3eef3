/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A table of pointers that grows.
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

struct twheel_quota;

/* Pointers in a page. */
#define TWHEEL_TABLE_PAGE	(PAGE_SIZE / sizeof(void *))

/**
 * struct twheel_table_pages - the pages of a table
 * @rcu:	frees it once it was replaced by a larger one
 * @nr:		how many pages there are; constant
 * @pages:	the pages; constant. They live as long as the table
 */
struct twheel_table_pages {
	struct rcu_head	rcu;
	u32		nr;
	void __rcu	**pages[];
};

/**
 * struct twheel_table - pointers by index
 * @pages:	where they are; NULL while the table is empty. Looked up under RCU, changed by
 *		twheel_table_reserve()
 * @quota:	where pages are counted; constant
 * @charge:	how many timers a page counts for; constant
 */
struct twheel_table {
	struct twheel_table_pages __rcu	*pages;
	struct twheel_quota		*quota;
	u32				charge;
};

/**
 * twheel_table_init() - begin without a page
 * @table:	the table, zeroed
 * @quota:	where pages are to be counted. Outlives @table
 * @charge:	how many timers a page counts for
 */
void twheel_table_init(struct twheel_table *table, struct twheel_quota *quota, u32 charge);

/**
 * twheel_table_reserve() - make room for a pointer
 * @table:	the table
 * @index:	of the pointer
 *
 * Context: may sleep. The caller serialises all calls for @table.
 * Return: 0, -ENOMEM or -EDQUOT.
 */
int twheel_table_reserve(struct twheel_table *table, u32 index);

/**
 * twheel_table_destroy() - free the memory of a table, not what it points to
 * @table:	the table, which nobody uses any more
 *
 * Context: may sleep.
 */
void twheel_table_destroy(struct twheel_table *table);

/* Where the pointer at @index is; or NULL if no room was reserved. Under RCU. */
static inline void __rcu **twheel_table_slot(const struct twheel_table *table, u32 index)
{
	const struct twheel_table_pages *pages = rcu_dereference_raw(table->pages);
	u32 nr = index / TWHEEL_TABLE_PAGE;

	if (unlikely(!pages || nr >= pages->nr))
		return NULL;
	/* Programs choose the index. */
	nr = array_index_nospec(nr, pages->nr);
	return &pages->pages[nr][index % TWHEEL_TABLE_PAGE];
}

/**
 * twheel_table_get() - look up a pointer
 * @table:	the table
 * @index:	any number
 *
 * Context: under RCU, or the caller serialises all changes.
 * Return: the pointer, or NULL.
 */
static inline void *twheel_table_get(const struct twheel_table *table, u32 index)
{
	void __rcu **slot = twheel_table_slot(table, index);

	return slot ? rcu_dereference_raw(*slot) : NULL;
}

/**
 * twheel_table_set() - store a pointer
 * @table:	the table
 * @index:	of the pointer, for which there is room
 * @pointer:	the pointer, or NULL
 *
 * Context: under RCU, or the caller serialises calls of twheel_table_reserve(). The caller
 * serialises all calls for @index.
 */
static inline void twheel_table_set(struct twheel_table *table, u32 index, void *pointer)
{
	rcu_assign_pointer(*twheel_table_slot(table, index), pointer);
}

#endif /* TWHEEL_TABLE_H */
