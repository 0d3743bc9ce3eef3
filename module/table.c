// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table of pointers that grows.
 *
 * It has pages of pointers, and an array of these pages. Pages are added and stay where they
 * are. If the array is full, a copy with more room takes its place. The copy needs no lock:
 * pointers are stored in the pages, and only the caller of twheel_table_reserve() changes the
 * array. A look-up that still uses the old array finds the same pages.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "quota.h"
#include "table.h"

#define TABLE_GFP	(TWHEEL_POOL_GFP | __GFP_ACCOUNT)

void twheel_table_init(struct twheel_table *table, struct twheel_quota *quota, u32 charge)
{
	table->quota = quota;
	table->charge = charge;
}

/* A page of NULLs, which is counted; or an ERR_PTR(). */
static void *new_page(const struct twheel_table *table)
{
	void *page;
	int ret = twheel_quota_add_table(table->quota, table->charge);

	if (ret)
		return ERR_PTR(ret);
	page = (void *)__get_free_page(TABLE_GFP | __GFP_ZERO);
	if (page)
		return page;
	twheel_quota_sub_table(table->quota, table->charge);
	return ERR_PTR(-ENOMEM);
}

static void free_pages_from(const struct twheel_table *table, struct twheel_table_pages *pages,
			    u32 first, u32 end)
{
	for (; first < end; first++) {
		twheel_quota_sub_table(table->quota, table->charge);
		free_page((unsigned long)pages->pages[first]);
	}
}

int twheel_table_reserve(struct twheel_table *table, u32 index)
{
	struct twheel_table_pages *old = rcu_dereference_raw(table->pages), *new;
	u32 nr = index / TWHEEL_TABLE_PAGE, had = old ? old->nr : 0, i;

	if (nr < had)
		return 0;

	new = kvzalloc(struct_size(new, pages, nr + 1), TABLE_GFP);
	if (!new)
		return -ENOMEM;
	new->nr = nr + 1;
	if (old)
		memcpy(new->pages, old->pages, had * sizeof(*old->pages));
	for (i = had; i <= nr; i++) {
		void *page = new_page(table);

		if (IS_ERR(page)) {
			free_pages_from(table, new, had, i);
			kvfree(new);
			return PTR_ERR(page);
		}
		new->pages[i] = page;
	}

	rcu_assign_pointer(table->pages, new);
	if (old)
		kvfree_rcu(old, rcu);
	return 0;
}

void twheel_table_destroy(struct twheel_table *table)
{
	struct twheel_table_pages *pages = rcu_dereference_raw(table->pages);

	if (!pages)
		return;
	free_pages_from(table, pages, 0, pages->nr);
	kvfree(pages);
}
