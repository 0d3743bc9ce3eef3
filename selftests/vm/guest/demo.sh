#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# demo.sh - a million drivers, then a TCP server under load
#
# usage: demo.sh [drivers]
#
# Runs where /dev/twheel is, with the programs in PATH.

drivers=${1:-1000000}
port=8080
failed=0

title() {
	printf '\n== %s\n\n' "$*"
}

twheel info

title "heartbeat: $drivers drivers, a timer each, on one descriptor"
heartbeat --drivers "$drivers" --timeout 20s --duration 30s || failed=1

title "idle-server: connections that fall silent are cut after 2 s"
idle-server --port $port --timeout 2s >/tmp/idle-server.$$ 2>&1 &
server=$!
sleep 1
idle-client --port $port --timeout 2s --silent 500 --talking 50 --duration 12s \
	>/tmp/idle-client.$$ 2>&1 &
client=$!
if command -v wrk >/dev/null; then
	wrk -t 1 -c 100 -d 8s --timeout 10s http://127.0.0.1:$port/ || failed=1
else
	echo "wrk is not installed: no load from it"
fi
wait $client || failed=1
kill $server
wait $server || failed=1

printf '\nthe clients:\n'
cat /tmp/idle-client.$$
printf '\nthe server:\n'
cat /tmp/idle-server.$$
rm -f /tmp/idle-client.$$ /tmp/idle-server.$$

case $failed in
0)	title "all as it should be" ;;
*)	title "SOMETHING WENT WRONG" ;;
esac
exit $failed
