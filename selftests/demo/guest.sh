#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh - a million drivers in three forms, then a TCP server under load
#
# usage: guest.sh [drivers]
#
# Runs where /dev/twheel is, with the programs in PATH.

drivers=${1:-1000000}
failed=0

title() {
	printf '\n== %s\n\n' "$*"
}

twheel info

title "heartbeat: $drivers drivers, a timer each, on one descriptor"
heartbeat --compare --drivers "$drivers" --timeout 20s --duration 30s || failed=1

title "idle-server: connections that fall silent are cut after 2 s"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
idle-server --port 0 --timeout 2s >"$out/server" 2>&1 &
server=$!
port=
for _ in 1 2 3 4 5 6 7 8 9 10; do
	port=$(sed -n 's/^listening on .*://p' "$out/server")
	[ -z "$port" ] || break
	sleep 1
done
# A busy machine may be seconds late itself: what counts is that all are cut by the end.
idle-client --port "$port" --timeout 2s --silent 500 --talking 50 --duration 12s --late 20s \
	>"$out/client" 2>&1 &
client=$!
if command -v wrk >/dev/null; then
	wrk -t 1 -c 100 -d 8s --timeout 10s "http://127.0.0.1:$port/" >"$out/wrk" 2>&1 ||
		failed=1
	cat "$out/wrk"
	# It does not say so by its exit status. On a machine that stalls for a timeout its
	# connections are silent too, and rightly cut: it calls that an error of read or write.
	if grep -qE 'connect [1-9]|timeout [1-9]|Non-2xx' "$out/wrk"; then
		failed=1
	fi
else
	echo "wrk is not installed: no load from it"
fi
wait $client || failed=1
kill $server
wait $server || failed=1

printf '\nthe clients:\n'
cat "$out/client"
printf '\nthe server:\n'
cat "$out/server"

case $failed in
0)	title "all as it should be" ;;
*)	title "SOMETHING WENT WRONG" ;;
esac
exit $failed
