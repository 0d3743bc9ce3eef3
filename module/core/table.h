/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A table of entries by number, which grows.
 *
 * A look-up takes the same few instructions however large the table is. That of the kernel's
 * xarray takes 77 with one level, and 29 for each level more.
 */
#ifndef TWHEEL_TABLE_H
#define TWHEEL_TABLE_H

#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "host.h"

/**
 * struct twheel_table_array - where the entries of a table are
 * @rcu:	frees it once a larger one has taken its place
 * @room:	for how many entries there are blocks; grows while this array is in use
 * @blocks:	the blocks, which live as long as the table; room for a power of two of them
 */
struct twheel_table_array {
	struct rcu_head	rcu;
	u32		room;
	void		*blocks[];
};

/**
 * struct twheel_table - entries by number
 * @array:	where they are; never NULL. Looked up under RCU, changed by
 *		twheel_table_reserve()
 * @size:	bytes of an entry; constant
 * @per_block:	entries of a block; constant
 * @charged:	bytes that are counted; used by twheel_table_reserve()
 * @quota:	where the memory is counted; constant
 */
struct twheel_table {
	struct twheel_table_array __rcu	*array;
	u32				size;
	u32				per_block;
	unsigned long			charged;
	struct twheel_quota		*quota;
};

/**
 * twheel_table_init() - begin without an entry
 * @table:	the table
 * @size:	bytes of an entry
 * @per_block:	entries of a block. With few, a small table takes little memory
 * @quota:	where the memory is to be counted. Outlives @table
 */
void twheel_table_init(struct twheel_table *table, u32 size, u32 per_block,
		       struct twheel_quota *quota);

/**
 * twheel_table_alloc() - make memory that is counted until a table is destroyed
 * @table:	the table
 * @bytes:	how much
 *
 * The caller frees it then, with kvfree().
 *
 * Context: may sleep. The caller serialises all calls for @table.
 * Return: the memory, zeroed; or the error -ENOMEM, -EDQUOT or -EINTR.
 */
void *twheel_table_alloc(struct twheel_table *table, size_t bytes);

/**
 * twheel_table_reserve() - make room for entries
 * @table:	the table
 * @nr:		number of the last entry that is needed
 *
 * New entries are zeroed, and stay where they are. What was made before an error stays.
 *
 * Context: may sleep. The caller serialises all calls for @table.
 * Return: 0, -ENOMEM, -EDQUOT or -EINTR.
 */
int twheel_table_reserve(struct twheel_table *table, u32 nr);

/**
 * twheel_table_destroy() - free the memory of a table
 * @table:	the table, which nobody uses any more
 *
 * Takes O(blocks).
 *
 * Context: may sleep.
 */
void twheel_table_destroy(struct twheel_table *table);

/**
 * twheel_table_entry() - find an entry
 * @table:	the table
 * @nr:		any number
 * @size:	@table->size, a constant
 * @per_block:	@table->per_block, a constant
 *
 * Context: under RCU or a spinlock, or the caller serialises calls of twheel_table_reserve().
 * Return: the entry, or NULL if there is no room for it.
 */
static inline void *twheel_table_entry(const struct twheel_table *table, u32 nr, size_t size,
				       u32 per_block)
{
	const struct twheel_table_array *array = rcu_dereference_raw(table->array);
	/* Pairs with smp_store_release() in add_block(): the block is there. */
	u32 room = smp_load_acquire(&array->room);
	void *entry;

	if (unlikely(nr >= room))
		return NULL;
	/* Programs choose it. */
	nr = array_index_nospec(nr, room);
	entry = array->blocks[nr / per_block] + nr % per_block * size;
	/* -fno-delete-null-pointer-checks would have the callers look again. */
	if (!entry)
		__builtin_unreachable();
	return entry;
}

#endif /* TWHEEL_TABLE_H */
