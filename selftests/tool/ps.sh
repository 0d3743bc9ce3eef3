#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ps.sh - does twheel ps show whose contexts there are, and which are shared?
#
# What /proc says is made up in a folder of files, so the first half needs no device.

. "$(dirname "$0")/programs.sh"

root=$tmp/root
mkdir -p "$root/sys/class/misc/twheel" "$root/proc"
echo 1:3 >"$root/sys/class/misc/twheel/dev"

# put PID COMMAND UID - a process, whose descriptors follow
put() {
	mkdir -p "$root/proc/$1/fd" "$root/proc/$1/fdinfo"
	printf '%s\n' "$2" >"$root/proc/$1/comm"
	printf 'Name:\t%s\nUid:\t%s\t%s\n' "$2" "$3" "$3" >"$root/proc/$1/status"
}

# open_context PID FD CLOCK CONFIG PENDING READY - a context; its device is /dev/null
open_context() {
	ln -sf /dev/null "$root/proc/$1/fd/$2"
	printf 'pos:\t0\nflags:\t02\nmnt_id:\t13\nino:\t5\nclock:\t%s\nconfig:\t%s\npending:\t%s\nready:\t%s\nlimit:\t1000\n' \
		"$3" "$4" "$5" "$6" >"$root/proc/$1/fdinfo/$2"
}

ps() {
	TWHEEL_TEST_ROOT=$root twheel ps "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
}

refuses 2 "'more' is too much" ps more

ps
check "no context is no error" test "$status" = 0
check "and is said" said '^no process '
ps --json
check "--json: nothing" test "$status" = 0 -a ! -s "$tmp/out"

# /proc takes the last descriptor.
put 99999900 others 0
run env TWHEEL_TEST_ROOT="$root" sh -c 'ulimit -n 4 && exec twheel ps'
check "a process that cannot be looked at is not left out without a word" test "$status" = 1
check "and why is said" said '^twheel: ps: /proc: Too many open files$'
rm -r "$root/proc/99999900"

# No processes have such numbers.
put 99999901 few 0
open_context 99999901 3 1 0 5 0
ln -s /dev/zero "$root/proc/99999901/fd/4"
put 99999902 "$(printf 'b\033"\\d')" 54321
open_context 99999902 12 7 0x3 100 20
open_context 99999902 14 1 0x0 0 0
put 99999903 closed 0
ln -s /dev/null "$root/proc/99999903/fd/3"
ps
check "contexts are shown" test "$status" = 0 -a "$(wc -l <"$tmp/out")" = 4
check "a title" test "$(head -n 1 "$tmp/out" | tr -s ' ')" = ' PID USER COMMAND FD CLOCK PENDING READY MODE'
check "the most timers first" \
	test "$(sed -n 's/^ *\([0-9][0-9]*\) .* \([0-9][0-9]*\) [mb].*/\1,\2/p' "$tmp/out" | tr '\n' ' ')" = \
	"99999902,12 99999901,3 99999902,14 "
check "its settings, and a name without control characters" \
	said '^99999902 54321 b?"\\d .* 12 boottime  *100  *20  keyed lease$'
check "one without settings" said '^99999901 root  *few  *3 monotonic  *5  *0  -$'
check "no colours in a file" test "$(grep -c "$(printf '\033')" "$tmp/out")" = 0
ps --json
check "--json: a line each" test "$(grep -c '^{.*}$' "$tmp/out")" = 3
check "--json: all of it" said '^{"backend":"device","clock":"boottime","config":\["keyed","lease"\],"pending":100,"ready":20,"limit":1000,"holders":\[{"pid":99999902,"fd":12,"uid":54321,"user":"54321","command":"b?\\"\\\\d"}\]}$'

sleepers=''
cleanup() {
	# shellcheck disable=SC2086 # these are words
	[ -z "$sleepers" ] || kill $sleepers
}

# Descriptors of real processes, for kcmp() to compare: 7 is shared by two, 8 is not.
exec 7</dev/null
sleep 1000 &
one=$!
sleep 1000 &
two=$!
exec 7>&-
sleep 1000 8</dev/null &
three=$!
sleepers="$one $two $three"
rm -r "$root"/proc/[0-9]*
for pid in $one $two; do
	put "$pid" sharer 0
	open_context "$pid" 7 1 0 7 0
done
put $three loner 0
open_context $three 8 1 0 8 0
ps
check "a context that is shared" test "$(grep -c 'shares that of [0-9]*, 7$' "$tmp/out")" = 1
check "is one" test "$(grep -c monotonic "$tmp/out")" = 2
ps --json
check "--json: with two holders" said "\"pending\":7,.*\"holders\":\\[{\"pid\":[0-9]*,\"fd\":7,[^]]*},{\"pid\":[0-9]*,\"fd\":7,[^]]*}\\]}$"
rm "$root/proc/$one/fdinfo/7" "$root/proc/$two/fdinfo/7"
ps
check "one that was closed is left out" test "$(wc -l <"$tmp/out")" = 2
cleanup
wait
sleepers=''

rm -r "$root/sys"
ps
check "without the device there may be wheels in processes" test "$status" = 0
TWHEEL_BACKEND=device TWHEEL_TEST_ROOT=$root twheel ps >"$tmp/out" 2>&1
check "unless only the device is to be used" test $? = 1
check "that is said" said '^twheel: ps: the kernel has no such device'

if [ ! -e /dev/twheel ]; then
	skip "contexts of the device" "no /dev/twheel"
	finish
fi

exec 7<>/dev/twheel
sleep 1000 &
other=$!
twheel arm 1h 2h 3h --clock boottime >/dev/null 2>&1 &
pid=$!
await prints 1 ' boottime  *3 ' twheel ps
run twheel ps
show "$tmp/out"
check "a program's timers" said "^ *$pid root  *twheel  *[0-9]* boottime  *3  *0  -$"
# The shell, its children, and the tool itself, as long as it looks.
check "an open that several processes share" said "shares that of $$, 7$"
check "by each of them" said "^ *$other root .* 7 shares that of $$, 7$"
check "is one" test "$(grep -c 'monotonic' "$tmp/out")" = 1
run su -s /bin/sh nobody -c "$(command -v twheel) ps"
check "others' processes are not shown to everyone" test "$(grep -c '^ *[0-9][0-9]* root' "$tmp/out")" = 0
check "and that is said" said 'processes of others were not looked at: that takes root$'
kill $pid $other
wait
exec 7>&-

finish
