#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# tool.sh - does the twheel tool do what its help says?

. "$(dirname "$0")/programs.sh"

helps() {
	run twheel "$@" --help
	[ "$status" = 0 ] && said '^Usage: twheel' && said 'Exit codes'
	result $? "twheel $* --help"
}

# These tests need no device.
helps
helps info
helps arm
helps list
helps stat
helps top
helps ps
helps doctor
run twheel --version
check "--version" said '^twheel [0-9]'

refuses 2 'no verb'
refuses 2 "'fly' is not a verb" fly
refuses 2 "'more' is too much" info more
refuses 2 'unrecognized option' info --nonsense
refuses 2 'no DURATION: use e.g.' arm
refuses 2 "'5x' is not a duration: use e.g. 250ms" arm 5x
refuses 2 "'5mins' is not a duration: .*units: d, h, m or min, s or sec, ms, us, ns" arm 5mins
refuses 2 "'-1' is not a duration\\|invalid option" arm -1
refuses 2 "'' is not a duration" arm ''
refuses 2 "'1m1h' is not a duration" arm 1m1h
refuses 2 "'999999999d' is too long" arm 999999999d
refuses 2 '.--every needs more than 0\|every needs' arm 1s --every 0
refuses 2 'count needs --every' arm 1s --count 3
refuses 2 'fixed-delay needs --every' arm 1s --fixed-delay
refuses 2 "'4294967296' is not a number" arm 1s --every 1s --count 4294967296
refuses 2 "'-5' is not a number" arm 1s --data -5
refuses 2 "'sidereal' is not a clock" arm 1s --clock sidereal
refuses 2 'fd takes no --device' info --fd 0 --device /dev/null
refuses 2 'fd takes no --device' list --fd 0 --device /dev/null
refuses 2 "'10m' is not @SECONDS" arm 10m --clock realtime
refuses 2 "'@0' is a point in time: use --clock realtime" arm 1s @0
for when in @ @noon @5m @1774745940s; do
	refuses 2 "'$when' is not @SECONDS" arm $when --clock realtime
done
refuses 2 "'1.2.3' is not a duration" arm @1.2.3 --clock realtime
refuses 1 'No such file' info --device /dev/no-such-wheel
refuses 1 'not a twheel device' info --device /dev/null

# A wheel in the process needs no device either.
export TWHEEL_BACKEND=embedded
run twheel info
check "info of a wheel in the process" test "$status" = 0
check "says so" said '^backend  *a wheel in the process'
check "and has no bits without a name" test "$(grep -c 0x "$tmp/out")" = 0
run twheel info --json
check "info --json, too" said '^{"backend":"embedded","module_version":null,.*"features":\[.*"batch".*}$'
check "where a user has no limit" said '"limit":[0-9]*,"user_limit":null,"user_timers":'
run twheel arm 20ms 10ms --every 10ms --count 2
check "arm with a wheel in the process" test "$status" = 0 -a "$(grep -c ' late.*  last$' "$tmp/out")" = 2
# More come than it can print, so there is always a record to read.
mkfifo "$tmp/busy"
# shellcheck disable=SC2046 # words
twheel arm --every 1ms $(awk 'BEGIN { while (n++ < 20000) print 0 }') >"$tmp/busy" &
pid=$!
{ head -n 1 >"$tmp/first"; cat >/dev/null; } <"$tmp/busy" &
await test -s "$tmp/first"
kill -TERM $pid
check "a signal ends it, however much comes" await ended "$pid"
kill -KILL $pid 2>/dev/null
wait
TWHEEL_BACKEND=embeded
refuses 1 "TWHEEL_BACKEND is 'embeded': it must be auto, device or embedded" info
refuses 1 "TWHEEL_BACKEND is 'embeded'" arm 1s
refuses 1 "TWHEEL_BACKEND is 'embeded'" ps
refuses 1 "TWHEEL_BACKEND is 'embeded'" stat
refuses 1 "TWHEEL_BACKEND is 'embeded'" top --count 1
unset TWHEEL_BACKEND

if [ ! -e /dev/twheel ]; then
	run twheel arm 1ms
	check "without the device arm has a wheel in the process" test "$status" = 0
	export TWHEEL_BACKEND=device
	refuses 1 '(is the module loaded?' info
	refuses 1 '(is the module loaded?' arm 1s
	refuses 1 '(is the module loaded?' stat
	refuses 1 '(is the module loaded?' top --count 1
	finish
fi

# The module is loaded, but the device node is missing, or not everyone may open it.
if without_node true 2>/dev/null; then
	echo '@daily true' >"$tmp/tab"
	# The examples would have a wheel in the process otherwise.
	export TWHEEL_BACKEND=device
	while read -r command; do
		# shellcheck disable=SC2086 # words
		run without_node $command </dev/null
		check "${command%% [-/]*} knows a module without a node" \
			test "$status" = 1 -a "$(grep -c '(the module is loaded, but' "$tmp/out")" = 1
	done <<-END
		twheel info
		twheel arm 1s
		twheel list --pid $$
		heartbeat --drivers 1
		idle-server --port 0
		fdstore --socket $tmp/socket --journal $tmp/journal
		cron $tmp/tab
	END
	unset TWHEEL_BACKEND
	run without_node twheel stat
	check "counters need no node" test "$status" = 0

	# A guest has only root, which may open any node: use a file system that forbids
	# devices.
	numbers=$(cat /sys/class/misc/twheel/dev)
	mkdir "$tmp/nodev"
	run unshare -m sh -c "mount -t tmpfs -o nodev none '$tmp/nodev' &&
		mknod '$tmp/nodev/twheel' c ${numbers%:*} ${numbers#*:} &&
		twheel info --device '$tmp/nodev/twheel'"
	check "a node that may not be opened: permissions are looked at" \
		test "$status" = 1 -a "$(grep -c '(its file system is mounted nodev' "$tmp/out")" = 1
else
	skip "the module without its node" "takes root and unshare"
fi

run twheel info
check "info succeeds" test "$status" = 0
check "info tells the module's version" said "^module version  *$(cat /sys/module/twheel/version)\$"
check "info tells the tick" said '^tick .*ns)'
check "info tells the limits" said '^timers a user '
run twheel info --json
check "info --json is one object in one line" test "$(grep -c '^{.*}$' "$tmp/out")" = 1
check "info --json is of the device" said '^{"backend":"device","module_version":"'
check "info --json has the features" said '"features":\[.*"batch"'

run twheel arm 0.001min 0.1sec
check "min and sec are units, too" test "$status" = 0 -a "$(grep -c 'last$' "$tmp/out")" = 2
run twheel arm 100ms
check "arm 100ms ends by itself" test "$status" = 0
check "with one last event" test "$(grep -c 'timer 1 .* late  last$' "$tmp/out")" = 1

# Timers expire in the order of their deadlines, not in the order of the arguments.
run twheel arm 600ms 100ms 350ms --data 40
grep -o 'timer [0-9]*' "$tmp/out" | tr -d '\n' >"$tmp/order"
check "several timers end in the order of their deadlines" \
	test "$(cat "$tmp/order")" = "timer 41timer 42timer 40"

run twheel arm 50ms --every 50ms --count 4 --json
total=$(sed -n 's/.*"expirations":\([0-9]*\).*/\1/p' "$tmp/out" | awk '{ n += $1 } END { print n }')
check "--every and --count: 4 expirations are counted" test "$total" = 4
check "the last is marked" test "$(tail -n 1 "$tmp/out" | grep -c '"last":true')" = 1
check "and no other" test "$(grep -c '"last":true' "$tmp/out")" = 1
check "none is early" test "$(grep -c '"late":-' "$tmp/out")" = 0

run twheel arm 50ms --clock boottime --slack 10ms
check "--clock boottime --slack" test "$status" = 0
run twheel arm "@$(date +%s)" --clock realtime --every 50ms --fixed-delay --count 2
check "--clock realtime --fixed-delay" test "$status" = 0 -a "$(grep -c ' s  timer 1 ' "$tmp/out")" = 2

begin=$(cut -d. -f1 /proc/uptime)
run twheel arm 1h --for 1s
end=$(cut -d. -f1 /proc/uptime)
check "--for stops it" test "$status" = 0 -a ! -s "$tmp/out" -a $((end - begin)) -lt 60

# The clock is set by an hour, either way.
hour_away=@$(($(date +%s) + 3600))
twheel arm "$hour_away" --clock realtime --for 1m >"$tmp/out" 2>&1 &
set_clock "$hour_away"
wait $!
check "a point in time comes when the clock is set to it" said ' s  timer 1 .*  last$'
twheel arm "@$(($(date +%s) + 3600))" --clock realtime --for 3s >"$tmp/out" 2>&1 &
pid=$!
sleep 1
set_clock "@$(($(date +%s) - 3600))"
tenths=100
check "--for ends although the clock was set back" await ended "$pid"
check "and no timer has expired" test ! -s "$tmp/out"
kill $pid 2>/dev/null

# A shell without job control makes its background children ignore SIGINT. SIGTERM has the
# same effect.
twheel arm 10ms --every 10ms >"$tmp/out" 2>&1 &
pid=$!
await test -s "$tmp/out"
kill -TERM $pid
wait $pid
check "a timer that repeats without end goes on until interrupted" test $? = 0
check "and its events were printed as they came" said 'timer 1 '

twheel arm 10ms >/dev/full 2>"$tmp/out"
check "output that cannot be written is an error" test $? = 1

finish
