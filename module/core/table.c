// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A table of entries by number, which grows.
 *
 * Entries are in blocks, which are found by an array. If the array is full, a copy with more
 * room takes its place, and the blocks stay where they are.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "table.h"

#define TABLE_GFP	(TWHEEL_POOL_GFP | __GFP_ACCOUNT)

/* The array of all tables that have no entry. */
static struct twheel_table_array no_entries;

void twheel_table_init(struct twheel_table *table, u32 size, u32 per_block,
		       struct twheel_quota *quota)
{
	*table = (struct twheel_table) {
		.array		= RCU_INITIALIZER(&no_entries),
		.size		= size,
		.per_block	= per_block,
		.quota		= quota,
	};
}

void *twheel_table_alloc(struct twheel_table *table, size_t bytes)
{
	int ret = twheel_quota_add_memory(table->quota, bytes);
	void *memory;

	if (ret)
		return ERR_PTR(ret);

	memory = kvzalloc(bytes, TABLE_GFP);
	if (!memory) {
		twheel_quota_sub_memory(table->quota, bytes);
		return ERR_PTR(-ENOMEM);
	}
	table->charged += bytes;
	return memory;
}

/*
 * Add a block. An array that is replaced stays counted until the table is destroyed: all of them
 * take hardly more than the last one.
 */
static int add_block(struct twheel_table *table)
{
	struct twheel_table_array *old = rcu_dereference_raw(table->array), *array = old;
	u32 nr = old->room / table->per_block;
	size_t bytes = table->per_block * table->size;
	void *block;

	block = twheel_table_alloc(table, bytes);
	if (IS_ERR(block))
		return PTR_ERR(block);
	if (!nr || is_power_of_2(nr)) {
		array = twheel_table_alloc(table, struct_size(array, blocks, max(1U, 2 * nr)));
		if (IS_ERR(array)) {
			kvfree(block);
			twheel_quota_sub_memory(table->quota, bytes);
			table->charged -= bytes;
			return PTR_ERR(array);
		}
		memcpy(array->blocks, old->blocks, nr * sizeof(block));
	}

	array->blocks[nr] = block;
	/* Pairs with smp_load_acquire() in twheel_table_entry(). */
	smp_store_release(&array->room, (nr + 1) * table->per_block);
	rcu_assign_pointer(table->array, array);
	if (array != old && old != &no_entries)
		kvfree_rcu(old, rcu);
	return 0;
}

int twheel_table_reserve(struct twheel_table *table, u32 nr)
{
	int ret = 0;

	while (!ret && rcu_dereference_raw(table->array)->room <= nr)
		ret = add_block(table);
	return ret;
}

void twheel_table_destroy(struct twheel_table *table)
{
	struct twheel_table_array *array = rcu_dereference_raw(table->array);
	u32 nr = array->room / table->per_block;

	while (nr) {
		kvfree(array->blocks[--nr]);
		cond_resched();
	}
	if (array != &no_entries)
		kvfree(array);
	twheel_quota_sub_memory(table->quota, table->charged);
}
