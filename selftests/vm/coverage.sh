#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh - which lines of the module do the tests reach?
#
# usage: [SUITES="uapi ..."] coverage.sh [report]
#
# Runs the suites in guests, with a kernel and a module that count what is run,
# and the tests of the core on this machine; or with "report" takes what the last
# run has left. build/coverage/report tells of each file, and of each line that was
# not reached, why not: see coverage.explained. The last line is
#
#	lines N of M (P %), branches N of M (P %), not reached N, explained N
#
# and the exit status is 0 only if all tests passed, at least 95 % of the lines of
# each file that can be reached were, and all others, and only those, are explained.

. "$(dirname "$0")/common.sh"

export KERNEL=${KERNEL:-gcov} VARIANT=gcov
# Each test of make check and make check-long that runs in guests of the default kernel, in
# its longest form.
export SUITES=${SUITES:-uapi lib stress module hostile isolation isolation-long examples faults}
out=$build/coverage
export GCOV=$out/guests
kernel=$("$vm/kernel.sh")
compiler=$(cat "$kernel/compiler")

# gcov knows the files of its own compiler's release only.
count() {
	"${compiler/gcc/gcov}" --json-format --stdout --branch-probabilities "$@"
}

# What only tests of the host reach: a lease whose program is too fast. Without
# sanitizers, and without the tests that take long.
run_host_tests() {
	local part test
	for part in wheel lease; do
		quiet "$build/log/coverage" make -s -C "$top/selftests/$part" all \
			O="$out/$part" CC="$compiler" SANITIZE='-fprofile-arcs -ftest-coverage'
	done
	for test in wheel/test_units wheel/test_exact lease/test_interleave; do
		quiet "$build/log/coverage" timeout 600 "$out/$test"
	done
}

run_tests() {
	rm -rf "$out"
	mkdir -p "$GCOV"
	run_host_tests
	"$vm/check.sh" || { say "tests failed"; status=1; }
}

report() {
	local tar folder=$out/counts
	rm -rf "$folder"
	for tar in "$GCOV"/*.tar; do
		# A guest that was cut short has failed, and is not what is judged here.
		[ -s "$tar" ] || continue
		mkdir -p "$folder"/{in,out}
		tar -x -f "$tar" -C "$folder/in"
		cp -sf "$build/module/$(cat "$kernel/release")-gcov"/module/*/*.gcno "$folder/in"
		(cd "$folder/in" && count ./*.gcda) >"$folder/out/$(basename "$tar" .tar)"
		rm -r "$folder/in"
	done
	(cd "$out" && count wheel/wheel.gcda lease/*interleave.gcda) >"$folder/out/host"
	perl "$vm/coverage.pl" "$vm/coverage.explained" "$top/module" \
		"$folder"/out/guest.* -- "$folder/out/host" >"$out/report" || status=1
	cat "$out/report"
}

status=0
case ${1-} in
"")	run_tests ;;
report)	;;
*)	usage ;;
esac
report
exit $status
