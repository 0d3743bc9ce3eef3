# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # see selftests/mutate.sh
#
# mutations.sh - what the fuzzer finds in the copy's module: MINUTES (3) in a guest
#
# What was said of each has to be read: a fuzzer that complains of anything would find
# them all.

export KERNEL=kasan VARIANT=kcov

found_by() {
	local module
	module=$(built_module) || return
	spend "$top/selftests/fuzz/fuzz.sh" -m "${MINUTES:-3}" -M "$module" abi || :
	if grep -q '^ok' "$scratch/out"; then
		return 0
	fi
	grep -m 1 -ohE 'BUG: .*|WARNING: .*|wrong: .*|Oops.*|possible .*|UBSAN: .*' \
		"$scratch/out" && return
	tail -n 20 "$scratch/out" >&2
	return 1
}
