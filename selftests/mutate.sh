#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutate.sh - break the sources in a copy, one way at a time, and see that a suite's
# tests find each (TAP)
#
# usage: mutate.sh SUITE [text]		those mutations that contain the text
#	 mutate.sh -a			only see that each of all suites still applies
#
# A suite's mutations are in selftests/SUITE/mutations.sh, which sets or defines
#
#	files		what may be broken: paths from the top of the tree
#	mutations	a function that prints them, one a line: a name, tabs, and a sed
#			expression; or the expression alone, which is its name then
#	found_by	a function that tests $tree, the copy: prints one line that says what
#			has found something wrong there, or nothing if nothing has; fails
#			if there is nothing to test, as it does not build. $scratch is its to use.
#
# A mutation names no file: it has to change one of $files, and that in one place. So
# code may move without a change here. One that does not apply, or that is not found, is
# a failure; and so is it if something is found in the sources as they are.

. "$(dirname "$0")/vm/common.sh"

# Files that are not tested, but needed for the build, are copied too.
copied=(Kbuild Makefile VERSION module uapi userspace/lib)

# load SUITE
load() {
	[ -e "$top/selftests/$1/mutations.sh" ] || die "$1 has no mutations"
	files=()
	# shellcheck source=/dev/null # one of several
	. "$top/selftests/$1/mutations.sh"
	# As they are, and to be changed
	rm -rf "$scratch/whole" "$scratch/broken"
	mkdir "$scratch/whole" "$scratch/broken"
	cp --parents -t "$scratch/whole" "${files[@]}"
	cp --parents -t "$scratch/broken" "${files[@]}"
}

# built_module - build the copy's module for $KERNEL and $VARIANT, and print its name; and
# what a guest is to run with it
built_module() {
	local kernel
	kernel=$("$vm/kernel.sh") && "$vm/build.sh" tests || return
	make -s -C "$tree" modules KDIR="$kernel/headers" >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		return 1
	}
	echo "$tree/build/module/$(cat "$kernel/release")${VARIANT:+-$VARIANT}/twheel.ko"
}

# Print in how many places two files differ.
places() {
	diff "$1" "$2" | grep -c '^[0-9]' || :
}

# apply EXPRESSION - break the copy. Fails, and prints why, unless exactly one place of one
# file has changed.
apply() {
	local file n=0
	broken=''
	(cd "$scratch/broken" && sed -s -i "$1" "${files[@]}") || return
	while IFS= read -r file; do
		n=$((n + $(places "$top/$file" "$scratch/broken/$file")))
		broken+=" $file"
		cp "$scratch/broken/$file" "$tree/$file"
		cp "$top/$file" "$scratch/broken/$file"
	done < <(cd "$scratch" && diff -rq whole broken | sed -n 's|^Files whole/\(.*\) and .*|\1|p')
	[ "$n" != 1 ] || return 0
	echo "does not apply, or not just once: $n places${broken:+ in}$broken"
	return 1
}

# Only files that were changed get a new time stamp, so that little has to be built.
mend() {
	local file
	for file in $broken; do
		cp "$top/$file" "$tree/$file"
	done
}

# The suites are checked one by one, as their functions have the same names.
all_apply() {
	local table status=0
	for table in "$top"/selftests/*/mutations.sh; do
		table=${table%/mutations.sh}
		(suite_applies "${table##*/}") || status=1
	done
	return "$status"
}

suite_applies() {
	local name expression why status=0
	load "$1"
	while IFS=$'\t' read -r name expression; do
		why=$(apply "${expression:-$name}") || { echo "$1: $name: $why"; status=1; }
	done < <(mutations)
	return "$status"
}

# judge NAME WANTED - what is found in the copy? Something, or with WANTED=nothing nothing.
judge() {
	local found status=0
	found=$(found_by </dev/null) || { found="nothing, as this failed: $found" status=1; }
	echo "# found by: ${found:-none}"
	case $2 in
	nothing)	[ -z "$found" ] || status=1 ;;
	*)		[ -n "$found" ] || status=1 ;;
	esac
	result "$status" "$1"
}

run_suite() {
	local name expression
	mutations | grep -F -- "$1" >"$scratch/mutations" || die "no mutation contains $1"
	. "$top/selftests/tap.sh"
	cleanup() {
		rm -rf "$scratch"
	}
	judge "nothing is found in the sources as they are" nothing
	while IFS=$'\t' read -r name expression; do
		if apply "${expression:-$name}" >"$scratch/why"; then
			judge "$name" something
		else
			result 1 "$name" "$scratch/why"
		fi
		mend
	done <"$scratch/mutations"
	finish
}

unset MAKEFLAGS MFLAGS
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/tree
mkdir "$tree"
cd "$top"
cp -r --parents "${copied[@]}" "$tree"

case $#,${1-} in
1,-a)		all_apply ;;
1,[!-]*|2,[!-]*) load "$1" && run_suite "${2-}" ;;
*)		usage ;;
esac
