#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# list.sh - does twheel list show the timers of a descriptor, and whose?

. "$(dirname "$0")/programs.sh"
need_device

# lines PATTERN - print how many lines of $tmp/out match
lines() {
	grep -c -- "$1" "$tmp/out"
}

refuses 2 'whose timers? use --fd or --pid' list
refuses 2 "'7x' is not a number from 0" list --fd 7x
refuses 2 "'0' is not a number from 1" list --pid 0
refuses 2 "'more' is too much" list --fd 7 more
refuses 1 'descriptor 77: Bad file descriptor' list --fd 77
refuses 1 'not a twheel device' list --fd 0 </dev/null

# A program inherits a descriptor, so two processes share one context.
exec 7<>/dev/twheel
run twheel list --fd 7
check "an inherited descriptor without timers" said '^descriptor 7: 0 pending, 0 ready, clock monotonic$'
run twheel info --fd 7
check "info of it" said '^timers  *0 pending, 0 ready$'
exec 7>&-

twheel arm 1h 2h 3h --every 90s --slack 500ms --count 12 --fixed-delay --data 40 \
	--clock boottime >"$tmp/arm" 2>&1 &
pid=$!
await prints 3 fixed-delay twheel list --pid $pid

run twheel list --pid $pid
check "the timers of another process" test "$status" = 0 -a "$(lines fixed-delay)" = 3
check "and whose they are" said "^process $pid, descriptor [0-9]*: 3 pending, 0 ready, clock boottime$"
for n in 40 41 42; do
	check "timer $n is there, with its settings" \
		said "^ *[0-9]* *$n .* s *90 s *[0-9.]* ms *12  fixed-delay$"
done
check "none has more time left than it was given" \
	test "$(awk '/fixed-delay/ && ($4 > ($2 - 39) * 3600 || $5 != "s")' "$tmp/out" | wc -l)" = 0
fd=$(sed -n 's/.*descriptor \([0-9]*\):.*/\1/p' "$tmp/out")

run twheel list --pid $pid --fd "$fd" --json
check "by its descriptor, in JSON" test "$(lines '^{.*}$')" = 3
check "with all numbers" said "^{\"pid\":$pid,\"fd\":$fd,\"clock\":\"boottime\",\"handle\":[1-9][0-9]*,\"data\":40,\"deadline\":[1-9][0-9]*,\"remaining\":[1-9][0-9]*,\"interval\":90000000000,\"slack\":[1-9][0-9]*,\"count\":12,\"flags\":\\[\"fixed-delay\"\\]}$"

sed 's/.*"data":\([0-9]*\).*"remaining":\([0-9]*\).*/\1 \2/' "$tmp/out" |
	awk '{ h = $2 / 3600e9; if (h > $1 - 39 || h < $1 - 40) bad++ } END { print NR, bad + 0 }' >"$tmp/left"
check "the time left is that of each" test "$(cat "$tmp/left")" = "3 0"

refuses 1 'descriptor 99: Bad file descriptor' list --pid $pid --fd 99
run su -s /bin/sh nobody -c "$(command -v twheel) list --pid $pid"
check "not of a process of someone else" test "$status" = 1
check "and it says why" said '^twheel: list: process .*right to trace'

kill $pid
wait $pid
refuses 1 "process $pid: No such process" list --pid $pid
refuses 1 "process $$ has no descriptor of /dev/twheel" list --pid $$

# The descriptors have to be open while the tool looks at them.
exec 7<>/dev/twheel 8<>/dev/twheel
sleep 1000 &
pid=$!
exec 7>&- 8>&-
run twheel list --pid $pid
check "all descriptors of a process" test "$status" = 0 -a "$(lines "^process $pid, descriptor [78]:")" = 2
kill $pid

finish
