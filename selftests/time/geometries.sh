#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# geometries.sh - the tests in virtual time, with wheels of several shapes
#
# usage: [TWHEEL_TIME_DAYS=n] [TWHEEL_TIME_FAST_DAYS=n] geometries.sh [month|year]
#
# month runs the default shape for a month, and one with many levels; year runs all shapes.
# The variables hold for the default shape: see grid.c and deadlines.c.

. "$(dirname "$0")/../vm/common.sh"

# run 'module parameters' 'environment' program... - add a guest that runs these programs
guests=()
run() {
	local params=$1 env=$2
	shift 2
	guests+=("$top/selftests/time/uml.sh -t 1800 -o '$params' -- 'export $env; ./ktap-run.sh $*'")
}

case ${1-year} in
month)	days=${TWHEEL_TIME_DAYS:-30} fast=${TWHEEL_TIME_FAST_DAYS:-1} ;;
year)	days=${TWHEEL_TIME_DAYS-} fast=${TWHEEL_TIME_FAST_DAYS-} ;;
*)	usage ;;
esac
run "" "${days:+TWHEEL_TIME_DAYS=$days} ${fast:+TWHEEL_TIME_FAST_DAYS=$fast}" grid deadlines jumps

run "slots=4 tick_ns=1073741824" "TWHEEL_TIME_DAYS=10" grid deadlines jumps
if [ "${1-year}" = year ]; then
	run "tick_ns=1024" "TWHEEL_TIME_DAYS=40 TWHEEL_TIME_FAST_DAYS=0" grid deadlines jumps
	run "tick_ns=1073741824" "TWHEEL_TIME_DAYS=100" grid deadlines jumps
	run "slots=4096" "TWHEEL_TIME_DAYS=40 TWHEEL_TIME_FAST_DAYS=0" grid deadlines jumps
	run "slots=4" "TWHEEL_TIME_DAYS=10 TWHEEL_TIME_FAST_DAYS=0" grid deadlines jumps
fi

exec "$top/selftests/ktap-run.sh" "${guests[@]}"
