#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# heartbeat.sh - are the right drivers declared offline, and each of them once?

. "${0%/*}/tap.sh"
need_device

# verdict NAME DEAD - the figures of a run that has to be in order
verdict() {
	show "$tmp/out"
	check "$1: exit status 0" test $status = 0
	check "$1: none wrongly expired" test "$(value 'wrongly expired')" = 0
	check "$1: none missed" test "$(value missed)" = 0
	check "$1: none declared twice" test "$(value 'declared twice')" = 0
	# A machine too slow for its reports declares a few more, rightly.
	check "$1: as many expired as fell silent" \
		test "$(value expired)" = $(($2 + $(value 'late reports')))
}

# A hundred thousand timers, and eight files at most.
run sh -c 'ulimit -n 8 && exec "$@"' sh \
	heartbeat --drivers 100000 --timeout 6s --duration 12s --dead 5000 --quiet
verdict "100,000 drivers" 5000
check "reports have pushed timers back" test "$(value 'pushed back')" -gt 100000

run heartbeat --drivers 2000 --timeout 600ms --duration 6s --silent 1 --batch 7 --seed 2 --quiet
verdict "everyone falls silent, short timeouts" 2000

run heartbeat --drivers 10000 --timeout 3s --duration 4s --dead 0 --quiet
verdict "nobody falls silent" 0

run heartbeat --drivers 1 --timeout 100ms --duration 1s --dead 1 --batch 1 --quiet
verdict "a single driver" 1

# Half way through nothing is wrong either.
heartbeat --drivers 1000 --timeout 1h --dead 500 >"$tmp/out" 2>&1 &
pid=$!
sleep 2
kill -TERM $pid
wait $pid
status=$?
check "interrupted: exit status 0" test $status = 0
check "interrupted: none missed" test "$(value missed)" = 0

run heartbeat --timeout 5 --duration 5
check "a run too short to tell is refused" test $status = 2
run heartbeat --timeout 9s --drivers 1000 --rate 10
check "a rate too low is refused" test $status = 2
run heartbeat --drivers 1000000000
check "more drivers than the limit allows" test $status = 1
check "are refused with a hint" said 'see max_fd_timers'

finish
