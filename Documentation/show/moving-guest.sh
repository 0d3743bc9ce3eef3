#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# moving-guest.sh - in a guest whose time is instructions: what do the servers of
# Documentation/moving.md take?
#
# Each serves the same clients twice: to count instructions, and to count system calls, which
# takes instructions itself. Prints what moving-hook.sh does.

here=$(dirname "$0")
events=/sys/kernel/tracing/events/raw_syscalls/sys_enter
clients=400
rounds=25
out=$(mktemp)

# serve NAME COMMAND... - with CALLS set, count system calls
serve() {
	LABEL=$1${CALLS:+-calls}
	shift
	"$@" >"$out" &
	SERVER=$!
	until grep -q '^port [1-9]' "$out"; do
		sleep 0.1
	done
	[ -z "$CALLS" ] || echo "hist:keys=common_pid if common_pid==$SERVER" >$events/trigger
	export SERVER LABEL CALLS
	HOOK="sh $here/moving-hook.sh" && export HOOK
	sh "$here/moving-hook.sh" begun
	"$here/../moving/client" "$(sed -n 's/^port //p' "$out")" $clients $rounds 0 |
		sed "s/^\([a-z]* [0-9]*\)$/result $LABEL \1/"
	[ -z "$CALLS" ] || echo "!hist:keys=common_pid if common_pid==$SERVER" >$events/trigger
	kill $SERVER
	wait $SERVER
}

echo "load $clients $rounds"
for CALLS in '' $events/hist; do
	serve timerfd timerfd-server
	serve device env TWHEEL_BACKEND=device twheel-server
	serve embedded env TWHEEL_BACKEND=embedded twheel-server
done
rm -f "$out"
echo end
