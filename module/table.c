// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table of pointers that grows.
 *
 * It has pages of pointers, and an array of these pages. Pages are added and stay where they
 * are. If the array is full, a copy with more room takes its place. The copy needs no lock:
 * pointers are stored in the pages, and only the caller of twheel_table_reserve() changes the
 * array. A look-up that still uses the old array finds the same pages.
 */
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "quota.h"
#include "table.h"

#define TABLE_GFP	(TWHEEL_POOL_GFP | __GFP_ACCOUNT)

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
		new->pages[i] = (void __rcu **)__get_free_page(TABLE_GFP | __GFP_ZERO);
		if (!new->pages[i])
			goto fail;
	}

	rcu_assign_pointer(table->pages, new);
	if (old)
		kvfree_rcu(old, rcu);
	return 0;

fail:
	while (i-- > had)
		free_page((unsigned long)new->pages[i]);
	kvfree(new);
	return -ENOMEM;
}

void twheel_table_destroy(struct twheel_table *table)
{
	struct twheel_table_pages *pages = rcu_dereference_raw(table->pages);
	u32 i;

	if (!pages)
		return;
	for (i = 0; i < pages->nr; i++)
		free_page((unsigned long)pages->pages[i]);
	kvfree(pages);
}
