# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # see selftests/mutate.sh
#
# mutations.sh - mutations of the wheel, and of the account of leases

files=(module/core/wheel.c module/core/lease.h)

# Prints the tests that fail, of the first program in which any does.
found_by() {
	local -x OPS=${OPS:-400000}
	local -x ASAN_OPTIONS=exitcode=99:detect_leaks=0 UBSAN_OPTIONS=exitcode=99
	local out=$scratch/out log=$scratch/log test status
	local tests=(units exact cost model fair)

	make -s -C selftests/wheel O="$out" MODULE="$tree/module/core" \
		TESTS="${tests[*]/#/test_}" all >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		return 1
	}
	for test in "${tests[@]}"; do
		status=0
		# In seconds of CPU time, as the machine may be busy.
		{ (ulimit -t 30; exec "$out/test_$test") >"$log" || status=$?; } 2>/dev/null
		[ "$status" != 0 ] || continue
		{
			sed -n 's/^not ok [0-9]* //p' "$log"
			[ "$status" = 1 ] || echo "test_$test ended with status $status"
		} | paste -sd' '
		return
	done
}

mutations() {
	cat <<-'END'
	s/return 2 \* w->levels - 1;/return 2 * w->levels;/
	s/return w->slots \* nr_rows(w);/return w->slots * nr_rows(w) - 1;/
	s/return level ? w->levels - 1 + level : 0;/return level ? w->levels + level : 0;/
	s/row < w->levels ? row : row - w->levels + 1/row < w->levels ? row : row - w->levels/
	s/return level \* (w->slot_bits - 1);/return level * w->slot_bits;/
	s/? 1ULL << (level_shift(w, level) - 1) : 0/? 0 : 0/
	s/? 1ULL << (level_shift(w, level) - 1) : 0/? 1ULL << level_shift(w, level) : 0/
	s/row < w->levels ? 0 : level_lead/row < w->levels ? 1 : level_lead/
	s/(ahead < tick ? U64_MAX : ahead)/ahead/
	s/1 + 63 \/ (ilog2/2 + 63 \/ (ilog2/
	s/1 + 63 \/ (ilog2/63 \/ (ilog2/
	/^u32 twheel_wheel_levels/,/^}/s/ilog2(slots) - 1/ilog2(slots)/
	/^u32 twheel_wheel_levels/,/^}/s/levels = 1;/levels = 2;/
	/^u32 twheel_wheel_levels/,/^}/s/>= slots)/> slots)/
	/^u32 twheel_wheel_levels/,/^}/s/range >> ((levels - 1)/range >> (levels/
	/^size_t twheel_wheel_size/,/^}/s/rows \* sizeof(struct twheel_row) + n/n/
	/^size_t twheel_wheel_size/,/^}/s/rows = 2 \* usable_levels(slots, levels) - 1/rows = 2 * levels - 1/
	/^size_t twheel_wheel_size/,/^}/s/BITS_TO_LONGS(n)/(n \/ BITS_PER_LONG)/
	/^void twheel_wheel_init/,/^}/s/= clk,/= 0,/
	/^void twheel_wheel_init/,/^}/s/= TWHEEL_NEVER,/= 0,/
	/^void twheel_wheel_init/,/^}/s/\.turn = TWHEEL_NEVER/.turn = 0/
	/^void twheel_wheel_init/,/^}/s/usable_levels(slots, levels)/levels/
	/^void twheel_wheel_init/,/^}/s/w->rows + nr_rows(w)/w->rows + nr_rows(w) - 1/
	/^void twheel_wheel_init/,/^}/s/w->buckets + nr_buckets(w)/w->buckets/
	s/(slot - hand - 1) & (w->slots - 1)/(slot - hand) \& (w->slots - 1)/
	s/(hand + 1 + ahead) << shift/(hand + ahead) << shift/
	/^static u64 bucket_turn/,/^}/s/ - lead;/;/
	/^static u64 bucket_turn/,/^}/s/hand_at(w->clk, lead, shift)/hand_at(w->clk, 0, shift)/
	s/level < w->levels - 1u; level++/level < w->levels - 2u; level++/
	s/if (ahead <= w->slots ||/if (ahead < w->slots ||/
	s/if (ahead <= w->slots ||/if (ahead <= w->slots + 1 ||/
	s/if (ahead <= w->slots ||/if (0 ||/
	s/expires >> level_shift(w, level + 1) <=/0 \&\& expires >> level_shift(w, level + 1) <=/
	s/expires >> level_shift(w, level + 1) <=/expires >> level_shift(w, level + 1) </
	/^static u32 choose_level/,/^}/s/level_hand(w, level);/(w->clk >> level_shift(w, level));/
	s/if (first != expires) {/if (0) {/
	s/if (first != expires) {/if (1) {/
	s/<= w->slots + 2u;/<= w->slots \/ 4;/
	s/bits ? 1ULL << (bits - 1) : 0/~0ULL >> (64 - bits)/
	/^void twheel_wheel_enqueue/,/^}/s/lead = level_lead(w, level);/;/
	/^void twheel_wheel_enqueue/,/^}/s/turn = first - lead;/turn = first;/
	/^void twheel_wheel_enqueue/,/^}/s/turn = bucket_turn(w, row, slot);/;/
	/^void twheel_wheel_enqueue/,/^}/s/shift) > w->slots)/shift) > 2 * w->slots)/
	/^void twheel_wheel_init/,/^}/s/INIT_LIST_HEAD(&w->rows\[row\].visit);/;/
	/^void twheel_wheel_init/,/^}/s/INIT_LIST_HEAD(&w->buckets\[index\]);/;/
	/^static void queue_append/,/^}/s/node->entry.prev = last;/node->entry.prev = queue;/
	/^static void queue_append/,/^}/s/last->next = &node->entry;/queue->next = \&node->entry;/
	/^static void queue_append/,/^}/s/queue->prev = &node->entry;/;/
	s/queue_append(&w->rows\[0\].visit, node)/queue_append(w->rows[0].visit.next, node)/
	s/queue_append(&w->buckets\[index\], node)/queue_append(w->buckets[index].next, node)/
	/^void twheel_wheel_enqueue/,/^}/s/w->nr_nodes++;/;/
	s/if (expires <= w->clk) {/if (expires < w->clk) {/
	s/if (expires <= w->clk) {/if (0) {/
	/^void twheel_wheel_enqueue/,/^}/s/w->rows\[0\].due = w->clk;/;/
	/^void twheel_wheel_enqueue/,/^}/s/w->next_expiry = w->clk;/;/
	/^void twheel_wheel_enqueue/,/^}/s/w->next_expiry = w->clk;/w->next_expiry = w->clk + 1;/
	s/slot = (expires >> shift/slot = ((expires - w->clk) >> shift/
	/^void twheel_wheel_enqueue/,/^}/s/__set_bit(index, w->pending);/;/
	s/turn = bucket_turn(w, row, slot);$/turn = expires;/
	/^void twheel_wheel_enqueue/,/^}/s/if (turn < w->rows\[row\].turn)$/if (0)/
	/^void twheel_wheel_enqueue/,/^}/s/if (turn < w->rows\[row\].turn)$/if (1)/
	/^void twheel_wheel_enqueue/,/^}/s/if (turn < w->rows\[row\].turn)$/if (w->rows[row].turn == TWHEEL_NEVER)/
	s/if (turn < w->next_expiry)/if (turn > w->next_expiry)/
	s/if (turn < w->next_expiry)/if (expires < w->next_expiry)/
	s/if (turn < w->next_expiry)/if (1)/
	s/if (next == prev && next >= w->buckets)/if (next >= w->buckets)/
	s/if (next == prev && next >= w->buckets)/if (next == prev)/
	s/if (next == prev && next >= w->buckets)/if (next == prev \&\& next > w->buckets)/
	/^void twheel_wheel_dequeue/,/^}/s/__list_del(prev, next);/;/
	/^void twheel_wheel_dequeue/,/^}/s/__clear_bit(next - w->buckets, w->pending);/;/
	/^void twheel_wheel_dequeue/,/^}/s/w->nr_nodes--;/;/
	s/if (now > w->clk && now < w->next_expiry)/if (now > w->clk)/
	s/if (now > w->clk && now < w->next_expiry)/if (now < w->next_expiry)/
	s/if (now > w->clk && now < w->next_expiry)/if (now > w->clk \&\& now <= w->next_expiry)/
	/^static u64 find_turn/,/^}/s/row_lead(w, row), level_shift/0, level_shift/
	/^static u64 find_turn/,/^}/s/(hand + 1) & (w->slots - 1)/hand \& (w->slots - 1)/
	/^static u64 find_turn/,/^}/s/if (index == end)/if (0)/
	/^static u64 find_turn/,/^}/s/if (index == end)/if (index >= end - 1)/
	s/index = find_next_bit(w->pending, first, base);/return TWHEEL_NEVER;/
	s/index = find_next_bit(w->pending, first, base);/index = find_next_bit(w->pending, first, base + 1);/
	/^static u64 find_turn/,/^}/s/if (index == first)/if (0)/
	/^static void open_bucket/,/^}/s/hand_at(w->clk, lead, /hand_at(w->clk, 0, /
	/^static void open_bucket/,/^}/s/__clear_bit(index, w->pending);/;/
	/^static void open_bucket/,/^}/s/list_splice_tail_init(.*/;/
	/^static void open_bucket/,/^}/s/r->due = w->clk + lead;/;/
	/^static void open_bucket/,/^}/s/r->due = w->clk + lead;/r->due = w->clk;/
	/^static void open_bucket/,/^}/s/r->due = w->clk + lead;/r->due = w->clk + 2 * lead;/
	/^static void open_bucket/,/^}/s/r->turn = find_turn(w, row);/;/
	/^static void open_bucket/,/^}/s/r->turn = find_turn(w, row);/r->turn = TWHEEL_NEVER;/
	/^static struct twheel_row \*next_row/,/^}/s/if (r->turn < turn)/if (0)/
	/^static struct twheel_row \*next_row/,/^}/s/if (r->turn < turn)/if (row < w->levels \&\& r->turn < turn)/
	/^static struct twheel_row \*next_row/,/^}/s/if (!list_empty(&r->visit) &&/if (/
	s/r->due < first->due/r->due > first->due/
	s/r->due < first->due/r->due >= first->due/
	s/if (turn > now || (first &&/if (turn > now + 1 || (first \&\&/
	s/if (turn > now || (first &&/if (turn >= now || (first \&\&/
	s/if (turn > now || (first &&/if ((first \&\&/
	s/|| (first && first->due <= turn))/|| (first \&\& first->due < turn))/
	s/|| (first && first->due <= turn))/|| first)/
	s/|| (first && first->due <= turn))/)/
	s/|| (first && first->due <= turn))/|| (first \&\& first->due == w->clk))/
	s/if (first && first->due <= now)/if (0)/
	s/if (first && first->due <= now)/if (first)/
	s/if (first && first->due <= now)/if (first \&\& first->due < now)/
	s/until = first->due > w->clk ? first->due - 1 : w->clk/until = first->due > w->clk ? first->due : w->clk/
	s/until = first->due > w->clk ? first->due - 1 : w->clk/until = first->due - 1/
	s/until = first->due > w->clk ? first->due - 1 : w->clk/until = w->clk/
	s/turn = TWHEEL_NEVER, until = now;/turn = TWHEEL_NEVER, until = w->clk;/
	/^static struct twheel_row \*next_row/,/^}/s/if (until > w->clk)/if (0)/
	/^static struct twheel_row \*next_row/,/^}/s/w->clk = turn;/w->clk = now;/
	/^static struct twheel_row \*next_row/,/^}/s/w->clk = turn;/;/
	s/if (w->rows\[row\].turn == turn)/if (1)/
	s/if (w->rows\[row\].turn == turn)/if (w->rows[row].turn <= now)/
	s/if (w->rows\[row\].turn == turn)/if (row < w->levels \&\& w->rows[row].turn == turn)/
	/^static u64 find_next_expiry/,/^}/s/r->turn = find_turn(w, row);/;/
	/^static u64 find_next_expiry/,/^}/s/if (r->turn < next)/if (r->turn <= next || row)/
	/^static u64 find_next_expiry/,/^}/s/if (r->turn < next)/if (!row)/
	/^void twheel_wheel_rewind/,/^}/s/w->clk = now;/;/
	/^void twheel_wheel_rewind/,/^}/s/w->rows\[row\].due = now;/;/
	/^void twheel_wheel_rewind/,/^}/s/busy |= .*/;/
	/^void twheel_wheel_rewind/,/^}/s/busy |= /busy = /
	/^void twheel_wheel_rewind/,/^}/s/bool busy = false;/bool busy = true;/
	/^void twheel_wheel_rewind/,/^}/s/w->next_expiry = find_next_expiry(w);/;/
	/^void twheel_wheel_rewind/,/^}/s/w->next_expiry = now;/;/
	s/if (now < w->clk)$/if (0)/
	/^u32 twheel_wheel_take/,/^}/s/w->next_expiry = find_next_expiry(w);/;/
	/^u32 twheel_wheel_take/,/^}/s/w->next_expiry = find_next_expiry(w);/w->next_expiry = w->clk + 1;/
	s/n < size && entry != visit/n <= size \&\& entry != visit/
	s/n < size && entry != visit/!n \&\& size \&\& entry != visit/
	s/for (entry = visit->next; n < size .*/while (n < size \&\& !list_empty(visit)) { entry = visit->prev; __list_del(entry->prev, visit); nodes[n++] = list_entry(entry, struct twheel_node, entry); } entry = visit->next; if (0)/
	/^u32 twheel_wheel_take/,/^}/s/visit->next = entry;/;/
	/^u32 twheel_wheel_take/,/^}/s/entry->prev = visit;/;/
	/^u32 twheel_wheel_take/,/^}/s/w->nr_nodes -= n;/;/
	/^u32 twheel_wheel_take/,/^}/s/w->next_expiry = w->clk;/;/
	/^u64 twheel_wheel_coalesce/,/^}/s/(expires - 1) ^ last/expires ^ last/
	/^u64 twheel_wheel_coalesce/,/^}/s/) - 1)) - 1)/))) - 1)/
	/^u64 twheel_wheel_coalesce/,/^}/s/if (last < expires)/if (0)/
	/^u64 twheel_wheel_coalesce/,/^}/s/last = TWHEEL_NEVER;/last = expires;/
	/^u64 twheel_wheel_coalesce/,/^}/s/if (!slack || !expires)/if (!slack)/
	s/return "a bucket's queue is broken";/;/
	s/if (!entry || entry->prev != prev)/if (!entry)/
	s/if (!entry || entry->prev != prev)/if (entry->prev != prev)/
	s/return queue->prev == prev ? NULL/return 1 ? NULL/
	s/return "a node's bucket comes after the node";/;/
	s/(\*n)++;/;/
	s/return "a bucket's pending bit is wrong";/;/
	s/return "a bucket's turn comes before its row's";/;/
	s/check_queue(bucket, turn + row_lead(w, row), /check_queue(bucket, turn, /
	s/why = check_queue(bucket, .*/;/
	s/return "a row's turn was missed";/;/
	s/return "a row's turn comes before next_expiry";/;/
	s/return "a bucket is in work and next_expiry is ahead";/;/
	s/return "a bucket in work is late";/;/
	s/r->due == w->clk ? 0 : r->due/0/
	s/r->due == w->clk ? 0 : r->due/r->due/
	s/why = check_queue(&r->visit, .*/;/
	s/why = "nr_nodes is wrong";/;/
	END
}
