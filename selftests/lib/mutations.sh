# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # see selftests/mutate.sh
#
# mutations.sh - what three programs in a guest find in the copy's library

# Prints the first test that fails, or how the guest ended instead.
found_by() {
	local tests=$scratch/objects
	rm -rf "$tests"
	"$vm/build.sh" module tests >&2 || return
	make -s -C selftests/lib OUTPUT="$tests" library="$(echo "$tree"/userspace/lib/*.c)" \
		KSELFTEST="$("$vm/kernel.sh" --source)/tools/testing/selftests" FORCE_TARGETS=1 \
		"$tests"/{model,deferred,timers} >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		return 1
	}
	spend "$vm/run.sh" -l -t 290 -m 2048 -d "$tests" -- 'cd /twheel/objects && ./deferred && ./model &&
		./timers' && return
	sed -n '/^not ok/{s/^not ok [0-9]* //p;q}' "$scratch/out" | grep . ||
		tail -n 1 "$scratch/out"
}
