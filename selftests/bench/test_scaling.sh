#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# test_scaling.sh - does the simulation of scaling.md do what theory says, and does the page
# have what it prints?
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tap.sh"
page=$here/../../Documentation/scaling.md

# near PERCENT A B - is A so close to B?
near() {
	awk -v p="$1" -v a="$2" -v b="$3" \
		'BEGIN { exit !(b > 0 && a >= b * (1 - p / 100) && a <= b * (1 + p / 100)) }'
}

# simulated CPUS THINK HOLD MOVE
simulated() {
	"$here/scaling.pl" check "$@" >"$tmp/out" 2>&1
	read -r exponential formula constant bound <"$tmp/out"
}

# Below the bend, near it, and beyond it
for queue in "1 100 50" "4 300 100" "10 1000 100" "64 1000 30"; do
	read -r cpus think hold <<<"$queue"
	simulated "$cpus" "$think" "$hold" 0
	near 2 "$exponential" "$formula"
	result $? "CPUs: $cpus, exponential times: as the formula of the machine repairman says"
	near 0.5 "$constant" "$bound"
	result $? "CPUs: $cpus, constant times: $bound a microsecond"
done

simulated 16 300 100 40
near 0.5 "$constant" "$bound"
result $? "a lock's line moves from each CPU to the next: $bound a microsecond"
simulated 1 300 100 40
near 0.5 "$constant" "$bound"
result $? "and stays with a CPU that is alone: $bound a microsecond"

cp "$page" "$tmp/page"
"$here/scaling.pl" "$tmp/page" >"$tmp/out" 2>&1
result $? "the tables are put into a page"
run diff -u "$page" "$tmp/page"
result "$status" "Documentation/scaling.md has what selftests/bench/scaling.pl prints"

grep -v 'scaling: end' "$page" >"$tmp/page"
! "$here/scaling.pl" "$tmp/page" >"$tmp/out" 2>&1 && grep -q 'no line' "$tmp/out"
result $? "a page without a place for them is refused"

finish
