#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh - which lines and branches of the module do the tests on this machine reach?
#
# usage: coverage.sh [report]
#
# Runs episodes of the simulator, always the same, which run the whole module; the tests of the
# wheel; and those of the protocol of leases; all built so that the compiler counts what is run. Or
# with "report" takes what the last run has left. build/coverage/report tells of each file, and of
# each line that was not reached, why not: see coverage.explained. The last line is
#
#	lines N of M (P %), branches N of M (P %), not reached N, explained N
#
# and the exit status is 0 only if all tests passed, each line was reached or is explained, all that
# are explained were not reached (but those that rarely are), and at least 95 % of the branches were taken.

. "$(dirname "$0")/vm/common.sh"

selftests=$top/selftests
out=$build/coverage
log=$build/log/coverage

# The assertions are left out, which are branches that nobody takes.
build_tests() {
	local part
	quiet "$log" make -s "-j$(nproc)" -C "$selftests/sim" SANITIZER=coverage O="$out" \
		"$out/coverage/sim"
	for part in wheel lease; do
		quiet "$log" make -s -C "$selftests/$part" all O="$out/$part" \
			SANITIZE='--coverage -O0 -DNDEBUG'
	done
}

run_tests() {
	local sim=$out/coverage/sim test
	# Allocations and copies that hardly ever fail elsewhere, one after another, beside the rest
	quiet "$log.faults" "$sim" --seed 1 --episodes 80 --each-fault 60 --each 20 --without process &
	quiet "$log" "$sim" --seed 1 --episodes 4000 --without process
	for test in wheel/test_units wheel/test_exact wheel/test_chunks lease/test_interleave; do
		quiet "$log" timeout 600 "$out/$test"
	done
	wait $!
}

# count FILE... - what they tell, one JSON document for each
count() {
	gcov --json-format --stdout --branch-probabilities "$@"
}

report() {
	(cd "$out/coverage" && count core-*.gcda linux-*.gcda) >"$out/module"
	(cd "$out" && count wheel/*.gcda lease/*.gcda) >"$out/parts"
	perl "$selftests/coverage.pl" "$selftests/coverage.explained" "$top/module" \
		"$out/module" "$out/parts" >"$out/report" || status=1
	cat "$out/report"
}

status=0
case ${1-} in
"")	rm -rf "$out"
	mkdir -p "$out" "${log%/*}"
	build_tests
	run_tests || { say "tests failed"; status=1; } ;;
report)	;;
*)	usage ;;
esac
report
exit $status
