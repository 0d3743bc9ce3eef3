#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Break scratch copies of wheel.c, one way at a time, and see that the tests find
# each.
#
# A mutation is a sed expression. One that no longer applies, or that no test
# finds, is a failure. An argument picks the mutations that contain it; MODULE
# names another folder with the wheel to break.
set -u
cd "$(dirname "$0")" || exit 1

module=${MODULE:-../../module}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export OPS="${OPS:-400000}"
export ASAN_OPTIONS=exitcode=99:detect_leaks=0 UBSAN_OPTIONS=exitcode=99
missed=0

# Print the names of the tests that fail in the first program in which any does.
failing()
{
	make -s O="$scratch/out" MODULE="$scratch" >"$scratch/log" 2>&1 || {
		echo "(does not compile)"
		return
	}
	for test in units exact cost model; do
		timeout 60 "$scratch/out/test_$test" >"$scratch/log" 2>&1
		rc=$?
		[ $rc -ne 0 ] || continue
		sed -n 's/^not ok [0-9]* //p' "$scratch/log" | tr '\n' ' '
		grep -q '^not ok' "$scratch/log" && [ $rc -eq 1 ] || echo "test_$test ended with status $rc"
		return
	done
}

mutations()
{
	sed 's/^\t*//' <<-'EOF'
	s/(slot - hand - 1) & (w->slots - 1)/(slot - hand) \& (w->slots - 1)/
	s/(hand + 1 + ahead) << shift/(hand + ahead) << shift/
	s/expires = w->clk + 1;/expires = w->clk;/
	s/if (expires <= w->clk)$/if (expires < w->clk)/
	s/level < w->levels - 1u; level++/level < w->levels - 2u; level++/
	s/if (ahead <= w->slots ||/if (ahead < w->slots ||/
	s/if (ahead <= w->slots ||/if (ahead <= w->slots + 1 ||/
	s/if (ahead <= w->slots ||/if (0 ||/
	s/? 1ULL << (level_shift(w, level) - 1) : 0/? 0 : 0/
	s/(ahead < tick ? U64_MAX : ahead)/ahead/
	/^static u64 bucket_turn/,/^}/s/ - lead;/;/
	s/return expires >> shift << shift == expires ?/return 1 ?/
	s/return expires >> shift << shift == expires ?/return 0 ?/
	s/row < w->levels ? 0 : level_lead/row < w->levels ? 1 : level_lead/
	s/slot = (expires >> level_shift/slot = ((expires - w->clk) >> level_shift/
	s/if (turn < w->next_expiry)/if (turn > w->next_expiry)/
	s/if (turn < w->next_expiry)/if (expires < w->next_expiry)/
	s/turn = bucket_turn(w, row, slot);$/turn = expires;/
	/^void twheel_wheel_dequeue/,/^}/s/__clear_bit(index, w->due);/;/
	/^void twheel_wheel_dequeue/,/^}/s/__clear_bit(index, w->pending);/;/
	s/if (node->entry.next || head < first ||/if (head < first ||/
	s/head >= (uintptr_t)(w->buckets + nr_buckets(w))/head > (uintptr_t)w->buckets/
	/^void twheel_wheel_dequeue/,/^}/s/w->nr_nodes--;/;/
	s/if (now > w->clk && now < w->next_expiry)/if (now > w->clk)/
	s/if (now > w->clk && now < w->next_expiry)/if (now < w->next_expiry)/
	s/if (now > w->clk && now < w->next_expiry)/if (now > w->clk \&\& now <= w->next_expiry)/
	/^static void mark_due/,/^}/s/__set_bit(index, w->due);/;/
	/^static void mark_due/,/^}/s/if (index < w->due_from\[row\])/if (0)/
	s/n = min_t(u64, steps, w->slots);/n = min_t(u64, steps, w->slots - 1);/
	s/first = (from + 1) & (w->slots - 1);/first = from \& (w->slots - 1);/
	s/if (first + n > w->slots)/if (0)/
	s/first + n - w->slots)/first + n - w->slots - 1)/
	s/base + min_t(u32, first + n, w->slots)/base + min_t(u32, first + n, w->slots - 1)/
	/^static void turn_to/,/^}/s/if (!steps)/if (steps < 2)/
	/^static void turn_to/,/^}/s/w->clk = now;/;/
	/^static u64 find_next_expiry/,/^}/s/if (index == end)/if (0)/
	s/index = find_next_bit(w->pending, first, base);/continue;/
	/^static u64 find_next_expiry/,/^}/s/(hand + 1) & (w->slots - 1)/hand \& (w->slots - 1)/
	s/if (turn < next)/if (turn <= next || row)/
	/^static struct twheel_node \*next_node/,/^}/s/__clear_bit(index, w->due);/;/
	/^static struct twheel_node \*next_node/,/^}/s/__clear_bit(index, w->pending);/;/
	/^static struct twheel_node \*next_node/,/^}/s/w->due_from\[row\] = min_t.*/;/
	/^static struct twheel_node \*next_node/,/^}/s/if (hlist_empty(visit)) {/if (1) {/
	s/if (now > w->clk)$/if (now >= w->clk + 2)/
	s/else if (now < w->clk)/else if (0)/
	/^void twheel_wheel_rewind/,/^}/s/w->clk = now;/;/
	/^void twheel_wheel_rewind/,/^}/s/mark_due(w, 0, next, next + 1);/;/
	/^void twheel_wheel_rewind/,/^}/s/(w->clk + 1)/w->clk/
	/^void twheel_wheel_rewind/,/^}/s/w->next_expiry = .*/;/
	s/is_busy(w) ? now : find_next_expiry(w)/find_next_expiry(w)/
	s/is_busy(w) ? now : find_next_expiry(w)/now/
	s/if (w->due_from\[row\] != (row + 1) \* w->slots ||$/if (/
	/^static bool is_busy/,/^}/s/!hlist_empty(&w->visit\[row\])/0/
	s/w->nr_cascades++;/;/
	s/if (seen++ == size) {/if (seen++ > size) {/
	s/if (seen++ == size) {/if (n == size) {/
	/seen++ == size/,/}/s/\*more = true;/*more = false;/
	s/if (node->expires <= w->clk)/if (node->expires < w->clk)/
	s/if (node->expires <= w->clk)/if (node->expires <= w->clk + 1)/
	s/if (node->expires <= w->clk)/if (1)/
	s/w->next_expiry = find_next_expiry(w);/;/
	s/w->next_expiry = find_next_expiry(w);/w->next_expiry = w->clk + 1;/
	/^u64 twheel_wheel_coalesce/,/^}/s/(expires - 1) ^ last/expires ^ last/
	/^u64 twheel_wheel_coalesce/,/^}/s/) - 1)) - 1)/))) - 1)/
	/^u64 twheel_wheel_coalesce/,/^}/s/if (last < expires)/if (0)/
	/^u64 twheel_wheel_coalesce/,/^}/s/last = TWHEEL_NEVER;/last = expires;/
	/^u64 twheel_wheel_coalesce/,/^}/s/if (!slack || !expires)/if (!slack)/
	s/1 + 63 \/ (ilog2/2 + 63 \/ (ilog2/
	s/1 + 63 \/ (ilog2/63 \/ (ilog2/
	s/2 \* BITS_TO_LONGS(n)/BITS_TO_LONGS(n)/
	s/w->due = w->pending + BITS_TO_LONGS(nr_buckets(w))/w->due = w->pending/
	s/return "a bucket's pending bit is wrong";/;/
	s/return "an empty bucket is due";/;/
	s/return "a bucket's turn comes before next_expiry";/;/
	s/return "a bucket's list is broken";/;/
	s/return "a node's bucket comes after the node";/;/
	s/return "a bucket that is due is passed over";/;/
	s/return "the list of a bucket in work is broken";/;/
	s/return "nr_nodes is wrong";/;/
	s/return "buckets are due and next_expiry is ahead";/;/
	EOF
}

cp "$module"/wheel*.[ch] "$scratch/" || exit 1
found=$(failing)
if [ -n "$found" ]; then
	echo "the unbroken wheel fails: $found"
	exit 1
fi

mutations >"$scratch/mutations"
while read -r mutation; do
	case $mutation in
	*"${1:-}"*) ;;
	*) continue ;;
	esac
	sed "$mutation" "$module/wheel.c" >"$scratch/wheel.c"
	if cmp -s "$module/wheel.c" "$scratch/wheel.c"; then
		found=
		echo "DOES NOT APPLY $mutation"
	else
		found=$(failing)
		echo "$mutation"; echo "	${found:-MISSED}"
	fi
	[ -n "$found" ] || missed=$((missed + 1))
done <"$scratch/mutations"

echo "$missed missed"
[ "$missed" -eq 0 ]
