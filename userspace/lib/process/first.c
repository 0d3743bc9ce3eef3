// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The wheel of an embedded context: module/core/wheel.c as it is, and a question that the module
 * does not ask.
 *
 * The module's hrtimer may be set to the turn of a bucket, and find nothing due: nobody
 * notices. A timerfd that has fired wakes the program. So an embedded context sets it to the
 * first tick in which a timer is due, and that has to be looked for in buckets.
 */
#include "../../../module/core/wheel.c"

#include "emb.h"

/*
 * The earlier one of @first and the first node in a list, of which none is due before @due.
 * If @looks runs out, @due in place of the node.
 */
static u64 first_in_list(const struct list_head *head, u64 due, u64 first, u32 *looks)
{
	const struct list_head *entry;

	for (entry = head->next; entry != head; entry = entry->next) {
		if (!*looks)
			return min_t(u64, first, due);
		--*looks;
		first = min_t(u64, first, list_entry(entry, struct twheel_node, entry)->expires);
	}
	return first;
}

/* The same for a row: for its buckets in the order of their turns. */
static u64 first_in_row(const struct twheel_wheel *w, u32 row, u64 first, u32 *looks)
{
	u64 hand = hand_at(w->clk, row_lead(w, row), level_shift(w, row_level(w, row)));
	u32 base = row * w->slots, from = (hand + 1) & (w->slots - 1), seen = 0;

	while (seen < w->slots) {
		u32 slot = (from + seen) & (w->slots - 1);
		u32 end = base + (slot < from ? from : w->slots);
		u32 index = (u32)find_next_bit(w->pending, end, base + slot);
		u64 due;

		seen += index - base - slot;
		if (index == end)
			continue;
		due = bucket_turn(w, row, index - base) + row_lead(w, row);
		if (due >= first)
			break;
		first = first_in_list(&w->buckets[index], due, first, looks);
		seen++;
	}
	return first;
}

uint64_t twheel_emb_first(const struct twheel_wheel *w, uint32_t looks)
{
	u64 first = TWHEEL_NEVER;
	u32 row;

	for (row = 0; row < nr_rows(w); row++) {
		const struct twheel_row *r = &w->rows[row];

		/* Nodes that were enqueued late, or rewound, may be due at once. */
		first = first_in_list(&r->visit, w->clk, first, &looks);
		first = first_in_row(w, row, first, &looks);
	}
	return first;
}
