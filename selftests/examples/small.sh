#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# small.sh - do the small examples print what their heads say?

. "$(dirname "$0")/programs.sh"
need_wheel
need_nc

# says PROGRAM TEXT - does the program print this, with ; at the end of each line?
#
# Where the machine stands still at the wrong moment a program is too late, and says so.
# That may happen in one try, but not in each.
says() {
	for try in 1 2 3 4 5; do
		run "$1"
		[ "$(tr '\n' ';' <"$tmp/out")" != "$2" ] || return 0
		echo "# try $try of $1: $(tr '\n' ';' <"$tmp/out")"
	done
	return 1
}

check "keyed: sessions time out by their numbers" says keyed \
	"session 1002 was active in time;session 1003 has logged out;\
session 1001 has timed out;session 1002 has timed out;"
check "keyed: exit status 0" test "$status" = 0

check "lease: it is extended until it is over" says lease \
	"extended 1000 times;lease 7 is over, by its last deadline;too late to extend it;"
check "lease: exit status 0" test "$status" = 0

run periodic
check "periodic: exit status 0" test "$status" = 0
check "periodic: ten rounds" said '^in all: 10$'
check "periodic: each is in one record" \
	test "$(awk '/^rounds: / { n += $2 } END { print n }' "$tmp/out")" = 10
check "periodic: those that were missed are in one together" \
	test "$(awk '/^rounds: / && $2 > most { most = $2 } END { print most }' "$tmp/out")" -ge 3

# has_hung_up TIMES - has the server hung up on that many clients?
has_hung_up() {
	[ "$(grep -c '^a client was silent$' "$tmp/server")" -ge "$1" ]
}

# talk TRY - say something for longer in total than a client may be silent, then nothing
talk() {
	rm -f "$tmp/lines"
	mkfifo "$tmp/lines"
	begin=$(cut -d. -f1 /proc/uptime)
	nc 127.0.0.1 "$port" <"$tmp/lines" >"$tmp/out" &
	client=$!
	exec 9<>"$tmp/lines"
	for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
		echo $n >&9
		sleep 0.1
	done 2>/dev/null
	# The server ends this connection, as the client has not closed its side.
	await has_hung_up "$1"
	hung_up=$?
	end=$(cut -d. -f1 /proc/uptime)
	exec 9>&-
	wait $client
	last=$(tail -n 1 "$tmp/out")
}

server=
cleanup() {
	[ -z "$server" ] || kill "$server"
}

# A client that is cut off no longer reads what is written to it.
trap '' PIPE
epoll-server >"$tmp/server" 2>&1 &
server=$!
check "epoll-server: tells its port" await grep -q '^port [1-9]' "$tmp/server"
port=$(sed -n 's/^port //p' "$tmp/server")
# In a machine that stands still for a second a client is silent: see says.
for try in 1 2 3 4 5; do
	talk $try
	[ "$last" != 12 ] || break
	echo "# try $try: cut off after $last"
done
check "epoll-server: hangs up on a client that is silent" test "$hung_up" = 0
check "epoll-server: not while it says something" test "$last" = 12
check "epoll-server: nor before its time" test $((end - begin)) -ge 2
echo bye | nc 127.0.0.1 "$port" >"$tmp/out" 2>&1
check "epoll-server: serves the next one" said '^bye$'
kill $server
wait $server
server_status=$?
server=
check "epoll-server: goes on until it is told to stop" test "$server_status" = 0

finish
