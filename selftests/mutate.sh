#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutate.sh - break the sources in a copy, one way at a time, and see that a proof finds
# each (TAP)
#
# usage: mutate.sh PROOF [text]		those mutations that contain the text
#	 mutate.sh -a			only see that each of the table still applies, and that
#					the compiler takes what comes of it
#
# The mutations, and which proofs have to find each, are in mutations.tsv. What a proof is
# says selftests/PROOF/mutations.sh, which defines
#
#	found_by	a function that tests $tree, the copy: prints one line that says what
#			has found something wrong there, or nothing if nothing has; fails
#			if there is nothing to test, as it does not build. It runs tests by
#			spend, which counts their CPU time. $scratch is its to use.
#
# A mutation names no file: it has to change one of $files, and that in one place. So
# code may move without a change here. One that does not apply, or that is not found, is
# a failure; and so is it if something is found in the sources as they are, or in an
# equivalent.

. "$(dirname "$0")/vm/common.sh"

table=$top/selftests/mutations.tsv
# Files that are not tested, but needed for the build, are copied too.
copied=(Kbuild Makefile VERSION module uapi userspace packaging selftests)

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

# spend COMMAND... - run it, and count its CPU time. What it prints goes to $scratch/out.
spend() {
	local TIMEFORMAT='spent %U %S' status=0
	{ time "$@" >"$scratch/out" 2>&1 || status=$?; } 2>>"$scratch/spent"
	return "$status"
}

# Run a program up to its first test that fails. It may take a minute of CPU time, as the machine
# may be busy, and five in all.
up_to_failure() {
	(ulimit -t 60; exec timeout 300 "$1") | sed '/^not ok/q'
	return "${PIPESTATUS[0]}"
}

# first_failure PROGRAM... - of the first that fails, print the test, or how the program ended
first_failure() {
	local program status
	for program; do
		status=0
		spend up_to_failure "$program" || status=$?
		[ "$status" != 0 ] || continue
		sed -n 's/^not ok [0-9]* //p' "$scratch/out" | grep . ||
			echo "${program##*/} ended with status $status"
		return
	done
}

# Print how many seconds were spent.
spent() {
	awk '/^spent / { sum += $2 + $3 } END { printf "%.1f", sum }' "$scratch/spent"
}

# mutations [PROOF] - the rows of the table, or those that this proof has to find
mutations() {
	awk -F '\t' -v proof="${1-}" '!/^#/ && index("," $1 ",", proof ? "," proof "," : "")' "$table"
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

# units FILE - what to compile if this file is broken
units() {
	local folder=${1%/*} found
	case $1 in
	module/core/*.h)	folder='module/*' ;;&
	*/process/backend.c|*/process/shards.c)	echo "$1" ;;
	*/process/*.c)		echo userspace/lib/process/process.c ;;
	*/process/*.h)		echo userspace/lib/process/{backend,process,shards}.c ;;
	*.c)			echo "$1" ;;
	*)
		# Those that include it; or all, if other headers do that.
		# shellcheck disable=SC2086 # a pattern
		found=$(cd "$tree" && grep -l "[\"/]${1##*/}\"" $folder/*.c) ||
			found=$(cd "$tree" && echo $folder/*.c)
		echo "$found" ;;
	esac
}

# compile FILE... - are these C, for each host of the copy? That of the module is the simulator.
compile() {
	local file declared=(-Werror=implicit-function-declaration)
	local gcc=(gcc -std=gnu11 -D_GNU_SOURCE -fsyntax-only -DTWHEEL_DEBUG -Iuapi)
	local linux=(-DTWHEEL_VERSION='""' -Iselftests/sim -Iuserspace/shim -Imodule/linux)
	local process=(-DTWHEEL_EMBEDDED -Iuserspace/shim -Iuserspace/include -Imodule/core
		-Iuserspace/lib -Iuserspace/lib/process)
	# The proof of leases has functions that no host has, and core/ may call the simulator.
	[[ $broken != *lease* ]] || declared=()
	for file; do
		case $file in
		module/*)	"${gcc[@]}" "${declared[@]}" "${linux[@]}" "$file" || return ;;&
		module/core/*)	"${gcc[@]}" "${process[@]}" "$file" || return ;;
		userspace/*)	"${gcc[@]}" "${declared[@]}" "${process[@]}" "$file" || return ;;
		esac
	done
}

# Does the copy, which is broken, still compile? Prints why it does not.
compiles() {
	local file
	for file in $broken; do
		# shellcheck disable=SC2046 # names of files, without blanks
		(cd "$tree" && compile $(units "$file")) 2>"$scratch/log" || {
			grep -m 1 error: "$scratch/log"
			return 1
		}
	done
}

# Does compiles() see what is no C, in each kind of file?
has_eyes() {
	local status=0
	for broken in module/{core/{wheel.c,lease.h},linux/{turn.c,quota.h,twheel_host.h}} \
		userspace/lib/{loop.c,lease_word.h,process/{fd.c,backend.c,shards.c,emb.h}}; do
		compiles || status=1
		sed -i '$a no_such_type twheel_wrong;' "$tree/$broken"
		! compiles >/dev/null || { echo "$broken: nothing is seen there"; status=1; }
		mend
	done
	return "$status"
}

# all_apply PART PARTS - one of so many parts of the table
all_apply() {
	local name expression status=0
	while IFS=$'\t' read -r _ name expression _; do
		if apply "$expression" >"$scratch/why" && compiles >"$scratch/why"; then
			:
		else
			echo "$name: $expression: $(cat "$scratch/why")"
			status=1
		fi
		mend
	done < <(mutations | awk -v part="$1" -v parts="$2" 'NR % parts == part')
	return "$status"
}

# judge NAME [VERDICT] - what is found in the copy? Something; or nothing, if the verdict is that
# this is equivalent; or either, if it is that this is seldom found.
judge() {
	local found status=0
	: >"$scratch/spent"
	found=$(found_by </dev/null) || { found="nothing, as this failed: $found" status=1; }
	echo "# after $(spent) CPU s found by: ${found:-none}"
	case $status,${found:+found},${2-} in
	0,,equivalent:*|0,found,|0,found,seldom:*)
		result 0 "$1" ;;
	0,,seldom:*)	skip "$1" "${2#seldom: }" ;;
	*)		result 1 "$1" ;;
	esac
}

run_proof() {
	local name expression verdict
	# shellcheck source=/dev/null # one of several
	. "$top/selftests/$1/mutations.sh"
	mutations "$1" | grep -F -- "$2" >"$scratch/mutations" || die "no mutation contains $2"
	. "$top/selftests/tap.sh"
	cleanup() {
		rm -rf "$scratch"
	}
	broken=''
	judge "nothing is found in the sources as they are" equivalent:
	while IFS=$'\t' read -r _ name expression verdict; do
		[ "$name" != - ] || name=$expression
		if apply "$expression" >"$scratch/why"; then
			judge "$name" "$verdict"
		else
			result 1 "$name" "$scratch/why"
		fi
		mend
	done <"$scratch/mutations"
	finish
}

unset MAKEFLAGS MFLAGS
cd "$top"
# What may be broken
files=(module/*/*.[ch] userspace/lib/*.[ch] userspace/lib/process/*.[ch])
case $#,${1-} in
1,-a)		;;
1,[!-]*|2,[!-]*) [ -e "selftests/$1/mutations.sh" ] || die "$1 is no proof" ;;
*)		usage ;;
esac

# begin - copy the sources to $scratch
begin() {
	tree=$scratch/tree
	mkdir -p "$tree" "$scratch/whole" "$scratch/broken"
	cp -r --parents -t "$tree" "${copied[@]}"
	cp --parents -t "$scratch/whole" "${files[@]}"
	cp --parents -t "$scratch/broken" "${files[@]}"
}

# A part of the table for each CPU
all_parts() {
	local all=$scratch parts part status=0
	parts=$(nproc)
	for ((part = 0; part < parts; part++)); do
		(scratch=$all/$part; begin; { ((part)) || has_eyes; } && all_apply "$part" "$parts") &
	done
	for ((; part; part--)); do
		wait -n || status=1
	done
	return "$status"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
case $1 in
-a)	all_parts ;;
*)	begin; run_proof "$1" "${2-}" ;;
esac
