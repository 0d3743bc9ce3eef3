# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # see selftests/mutate.sh
#
# mutations.sh - what torture finds in the copy's module: SECONDS_EACH (60) in a guest

# Whatever else goes wrong, the oracle has to say so.
found_by() {
	local module seconds=${SECONDS_EACH:-60}
	module=$(built_module) || return
	spend "$vm/run.sh" -c 4 -m 2048 -t $((seconds + 300)) -M "$module" -- \
		/twheel/torture/torture --seconds "$seconds" || :
	sed -n '/VIOLATION: /{s/.*VIOLATION: //p;q}' "$scratch/out"
	grep -q 'VIOLATION: ' "$scratch/out" || tail -n 5 "$scratch/out" >&2
}
