#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# geometries.sh - the tests in virtual time, with wheels of two shapes
#
# usage: [TWHEEL_TIME_DAYS=n] [TWHEEL_TIME_FAST_DAYS=n] [TWHEEL_TIME_FAR_DAYS=n] \
#	     geometries.sh [month|year]
#
# The default shape, for a month or a year, and the one with the fewest slots and the longest ticks
# for ten days: the suites wheel and sim have all shapes. The variables hold for the default shape:
# see grid.c and deadlines.c.

. "$(dirname "$0")/../vm/common.sh"

# shape 'module parameters' DAYS FAST-DAYS FAR-DAYS - a guest that runs all programs, as a command
shape() {
	echo "$top/selftests/time/uml.sh -t 1800 -o '$1' -- 'export TWHEEL_TIME_DAYS=$2" \
		"TWHEEL_TIME_FAST_DAYS=$3 TWHEEL_TIME_FAR_DAYS=$4; ./ktap-run.sh grid deadlines'"
}

case ${1-year} in
month)	days=30 fast=1 far=30 ;;
year)	days=365 fast=2 far=3650 ;;
*)	usage ;;
esac
exec "$top/selftests/ktap-run.sh" \
	"$(shape '' "${TWHEEL_TIME_DAYS:-$days}" "${TWHEEL_TIME_FAST_DAYS:-$fast}" "${TWHEEL_TIME_FAR_DAYS:-$far}")" \
	"$(shape 'slots=4 tick_ns=1073741824' 10 0 10)"
