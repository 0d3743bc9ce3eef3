# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # see selftests/mutate.sh
#
# mutations.sh - what the tests of the wheel find in the copy

found_by() {
	local -x OPS=${OPS:-400000}
	local -x ASAN_OPTIONS=exitcode=99:detect_leaks=0 UBSAN_OPTIONS=exitcode=99
	local out=$scratch/wheel
	local tests=(units exact cost model keys)

	make -s -C selftests/wheel O="$out" MODULE="$tree/module/core" LIBRARY="$tree/userspace/lib" \
		TESTS="${tests[*]/#/test_}" all >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		return 1
	}
	first_failure "${tests[@]/#/$out/test_}"
}
