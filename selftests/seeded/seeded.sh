#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# seeded.sh - do the debug kernels notice bugs that are put into the module? (KTAP)
#
# usage: seeded.sh [bug...]	(all of them by default)
#
# Each patch beside this script is a bug that a developer could make. Its head says
#
#	Kernel:		the debug kernel whose detector is to notice
#	Trigger:	what trigger.c has to do
#	Report:		an extended regular expression: how the report begins
#
# A copy of the module, in build/seeded, is patched and loaded in a guest of its own for
# each bug. A bug counts as noticed if the run fails because the kernel complains, its log
# has the expected report, and that report names the module. On the same kernels the
# unchanged module does all that the triggers do, and there is no report.

. "$(dirname "$0")/../vm/common.sh"
. "$vm/../tap.sh"

seeded=$top/selftests/seeded
jobs=$(nproc)

# field PATCH NAME - what the head of a patch says
field() {
	sed -n "/^--- /q; s/^$2: *//p" "$1"
}

# copy_module NUMBER - copy the sources for $KERNEL and one of several concurrent builds.
# The builds keep their copies, so that not everything is built anew for each bug.
copy_module() {
	dir=$build/seeded/$KERNEL.$1
	rm -rf "$dir"
	mkdir -p "$dir"
	cp -r "$top"/{Kbuild,VERSION,module,uapi} "$dir"
}

build_module() {
	make -C "$("$vm/kernel.sh")/headers" M="$dir" modules
}

# apply PATCH [OPTION] - without fuzz, as a bug in another place may be no bug
apply() {
	patch -d "$dir" -p1 --fuzz=0 "${@:2}" <"$1"
}

# boot RUN-OPTIONS... COMMAND - run it in a guest with that module; its log is $dir/log
boot() {
	rm -f "$dir/log"
	KERNEL_LOG=$dir/log "$vm/run.sh" -t 240 -M "$dir/twheel.ko" "${@:1:$#-1}" -- "${@: -1}"
}

# names_module PATTERN - is there a report that begins so, and names the module?
names_module() {
	awk -v pattern="$1" '$0 ~ pattern { left = 60 }
		left-- > 0 && /\[twheel\]/ { found = 1 }
		END { exit !found }' "$dir/log"
}

is_noticed() {
	local patch=$seeded/$1.patch status=0 report options=(-l)
	report=$(field "$patch" Report)
	[[ $report != unreferenced* ]] || options=()

	apply "$patch" --dry-run && apply "$patch" || return
	build_module &&
		boot "${options[@]}" "/twheel/seeded/trigger $(field "$patch" Trigger)" || status=$?
	echo "exit status $status, expected 125 and '$report'"
	apply "$patch" -R && [ "$status" = 125 ] && names_module "$report"
}

# The detectors must be switched on as well: if slab debugging were off it would report
# nothing. The module is unloaded before the search for leaks, as memory that it leaves
# behind is one.
is_clean() {
	local command=/twheel/seeded/trigger

	[ "$KERNEL" != kasan ] || command+=' && cd /sys/kernel/slab/twheel_chunk &&
		cat sanity_checks red_zone poison store_user | grep -cx 1 | grep -qx 4'
	build_module && boot "$command && rmmod twheel"
}

# work NUMBER ITEM... - store the output of each item, and its status, in $tmp
work() {
	local item
	copy_module "$1"
	for item in "${@:2}"; do
		if [ "$item" = clean ]; then
			is_clean
		else
			is_noticed "$item"
		fi >"$tmp/$item.out" 2>&1
		echo $? >"$tmp/$item"
	done
}

mapfile -t all < <(cd "$seeded" && ls -- *.patch)
[ $# -gt 0 ] || set -- "${all[@]%.patch}"
mapfile -t kernels < <(for bug; do field "$seeded/$bug.patch" Kernel; done | sort -u)
unset MAKEFLAGS MFLAGS

set +e
for KERNEL in "${kernels[@]}"; do
	export KERNEL
	items=(clean)
	for bug; do
		[ "$(field "$seeded/$bug.patch" Kernel)" != "$KERNEL" ] || items+=("$bug")
	done
	# Each job gets every n-th item, which spreads the slow ones and the fast ones.
	rm -f "$tmp"/*
	for ((i = 0; i < jobs; i++)); do
		mapfile -t its < <(printf '%s\n' "${items[@]}" | awk -v i=$i -v n="$jobs" 'NR % n == i')
		work "$i" "${its[@]}" &
	done
	wait
	for item in "${items[@]}"; do
		what="$item is noticed by $KERNEL"
		[ "$item" != clean ] || what="without a bug $KERNEL has nothing to say"
		result "$(cat "$tmp/$item")" "$what" "$tmp/$item.out"
	done
done
finish
