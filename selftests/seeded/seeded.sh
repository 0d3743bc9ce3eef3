#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# seeded.sh - does a debug kernel notice bugs that are put into the module? (KTAP)
#
# usage: [KERNEL=kasan|kcsan] seeded.sh [bug...]	(by default all bugs for that kernel)
#
# The rows of seeded in selftests/mutations.tsv are bugs that a developer could make, and say which
# detector is to notice. A copy of the module, in build/seeded, gets each bug and is built. One guest
# loads the unchanged module first, which does all that the triggers do, and nothing is reported; and
# then the others. A bug counts as noticed if the kernel's log has the expected report while that
# module is loaded, and that report names the module.

. "$(dirname "$0")/../vm/common.sh"
. "$(dirname "$0")/../vm/log.sh"
. "$top/selftests/tap.sh"

export KERNEL=${KERNEL:-kasan}
dir=$build/seeded/$KERNEL
guest=$dir/guest

# field BUG N - column N of its row
field() {
	awk -F '\t' -v name="$1:" -v column="$2" \
		'$1 == "seeded" && index($2, name) == 1 { print $column }' "$top/selftests/mutations.tsv"
}

# The bugs for this kernel, in the order in which they are tried
bugs() {
	awk -F '\t' -v kernel="$KERNEL" \
		'$1 == "seeded" && $5 == kernel { sub(/:.*/, "", $2); print $2 }' \
		"$top/selftests/mutations.tsv"
}

# build_module NAME - build what is in the copy, for the guest
build_module() {
	make -C "$("$vm/kernel.sh")/headers" M="$dir/module" modules && cp "$dir/module/twheel.ko" "$guest/$1.ko"
}

# Only what it changes gets a new time stamp, so that little has to be built.
build_bug() {
	local file status=0
	rm -f "$tmp/whole"
	for file in "$dir"/module/module/*/*.[ch]; do
		sed "$(field "$1" 3)" "$file" >"$tmp/broken"
		cmp -s "$tmp/broken" "$file" || { cp "$file" "$tmp/whole" && cp "$tmp/broken" "$file" && break; }
	done
	[ -e "$tmp/whole" ] || { echo "it changes nothing"; return 1; }
	build_module "$1" || status=$?
	cp "$tmp/whole" "$file"
	return "$status"
}

# What the guest does. The unchanged module is unloaded before the search for leaks, as memory that
# it leaves behind is one. The bug that leaks is loaded meanwhile, so that its report has names.
# And slab debugging must be switched on: if it were off it would report nothing.
guest_commands() {
	local bug
	cat <<-'END'
		look_for_leaks() {
			[ -e /sys/kernel/debug/kmemleak ] || return
			echo scan >/sys/kernel/debug/kmemleak
			sleep 6
			echo scan >/sys/kernel/debug/kmemleak
			while read -r line; do
				echo "$line" >/dev/kmsg
			done </sys/kernel/debug/kmemleak
			echo clear >/sys/kernel/debug/kmemleak
		}
		cd "$(dirname "$0")"
		try() {
			echo "twheel-vm: seeded $1" >/dev/kmsg
			insmod "$1.ko" || return
			shift
			../seeded/trigger "$@"
		}
		try clean
		echo "clean: $?"
		(cd /sys/kernel/slab/twheel_chunk &&
			cat sanity_checks red_zone poison store_user | grep -cx 1) | sed 's/^/slab: /'
		rmmod twheel
		look_for_leaks
	END
	for bug; do
		echo "try $bug $(field "$bug" 6)"
		[[ $(field "$bug" 7) != unreferenced* ]] || echo look_for_leaks
		echo "rmmod twheel"
	done
	echo 'echo "twheel-vm: seeded end" >/dev/kmsg'
}

# Its last search for leaks would find what these bugs leave behind.
run_guest() {
	KERNEL_LOG=$dir/log "$vm/run.sh" -n -l -t 400 -a kasan_multi_shot -d "$guest" -- \
		"sh /twheel/guest/run.sh"
}

# log_of NAME - what the kernel said while that module was tried
log_of() {
	sed -n "/twheel-vm: seeded $1\r*\$/,/twheel-vm: seeded /p" "$dir/log" | grep -v 'twheel-vm: seeded'
}

is_clean() {
	cat "$tmp/guest"
	grep -qx 'clean: 0' "$tmp/guest" && { [ "$KERNEL" != kasan ] || grep -qx 'slab: 4' "$tmp/guest"; } &&
		log_of clean >"$tmp/log" && [ -s "$tmp/log" ] && ! complaints "$tmp/log"
}

# Is there the report, and does it name the module?
is_noticed() {
	local report
	report=$(field "$1" 7)
	echo "expected '$report'"
	log_of "$1" | tee "$tmp/log" | awk -v pattern="$report" '
		$0 ~ pattern { left = 60 }
		left-- > 0 && /\[twheel\]/ { found = 1 }
		END { exit !found }' || { tail -n 40 "$tmp/log"; return 1; }
}

[ $# -gt 0 ] || mapfile -t all < <(bugs)
[ $# -gt 0 ] || set -- "${all[@]}"
unset MAKEFLAGS MFLAGS

rm -rf "$dir"
mkdir -p "$dir/module" "$guest"
cp -r "$top"/{Kbuild,VERSION,module,uapi} "$dir/module"
try "the module builds" build_module clean
for bug; do
	try "$bug builds" build_bug "$bug"
done
[ "$failures" = 0 ] || finish
guest_commands "$@" >"$guest/run.sh"

status=0
run_guest >"$tmp/guest" 2>"$tmp/guest.err" || status=$?
[ "$status" = 125 ]
result $? "the run fails, as the kernel complains" "$tmp/guest.err"
try "without a bug $KERNEL has nothing to say" is_clean
for bug; do
	try "$bug is noticed by $KERNEL" is_noticed "$bug"
done
finish
