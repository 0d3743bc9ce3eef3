#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# seeded.sh - does a debug kernel notice bugs that are put into the module? (KTAP)
#
# usage: [KERNEL=kasan|kcsan] seeded.sh [bug...]	(by default all bugs for that kernel)
#
# Each patch beside this script is a bug that a developer could make. Its head says
#
#	Kernel:		the debug kernel whose detector is to notice
#	Trigger:	what trigger.c has to do
#	Report:		an extended regular expression: how the report begins
#
# A copy of the module, in build/seeded, is patched and built for each bug. One guest loads the
# unchanged module first, which does all that the triggers do, and nothing is reported; and then the
# others. A bug counts as noticed if the kernel's log has the expected report while that module is
# loaded, and that report names the module.

. "$(dirname "$0")/../vm/common.sh"
. "$(dirname "$0")/../vm/log.sh"
. "$top/selftests/tap.sh"

export KERNEL=${KERNEL:-kasan}
seeded=$top/selftests/seeded
dir=$build/seeded/$KERNEL
guest=$dir/guest

# Lockdep gives up after its first report of an order of locks, or of KASAN. So what it is to notice
# comes first.
first=(lost-lock rcu abba)

# field BUG NAME - what the head of its patch says
field() {
	sed -n "/^--- /q; s/^$2: *//p" "$seeded/$1.patch"
}

# The bugs for this kernel, in the order in which they are tried
bugs() {
	local bug
	{
		printf '%s\n' "${first[@]}"
		(cd "$seeded" && basename -s .patch -- *.patch) | grep -vxF "$(printf '%s\n' "${first[@]}")"
	} | while read -r bug; do
		[ "$(field "$bug" Kernel)" != "$KERNEL" ] || echo "$bug"
	done
}

# build_module NAME - build what is in the copy, for the guest
build_module() {
	make -C "$("$vm/kernel.sh")/headers" M="$dir/module" modules && cp "$dir/module/twheel.ko" "$guest/$1.ko"
}

# apply BUG [OPTION] - without fuzz, as a bug in another place may be no bug
apply() {
	patch -d "$dir/module" -p1 --fuzz=0 "${@:2}" <"$seeded/$1.patch"
}

build_bug() {
	apply "$1" && build_module "$1" && apply "$1" -R
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
		echo "try $bug $(field "$bug" Trigger)"
		[[ $(field "$bug" Report) != unreferenced* ]] || echo look_for_leaks
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
	report=$(field "$1" Report)
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
	try "$bug applies and builds" build_bug "$bug"
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
