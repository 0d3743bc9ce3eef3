#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fuzz.sh - fuzz the interface in a guest, and the wheel on this machine (KTAP)
#
# usage: fuzz.sh [-m minutes] [-s seed] [-c] [abi|libfuzzer]...
#	 fuzz.sh [-n times] -r file
#
#	-m  how long the interface is fuzzed (3); the wheel takes a quarter as long again
#	-s  where chance begins
#	-c  keep what was found in the corpus (selftests/fuzz/corpus)
#	-r  run the programs in the file, which one that failed was left in, so many
#	    times; once they are told call by call
#	-M  fuzz another module than VARIANT=kcov made
#
# The guest's kernel is KERNEL (kasan). The last line of the output is figures.
#
# A place is a call of __sanitizer_cov_trace_pc() in the module's .text: one in
# every basic block. Those that are run in softirqs, as all of expiry is, are not
# seen to be reached, nor are those for root in debugfs tried.

. "$(dirname "$0")/../vm/common.sh"

export KERNEL=${KERNEL:-kasan} VARIANT=kcov

minutes=3 seed=$RANDOM corpus=0 again='' times=1 module=()
out=$build/fuzz
figures=()

# guest SECONDS COMMAND... - with a ring for the last programs, kept if all goes wrong
guest() {
	local limit=$1 status=0
	shift
	rm -f "$out/ring"
	truncate -s 1M "$out/ring"
	# Freed memory is overwritten, so that none of it passes for a program's.
	"$vm/run.sh" -t "$limit" -m 2048 -s "$out/ring" "${module[@]}" \
		-a "panic_on_warn=1 slub_debug=P $patient" -o max_user_timers=600 -- "$@" || status=$?
	[ "$status" = 0 ] && return

	tr -d '\0' <"$out/ring" | sort -n | tail -n 16 | sed 's/^[0-9]* [0-9]* //' >"$out/last"
	echo "# the last programs, the newest at the end, are in $out/last:"
	echo "# to run them again: selftests/fuzz/fuzz.sh -r $out/last"
	return "$status"
}

# Offsets in .text that a call of the callback returns to.
places() {
	readelf -rW "$1" | awk '
		/^Relocation section/ { text = /\.rela\.text\047/ }
		text && /__sanitizer_cov_trace_pc/ { print $1 }' |
	while read -r at; do
		printf '%x\n' $((0x$at + 4))
	done | sort
}

# by_function MODULE - how many of the places in stdin each function has
by_function() {
	sed 's/^/0x/' | addr2line -f -s -j .text -e "$1" | sed -n 'p;n' |
		sort | uniq -c | sort -rn
}

abi() {
	local ko reached all status=0 counts

	ko=${module[1]-$build/module/$(cat "$("$vm/kernel.sh")/release")-kcov/twheel.ko}
	guest $((minutes * 60 + 180)) \
		"/twheel/fuzz/fuzz -t $((minutes * 60)) -s $seed -c /twheel/fuzz/corpus" \
		>"$out/abi" || status=$?
	grep -vE '^(corpus|pc|figures) ' "$out/abi" | sed 's/^[^#]/# &/'
	read -r -a counts < <(sed -n 's/^figures //p' "$out/abi")
	if [ "$status" != 0 ] || [ ${#counts[@]} = 0 ]; then
		echo "# exit status $status"
		result 1 abi
		figures+=("interface: failed with status $status")
		return
	fi

	places "$ko" >"$out/places"
	sed -n 's/^pc //p' "$out/abi" | sort >"$out/pcs"
	comm -12 "$out/places" "$out/pcs" >"$out/reached"
	comm -23 "$out/places" "$out/pcs" | by_function "$ko" >"$out/unreached"
	sed -n 's/^corpus //p' "$out/abi" | sort >"$out/corpus"
	reached=$(wc -l <"$out/reached")
	all=$(wc -l <"$out/places")
	[ "$corpus" = 0 ] || cp "$out/corpus" "$top/selftests/fuzz/corpus"

	# A fuzzer that sees next to nothing of the module is none.
	echo "# $reached of $all places; what was not reached, by function: $out/unreached"
	[ "$reached" -gt $((all / 3)) ]
	result $? abi
	figures+=("interface: ${counts[0]} executions, ${counts[1]} calls, coverage $reached of $all places, corpus ${counts[3]}, crashes 0")
}

libfuzzer() {
	local status=0 runs edges
	make -s -C "$top/selftests/wheel" O="$out/wheel" \
		SECONDS=$((minutes * 15)) fuzz >"$out/fuzz" 2>&1 || status=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/fuzz")
	edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$out/fuzz" | tail -n 1)
	if [ "$status" != 0 ] || [ -z "$runs" ] || [ -z "$edges" ]; then
		status=1
		tail -n 40 "$out/fuzz" | sed 's/^/# /'
	fi
	result "$status" libfuzzer
	figures+=("wheel, libFuzzer: ${runs:-0} executions, ${edges:-0} edges, crashes $status")
}

set +e
while getopts m:s:r:n:M:c opt; do
	case $opt in
	m)	minutes=$OPTARG ;;
	s)	seed=$OPTARG ;;
	c)	corpus=1 ;;
	r)	again=$OPTARG ;;
	n)	times=$OPTARG ;;
	M)	module=(-M "$OPTARG") ;;
	*)	usage ;;
	esac
done
shift $((OPTIND - 1))
mkdir -p "$out"

# What comes from elsewhere comes built.
case ${module[*]-}:" ${*:-abi} " in
:*" abi "*)	"$vm/build.sh" || exit ;;
esac
if [ -n "$again" ]; then
	guest 300 "fuzz=/twheel/fuzz/fuzz; cat >/tmp/programs <<'END'
$(grep -o '[01]\( [0-9a-f]\{24\}\)*$' "$again")
END
\$fuzz -n $times -r /tmp/programs"
	exit
fi

[ $# -gt 0 ] || set -- abi libfuzzer
. "$top/selftests/tap.sh"
echo "1..$#"
for part; do
	case $part in
	abi|libfuzzer) "$part" ;;
	*)	usage ;;
	esac
done
printf '%s; ' "${figures[@]}" | sed 's/; $/\n/'
[ "$failures" = 0 ]
