// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hashed hierarchical timing wheels.
 *
 * After G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels",
 * SOSP 1987 (schemes 6 and 7) and IEEE/ACM ToN 1997.
 *
 * A wheel has L levels of S buckets. A bucket of level l stands for (S/2)^l
 * ticks, its granularity. A node goes to the lowest level whose S buckets reach
 * as far ahead as its tick. When its bucket's turn comes it expires, or moves
 * down to a level that tells ticks apart better. So it expires at its exact tick
 * however far away that was when it was enqueued.
 *
 *	S = 64		granularity	range
 *	level 0		     1 tick	up to 64 ticks
 *	level 1		    32		    2048
 *	level 2		  1024		   65536
 *	level 3		 32768		 2097152
 *
 * On level 0 a bucket's turn comes at its tick. The levels above have two rows
 * of buckets. A node due at the first tick that a bucket stands for is in the
 * row whose turns come on time: it need not move again. So timers whose slack
 * lets them choose a round tick share wake-ups and do not cascade.
 *
 * The others move down, and the turns of their row come half the granularity,
 * the level's lead, before the first tick that the bucket stands for: it may
 * hold a million nodes, and to move them all takes time, which those due first
 * should not pay for, as far as the lead reaches. That is why a level reaches
 * twice as far as the granularity of the next, and not just as far: what comes
 * down early fits.
 *
 * The last level takes whatever is further away, too. There a bucket's turn can
 * come some rounds before the node's: it is then left for another round. So a
 * single level is the classic hashed wheel with rounds.
 *
 * To turn the wheel from one tick to another is to mark the buckets between the
 * two hands on each level as due, S of them at most, and to look at each once,
 * with the clock already at the new time. So a jump of any length costs the
 * same as one revolution. The nodes that come up are looked at one by one, and
 * the work can be left and taken up again after any of them: the buckets in work
 * are in @visit, the others are still marked in @due. Meanwhile the wheel may
 * turn, and nodes may be added and removed. One that is added to a bucket marked
 * as due is looked at once more than needed, which is harmless.
 *
 * Rows on time come first, then low levels. A bucket of a high level can hold a
 * million nodes that only move down; what is due in the meantime must not wait
 * for them.
 *
 * A node that moves to a later tick can stay where it is: its bucket's turn
 * then finds it not due and moves it. In return next_expiry is a lower bound.
 *
 * Time may also go back, as wall time does when the clock is set: that moves the
 * hands and nothing else. Buckets then come up sooner than their nodes need, and
 * these are moved like any that are not due.
 *
 * Invariant (checked by twheel_wheel_check()): the turn of each bucket comes no
 * later than any of its nodes is to expire. Nodes never expire late by
 * construction, and never early because expiry compares their tick with @clk.
 */
#include "wheel.h"

/* Level 0 has a row of buckets; the others one on time and one with a lead. */
static u32 nr_rows(const struct twheel_wheel *w)
{
	return 2 * w->levels - 1;
}

static u32 nr_buckets(const struct twheel_wheel *w)
{
	return w->slots * nr_rows(w);
}

/* The row of @level whose buckets' turns come ahead of time. Level 0 has none. */
static u32 lead_row(const struct twheel_wheel *w, u32 level)
{
	return level ? w->levels - 1 + level : 0;
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

static u64 level_lead(const struct twheel_wheel *w, u32 level)
{
	return level ? 1ULL << (level_shift(w, level) - 1) : 0;
}

static u64 row_lead(const struct twheel_wheel *w, u32 row)
{
	return row < w->levels ? 0 : level_lead(w, row_level(w, row));
}

/* Where a hand that is @lead ahead points at @tick: its turn came last. */
static u64 hand_at(u64 tick, u64 lead, u32 shift)
{
	u64 ahead = tick + lead;

	return (ahead < tick ? U64_MAX : ahead) >> shift;
}

/* The hand of the row of @level that is ahead of time. */
static u64 level_hand(const struct twheel_wheel *w, u32 level)
{
	return hand_at(w->clk, level_lead(w, level), level_shift(w, level));
}

/* A level whose granularity is over 64 bits of ticks would never be used. */
static u32 usable_levels(u32 slots, u32 levels)
{
	return min_t(u32, levels, 1 + 63 / (ilog2(slots) - 1));
}

size_t twheel_wheel_size(u32 slots, u32 levels)
{
	size_t n = (size_t)slots * (2 * usable_levels(slots, levels) - 1);

	return n * sizeof(struct hlist_head) +
	       2 * BITS_TO_LONGS(n) * sizeof(long);
}

void twheel_wheel_init(struct twheel_wheel *w, u32 slots, u32 levels, u64 clk,
		       void *memory)
{
	u32 row;

	*w = (struct twheel_wheel) {
		.clk		= clk,
		.next_expiry	= TWHEEL_NEVER,
		.slots		= slots,
		.slot_bits	= (u8)ilog2(slots),
		.levels		= (u8)usable_levels(slots, levels),
		.buckets	= memory,
	};
	w->pending = (unsigned long *)(w->buckets + nr_buckets(w));
	w->due = w->pending + BITS_TO_LONGS(nr_buckets(w));
	for (row = 0; row < nr_rows(w); row++)
		w->due_from[row] = (row + 1) * w->slots;
}

/*
 * The first tick after @clk at which the hand of @row points at @slot. The
 * result is right only for buckets that hold a node: it may overflow for others.
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
 * The lowest level that reaches as far as @expires, or else the last. It must
 * have its turn before @expires; that of the next level up may be over. Then the
 * node stays where it has to wait for some rounds.
 */
static u32 choose_level(const struct twheel_wheel *w, u64 expires)
{
	u32 level;

	for (level = 0; level < w->levels - 1u; level++) {
		u64 ahead = (expires >> level_shift(w, level)) -
			    level_hand(w, level);

		if (ahead <= w->slots ||
		    expires >> level_shift(w, level + 1) <=
		    level_hand(w, level + 1))
			break;
	}
	return level;
}

/* A bucket that comes on time is for those due at its turn, and no others. */
static u32 choose_row(const struct twheel_wheel *w, u32 level, u64 expires)
{
	u32 shift = level_shift(w, level);

	return expires >> shift << shift == expires ? level : lead_row(w, level);
}

void twheel_wheel_enqueue(struct twheel_wheel *w, struct twheel_node *node)
{
	u64 expires = node->expires, turn;
	u32 level, row, slot, index;

	/* What is overdue expires at the next tick. */
	if (expires <= w->clk)
		expires = w->clk + 1;

	level = choose_level(w, expires);
	row = choose_row(w, level, expires);
	slot = (expires >> level_shift(w, level)) & (w->slots - 1);
	index = row * w->slots + slot;
	hlist_add_head(&node->entry, &w->buckets[index]);
	__set_bit(index, w->pending);
	w->nr_nodes++;

	turn = bucket_turn(w, row, slot);
	if (turn < w->next_expiry)
		w->next_expiry = turn;
}

/*
 * If @node is the only one in a bucket its pprev points at the bucket's head,
 * which tells which bucket that is. Nodes on @visit have left theirs.
 */
static bool last_in_bucket(const struct twheel_wheel *w,
			   const struct twheel_node *node, u32 *index)
{
	uintptr_t head = (uintptr_t)node->entry.pprev;
	uintptr_t first = (uintptr_t)w->buckets;

	if (node->entry.next || head < first ||
	    head >= (uintptr_t)(w->buckets + nr_buckets(w)))
		return false;

	*index = (u32)((head - first) / sizeof(*w->buckets));
	return true;
}

void twheel_wheel_dequeue(struct twheel_wheel *w, struct twheel_node *node)
{
	u32 index;

	if (last_in_bucket(w, node, &index)) {
		__clear_bit(index, w->pending);
		__clear_bit(index, w->due);
	}
	hlist_del_init(&node->entry);
	w->nr_nodes--;
}

void twheel_wheel_forward(struct twheel_wheel *w, u64 now)
{
	if (now > w->clk && now < w->next_expiry)
		w->clk = now;
}

static bool is_busy(const struct twheel_wheel *w)
{
	u32 row;

	for (row = 0; row < nr_rows(w); row++)
		if (w->due_from[row] != (row + 1) * w->slots ||
		    !hlist_empty(&w->visit[row]))
			return true;
	return false;
}

/* Mark the non-empty buckets in [@from, @to), all of @row, as due. */
static void mark_due(struct twheel_wheel *w, u32 row, u32 from, u32 to)
{
	unsigned long index;

	for (index = find_next_bit(w->pending, to, from); index < to;
	     index = find_next_bit(w->pending, to, index + 1)) {
		__set_bit(index, w->due);
		if (index < w->due_from[row])
			w->due_from[row] = (u32)index;
	}
}

static void turn_to(struct twheel_wheel *w, u64 now)
{
	u32 row;

	for (row = 0; row < nr_rows(w); row++) {
		u32 shift = level_shift(w, row_level(w, row));
		u64 lead = row_lead(w, row);
		u64 from = hand_at(w->clk, lead, shift);
		u64 steps = hand_at(now, lead, shift) - from;
		u32 base = row * w->slots;
		u32 first, n;

		if (!steps)
			continue;

		n = min_t(u64, steps, w->slots);
		first = (from + 1) & (w->slots - 1);
		mark_due(w, row, base + first,
			 base + min_t(u32, first + n, w->slots));
		if (first + n > w->slots)
			mark_due(w, row, base, base + first + n - w->slots);
	}
	w->clk = now;
}

/* The first turn of a non-empty bucket after @clk. O(levels * slots / 64). */
static u64 find_next_expiry(const struct twheel_wheel *w)
{
	u64 next = TWHEEL_NEVER;
	u32 row;

	if (!w->nr_nodes)
		return next;

	for (row = 0; row < nr_rows(w); row++) {
		u64 hand = hand_at(w->clk, row_lead(w, row),
				   level_shift(w, row_level(w, row)));
		u32 base = row * w->slots, end = base + w->slots;
		u32 first = base + ((hand + 1) & (w->slots - 1));
		unsigned long index;
		u64 turn;

		index = find_next_bit(w->pending, end, first);
		if (index == end)
			index = find_next_bit(w->pending, first, base);
		if (index == first && !test_bit(first, w->pending))
			continue;

		turn = bucket_turn(w, row, (u32)index - base);
		if (turn < next)
			next = turn;
	}
	return next;
}

/*
 * With the hands further back each bucket's turn comes no later than before, so
 * the nodes can stay where they are.
 */
void twheel_wheel_rewind(struct twheel_wheel *w, u64 now)
{
	u32 next = (w->clk + 1) & (w->slots - 1);

	/* What was overdue is there, and may have to come before that turn now. */
	mark_due(w, 0, next, next + 1);
	w->clk = now;
	w->next_expiry = is_busy(w) ? now : find_next_expiry(w);
}

/*
 * The next node to look at, or NULL: of the first row that has any, from the
 * bucket in work there or else from the next one that is due.
 */
static struct twheel_node *next_node(struct twheel_wheel *w)
{
	u32 row;

	for (row = 0; row < nr_rows(w); row++) {
		struct hlist_head *visit = &w->visit[row];
		u32 end = (row + 1) * w->slots;
		unsigned long index;

		if (hlist_empty(visit)) {
			if (w->due_from[row] == end)
				continue;
			index = find_next_bit(w->due, end, w->due_from[row]);
			w->due_from[row] = min_t(u32, index + 1, end);
			if (index == end)
				continue;
			__clear_bit(index, w->due);
			__clear_bit(index, w->pending);
			hlist_move_list(&w->buckets[index], visit);
		}
		return hlist_entry(visit->first, struct twheel_node, entry);
	}
	return NULL;
}

u32 twheel_wheel_collect(struct twheel_wheel *w, u64 now,
			 struct twheel_node **expired, u32 size, bool *more)
{
	u32 seen = 0, n = 0;

	if (now > w->clk)
		turn_to(w, now);
	else if (now < w->clk)
		twheel_wheel_rewind(w, now);

	for (;;) {
		struct twheel_node *node = next_node(w);

		if (!node)
			break;
		if (seen++ == size) {
			*more = true;
			return n;
		}

		hlist_del_init(&node->entry);
		w->nr_nodes--;
		if (node->expires <= w->clk) {
			expired[n++] = node;
		} else {
			twheel_wheel_enqueue(w, node);
			w->nr_cascades++;
		}
	}

	w->next_expiry = find_next_expiry(w);
	*more = false;
	return n;
}

u64 twheel_wheel_coalesce(u64 expires, u64 slack)
{
	u64 last = expires + slack;

	if (!slack || !expires)
		return expires;
	if (last < expires)
		last = TWHEEL_NEVER;

	/*
	 * Clear the bits of @last below the highest one in which it differs
	 * from the tick before the first allowed one.
	 */
	return last & ~((1ULL << (fls64((expires - 1) ^ last) - 1)) - 1);
}

const char *twheel_wheel_check(const struct twheel_wheel *w)
{
	const struct hlist_node *entry, *const *pprev;
	u64 nr_nodes = 0;
	bool busy = false;
	u32 index, row;

	for (index = 0; index < nr_buckets(w); index++) {
		const struct hlist_head *bucket = &w->buckets[index];
		u32 slot = index % w->slots;
		bool due = test_bit(index, w->due);

		row = index / w->slots;
		if (due && index < w->due_from[row])
			return "a bucket that is due is passed over";
		if (test_bit(index, w->pending) != !hlist_empty(bucket))
			return "a bucket's pending bit is wrong";
		if (due && hlist_empty(bucket))
			return "an empty bucket is due";
		busy |= due;

		if (!due && !hlist_empty(bucket) &&
		    bucket_turn(w, row, slot) < w->next_expiry)
			return "a bucket's turn comes before next_expiry";

		pprev = (const struct hlist_node *const *)&bucket->first;
		for (entry = bucket->first; entry; entry = entry->next) {
			const struct twheel_node *node =
				hlist_entry(entry, struct twheel_node, entry);

			if ((const struct hlist_node *const *)entry->pprev != pprev)
				return "a bucket's list is broken";
			pprev = (const struct hlist_node *const *)&entry->next;
			nr_nodes++;

			/* What was overdue when it came is in the next bucket. */
			if (!due && bucket_turn(w, row, slot) > node->expires &&
			    bucket_turn(w, row, slot) != w->clk + 1)
				return "a node's bucket comes after the node";
		}
	}

	for (row = 0; row < nr_rows(w); row++) {
		const struct hlist_head *visit = &w->visit[row];

		busy |= !hlist_empty(visit);
		pprev = (const struct hlist_node *const *)&visit->first;
		for (entry = visit->first; entry; entry = entry->next) {
			if ((const struct hlist_node *const *)entry->pprev != pprev)
				return "the list of a bucket in work is broken";
			pprev = (const struct hlist_node *const *)&entry->next;
			nr_nodes++;
		}
	}

	if (nr_nodes != w->nr_nodes)
		return "nr_nodes is wrong";
	if (busy && w->next_expiry > w->clk)
		return "buckets are due and next_expiry is ahead";
	return NULL;
}
