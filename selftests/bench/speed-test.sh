#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# speed-test.sh - does `speed` have a figure for all that it lists, and refuse the rest?
#
# With few timers, so the figures say little. Wants `make -C selftests BENCH=1`.

. "$(dirname "$0")/tap.sh"
speed=$(dirname "$0")/speed

# figures FACILITY KIND OPERATION... - has $tmp/out a number over 0 for each of them?
figures() {
	facility=$1 kind=$2
	shift 2
	for operation; do
		# A push of a lease has no batch, whatever the rest has.
		awk -F '\t' -v f="$facility" -v o="$operation" -v kind="$kind" '
			$1 == f && $3 == o && $7 + 0 > 0 && NF == 7 {
				single += $2 == 0
				batches += $2 > 0
			}
			END {
				if (kind == "batches" && single == 0)
					exit batches != 2
				exit single != 1 || batches
			}' "$tmp/out" || { echo "# $facility: $operation" && return 1; }
	done
}

# refuses MESSAGE ARGUMENTS... - one line that contains MESSAGE, and status 2
refuses() {
	message=$1
	shift
	run "$speed" "$@"
	[ "$status" = 2 ] && [ "$(wc -l <"$tmp/out")" = 1 ] && grep -qFe "$message" "$tmp/out"
}

"$speed" -l >"$tmp/list"
try "everything with 1000 timers" "$speed" -n 1k -b 1,64
while read -r facility kind operations; do
	[ "$facility" != '#' ] || continue
	# shellcheck disable=SC2046 # operations are words
	check "$facility" figures "$facility" "$kind" $(echo "$operations" | tr , ' ')
done <"$tmp/list"

if [ -e /dev/twheel ]; then
	run "$speed" -n 1k -b 64 -t 2 -s -f twheel -o later,deliver
	check "two threads on one descriptor" \
		test "$(grep -c '^twheel.64.*1000.2.1.[0-9.]*$' "$tmp/out")" = 2
else
	skip "two threads on one descriptor" "no /dev/twheel: is the module loaded?"
fi
check "a size that is no number" refuses "-n: '1x' is not a number" -n 1x
check "a facility that there is not" refuses "there is no 'nothing'" -f nothing
check "too few for each thread" refuses "too few for 2 threads" -n 100 -t 2
finish
