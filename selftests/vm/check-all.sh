#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check-all.sh - run what needs a guest on each kernel, and tabulate
#
# usage: [KERNELS="6.1 6.12 ..."] [CPUS="1 2 4"] [SUITES="uapi lib ..."] check-all.sh
#
# The tests are the same everywhere: what a kernel or a machine lacks is a skip,
# with its reason. What each run printed is in build/log/check-all/KERNEL.CPUS. The last line
# is "N passed, M failed, K skipped"; the exit status is 0 only if every suite ran
# on every kernel, and nothing failed.

. "$(dirname "$0")/common.sh"

read -r -a kernels <<<"${KERNELS:-6.1 6.1-rt 6.12 7.2}"
read -r -a cpus <<<"${CPUS:-1 2 4}"
read -r -a suites <<<"${SUITES:-uapi uapi-long lib stress isolation examples module-long}"
logs=$build/log/check-all

# counts FOLDER SUITE - "passed failed skipped", or what a suite that did not come to an end gets
counts() {
	awk -v "name=$2" '$1 == name && $2 != "not" { print $2, $3, $4; found = 1 }
		END { if (!found) print 0, 1, 0 }' "$1/check.results" 2>/dev/null || echo 0 1 0
}

# What check.sh said once more of what failed, or how it ended
why() {
	sed -n '/^# \(what failed\|FAILED\)/,/^# suite  /p' "$1" | grep -v '^# suite  ' ||
		tail -n 20 "$1"
}

# What of each suite passed, failed and was skipped on each kernel.
table() {
	local kernel n suite release

	printf '%-24s %4s' kernel CPUs
	printf ' %12s' "${suites[@]}"
	echo
	for kernel in "${kernels[@]}"; do
		release=$(KERNEL=$kernel "$vm/kernel.sh" 2>/dev/null) || release=$kernel
		for n in "${cpus[@]}"; do
			printf '%-24s %4s' "${release##*/}" "$n"
			for suite in "${suites[@]}"; do
				printf ' %12s' "$(counts "$logs/$kernel.$n" "$suite" | tr ' ' /)"
			done
			echo
		done
	done
	echo "(passed/failed/skipped)"
}

# Once each, with where it was: KERNEL.CPUS, a time a test.
skips() {
	{ grep -HoE '^ *(ok [0-9]+|1\.\.0).* # *SKIP.*' "${all[@]}" || :; } |
		sed -E 's#^.*/([^/]*)/[^/:]*:.* \# *SKIP *#\1\t#; s/\r$//' |
		awk -F '\t' '{ n[$2]++; if (!(($2, $1) in at)) { at[$2, $1]; where[$2] = where[$2] " " $1 } }
			END { for (r in n) printf "%5d  %s:%s\n", n[r], r == "" ? "(a program as a whole)" : r, where[r] }' |
		sort -k2
}

all=() passed=0 failed=0 skipped=0
for kernel in "${kernels[@]}"; do
	for n in "${cpus[@]}"; do
		run=$logs/$kernel.$n started=$SECONDS
		rm -rf "$run"
		mkdir -p "$run"
		KERNEL=$kernel CPUS=$n SUITES="${suites[*]}" LOGS=$run \
			"$vm/check.sh" >"$run/check" 2>&1 || why "$run/check"
		all+=("$run"/check.*)
		echo "# $kernel, CPUS=$n: $(tail -n 1 "$run/check") ($((SECONDS - started)) s)"
		for suite in "${suites[@]}"; do
			read -r p f s < <(counts "$run" "$suite")
			passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
		done
	done
done

table
echo "skipped:"
skips
echo "boots that died before init and were retried: $(cat "${all[@]}" | grep -c 'boot retried:' || :)"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
