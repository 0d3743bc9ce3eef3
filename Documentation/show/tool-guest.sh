#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# tool-guest.sh - use the twheel tool in a guest as Documentation/tool.md shows it
#
# Prints for each part of that page a line "=== NAME", the command, and what it printed. The
# last part is the drawing that twheel top has kept.

pids=
# The module is removed after this: nobody may hold the device any more.
trap 'kill $pids; wait' EXIT
export LC_ALL=C.UTF-8

# part NAME COMMAND... - run a command of the shell, and print what it prints
part() {
	echo "=== $1"
	shift
	echo "$ $*"
	eval "$*" 2>&1
}

# await TEXT - until twheel ps says so, for half a minute
await() {
	tries=0
	until twheel ps 2>/dev/null | grep -q "$1" || [ "$tries" = 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
}

# As make modules_install and depmod leave it.
folder=/lib/modules/$(uname -r)
mkdir -p "$folder/updates"
cp /lib/modules/twheel.ko "$folder/updates"
echo updates/twheel.ko: >"$folder/modules.dep"

# A service that others depend on, two processes that share a descriptor, and a load.
heartbeat --lease --drivers 10000 --timeout 1h --duration 2h --quiet >/dev/null 2>&1 &
pids="$pids $!"
await heartbeat
exec 7<>/dev/twheel
sleep 1000 &
pids="$pids $!"
sleep 1000 &
pids="$pids $!"
exec 7>&-
twheel arm 1h 2h 3h --clock boottime >/dev/null &
pids="$pids $!"
await boottime
for n in 3 7 11 19 31; do
	twheel arm ${n}ms --every ${n}ms >/dev/null &
	pids="$pids $!"
done
sleep 2

part doctor twheel doctor
# Only what it says at the end matters here.
echo "=== container"
echo "$ twheel doctor    # where /dev is empty"
unshare -m sh -c 'mount -t tmpfs none /dev && twheel doctor' | grep -A 1 '^WRONG\|^$' | sed '/^--$/d'
part ps twheel ps
part stat twheel stat
part top twheel top --every 5s --count 1 --svg late.svg
echo "=== drawing"
cat late.svg
rm -f late.svg
