# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # see selftests/mutate.sh
#
# mutations.sh - what the interleavings of leases find in the copy

found_by() {
	local -x UBSAN_OPTIONS=exitcode=99
	make -s -C selftests/lease O="$scratch/lease" MODULE="$tree/module/core" \
		LIBRARY="$tree/userspace/lib" >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		return 1
	}
	first_failure "$scratch/lease/test_interleave"
}
