#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# loops.sh - the echo server of userspace/examples/loops in each event loop, with many clients
#
# usage: loops.sh CLIENTS MILLISECONDS [LOOP...]
#
# The milliseconds are how long a client may be silent. Without the device the timers are those
# of an embedded wheel.

. "$(dirname "$0")/tap.sh"

clients=$1 idle=$2
shift 2
[ $# -gt 0 ] || set -- epoll libevent uv uring glib sd-event asio
export TWHEEL_BACKEND=device
[ -e /dev/twheel ] || TWHEEL_BACKEND=embedded
cd "$(dirname "$0")" || exit
# shellcheck disable=SC3045 # busybox has it
case $(ulimit -Hn) in
unlimited) ;;
*)	[ "$(ulimit -Hn)" -ge $((clients + 64)) ] ||
		skip_all "only $(ulimit -Hn) descriptors are allowed here (ulimit -Hn)" ;;
esac

server=
cleanup() {
	[ -z "$server" ] || kill "$server"
}

listens() {
	grep -q '^at ' "$tmp/server"
}

listens_or_ended() {
	listens || ! kill -0 "$server" 2>/dev/null
}

# start LOOP MILLISECONDS [DESCRIPTORS] - its server; a guest has no libraries but those here
start() {
	rm -f "$tmp/socket"
	: >"$tmp/server"
	# shellcheck disable=SC3045 # busybox has it
	(ulimit -n "${3:-$(ulimit -Hn)}" && exec lib/ld.so --library-path lib "./$1-server" "$2" \
		"$tmp/socket") >"$tmp/server" 2>&1 &
	server=$!
	await listens_or_ended
}

# stop - end the server, with its exit status in $ended
stop() {
	kill -TERM $server 2>/dev/null
	wait $server
	ended=$?
	server=
}

# figure NAME - of the table that the clients print
figure() {
	sed -n "s/^$1  *\([0-9][0-9]*\)$/\1/p" "$tmp/out"
}

# said TEXT - how often the server did
said() {
	grep -c "^$1$" "$tmp/server"
}

# crowd LOOP - many clients of the server that was started
#
# Where the machine stood still for too long even those that talk were silent. They get more
# time then.
crowd() {
	for time in "$idle" $((3 * idle)) $((9 * idle)); do
		[ "$time" = "$idle" ] || { stop && start "$1" "$time"; }
		run ./clients "$tmp/socket" "$clients" "$time"
		sed 's/^/# /' "$tmp/out" | head -n 30
		[ "$status" = 3 ] || break
	done
	result "$status" "$1: none cut early, none while it talks, all in the end"
	check "$1: while others talked all idle ones were cut" \
		test "$(figure 'cut, idle')" = "$(figure idle)"
	stop
	check "$1: the server has ended well" test "$ended" = 0
	check "$1: it hung up once on each that was silent" \
		test "$(said 'a client was silent')" = "$(figure cut)"
	check "$1: and saw the others leave" \
		test "$(said 'a client has left')" = "$(figure left)"
}

# crowded LOOP - with fewer descriptors than clients
#
# Those that wait for one must not keep the server busy.
crowded() {
	start "$1" 500 32
	try "$1: clients wait until others have left" ./clients wait "$tmp/socket" 100
	# In hundredths of a second
	busy=$(awk '{ print $14 + $15 }' "/proc/$server/stat")
	check "$1: it has not been busy meanwhile ($busy ticks)" test "$busy" -lt 100
	stop
	check "$1: and it has hung up on each" test "$(said 'a client was silent')" = 100
}

# faults LOOP - what is asked of its source alone
faults() {
	case $1 in
	asio)	try "$1: no memory to attach" one memory
		try "$1: a source is moved to itself" one moved ;;
	uring)	try "$1: functions throw, and the call is made again" one throws
		[ ! -e /dev/twheel ] || try "$1: a full queue of requests is submitted" one full ;;
	esac
}

# one TEST - of them
one() {
	lib/ld.so --library-path lib "./$loop-faults" "$1"
}

# attach LOOP - what a loop does with timers that it cannot have, or that are detached in it
#
# What is freed is filled with something else, so that it is not used.
attach() {
	while read -r test name; do
		try "$1: $name" env MALLOC_PERTURB_=165 \
			lib/ld.so --library-path lib "./$1-attach" "$test"
	done <<-END
		keyed		a context with keys is refused
		inherits	a context that a child has inherited is refused
		child		a child that goes on is told once, and waits
		outside		detached, closed and opened anew before a round
		callback	detached, closed and opened anew in a callback
		function	detached, closed and opened anew in a timer's function
		forks		detached in a timer's function that forks
		step		after a step of the clock the timers go on, or the loop ends
	END
}

# refuses LOOP - times that it could not have, and what is none
refuses() {
	for time in 9223372036855 18446744073710 99999999999999999999 -1 +1 '' ' 1' 0 1s; do
		lib/ld.so --library-path lib "./$1-server" "$time" "$tmp/refused" && return 1
		[ $? = 2 ] || return 1
	done 2>"$tmp/refused.err"
	[ "$(grep -c "is not a number of milliseconds from 1 to" "$tmp/refused.err")" = 9 ]
}

for loop; do
	if ! [ -e "$loop-server" ]; then
		skip "$loop" "not built: its headers are missing"
		continue
	fi
	start "$loop" "$idle"
	if ! listens; then
		stop
		# As io_uring is in many a container
		if grep -q 'loop: \(Operation not permitted\|Function not impl\)' "$tmp/server"; then
			skip "$loop" "$(tail -n 1 "$tmp/server")"
		else
			result 1 "$loop: the server listens" "$tmp/server"
		fi
		continue
	fi
	crowd "$loop"
	# What is queued has to be told before the loop waits.
	start "$loop" 10000
	try "$loop: a deadline that comes closer is kept" ./clients soon "$tmp/socket" 10000
	stop
	crowded "$loop"
	attach "$loop"
	faults "$loop"
	try "$loop: the server refuses what is no time, or too long" refuses "$loop"
done
finish
