#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check-all.sh - run what needs a guest on each kernel, and tabulate
#
# usage: [KERNELS="6.1 6.12 ..."] [CPUS="1 2 4"] [SUITES="uapi lib ..."] check-all.sh
#
# The tests are the same everywhere: what a kernel or a machine lacks is a skip,
# with its reason. What each run printed is in build/log/check-all. The last line
# is "N passed, M failed, K skipped"; the exit status is 0 only if every suite ran
# on every kernel, and nothing failed.

. "$(dirname "$0")/common.sh"

read -r -a kernels <<<"${KERNELS:-6.1 6.1-rt 6.12 7.2}"
read -r -a cpus <<<"${CPUS:-1 2 4}"
read -r -a suites <<<"${SUITES:-uapi lib stress isolation examples module}"
logs=$build/log/check-all

# results LOG SUITE - its counts, or what a suite that did not come to an end gets
results() {
	sed -n "s/^# suite $2: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped.*/\1 \2 \3/p" \
		"$1" | grep . || echo "0 1 0"
}

# run KERNEL CPUS - whatever fails is to be seen in what it prints
run() {
	export KERNEL=$1 CPUS=$2 SUITES="${suites[*]}"
	"$vm/check.sh" -v || return 0
}

# What of each suite passed, failed and was skipped on each kernel.
table() {
	local kernel n suite log release counts

	printf '%-24s %4s' kernel CPUs
	printf ' %12s' "${suites[@]}"
	echo
	for kernel in "${kernels[@]}"; do
		release=$(KERNEL=$kernel "$vm/kernel.sh" 2>/dev/null) || release=$kernel
		for n in "${cpus[@]}"; do
			log=$logs/$kernel.$n
			printf '%-24s %4s' "${release##*/}" "$n"
			for suite in "${suites[@]}"; do
				counts=$(results "$log" "$suite")
				printf ' %12s' "${counts// /\/}"
			done
			echo
		done
	done
	echo "(passed/failed/skipped)"
}

# Once each, with where it was: KERNEL.CPUS, a time a test.
skips() {
	{ grep -HoE '^ *(ok [0-9]+|1\.\.0).* # *SKIP.*' "${all[@]}" || :; } |
		sed -E 's#^.*/([^/:]*):.* \# *SKIP *#\1\t#; s/\r$//' |
		awk -F '\t' '{ n[$2]++; if (!(($2, $1) in at)) { at[$2, $1]; where[$2] = where[$2] " " $1 } }
			END { for (r in n) printf "%5d  %s:%s\n", n[r], r == "" ? "(a program as a whole)" : r, where[r] }' |
		sort -k2
}

mkdir -p "$logs"
all=() passed=0 failed=0 skipped=0
for kernel in "${kernels[@]}"; do
	for n in "${cpus[@]}"; do
		log=$logs/$kernel.$n started=$SECONDS
		(run "$kernel" "$n") >"$log" 2>&1
		all+=("$log")
		line=$(tail -n 1 "$log")
		echo "# $kernel, CPUS=$n: $line ($((SECONDS - started)) s)"
		for suite in "${suites[@]}"; do
			read -r p f s < <(results "$log" "$suite")
			passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
			[ "$f" = 0 ] || { grep -E '^ *not ok|^ktap|^# '"$suite: |^run.sh:" "$log" || tail -n 20 "$log"; } |
				sed "s/^/#   /"
		done
	done
done

table
echo "skipped:"
skips
echo "boots that died before init and were retried: $(cat "${all[@]}" | grep -c 'boot retried:' || :)"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
