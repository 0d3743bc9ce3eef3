# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154 # tap.sh assigns them
#
# results.sh - results of the runners of other languages as TAP, for a guest's busybox sh and for bash
#
# After ../tap.sh.

# results - after run: the results of the tests that the runner of Go, Rust or Node has told of, and
# its own
results() {
	sed -nE -e 's/^(not )?ok [0-9]+ - (.*)/\1ok \2/p' \
		-e 's/^--- (PASS|FAIL|SKIP): ([^ ]*).*/\1 \2/p' \
		-e 's/^test (.*) \.\.\. (ok|FAILED|ignored).*/\2 \1/p' "$tmp/out" >"$tmp/results"
	echo "exit status $status, $(wc -l <"$tmp/results") tests" >>"$tmp/out"
	while read -r word name; do
		case $word in
		PASS|ok)	result 0 "$name" ;;
		SKIP|ignored)	skip "$name" "its runner has skipped it" ;;
		*)		result 1 "$name" ;;
		esac
	done <"$tmp/results"
	check "its tests have ended well" test "$status" = 0 -a -s "$tmp/results"
}
