// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table that grows by pages.
 *
 * Pages are added and stay where they are. They are found by an array; if that is full, a copy
 * with more room takes its place. The copy needs no lock: only the caller of
 * twheel_table_reserve() changes the array. A look-up that still uses the old array finds the
 * same pages.
 */
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "table.h"

#define TABLE_GFP	(TWHEEL_POOL_GFP | __GFP_ACCOUNT)

void twheel_table_init(struct twheel_table *table, struct twheel_quota *quota,
		       enum twheel_memory kind, u32 charge)
{
	table->quota = quota;
	table->kind = kind;
	table->charge = charge;
}

/* The array of pages, with room for one more; or NULL without memory. */
static struct twheel_table_pages *array_with_room(struct twheel_table *table)
{
	struct twheel_table_pages *old = rcu_dereference_raw(table->pages), *new;
	u32 room;

	if (old && table->nr < old->room)
		return old;

	room = max(1U, 2 * table->nr);
	new = kvzalloc(struct_size(new, pages, room), TABLE_GFP);
	if (!new)
		return NULL;
	new->room = room;
	if (old)
		memcpy(new->pages, old->pages, table->nr * sizeof(*old->pages));

	rcu_assign_pointer(table->pages, new);
	if (old)
		kvfree_rcu(old, rcu);
	return new;
}

static int add_page(struct twheel_table *table)
{
	struct twheel_table_pages *pages = array_with_room(table);
	void *page;
	int ret;

	if (!pages)
		return -ENOMEM;

	ret = twheel_quota_add_memory(table->quota, table->kind, table->charge);
	if (ret)
		return ret;

	page = (void *)__get_free_page(TABLE_GFP | __GFP_ZERO);
	if (!page) {
		twheel_quota_sub_memory(table->quota, table->kind, table->charge);
		return -ENOMEM;
	}
	/* Pairs with the READ_ONCE() in twheel_table_page(), and what is read depends on that. */
	smp_store_release(&pages->pages[table->nr++], page);
	return 0;
}

int twheel_table_reserve(struct twheel_table *table, u32 page)
{
	int ret = 0;

	while (!ret && table->nr <= page)
		ret = add_page(table);
	return ret;
}

void twheel_table_destroy(struct twheel_table *table)
{
	struct twheel_table_pages *pages = rcu_dereference_raw(table->pages);

	while (table->nr) {
		twheel_quota_sub_memory(table->quota, table->kind, table->charge);
		free_page((unsigned long)pages->pages[--table->nr]);
		cond_resched();
	}
	kvfree(pages);
}
