# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # see selftests/mutate.sh
#
# mutations.sh - what tests of the library find in the copy, on a wheel in the process

# Prints the first test that fails, or how the program ended instead.
found_by() {
	local -x TWHEEL_BACKEND=embedded
	local out=$scratch/embedded test status
	local tests=(lib-deferred lib-model lib-fork lib-timers)

	make -s -C "$tree/selftests/embedded" O="$out" TESTS="${tests[*]}" \
		KSELFTEST="$(echo "$cache"/source/*/tools/testing/selftests)" \
		all >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		return 1
	}
	for test in "${tests[@]}"; do
		status=0
		spend timeout 60 "$out/$test" || status=$?
		[ "$status" != 0 ] || continue
		sed -n '/^not ok/{s/^not ok [0-9]* //p;q}' "$scratch/out" | grep . ||
			echo "$test ended with status $status"
		return
	done
}
