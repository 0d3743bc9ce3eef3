# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # see selftests/mutate.sh
#
# mutations.sh - of the module, for the fuzzer to find: MINUTES (3) in a guest
#
# What was said of each has to be read: a fuzzer that complains of anything would find
# them all.

export KERNEL=kasan VARIANT=kcov
files=(module/*/*.[ch])

found_by() {
	local module
	module=$(built_module) || return
	"$top/selftests/fuzz/fuzz.sh" -m "${MINUTES:-3}" -M "$module" abi >"$scratch/out" 2>&1 || :
	if grep -q '^ok' "$scratch/out"; then
		return 0
	fi
	grep -m 1 -ohE 'BUG: .*|WARNING: .*|wrong: .*|Oops.*|possible .*|UBSAN: .*' \
		"$scratch/out" && return
	tail -n 20 "$scratch/out" >&2
	return 1
}

mutations() {
	cat <<-'END'
	the buffer of a batch is too small	s/kmalloc_array(min_t(u32, batch.count, TWHEEL_BATCH_PART)/kmalloc_array(min_t(u32, batch.count, 8)/
	any generation of a handle will do	/^static inline bool twheel_pool_is_named/,/^}/s/return timer->generation == upper_32_bits(handle);/return true;/
	a cancelled record stays in the list	/^static u64 end_held/,/^}/s/^\t\ttwheel_ctx_withdraw(ctx, timer);/\t\t;/
	END
}
