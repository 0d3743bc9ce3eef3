// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Hashed hierarchical timing wheels.
 *
 * After G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987
 * (schemes 6 and 7) and IEEE/ACM ToN 1997.
 *
 * A wheel has L levels of S buckets. A bucket of level l stands for (S/2)^l ticks, its
 * granularity. A node goes to the lowest level whose S buckets reach as far ahead as its
 * tick. When the turn of its bucket comes the node is due, or moves down to a level that
 * tells ticks apart better. So it is due at its exact tick, however far ahead that was when
 * it was enqueued.
 *
 *	S = 64		granularity	range
 *	level 0		     1 tick	up to 64 ticks
 *	level 1		    32		    2048
 *	level 2		  1024		   65536
 *	level 3		 32768		 2097152
 *
 * On level 0 the turn of a bucket comes at its tick. Each level above has two rows of buckets.
 * Row 1 holds nodes that are due exactly at the first tick that the bucket stands for. Its turns
 * come on time: the nodes expire from there, and never move. So timers whose slack lets them
 * choose a round tick share wake-ups and do not cascade.
 *
 * Row 2 holds nodes that move down. Its buckets are turned early: before the first tick that the
 * bucket stands for, by the lead of the level, which is half the granularity. A bucket may hold
 * a million nodes, and moving them all takes time. The lead is for that, so that the nodes that
 * are due first are not late. A level reaches twice as far as the granularity of the next level,
 * so that nodes that come down early fit into it.
 *
 * Order
 *
 * The clock of the wheel goes from turn to turn, however late it is, and not straight to the
 * present. A bucket that comes up is in work until all its nodes were taken, which has to be
 * done by a certain tick: the first one that it stands for. The clock does not pass that
 * tick before. So nodes are due in the order of their ticks, and a node that is put back, as
 * it is not due yet, comes after all that are due earlier. Of several buckets in work the
 * one that has to be done first comes first. Buckets on time have to be done at once, and
 * buckets whose nodes move down by the end of their lead: they get the time between the
 * others.
 *
 * At most one bucket of a row is in work: the next turn of the row comes after the tick by
 * which the bucket before has to be done. The work can stop after any node, and go on later.
 * Meanwhile nodes may be added and removed.
 *
 * Within a tick nodes are due first in, first out, as far as they went the same way. A bucket
 * is a queue: nodes are appended, a bucket that comes up goes into work as a whole, is taken
 * from its head, and what is put back is appended in that order one level below. So nodes for
 * one tick that were added to one bucket stay in order, however many levels they go down. Nodes
 * that were added to different buckets do not tell which was first: one was further ahead
 * when it was added, if only by a tick where a level ends; one was moved to this tick in its
 * old bucket; or the wheel was so late with a bucket that the clock came near to the tick in
 * the middle of it, and the rest went to a lower level.
 *
 * A turn of the clock costs a look at each row, and at the bitmap of the rows whose buckets
 * come up. Between two turns there is nothing to do. So the cost of a jump depends on the
 * buckets and nodes that come up in it, each node at most once a level, and not on the
 * length of the jump.
 *
 * The last level also takes nodes that are further ahead than it reaches. There the turn of
 * a bucket can come some rounds before the node is due: the node then stays for another
 * round, and a jump looks at it once a round. With as many levels as twheel_wheel_levels()
 * says for a range there are no such nodes within that.
 *
 * A node that is moved to a later tick can stay where it is: at the turn of its bucket it is
 * not due, and moves then. For the same reason next_expiry is a lower bound.
 *
 * Time may also go back, as wall time does when the clock is set. That moves the hands and
 * nothing else. Buckets then come up sooner than their nodes need, and these move like any
 * nodes that are not due.
 *
 * Invariant (checked by twheel_wheel_check()): the tick by which a bucket has to be done
 * comes no later than any of its nodes is to expire. So by construction no node expires late
 * or out of order; and none expires early, as its tick is compared with @clk.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/types.h>

#include "debug.h"
#include "wheel.h"

/* Level 0 has one row of buckets, each other level two: one on time, and one with a lead. */
static u32 nr_rows(const struct twheel_wheel *w)
{
	return 2 * w->levels - 1;
}

static u32 nr_buckets(const struct twheel_wheel *w)
{
	return w->slots * nr_rows(w);
}

/* The row of @level, which is not 0, whose buckets' turns come ahead of time. */
static u32 lead_row(const struct twheel_wheel *w, u32 level)
{
	return w->levels - 1 + level;
}

static u32 row_level(const struct twheel_wheel *w, u32 row)
{
	return row < w->levels ? row : row - w->levels + 1;
}

/* log2 of the granularity of @level */
static u32 level_shift(const struct twheel_wheel *w, u32 level)
{
	return level * (w->slot_bits - 1);
}

/* Half the granularity of @level, and 0 on level 0 */
static u64 level_lead(const struct twheel_wheel *w, u32 level)
{
	return 1ULL << level_shift(w, level) >> 1;
}

static u64 row_lead(const struct twheel_wheel *w, u32 row)
{
	return row < w->levels ? 0 : level_lead(w, row_level(w, row));
}

/*
 * Where a hand that is @lead ahead points when the clock is at @tick: at the last bucket turned.
 * There is no overflow where it counts: the nodes of a row are further ahead than its lead.
 */
static u64 hand_at(u64 tick, u64 lead, u32 shift)
{
	return (tick + lead) >> shift;
}

u32 twheel_wheel_levels(u32 slots, u64 range)
{
	u32 shift = ilog2(slots) - 1, levels = 1;

	while (range >> ((levels - 1) * shift) >= slots)
		levels++;
	return levels;
}

size_t twheel_wheel_size(u32 slots, u32 levels)
{
	size_t rows = 2 * levels - 1, n = slots * rows;

	return rows * sizeof(struct twheel_row) + n * sizeof(struct list_head) +
	       BITS_TO_LONGS(n) * sizeof(long);
}

void twheel_wheel_init(struct twheel_wheel *w, u32 slots, u32 levels, u64 clk,
		       void *memory)
{
	u32 row, index, bits, level = 0;

	*w = (struct twheel_wheel) {
		.clk		= clk,
		.next_expiry	= TWHEEL_NEVER,
		.slots		= slots,
		.slot_bits	= (u8)ilog2(slots),
		.levels		= (u8)levels,
		.rows		= memory,
	};
	w->buckets = (struct list_head *)(w->rows + nr_rows(w));
	w->pending = (unsigned long *)(w->buckets + nr_buckets(w));
	for (row = 0; row < nr_rows(w); row++) {
		INIT_LIST_HEAD(&w->rows[row].visit);
		w->rows[row].turn = TWHEEL_NEVER;
	}
	for (index = 0; index < nr_buckets(w); index++)
		INIT_LIST_HEAD(&w->buckets[index]);
	for (bits = 0; bits <= 64; bits++) {
		if (level < w->levels && bits > w->slot_bits + level_shift(w, level))
			level++;
		w->level_of[bits] = (u8)level;
	}
}

/*
 * The first tick after @clk at which the hand of @row points at @slot. The result is right
 * only for a bucket that holds a node: for others it may overflow.
 */
static u64 bucket_turn(const struct twheel_wheel *w, u32 row, u32 slot)
{
	u32 shift = level_shift(w, row_level(w, row));
	u64 lead = row_lead(w, row);
	u64 hand = hand_at(w->clk, lead, shift);
	u64 ahead = (slot - hand - 1) & (w->slots - 1);

	return ((hand + 1 + ahead) << shift) - lead;
}

/*
 * As list_add_tail(), which many kernels check by a call (CONFIG_DEBUG_LIST): that would be 4%
 * of an arm. twheel_wheel_check() does it instead.
 */
static void queue_append(struct list_head *queue, struct twheel_node *node)
{
	struct list_head *last = queue->prev;

	node->entry.next = queue;
	node->entry.prev = last;
	last->next = &node->entry;
	queue->prev = &node->entry;
}

/*
 * Add @node, which expires at @expires, to a bucket of @level. @far: the level does not reach so
 * far, and the turn of the bucket comes some rounds before. Otherwise the turn is to come: where
 * the level below does not reach, that is two buckets ahead, and a lead is half of one.
 */
static __always_inline void add_to_level(struct twheel_wheel *w, struct twheel_node *node,
					 u64 expires, u32 level, bool far)
{
	u32 shift = level_shift(w, level), slot = (expires >> shift) & (w->slots - 1);
	/* The first tick that the bucket stands for */
	u64 turn = expires >> shift << shift;
	u32 row = level, index;

	/* A bucket whose turn comes on time is only for nodes that are due at that turn. */
	if (turn != expires) {
		row = lead_row(w, level);
		turn -= level_lead(w, level);
	}
	index = row * w->slots + slot;
	queue_append(&w->buckets[index], node);
	__set_bit(index, w->pending);

	if (far)
		turn = bucket_turn(w, row, slot);
	/* The bucket is done before the node is late. */
	twheel_assert(turn > w->clk && turn + row_lead(w, row) <= expires);
	if (turn < w->rows[row].turn)
		w->rows[row].turn = turn;
	if (turn < w->next_expiry)
		w->next_expiry = turn;
}

static noinline void add_far(struct twheel_wheel *w, struct twheel_node *node)
{
	add_to_level(w, node, node->expires, w->levels - 1, true);
}

void twheel_wheel_enqueue(struct twheel_wheel *w, struct twheel_node *node)
{
	u64 expires = node->expires;
	u32 level;

	w->nr_nodes++;
	if (expires <= w->clk) {
		/* Overdue: it is in work at once. */
		queue_append(&w->rows[0].visit, node);
		w->rows[0].due = w->clk;
		w->next_expiry = w->clk;
		return;
	}

	level = w->level_of[fls64(expires - w->clk - 1)];
	if (likely(level < w->levels))
		add_to_level(w, node, expires, level, false);
	else
		add_far(w, node);
}

/* The first turn after @clk of a bucket of @row that is not empty. O(slots / 64). */
static u64 find_turn(const struct twheel_wheel *w, u32 row)
{
	u64 hand = hand_at(w->clk, row_lead(w, row), level_shift(w, row_level(w, row)));
	u32 base = row * w->slots, end = base + w->slots;
	u32 first = base + ((hand + 1) & (w->slots - 1));
	unsigned long index;

	index = find_next_bit(w->pending, end, first);
	if (index == end) {
		index = find_next_bit(w->pending, first, base);
		if (index == first)
			return TWHEEL_NEVER;
	}
	return bucket_turn(w, row, (u32)index - base);
}

/* The turn of @row has come, at @clk: take its bucket into work. */
static void open_bucket(struct twheel_wheel *w, u32 row)
{
	struct twheel_row *r = &w->rows[row];
	u64 lead = row_lead(w, row);
	u32 slot = hand_at(w->clk, lead, level_shift(w, row_level(w, row))) & (w->slots - 1);
	u32 index = row * w->slots + slot;

	twheel_assert(list_empty(&r->visit));

	/* All its nodes may have been removed since. */
	if (test_bit(index, w->pending)) {
		__clear_bit(index, w->pending);
		list_splice_tail_init(&w->buckets[index], &r->visit);
		r->due = w->clk + lead;
	}
	r->turn = find_turn(w, row);
}

/*
 * Let the clock go on, at most to @now, until there is a bucket in work. Returns the row of
 * the bucket that has to be done first, or NULL if all is done up to @now.
 */
static struct twheel_row *next_row(struct twheel_wheel *w, u64 now)
{
	for (;;) {
		struct twheel_row *first = NULL;
		u64 turn = TWHEEL_NEVER, until = now;
		u32 row;

		for (row = 0; row < nr_rows(w); row++) {
			struct twheel_row *r = &w->rows[row];

			if (r->turn < turn)
				turn = r->turn;
			if (!list_empty(&r->visit) && (!first || r->due < first->due))
				first = r;
		}

		twheel_assert(turn > w->clk && (!first || first->due >= w->clk));

		/* No other bucket comes up before @first has to be done, or by @now. */
		if (turn > now || (first && first->due <= turn)) {
			if (first && first->due <= now)
				until = first->due > w->clk ? first->due - 1 : w->clk;
			if (until > w->clk)
				w->clk = until;
			return first;
		}

		w->clk = turn;
		for (row = 0; row < nr_rows(w); row++)
			if (w->rows[row].turn == turn)
				open_bucket(w, row);
	}
}

/* The first turn of any row, if no bucket is in work. O(levels * slots / 64). */
static u64 find_next_expiry(struct twheel_wheel *w)
{
	u64 next = TWHEEL_NEVER;
	u32 row;

	for (row = 0; row < nr_rows(w); row++) {
		struct twheel_row *r = &w->rows[row];

		/* All nodes of the bucket that this turn was for may have been removed. */
		if (r->turn != TWHEEL_NEVER)
			r->turn = find_turn(w, row);
		if (r->turn < next)
			next = r->turn;
	}
	return next;
}

/*
 * With the hands further back the turn of each bucket comes no later than before, so the
 * nodes can stay where they are. Buckets in work have to be done first, as the next turn of
 * their row may now come sooner.
 */
void twheel_wheel_rewind(struct twheel_wheel *w, u64 now)
{
	bool busy = false;
	u32 row;

	w->clk = now;
	for (row = 0; row < nr_rows(w); row++) {
		w->rows[row].due = now;
		busy |= !list_empty(&w->rows[row].visit);
	}
	w->next_expiry = find_next_expiry(w);
	if (busy)
		w->next_expiry = now;
}

u32 twheel_wheel_take(struct twheel_wheel *w, u64 now, struct twheel_node **nodes,
		      u32 size)
{
	struct list_head *visit, *entry;
	struct twheel_row *row;
	u32 n = 0;

	if (now < w->clk)
		twheel_wheel_rewind(w, now);

	row = next_row(w, now);
	if (!row) {
		w->next_expiry = find_next_expiry(w);
		return 0;
	}

	visit = &row->visit;
	for (entry = visit->next; n < size && entry != visit; entry = entry->next)
		nodes[n++] = list_entry(entry, struct twheel_node, entry);
	/* Cut them off: @entry is the first one that is left, or the head. */
	visit->next = entry;
	entry->prev = visit;
	twheel_assert(n <= w->nr_nodes && (n || !size));
	w->nr_nodes -= n;
	w->next_expiry = w->clk;
	return n;
}

u64 twheel_wheel_coalesce(u64 expires, u64 slack)
{
	u64 last = expires + slack;

	if (!expires)
		return expires;
	if (last < expires)
		last = TWHEEL_NEVER;

	/*
	 * Clear the bits of @last below the highest one in which it differs
	 * from the tick before the first allowed one.
	 */
	return last & ~((1ULL << (fls64((expires - 1) ^ last) - 1)) - 1);
}

#ifdef TWHEEL_DEBUG

/* Is @queue sound, and none of its nodes due before @due? Adds their number to @n. */
static const char *check_queue(const struct list_head *queue, u64 due, u64 *n)
{
	const struct list_head *prev = queue, *entry;

	for (entry = queue->next; entry != queue; entry = entry->next) {
		if (!entry || entry->prev != prev)
			return "a bucket's queue is broken";
		if (list_entry(entry, struct twheel_node, entry)->expires < due)
			return "a node's bucket comes after the node";
		prev = entry;
		(*n)++;
	}
	return queue->prev == prev ? NULL : "a bucket's queue has another end";
}

const char *twheel_wheel_check(const struct twheel_wheel *w)
{
	const char *why = NULL;
	u64 nr_nodes = 0;
	u32 index, row;

	for (index = 0; index < nr_buckets(w) && !why; index++) {
		const struct list_head *bucket = &w->buckets[index];
		u64 turn;

		row = index / w->slots;
		if (test_bit(index, w->pending) != !list_empty(bucket))
			return "a bucket's pending bit is wrong";
		if (list_empty(bucket))
			continue;
		turn = bucket_turn(w, row, index % w->slots);
		if (turn < w->rows[row].turn)
			return "a bucket's turn comes before its row's";
		why = check_queue(bucket, turn + row_lead(w, row), &nr_nodes);
	}

	for (row = 0; row < nr_rows(w) && !why; row++) {
		const struct twheel_row *r = &w->rows[row];

		if (r->turn <= w->clk)
			return "a row's turn was missed";
		if (r->turn < w->next_expiry)
			return "a row's turn comes before next_expiry";
		if (list_empty(&r->visit))
			continue;
		if (w->next_expiry > w->clk)
			return "a bucket is in work and next_expiry is ahead";
		if (r->due < w->clk)
			return "a bucket in work is late";
		/* With due == clk there may be nodes that were enqueued late, or rewound. */
		why = check_queue(&r->visit, r->due == w->clk ? 0 : r->due, &nr_nodes);
	}

	if (!why && nr_nodes != w->nr_nodes)
		why = "nr_nodes is wrong";
	return why;
}

#endif /* TWHEEL_DEBUG */
