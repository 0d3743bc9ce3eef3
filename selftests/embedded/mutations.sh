# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # see selftests/mutate.sh
#
# mutations.sh - what tests of the library find in the copy, on a wheel in the process

found_by() {
	local -x TWHEEL_BACKEND=embedded
	local out=$scratch/embedded
	local tests=(lib-deferred lib-model lib-fork lib-timers now faked open cancel shards uapi-push
		uapi-lease)

	make -s -C "$tree/selftests/embedded" O="$out" TESTS="${tests[*]}" all \
		>"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		return 1
	}
	first_failure "${tests[@]/#/$out/}"
}
