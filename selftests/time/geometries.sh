#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# geometries.sh - the tests in virtual time, with wheels of several shapes
#
# usage: [TWHEEL_TIME_DAYS=n] [TWHEEL_TIME_FAST_DAYS=n] [TWHEEL_TIME_FAR_DAYS=n] \
#	     geometries.sh [month|year]
#
# month runs the default shape for a month, and one with many levels; year runs all shapes.
# The variables hold for the default shape: see grid.c and deadlines.c.

. "$(dirname "$0")/../vm/common.sh"

# run 'module parameters' 'environment' - add a guest that runs all programs
guests=()
run() {
	local command="export $2; ./ktap-run.sh grid deadlines jumps"
	guests+=("$top/selftests/time/uml.sh -t 1800 -o '$1' -- '$command'")
}

# shape 'module parameters' DAYS [environment] - the same for so many days
shape() {
	run "$1" "TWHEEL_TIME_DAYS=$2 TWHEEL_TIME_FAR_DAYS=$2 ${3-}"
}

case ${1-year} in
month)	days=${TWHEEL_TIME_DAYS:-30} fast=${TWHEEL_TIME_FAST_DAYS:-1}
	far=${TWHEEL_TIME_FAR_DAYS:-30} ;;
year)	days=${TWHEEL_TIME_DAYS-} fast=${TWHEEL_TIME_FAST_DAYS-}
	far=${TWHEEL_TIME_FAR_DAYS-} ;;
*)	usage ;;
esac
run "" "${days:+TWHEEL_TIME_DAYS=$days} ${fast:+TWHEEL_TIME_FAST_DAYS=$fast} \
	${far:+TWHEEL_TIME_FAR_DAYS=$far}"
shape "slots=4 tick_ns=1073741824" 10
if [ "${1-year}" = year ]; then
	shape "tick_ns=1024" 40 TWHEEL_TIME_FAST_DAYS=0
	shape "tick_ns=1073741824" 100
	shape "slots=4096" 40 TWHEEL_TIME_FAST_DAYS=0
	shape "slots=4" 10 TWHEEL_TIME_FAST_DAYS=0
fi

exec "$top/selftests/ktap-run.sh" "${guests[@]}"
