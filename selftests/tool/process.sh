#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# process.sh - do twheel ps, stat, top and list know wheels in processes?
#
# This needs no device.

. "$(dirname "$0")/programs.sh"

export TWHEEL_BACKEND=embedded

# column NAME ROW - print a counter from the table in $tmp/out
column() {
	awk -v name="$1" -v row="$2" '
		$0 ~ / armed / { for (i = 2; i <= NF; i++) if ($i == name) col = i }
		$1 == row { print $col }' "$tmp/out"
}

# counts NAME COUNT COMMAND... - has its output so many in the row "all"?
counts() {
	name=$1 want=$2
	shift 2
	"$@" >"$tmp/out" 2>&1
	[ "$(column "$name" all)" = "$want" ]
}

refuses 2 "'0' is not a number from 1" stat --pid 0
refuses 2 "'x' is not a number from 1" top --pid x
refuses 2 'reset goes with no other option' stat --reset --pid 1

twheel arm 1h >/dev/null &
silent=$!
TWHEEL_STATS=1 twheel arm 1h 2h 10ms 20ms >"$tmp/events" &
first=$!
TWHEEL_STATS=1 twheel arm 1h --clock boottime >/dev/null &
second=$!
cleanup() {
	kill $silent $first $second 2>/dev/null
}

await counts read 2 twheel stat --pid $first
check "what a process has counted" test "$(column armed all)$(column expired all)$(column cancelled all)" = 420
fd=$(awk '$1 ~ /^[0-9]+$/ { print $1 }' "$tmp/out")
check "for each of its descriptors" test "$(readlink "/proc/$first/fd/$fd")" = "anon_inode:[eventpoll]"
check "and how late" said '^late by  *[0-9.]* [mun]*s '
await prints 1 "^ *$second .* boottime  *1 " twheel ps
run twheel ps
check "ps succeeds" test "$status" = 0
check "ps shows it" said "^ *$first  *[^ ]*  *twheel  *$fd monotonic  *2  *0  in the process\$"
check "and the other one" said "^ *$second  *[^ ]*  *twheel  *[0-9]* boottime  *1  *0  in the process\$"
check "but none that was not asked to show it" test "$(grep -c "^ *$silent " "$tmp/out")" = 0
run twheel ps --json
check "ps --json" said "^{\"backend\":\"embedded\",\"clock\":\"monotonic\",\"config\":\\[\\],\"pending\":2,\"ready\":0,\"limit\":[0-9]*,\"holders\":\\[{\"pid\":$first,\"fd\":$fd,.*}$"

run twheel stat
check "stat has a row for each process" test "$(column armed $first)$(column armed $second)" = 41
check "a process has turns, and no interrupts" said '^    pid .* migrated  *turns$'
run twheel stat --json
check "stat --json has turns, too" said "\"pid\":$first,.*\"migrated\":0,\"turns\":[1-9]"
check "stat --json" said "^{\"pids\":\\[{.*{*\"pid\":$first,\"armed\":4,\"rearmed\":0,.*\"histograms\":{\"lateness\":\\[[0-9,]*\\],"
run twheel stat --pid $first --every 50ms --count 3 --json
check "stat --every: so many lines" test "$(grep -c '^{"interval":[0-9]*,"fds":\[{"fd":' "$tmp/out")" = 3
check "of what was counted meanwhile" test "$(grep -c '"armed":0,' "$tmp/out")" = 3
# Seven periods are shown as ever, and take a second each; the one with the stop takes three or more.
: >"$tmp/out"
twheel stat --pid $first --every 1s --count 8 --json >"$tmp/out" 2>&1 &
stat=$!
await said '^{"interval":'
kill -STOP $stat
sleep 3
kill -CONT $stat
wait $stat
check "a stop is one long period, and no other is short for that" \
	test "$(sed -n 's/^{"interval":\([0-9]*\),.*/\1/p' "$tmp/out" |
		awk '{ sum += $1 } END { print (sum >= 10e9) }')" = 1
run twheel stat --pid $silent
check "a process that shows nothing" test "$status" = 1
check "is named, and what to do" said "^twheel: stat: process $silent shows no counters .*TWHEEL_STATS=1$"

run twheel top --every 50ms --count 2
check "top has a row for each" test "$(grep -c "^ *$first " "$tmp/out")$(grep -c "^ *$second " "$tmp/out")" = 22
check "no line is too long" test "$(awk '{ gsub(/[^ -~]+/, "##") } length > 80' "$tmp/out" | wc -l)" = 0
run twheel top --every 50ms --count 1 --pid $first --svg "$tmp/late.svg"
check "top --pid" said "^ *$fd  "
check "keeps a drawing" grep -q '^<svg ' "$tmp/late.svg"
run twheel top --count 1 --pid $silent
check "top of one that shows nothing" test "$status" = 1

if [ ! -e /dev/twheel ]; then
	unset TWHEEL_BACKEND
	refuses 1 "only the process itself can list .* 'twheel stat --pid $first' shows its counters, if it runs with TWHEEL_STATS=1" list --pid $first
	run twheel stat
	check "without the device stat is of processes" test "$status$(column armed $first)" = 04
	TWHEEL_BACKEND=device twheel ps >"$tmp/out" 2>&1
	check "unless only the device is to be used" test $? = 1
	export TWHEEL_BACKEND=embedded
fi

if [ "$(id -u)" = 0 ]; then
	run su -s /bin/sh nobody -c "TWHEEL_BACKEND=embedded $(command -v twheel) stat --pid $first"
	check "nor their counters: that takes root" \
		said "^twheel: stat: process $first: Permission denied (to look at it takes root)$"
	run su -s /bin/sh nobody -c "TWHEEL_BACKEND=embedded $(command -v twheel) stat"
	check "and that is said, too, where all are looked at" \
		said '^twheel: stat: no process shows .*TWHEEL_STATS=1 (.*: that takes root)$'
	run su -s /bin/sh nobody -c "TWHEEL_BACKEND=embedded $(command -v twheel) ps"
	check "others' processes are not shown to everyone" test "$(grep -c "^ *$first " "$tmp/out")" = 0
fi

# Memory that a child has inherited, and what somebody has made up
if command -v python3 >/dev/null; then
	cat >"$tmp/fake.py" <<-'END'
		import fcntl, os, struct, sys
		kind = sys.argv[2]
		share = next(f for f in os.scandir(f"/proc/{sys.argv[1]}/fd")
		             if "/memfd:twheel-stats-" in os.readlink(f.path))
		size = os.stat(share.path).st_size
		slot_size = size // 1024 // 8 * 8
		at = size - 1024 * slot_size
		for _ in range(2 if kind == "two" else 1):
		    fd = os.memfd_create(os.readlink(share.path).split(":")[1].split()[0])
		    os.ftruncate(fd, size)
		    os.pwrite(fd, struct.pack("Q", 1) if kind == "full" else b"\x7f" * size, 0)
		    # Two wheels of each context
		    for slot in range(0 if kind == "full" else 1024):
		        os.pwrite(fd, struct.pack("I", 1000 * fd + slot // 2), at + slot * slot_size + 28)
		    # A million of them would be as much memory as a million processes have.
		    os.dup(fd)
		    if kind != "inherited":
		        fcntl.lockf(fd, fcntl.LOCK_EX)
		print("made", flush=True)
		sys.stdin.read()
	END
	# fake KIND - a process that has such memory, as $fake
	fake() {
		rm -f "$tmp/pipe" "$tmp/made"
		mkfifo "$tmp/pipe"
		python3 "$tmp/fake.py" $first "$1" <"$tmp/pipe" >"$tmp/made" &
		fake=$!
		exec 7<>"$tmp/pipe"
		await grep -q made "$tmp/made"
	}
	fake inherited
	run twheel ps
	check "what was inherited is not shown twice" test "$(grep -c "^ *$fake " "$tmp/out")" = 0
	exec 7>&-
	wait $fake
	fake mine
	run twheel ps
	check "what was made up is shown, and does no harm" \
		test "$status" = 0 -a "$(grep -c "^ *$fake .* unknown " "$tmp/out")" = 512
	run twheel top --count 1 --every 10ms --pid $fake
	check "nor in top" test "$status" = 0
	exec 7>&-
	wait $fake
	# Two copies of the library, as where a binding has one of its own
	fake two
	run twheel ps
	check "of two copies of the library both are shown" \
		test "$status" = 0 -a "$(grep -c "^ *$fake .* unknown " "$tmp/out")" = 1024
	exec 7>&-
	wait $fake
	fake full
	refuses 1 "process $fake has had too many wheels at once to show these$" stat --pid $fake
	exec 7>&-
	wait $fake
else
	skip "memory that was inherited or made up" "takes python3"
fi

kill $first
wait $first 2>/dev/null
run twheel stat --pid $first
check "one that has ended shows nothing" test "$status" = 1
check "as it is none" said "^twheel: stat: process $first: No such process$"
cleanup
wait

finish
