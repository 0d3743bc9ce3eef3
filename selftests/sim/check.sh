#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh - test the simulator, and run it for a minute of CPU time with new seeds (TAP)
#
# usage: [SECONDS_EACH=20] check.sh
#	 SIM_SEED=n check.sh
#
# With SIM_SEED it is the same episodes on each machine: so many that they take about as long.
# If a simulation fails, what it says is printed, and how to see it again.

. "$(dirname "$0")/../vm/common.sh"
. "$top/selftests/tap.sh"

sim=$top/selftests/sim
export O=$build/sim

# simulator BUILD ARGUMENTS...
simulator() {
	local kind=$1
	shift
	"$O/$kind/sim" "$@"
}

# What the episode of $seed did: a trace, without what the machine has to do with
trace() {
	simulator plain --seed "$seed" --verbose | grep ' ms '
}

same_trace() {
	trace >"$tmp/first" && trace >"$tmp/second" && cmp "$tmp/first" "$tmp/second"
}

# Until the one copy that fails, the trace is that of the episode in which none does.
same_until_fault() {
	local nr=$((2 * (RANDOM % 20 + 10) + 1)) without=(--without "fairness,tenancy,process")
	simulator plain --seed "$seed" --fault 0 --verbose "${without[@]}" | grep ' ms ' \
		>"$tmp/without"
	simulator plain --seed "$seed" --fault "$nr" --verbose "${without[@]}" | grep ' ms ' |
		sed '/ can be reached$/q' >"$tmp/with"
	[[ "$(tail -n 1 "$tmp/with")" = *' can be reached' ]] &&
		head -n $(($(wc -l <"$tmp/with") - 1)) "$tmp/without" |
			cmp - <(sed '$d' "$tmp/with")
}

points() {
	sed -n 's/^\([0-9]* points\).*/\1/p'
}

same_without_trace() {
	local traced
	traced=$(simulator plain --seed "$seed" --verbose | points)
	[ -n "$traced" ] &&
		[ "$traced" = "$(simulator plain --seed "$seed" --episodes 1 | points)" ]
}

# Whatever came before it, an episode is the same.
same_in_a_row() {
	simulator plain --seed $((seed - 20)) --episodes 21 --verbose | grep ' ms ' | tac |
		sed '/ insmod: 0$\| no module$/q' | tac >"$tmp/first"
	trace | sed -n '/ insmod: 0$\| no module$/,$p' >"$tmp/second"
	[ -s "$tmp/second" ] && cmp "$tmp/first" "$tmp/second"
}

# A module that wakes nobody is found: so the oracle looks.
finds_a_bug() {
	cp -r "$top/module" "$tmp/module"
	sed -i 's/^\t\ttwheel_waiters_wake(&run->wake\[i\]->waiters);/\t\t;/' "$tmp/module/core/expire.c"
	! cmp -s "$top/module/core/expire.c" "$tmp/module/core/expire.c" &&
		make -s -C "$sim" sim MODULE="$tmp/module" O="$tmp/build" \
			ARGS="--seed 1 --episodes 2000" 2>&1 | tee "$tmp/found" >&2
	grep -q 'promise 3 is broken' "$tmp/found" && grep -q '^again, .*make sim SEED=' "$tmp/found"
}

# And such a failure is made smaller.
makes_it_smaller() {
	local seed
	seed=$(sed -n 's/^again.* SEED=\([0-9]*\).*/\1/p' "$tmp/found")
	"$tmp/build/plain/sim" --seed "$seed" --minimise | tee "$tmp/small" >&2
	grep -q 'the smallest that was found: make sim SEED=.*--owners 1' "$tmp/small"
}

# simulate BUILD EPISODES [OPTIONS...]
simulate() {
	local status=0 length=(--seconds "$seconds" "${@:3}")
	[ -z "${SIM_SEED-}" ] || length=(--seed "$SIM_SEED" --episodes "$2" "${@:3}")
	simulator "$1" "${length[@]}" >"$tmp/out" 2>&1 || status=$?
	sed -n "s/^seed /# $1: seed /p" "$tmp/out"
	result "$status" "no failure, $1: ${length[*]}"
}

unset MAKEFLAGS MFLAGS
seconds=${SECONDS_EACH:-20}
seed=${SIM_SEED:-$((RANDOM + 100))}
try "the simulator builds, plain and with each sanitizer" make -s -j2 -C "$sim" all
[ "$failures" = 0 ] || finish
echo "# seed $seed"
try "the same seed gives the same trace" same_trace
try "an episode is the same until something fails in it" same_until_fault
try "a trace changes nothing" same_without_trace
try "an episode is the same whatever was before it" same_in_a_row
try "a bug is found" finds_a_bug
try "and its episode made smaller" makes_it_smaller
simulate plain 8000
seconds=$((seconds / 4)) simulate plain 100 --each-fault 40 --each 20
simulate address 2000
simulate thread 1000
finish
