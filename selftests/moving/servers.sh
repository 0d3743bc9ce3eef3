#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# servers.sh - do both servers of Documentation/moving.md hang up on those that are silent, and
# never early?

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/serve.sh"
here=$(dirname "$0")
PATH=$PATH:$here/../bin:$here/../../guest/bin
clients=50

# Were clients hung up on that had to talk, after they had been silent for a second all the same?
# So it is where the machine stands still for that long.
stood_still() {
	[ "$(value lost)" != 0 ] && [ "$(value shortest)" -ge 1000000 ]
}

# clients_of COMMAND... - start a server, and have clients talk to it for longer than they may
# be silent
clients_of() {
	serve 1000 "$@"
	for try in 1 2 3 4 5; do
		run "$here/client" "$port" $clients 15 100
		stood_still || break
		echo "# try $try: $(value lost) lost in a pause of $(value pause) us"
	done
	stop
}

# judge NAME COMMAND...
judge() {
	what=$1
	shift
	clients_of "$@"
	sed "s/^/# $what: /" "$tmp/out"
	check "$what: hangs up on all that are silent" test "$(value left)" = 0
	if stood_still; then
		skip "$what: on none that talks" "the machine stood still in each of $try tries"
	else
		check "$what: on none that talks" test "$(value lost)" = 0
	fi
	check "$what: never early" test "$(value shortest)" -ge 1000000
	# As often as it says so.
	check "$what: tells of each" test \
		"$(grep -c '^a client was silent$' "$tmp/server")" -ge $clients
}

# ticks - how long the server has run, in hundredths of a second
ticks() {
	awk '{ print $14 + $15 }' "/proc/$server/stat"
}

# crowded NAME COMMAND... - the same with fewer descriptors than clients: they wait for others
#
# Each is a second of silence away from its end, and the server must not be busy until then.
crowded() {
	what=$1
	shift
	serve 24 "$@"
	run "$here/client" "$port" $clients 2 100
	busy=$(ticks)
	check "$what: hangs up on all where descriptors are few" test "$(value left)" = 0
	check "$what: without being busy while it has none ($busy ticks)" test "$busy" -lt 200
	stop
}

# unaccepted NAME COMMAND... - a server that has no memory for clients must not be busy either
unaccepted() {
	what="$1: is not busy while accept() fails for want of memory"
	shift
	if ! "$here/unaccepted" true; then
		skip "$what" "the kernel has no filters of system calls"
		return
	fi
	serve 1000 "$here/unaccepted" "$@"
	begin=$(ticks)
	status=0
	timeout 2 "$here/client" "$port" 1 1 0 >"$tmp/out" 2>&1 || status=$?
	busy=$(($(ticks) - begin))
	# The client had connected, and waited. That is 124, and with busybox the signal.
	[ "$status" != 143 ] || status=124
	check "$what ($busy ticks)" test "$busy" -lt 30 -a "$status" = 124
	stop
}

judge timerfd-server timerfd-server
unaccepted timerfd-server timerfd-server
crowded timerfd-server timerfd-server
if [ -e /dev/twheel ]; then
	judge "twheel-server with the device" env TWHEEL_BACKEND=device twheel-server
else
	skip "twheel-server with the device" "no /dev/twheel: is the module loaded?"
fi
judge "twheel-server with an embedded wheel" env TWHEEL_BACKEND=embedded twheel-server
crowded twheel-server env TWHEEL_BACKEND=embedded twheel-server
unaccepted twheel-server env TWHEEL_BACKEND=embedded twheel-server
finish
