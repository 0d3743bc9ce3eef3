# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # see selftests/mutate.sh
#
# mutations.sh - what the simulator finds in the copy's module and library
#
# It looks in ROUNDS (20) of 2.8 CPU s: 400 episodes of the plain build, 200 about limits, 300 of the
# library with a wheel in its process, 5 in which each allocation and copy fails in turn, 40 of the
# build with the address sanitizer, and 40 short ones with the thread sanitizer. From seed 1 on, so
# that it is the same each time.

# look BUILD SANITIZER ROUND EPISODES [OPTION] - run so many in this round
look() {
	local sources=(MODULE="$tree/module" USERSPACE="$tree/userspace")
	[ ! -e "$scratch/found" ] || return 0
	make -s -C selftests/sim "${sources[@]}" O="$scratch/sim" SANITIZER="$2" \
		"$scratch/sim/${2:-plain}/sim" >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		return 1
	}
	spend make -s -C selftests/sim "${sources[@]}" O="$scratch/sim" SANITIZER="$2" \
		ARGS="--seed $((1 + $3 * $4)) --episodes $4 ${5-}" sim && return
	{
		grep -m 1 -oE 'WARNING: .*|ERROR: .*|runtime error: .*' "$scratch/out" ||
			sed -n '/^FAILED: promise/{s/FAILED: //;N;s/\n/: /p;q}' "$scratch/out"
	} | sed "s/^/$1: /" >"$scratch/found"
	[ -s "$scratch/found" ] || { tail -n 5 "$scratch/out" >&2; return 1; }
}

found_by() {
	local round
	rm -f "$scratch/found"
	for ((round = 0; round < ${ROUNDS:-20}; round++)); do
		look plain '' "$round" 400 "--without process" &&
			look limits '' "$round" 200 --tenants &&
			look process '' "$round" 300 --process &&
			look "each fault" '' "$round" 5 "--each-fault 40 --each 20" &&
			look address address "$round" 40 && look thread thread "$round" 40 "--each 10" || return
		if [ -e "$scratch/found" ]; then
			head -c 150 "$scratch/found" | head -n 1
			return
		fi
	done
}
