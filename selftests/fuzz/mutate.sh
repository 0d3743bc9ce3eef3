#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutate.sh - break scratch copies of the module, and see that the fuzzer notices
#
# usage: [MINUTES=3] mutate.sh [part of a line below]
#
# Each line is a file and a sed expression for it. One that does not apply, or is
# not noticed within MINUTES, is a failure. What was said of each has to be read: a
# fuzzer that complains of anything would find them all.

. "$(dirname "$0")/../vm/common.sh"

export KERNEL=kasan VARIANT=kcov
minutes=${MINUTES:-3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MAKEFLAGS MFLAGS

# In turn: the buffer of a batch is too small; any generation of a handle will do;
# a cancelled record stays in the list.
mutations() {
	sed 's/^\t*//' <<-'END'
	chardev.c s/kmalloc_array(min_t(u32, batch.count, TWHEEL_BATCH_CHUNK)/kmalloc_array(min_t(u32, batch.count, 8)/
	timer.c /^static bool is_live/,/^}/s/twheel_ctx_handle(timer) == handle/(u32)twheel_ctx_handle(timer) == (u32)handle/
	timer.c /^static int cancel_timer/,/^}/s/withdraw(ctx, timer);/;/
	END
}

# What was said of it, in one line.
verdict() {
	grep -m 1 -ohE 'BUG: .*|WARNING: .*|wrong: .*|Oops.*|possible .*|UBSAN: .*' "$@" | head -n 1
}

missed=0 picked=0
kernel=$("$vm/kernel.sh")
"$vm/build.sh"
while read -r file mutation; do
	case "$file $mutation" in
	*"${1-}"*) ;;
	*)	continue ;;
	esac
	picked=$((picked + 1))
	rm -rf "$scratch/tree"
	mkdir "$scratch/tree"
	cp -r "$top/Kbuild" "$top/module" "$top/uapi" "$scratch/tree"
	sed -i "$mutation" "$scratch/tree/module/$file"
	if cmp -s "$top/module/$file" "$scratch/tree/module/$file"; then
		found=''
		echo "DOES NOT APPLY $file $mutation"
	else
		make -j"$(nproc)" -C "$kernel/headers" M="$scratch/tree" KCOV_INSTRUMENT=y modules \
			>"$scratch/log" 2>&1 </dev/null || { cat "$scratch/log"; die "does not compile: $mutation"; }
		started=$SECONDS
		"$vm/fuzz.sh" -m "$minutes" -M "$scratch/tree/twheel.ko" abi \
			>"$scratch/log" 2>&1 </dev/null || :
		found=''
		! grep -q '^not ok' "$scratch/log" || found=$(verdict "$scratch/log") ||
			{ cat "$scratch/log"; die "no verdict"; }
		echo "$file $mutation"
		echo "	${found:-MISSED} ($((SECONDS - started)) s)"
	fi
	[ -n "$found" ] || missed=$((missed + 1))
done < <(mutations)

echo "$((picked - missed)) of $picked seeded bugs found"
[ "$missed" = 0 ] && [ "$picked" -gt 0 ]
