#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# inherited.sh - do the programs go by what whoever starts them has left them?

. "$(dirname "$0")/programs.sh"
need_wheel

pid=
cleanup() {
	[ -z "$pid" ] || kill "$pid"
}

# stop - end it
stop() {
	kill -TERM "$pid" 2>/dev/null
	await ended "$pid"
	wait "$pid"
	pid=
}

echo '@reboot true' >"$tmp/tab"
cat >"$tmp/programs" <<END
twheel arm 1h
cron $tmp/tab
heartbeat --drivers 10
idle-server --port 0
fdstore --socket $tmp/socket --journal $tmp/journal
END

# A shell without job control does so to whatever it has in the background.
while read -r command; do
	(
		trap '' INT
		# shellcheck disable=SC2086 # words
		exec $command
	) >"$tmp/out" 2>&1 </dev/null &
	pid=$!
	await waits
	kill -INT $pid
	sleep 0.3
	! ended "$pid"
	result $? "${command%% *}: a signal that is ignored does not end it"
	stop
done <"$tmp/programs"

while read -r command; do
	# shellcheck disable=SC2086 # words
	$command <&- >&- 2>&- &
	pid=$!
	await waits
	check "${command%% *}: what is closed stays free of the wheel's descriptors" \
		test "$(for fd in 0 1 2; do readlink /proc/$pid/fd/$fd; done | sort -u)" = /dev/null
	stop
done <"$tmp/programs"
status=0
twheel --version 2>"$tmp/out" >&- || status=$?
check "output is closed: exit status 1" test "$status" = 1
check "and that is said" said '^twheel: standard output: Bad file descriptor$'
status=0
cron --help 2>"$tmp/out" >&- || status=$?
check "so it is of applications" test "$status" = 1
check "and said" said '^cron: standard output: Bad file descriptor$'

finish
