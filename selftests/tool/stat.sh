#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# stat.sh - do twheel stat and twheel top --count tell what was done?
#
# Nobody else may use the device meanwhile.

. "$(dirname "$0")/programs.sh"
need_device

# sum NAME - print a counter, added up over all CPUs in all JSON lines of $tmp/out
sum() {
	grep -o "\"$1\":[0-9]*" "$tmp/out" | awk -F: '{ n += $2 } END { print n + 0 }'
}

# column NAME - print a counter of all CPUs from the table in $tmp/out
column() {
	awk -v name="$1" '
		$1 == "cpu" { for (i = 2; i <= NF; i++) if ($i == name) col = i }
		$1 == "all" { print $col }' "$tmp/out"
}

# buckets NAME - print the sum of a histogram's buckets over all CPUs
buckets() {
	grep -o "\"$1\":\\[[0-9,]*\\]" "$tmp/out" | sed 's/.*\[//; s/]//' | tr , '\n' |
		awk '{ n += $1 } END { print n + 0 }'
}

refuses 2 "'more' is too much" stat more
refuses 2 '.--every needs more than 0' stat --every 0
refuses 2 'count needs --every' stat --count 3
refuses 2 "'0' is not a number from 1" stat --every 1s --count 0
refuses 2 'reset goes with no other option' stat --reset --json
refuses 2 '.--every needs more than 0' top --every 0
refuses 1 'not a terminal: use --count' top

if [ "$(id -u)" != 0 ]; then
	refuses 1 '(the counters are for root)' stat
	finish
fi

run su -s /bin/sh nobody -c "$(command -v twheel) stat"
check "someone else may not look" test "$status" = 1
check "and is told why" said '^twheel: stat: .*(the counters are for root)$'

# In a mount namespace of its own, so that nobody else misses debugfs.
run unshare -m sh -c 'umount /sys/kernel/debug/tracing 2>/dev/null
	umount /sys/kernel/debug && twheel stat'
check "without debugfs" test "$status" = 1
check "it says so" said '^twheel: stat: .*(debugfs is not mounted there)$'

run twheel stat --reset
check "reset shows nothing" test "$status" = 0 -a ! -s "$tmp/out"
run twheel stat --json
check "after it all counts are 0" test "$(sum armed)$(sum read)$(sum interrupts)$(buckets lateness)" = 0000

twheel arm 10ms 20ms 30ms 40ms 50ms >/dev/null
run twheel stat --json
check "armed, expired and read: 5" test "$(sum armed)$(sum expired)$(sum read)" = 555
check "and none re-armed" test "$(sum rearmed)" = 0
check "5 were late by something" test "$(buckets lateness)" = 5
run twheel stat
check "the table says the same" test "$(column armed)$(column expired)$(column read)$(column rearmed)" = 5550
check "and how late at most" said '^late by  *[0-9.]* [um]*s '

twheel stat --every 250ms --count 32 --json >"$tmp/every" &
pid=$!
await test -s "$tmp/every"
twheel arm 10ms 20ms 30ms >/dev/null
wait $pid
status=$?
mv "$tmp/every" "$tmp/out"
check "--every and --count: so many lines" test "$status" = 0 -a "$(grep -c '^{"interval":' "$tmp/out")" = 32
check "what was done is in one of them, and only once" test "$(sum armed)$(sum expired)" = 33
check "together they are of no less time" test "$(sum interval)" -ge 8000000000

twheel top --every 250ms --count 24 >"$tmp/top" &
pid=$!
await test -s "$tmp/top"
twheel arm 1ms --every 1ms --count 100 >/dev/null
wait $pid
status=$?
mv "$tmp/top" "$tmp/out"
check "top --count prints so many times" test "$status" = 0 -a "$(grep -c '^all ' "$tmp/out")" = 24
check "it shows expirations" test "$(awk '$1 == "all" { n += $5 } END { print (n > 0) }' "$tmp/out")" = 1
check "and a bar" said '^all .*s #'
check "no line is too long" test "$(awk 'length > 80' "$tmp/out" | wc -l)" = 0

twheel stat >/dev/full 2>"$tmp/out"
check "output that cannot be written is an error" test $? = 1

finish
