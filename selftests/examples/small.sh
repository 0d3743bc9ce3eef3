#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# small.sh - do the small examples print what their heads say?

. "${0%/*}/programs.sh"
need_device

run keyed
check "keyed: exit status 0" test $status = 0
check "keyed: sessions time out by their numbers" test "$(tr '\n' ';' <"$tmp/out")" = \
	"session 1002 was active in time;session 1003 has logged out;\
session 1001 has timed out;session 1002 has timed out;"

run lease
check "lease: exit status 0" test $status = 0
check "lease: it is extended until it is over" test "$(tr '\n' ';' <"$tmp/out")" = \
	"extended 1000 times;lease 7 is over, by its last deadline;too late to extend it;"

run periodic
check "periodic: exit status 0" test $status = 0
check "periodic: ten rounds" said '^in all: 10$'
check "periodic: each is in one record" \
	test "$(awk '/^rounds: / { n += $2 } END { print n }' "$tmp/out")" = 10
check "periodic: those that were missed are in one together" \
	test "$(awk '/^rounds: / && $2 > most { most = $2 } END { print most }' "$tmp/out")" -ge 3

# await PATTERN - wait until the server has printed this
await() {
	tries=0
	until grep -q "$1" "$tmp/server" || [ "$tries" = 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	grep -q "$1" "$tmp/server"
}

epoll-server >"$tmp/server" 2>&1 &
server=$!
check "epoll-server: tells its port" await '^port [1-9]'
port=$(sed -n 's/^port //p' "$tmp/server")
mkfifo "$tmp/lines"
begin=$(cut -d. -f1 /proc/uptime)
nc 127.0.0.1 "$port" <"$tmp/lines" >"$tmp/out" &
client=$!
exec 9>"$tmp/lines"
# In total this is longer than a client may be silent.
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
	echo $n >&9
	sleep 0.1
done
# The server ends this connection, as the client has not closed its side.
check "epoll-server: hangs up on a client that is silent" await '^a client was silent$'
end=$(cut -d. -f1 /proc/uptime)
exec 9>&-
wait $client
check "epoll-server: not while it says something" test "$(tail -n 1 "$tmp/out")" = 12
check "epoll-server: nor before its time" test $((end - begin)) -ge 2
echo bye | nc 127.0.0.1 "$port" >"$tmp/out" 2>&1
check "epoll-server: serves the next one" said '^bye$'
kill $server
wait $server
check "epoll-server: goes on until it is told to stop" test $? = 143

finish
