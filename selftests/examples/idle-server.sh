#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# idle-server.sh - are silent connections cut on time, and busy ones served?

. "$(dirname "$0")/programs.sh"
need_wheel
need_nc

# start FILES OPTION... - run a server that may have this many files open, in the
# background, and set $server and $port
start() {
	files=$1
	shift
	# Remove the output of a server that ran before.
	: >"$tmp/server"
	(
		# shellcheck disable=SC3045 # busybox has it
		ulimit -n "$files"
		exec idle-server --port 0 "$@" >"$tmp/server" 2>&1
	) &
	server=$!
	await grep -q '^listening on .*:' "$tmp/server"
	port=$(sed -n 's/^listening on .*://p' "$tmp/server")
}

# stop - end it, with its exit status in $status and its figures in $tmp/server
stop() {
	kill -TERM $server 2>/dev/null
	wait $server
	status=$?
	show "$tmp/server"
}

# figure NAME - print a figure from the server's table
figure() {
	value "$1" "$tmp/server"
}

# has_open PID COUNT - has the process that many descriptors, or more?
has_open() {
	[ "$(find "/proc/$1/fd" -type l | wc -l)" -ge "$2" ]
}

# What wrk calls errors of read and write, if it had no others.
wrk_errors='s/.*errors: connect 0, read \([0-9]*\), write \([0-9]*\), timeout 0$/\1 + \2/p'

# busy FORM OPTION... - silent clients, talking clients and load at the same time
busy() {
	form=$1
	shift
	start 1024 --timeout 3s "$@"
	idle-client --port "$port" --timeout 3s --silent 300 --talking 40 --duration 8s \
		>"$tmp/client" 2>&1 &
	client=$!
	if command -v wrk >/dev/null; then
		wrk -t 1 -c 50 -d 6s --timeout 10s "http://127.0.0.1:$port/" >"$tmp/wrk" 2>&1
		wrk_status=$?
	fi
	wait $client
	client_status=$?
	stop

	cp "$tmp/client" "$tmp/out"
	show "$tmp/out"
	check "$form: client: all in order" test "$client_status" = 0
	check "$form: client: every silent connection was cut" test "$(value cut)" = 300
	check "$form: client: none too soon" test "$(value 'cut too soon')" = 0
	check "$form: client: none too late" test "$(value 'cut too late')" = 0
	check "$form: client: none that talked was cut" test "$(value 'cut while talking')" = 0
	check "$form: client: requests were answered" test "$(value answers)" -gt 100
	cut=$((300 + $(value 'made to wait')))

	cp "$tmp/server" "$tmp/out"
	check "$form: server: exit status 0" test "$status" = 0
	check "$form: server: none cut early" test "$(figure 'cut early')" = 0
	check "$form: server: no stale expirations" test "$(figure 'stale expirations')" = 0
	# If the machine stalls, wrk's 50 connections are silent for too long as well.
	check "$form: server: cut the silent and no more" \
		test "$(figure 'idle, cut')" -ge "$cut" -a "$(figure 'idle, cut')" -le $((cut + 50))
	check "$form: server: nothing left open" test "$(figure 'open at the end')" = 0

	if command -v wrk >/dev/null; then
		cp "$tmp/wrk" "$tmp/out"
		show "$tmp/out"
		check "$form: wrk: exit status 0" test "$wrk_status" = 0
		# Each of those connections that was cut is an error of read or write to it.
		errors=$(sed -n "$wrk_errors" "$tmp/wrk")
		check "$form: wrk: no socket errors but the cuts of silent connections" \
			test "$(grep -c 'Socket errors' "$tmp/wrk")" = 0 -o \
			$((${errors:-1000})) -le $(($(figure 'idle, cut') - cut))
		check "$form: wrk: no other answers" test "$(grep -c 'Non-2xx' "$tmp/wrk")" = 0
		served=$(sed -n 's/^ *\([0-9]*\) requests in.*/\1/p' "$tmp/wrk")
		check "$form: wrk: requests were served" test "$served" -gt 100
		cp "$tmp/server" "$tmp/out"
		check "$form: server: answered at least those" test "$(figure requests)" -ge "$served"
	else
		skip "$form: load from wrk" "wrk is not installed"
	fi
}

# connections CONDITION - count them, of awk with the server's port; see proc(5)
connections() {
	awk -v port=":$(printf %04X "$port")\$" "\$4 == \"01\" && $1" /proc/net/tcp | wc -l
}

# connected COUNT - do the clients of the server have so many connections?
connected() {
	# shellcheck disable=SC2016 # these are fields
	[ "$(connections '$3 ~ port')" = "$1" ]
}

# unread - has the server something to read?
unread() {
	# shellcheck disable=SC2016
	[ "$(connections '$2 ~ port && $5 !~ /:0*$/')" != 0 ]
}

# late FORM OPTION... - a request comes when the timer has expired already, but before
# the server, which is stopped, can read that
late() {
	form=$1
	shift
	start 1024 --timeout 2s "$@"
	rm -f "$tmp/requests"
	mkfifo "$tmp/requests"
	: >"$tmp/out"
	nc 127.0.0.1 "$port" <"$tmp/requests" >"$tmp/out" &
	client=$!
	exec 9<>"$tmp/requests"
	printf 'GET / HTTP/1.1\r\n\r\n' >&9
	await said '^alive'
	kill -STOP $server
	sleep 3
	printf 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n' >&9
	await unread
	kill -CONT $server
	exec 9>&-
	wait $client
	check "$form: a request after the expiration is answered" \
		test "$(grep -c '^HTTP/1.1 200' "$tmp/out")" = 2
	stop
	cp "$tmp/server" "$tmp/out"
	set -- "$form: as its record had not been read" test "$(figure saved)" = 1
	case $form in
	leases)	device_check "$until_looked" "$@" ;;
	*)	check "$@" ;;
	esac
	check "$form: and was not read later" test "$(figure 'stale expirations')" = 0
	check "$form: the server has ended well" test "$status" = 0
}

busy leases
# Only connections that are new, or were late, are armed by a system call.
check "leases: all others were extended" test "$(figure 'leases extended')" -gt 100
check "leases: and not armed" \
	test "$(figure 'timers armed')" -le $(($(figure accepted) + $(figure saved)))
late leases

busy handles --handles
check "handles: none was extended" test "$(figure 'leases extended')" = 0
check "handles: all were armed" test "$(figure 'timers armed')" -gt $((cut + 100))
late handles --handles

# Requests arrive in one piece. The client is nc, which ends when it is cut.
start 1024 --timeout 1s
printf 'GET / HTTP/1.1\r\n\r\nHEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n' |
	nc 127.0.0.1 "$port" >"$tmp/out"
check "pipelined requests: three answers" test "$(grep -c '^HTTP/1.1 200' "$tmp/out")" = 3
check "a body for GET, none for HEAD" test "$(grep -c '^alive' "$tmp/out")" = 2
check "a close that was asked for" said '^Connection: close'
printf 'BREW / HTTP/1.1\r\n\r\n' | nc 127.0.0.1 "$port" >"$tmp/out"
check "an unknown method is refused" said '^HTTP/1.1 501'
{ printf 'GET / HTTP/1.1\r\nX: '; head -c 20000 /dev/zero | tr '\0' x; } |
	nc 127.0.0.1 "$port" >"$tmp/out" 2>&1
check "a head without end is refused" said '^HTTP/1.1 431'
stop
check "the server has ended well" test "$status" = 0

# A client says more and more, and reads no answer. It has the connection for its output, and for
# input that it does not look at.
cat >"$tmp/deaf" <<-'END'
	#!/bin/sh
	exec yes "$(printf 'GET / HTTP/1.1\r\n\r')"
END
chmod +x "$tmp/deaf"
if busybox nc --help 2>&1 | grep -q -e '-e PROG'; then
	for form in leases handles; do
		# shellcheck disable=SC2046 # words
		start 1024 --timeout 1s $([ $form = leases ] || echo --handles)
		busybox nc 127.0.0.1 "$port" -e "$tmp/deaf" >"$tmp/out" 2>&1 &
		client=$!
		check "$form: a client that does not read is cut" await ended $client
		kill $client 2>/dev/null
		stop
		cp "$tmp/server" "$tmp/out"
		check "$form: as it was idle" test "$(figure 'idle, cut')" = 1
		check "$form: and not early" test "$(figure 'cut early')" = 0
		check "$form: the server has ended well" test "$status" = 0
	done
else
	skip "a client that does not read" "busybox has no nc -e"
fi

# There are more clients than the server takes: the others wait, and get their turn when
# connections are cut.
start 1024 --timeout 1s --max 10
run idle-client --port "$port" --timeout 1s --silent 30 --talking 0 --duration 4s --late 20s
show "$tmp/out"
check "more clients than allowed: all cut in the end" test "$status" = 0
stop
check "accepting was paused" test "$(figure 'accepting paused')" -gt 0
check "all were accepted in the end" test "$(figure accepted)" = 30
check "and each of them cut" test "$(figure 'idle, cut')" = 30

# The same if descriptors run out. Slots and descriptors are used again.
start 16 --timeout 1s
run idle-client --port "$port" --timeout 1s --silent 30 --talking 0 --duration 4s --late 20s
show "$tmp/out"
check "no descriptors left: all cut in the end" test "$status" = 0
stop
check "accepting was paused for want of descriptors" \
	test "$(figure 'accepting paused')" -gt 0
check "exit status 0 all the same" test "$status" = 0

# Descriptors run out, and there are enough again, but nobody leaves. Meanwhile a client talks so often
# that the server never waits for long.
if command -v prlimit >/dev/null; then
	start 1024 --timeout 1h
	prlimit --pid $server --nofile=16:1024
	: >"$tmp/out"
	while printf 'GET / HTTP/1.1\r\n\r\n'; do
		sleep 0.02
	done 2>/dev/null | nc 127.0.0.1 "$port" >"$tmp/out" &
	await said '^alive'
	idle-client --port "$port" --timeout 1h --silent 10 --talking 0 >"$tmp/client" 2>&1 &
	client=$!
	await has_open $client 14
	{ printf 'GET / HTTP/1.1\r\n\r\n'; sleep 5; } | nc 127.0.0.1 "$port" >"$tmp/next" &
	next=$!
	# With the one that goes on asking, and ten that are silent
	await connected 12
	sleep 0.5
	check "no descriptors left: the next client waits" test ! -s "$tmp/next"
	prlimit --pid $server --nofile=1024:1024
	check "there are again: it is served" await grep -q '^alive' "$tmp/next"
	kill $client $next
	stop
	check "accepting was paused meanwhile" test "$(figure 'accepting paused')" -gt 0
else
	skip "there are descriptors again" "there is no prlimit"
fi

run idle-server --port 65536
check "a port that is none is refused" test "$status" = 2
run idle-server --timeout 0
check "a timeout of nothing is refused" test "$status" = 2

finish
