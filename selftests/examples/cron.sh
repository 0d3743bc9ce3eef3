#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# cron.sh - are lines run at their wall time, whatever the clock does?
#
# This sets the clock back and forth: in a guest only, see may_set_clock in programs.sh.
# selftests/schedule tests when lines are due. This test is about what happens if the clock is set.

. "$(dirname "$0")/programs.sh"

# No time zones are installed here, so this gives the rules of Central Europe.
central_europe=CET-1CEST,M3.5.0,M10.5.0/3
export TZ=UTC0

# tab LINE... - make a file with these lines
tab() {
	printf '%s\n' "$@" >"$tmp/tab"
}

# refuses_line LINE PATTERN - a file with this line is refused, and the message has its name and number
refuses_line() {
	tab '# one that is good' '* * * * * true' "$1"
	cron --next 1 "$tmp/tab" >"$tmp/stdout" 2>"$tmp/out"
	[ $? = 2 ] && [ ! -s "$tmp/stdout" ] && [ "$(wc -l <"$tmp/out")" = 1 ] &&
		said "^cron: $tmp/tab:3: $2"
	result $? "'$1' is refused"
}

# wrong PATTERN ARGUMENT... - these arguments are refused as wrong usage
wrong() {
	pattern=$1
	shift
	run cron "$@"
	[ "$status" = 2 ] && said "^cron: .*$pattern"
	result $? "wrong usage: $pattern"
}

# These tests need no device.
run cron --help
check "--help" test "$status" = 0
check "--help tells of daylight saving time" said 'daylight saving'
status=0
cron --help >/dev/full 2>"$tmp/out" || status=$?
check "--help that cannot be written: exit status 1" test "$status" = 1
check "and that is said" said '^cron: standard output: No space left on device$'

refuses_line '60 * * * * true' "minute: '60' is not 0 to 59"
refuses_line '* * * *' 'day of week: missing'
refuses_line '* * * * *' 'no command'
refuses_line '* * * * 5#6 true' "day of week: '5#6' is not 0 to 7 or sun to sat, nor one with #1 to #5 or L"
refuses_line '* * 31 2 * true' 'none of these months has such a day'
refuses_line '@often true' "'@often' is none of @hourly"
refuses_line '@every true' "@every: 'true' is not a duration: use e.g. 250ms"
refuses_line '~ * * * * * true' "delay '' is not a duration: use e.g."
refuses_line '~1z @daily true' "delay '1z' is not a duration"
refuses_line '~366d @daily true' "delay '366d' is more than 365d"
tab '* * * * * true' '* 24 * * * true' '' '	# a comment' 'x * * * * true'
run cron --next 1 "$tmp/tab"
check "each line that is bad is named" test "$(grep -c ':[25]: ' "$tmp/out")" = 2
tab '# nothing'
run cron --next 1 "$tmp/tab"
check "a file without lines is refused" said 'tab: no line to run'

wrong 'no FILE'
wrong "'more' is too much" "$tmp/tab" more
wrong 'No such file' "$tmp/none"
wrong "'0' is not a number from 1" --next 0 "$tmp/tab"
wrong 'after needs --next' --after @0 "$tmp/tab"
wrong 'next runs nothing: ' --next 1 --grace 2h "$tmp/tab"
wrong "'noon' is not a time since 1970: use e.g." --next 1 --after noon "$tmp/tab"
for time in '2026-01-01 00:00 today' '2026-02-30 12:00' '2026-02-29 12:00Z' '2026-01-01 10:00:61' \
	'2026-01-01 10:00:60Z' '2026-01-01 00:00 +2500' @253402300800; do
	wrong "'$time' is not a time since 1970" --next 1 --after "$time" "$tmp/tab"
done

# next_times OPTION... - the times that --next prints, in one line
next_times() {
	run cron --next "$@" "$tmp/tab"
	times=$(sed "s|^$tmp/tab:||" "$tmp/out" | tr '\n' ';')
}

tab '30 2 * * * true' '~1h */30 2 * * * true' '@reboot true'
TZ=$central_europe
wrong "'2026-03-29 02:30' is not a time since 1970" --next 1 --after '2026-03-29 02:30' "$tmp/tab"
next_times 2 --after '2026-03-28 12:00'
check "--next, across an hour that is skipped" test "$times" = "1: 2026-03-29 03:00:00 +0200;\
1: 2026-03-30 02:30:00 +0200;2: 2026-03-30 02:00:00 +0200;2: 2026-03-30 02:30:00 +0200;\
3: when cron is started;"
next_times 2 --after '2026-10-25 02:29:59 +0200'
check "--next, across one that is repeated" test "$times" = "1: 2026-10-25 02:30:00 +0200;\
1: 2026-10-26 02:30:00 +0100;2: 2026-10-25 02:30:00 +0200;2: 2026-10-25 02:00:00 +0100;\
3: when cron is started;"
next_times 1 --after '2026-10-25 01:00Z'
before=$times
next_times 1 --after @1792890000
check "--after in all its forms" test "$times" = "$before"
next_times 1 --after '2106-07-03 12:00Z'
before=$times
next_times 1 --after @4307601600
check "also after 2106" test "$times" = "$before"
next_times 1 --after '2028-02-29 23:59:59 +2400'
check "on a leap day" test "$(echo "$times" | cut -d';' -f1)" = '1: 2028-02-29 02:30:00 +0100'

tab '0 0 L * * true' '0 0 * * friL true' '0 0 * * 5#2 true'
next_times 1 --after '2026-02-01 12:00'
check "days that depend on the month" test "$times" = "1: 2026-02-28 00:00:00 +0100;\
2: 2026-02-27 00:00:00 +0100;3: 2026-02-13 00:00:00 +0100;"

printf '0 0 1 1 * true\r\n@daily true' >"$tmp/tab"
next_times 1 --after '2026-05-05 12:00'
check "other line ends, and none" test "$times" = \
	"1: 2027-01-01 00:00:00 +0100;2: 2026-05-06 00:00:00 +0200;"

printf '0 9 * * * echo a\0 && rm x\n@daily true\n\0 0 9 * * * true\n' >"$tmp/tab"
run cron --next 1 "$tmp/tab"
check "a line with a zero byte is refused" test "$status" = 2
check "and each is named" test "$(tr '\n' ';' <"$tmp/out")" = \
	"cron: $tmp/tab:1: a zero byte;cron: $tmp/tab:3: a zero byte;"
tab '@daily true'

# refuses_zone NAME [TZDIR] - is this TZ refused?
refuses_zone() {
	run env TZ="$1" TZDIR="${2-}" cron --next 1 "$tmp/tab"
	[ "$status" = 1 ] && [ "$(wc -l <"$tmp/out")" = 1 ] &&
		said "^cron: TZ is '$1', but .* is no time zone: use"
	result $? "TZ=$1 is refused"
}

# takes_zone NAME OFFSET [TZDIR] - is this TZ taken, and its offset that one?
takes_zone() {
	run env TZ="$1" TZDIR="${3-}" cron --next 1 --after @0 "$tmp/tab"
	[ "$status" = 0 ] && said " $2\$"
	result $? "TZ=$1 is taken"
}

refuses_zone Europe/Berlni
refuses_zone CEST
refuses_zone UTC+
refuses_zone :nowhere
refuses_zone /dev/null
refuses_zone Europe "$tmp"
refuses_zone Europe1/Berlin
refuses_zone '<X>-3'
refuses_zone '<+03-3'
refuses_zone IST-0530
refuses_zone CET-25
refuses_zone CET-1:99
refuses_zone CET-1:::
refuses_zone CET-1:00:00:00
refuses_zone CET-1:
refuses_zone CET-1CEST-2:60,M3.5.0,M10.5.0
refuses_zone UTC+00:60
refuses_zone CET-1CE
refuses_zone CET-1CEST,junk
refuses_zone CET-1/CEST
takes_zone UTC +0000 "$tmp"
takes_zone Etc/UTC +0000 "$tmp"
takes_zone '' +0000
takes_zone EST5 -0500
takes_zone '<+0330>-3:30' +0330
takes_zone 'XYZ+00:30:59' -0030
takes_zone $central_europe +0100
takes_zone CET-1CEST +0100
takes_zone CET-01:00:00CEST-2,J60/-1,300 +0100
takes_zone '<-03>+3<-02>,M3.5.0/-2,M10.5.0/-1' -0300
if [ -e /usr/share/zoneinfo/Asia/Kolkata ]; then
	takes_zone Asia/Kolkata +0530
	takes_zone :/usr/share/zoneinfo/Asia/Kolkata +0530
	refuses_zone Asia/Kolkata "$tmp"
else
	skip "a zone of the world" "there is no tzdata"
fi
if [ -e /vm/config ] && [ ! -e /etc/localtime ]; then
	takes_localtime() {
		run env -u TZ cron --next 1 "$tmp/tab"
		[ "$status" = 0 ]
	}
	check "without /etc/localtime it is UTC" takes_localtime
	ln -s nowhere /etc/localtime
	takes_localtime
	check "one that leads nowhere is refused" said '^cron: /etc/localtime is no time zone'
	rm /etc/localtime
else
	skip "/etc/localtime" "is made and removed, which is for a guest"
fi

if ! embedded && [ ! -e /dev/twheel ]; then
	run env TWHEEL_BACKEND=device cron "$tmp/tab"
	check "without a device" said '(is the module loaded? '
	finish
fi

# start OPTION... - run $tmp/tab in the background: $pid, $tmp/log
#
# Starting may take a while: set_clock then goes to shortly before the awaited time.
start() {
	: >"$tmp/log"
	cron "$@" "$tmp/tab" >"$tmp/log" 2>&1 &
	pid=$!
	await logged '^[0-9]* lines$'
}

# logged PATTERN [COUNT] - has the log that many such lines, or more?
logged() {
	[ "$(grep -c -- "$1" "$tmp/log")" -ge "${2:-1}" ]
}
tenths=1200

childless() {
	! grep -q "^PPid:.$pid\$" /proc/[0-9]*/status 2>/dev/null
}

# stop - end it, with its exit status in $status and its output in $tmp/out
stop() {
	# Lines that are due together with the awaited one will have run by then.
	sleep 1
	kill -TERM $pid
	wait $pid
	status=$?
	cp "$tmp/log" "$tmp/out"
	check "$1: exit status 0" test "$status" = 0
	check "$1: none too early" test "$(value early)" = 0
	check "$1: none that was not armed" test "$(value 'stale expirations')" = 0
}

# ran LINE - print the times at which it was run
ran() {
	sed -n "s/ line $1: .*//p" "$tmp/log" | tr '\n' ';'
}

# Whatever the clock does, time goes by.
TZ=UTC0
tab '@every 1s x' '@reboot x' '@every 1h x'
start --dry-run --verbose
await logged ' line 1: ' 3
stop "elapsed time"
check "elapsed time: the start was once" test "$(grep -c ' line 2: ' "$tmp/log")" = 1
check "elapsed time: an hour is not over" test "$(ran 3)" = ""

tab '~1h @every 1s x'
start --dry-run --verbose
await logged ' line 1: ' 3
stop "a random delay"
check "a random delay: it ends before the line is due again" \
	test "$(grep -c ' line 1: ' "$tmp/out")" -ge 3

# It cannot run for ten seconds, in which two times pass.
tab '@every 4s x'
start --dry-run --verbose
await logged ' line 1: '
kill -STOP $pid
sleep 10
kill -CONT $pid
await logged ' line 1: ' 4
stop "stopped"
apart=$(ran 1 | tr ';' '\n' | awk -F '[ :]' '{ t = ($2 * 60 + $3) * 60 + $4 }
	NR == 4 { print (t - last + 86400) % 86400 } { last = t }')
check "stopped: what was missed is one run, and then they are as far apart as ever" \
	test "$apart" -ge 3

# With this slack each run but the first is late by three seconds or more.
tab '@every 1s x'
start --dry-run --verbose --slack 5s --grace 1s
check "more slack than grace: a run comes, however late it may be" \
	await logged ' line 1: x ([2-9][0-9.]* s late)'
stop "more slack than grace"

# Commands are run, print something, and fail.
due=@reboot
if may_set_clock; then
	due='1 12 * * *'
	set_clock '2026-05-05 12:00:02'
fi
{
	i=0
	while [ "$i" -lt 300 ]; do
		# shellcheck disable=SC2016 # the shell it is for is another
		echo "$due"' echo "here is $((100000 + '$i'))%"; cat'
		i=$((i + 1))
	done
	echo "~1s $due exit 3"
	# shellcheck disable=SC2016
	echo "$due"' kill -9 $$'
} >"$tmp/tab"
start --slack 100ms
! may_set_clock || set_clock '2026-05-05 12:00:58'
await logged 'here is ' 300
await logged 'returned 3'
await logged 'was killed'
# All of them have printed that, and soon end.
check "commands: no zombie is left, nor any other child" await childless
stop "commands"
check "commands: each was run once" test "$(grep '^here is ' "$tmp/out" | sort -u | wc -l)" = 300
check "commands: 302 were" test "$(value runs)" = 302
check "commands: failures are told, with their line" \
	said "^cron: $tmp/tab:301: 'exit 3' returned 3"
check "commands: and signals" said "^cron: $tmp/tab:302: 'kill .*was killed by signal 9"
check "commands: failures are counted" test "$(value failed)" = 2
check "commands: none is still running" test "$(value 'still running')" = 0

# Whoever has started cron may ignore SIGCHLD, and a program inherits that.
tab '@reboot exit 3'
if knows_ignored; then
	: >"$tmp/log"
	env --ignore-signal=CHLD cron "$tmp/tab" >"$tmp/log" 2>&1 &
	pid=$!
	check "SIGCHLD is ignored: a failure is told" await logged "tab:1: 'exit 3' returned 3$"
	stop "SIGCHLD is ignored"
	check "SIGCHLD is ignored: it is counted" test "$(value failed)" = 1
	check "SIGCHLD is ignored: none is still running" test "$(value 'still running')" = 0
else
	skip "SIGCHLD is ignored" "$no_ignored"
fi

# The file is read again.
tab '@every 3s a' '@reboot b' '@every 1h c' '@every 1s d'
start --dry-run --verbose
await logged ' line 4: ' 2
tab '@reboot e' '@every 1s f' '@every 3s a' '60 * * * * g'
kill -HUP $pid
await logged 'the lines that were read before go on$'
check "read again: what is wrong is told" logged "^cron: $tmp/tab:4: minute: '60'"
so_far=$(grep -c ' line 4: d' "$tmp/log")
check "read again: all goes on" await logged ' line 4: d' $((so_far + 1))
tab '@reboot e' '@every 1s f' '@every 3s a' '@reboot b'
kill -HUP $pid
await logged '^read again: 4 lines$'
# Were it to begin anew each time, a line of three seconds would not be run.
for pause in 1 1 1 1 1; do
	sleep $pause
	kill -HUP $pid
done
stop "read again"
sed -n '/^read again/,$p' "$tmp/out" >"$tmp/after"
check "read again: a line that is new begins" grep -q ' line 2: f' "$tmp/after"
check "read again: one that is gone ends" test "$(grep -c ': d ' "$tmp/after")" = 0
check "read again: one that is as it was goes on" grep -q ' line 3: a' "$tmp/after"
check "read again: the start was once" test "$(grep -c ': [be] ' "$tmp/out")" = 1

# What ends cron, and the processes around it, as Ctrl-C at a terminal does, is not for commands.
tab "@every 1s echo begun; sleep 2; echo yes >'$tmp/ended'"
: >"$tmp/log"
setsid cron "$tmp/tab" >"$tmp/log" 2>&1 &
pid=$!
await logged '^begun$'
kill -TERM -$pid
wait $pid
check "ended with its process group: exit status 0" test $? = 0
check "ended: what it has started goes on" await test -e "$tmp/ended"

if ! may_set_clock; then
	for name in "an hour is skipped" "an hour is repeated" "forward" "back" \
		"a random delay by the clock" "thousands"; do
		skip "$name" "sets the clock, which is for a guest"
	done
	finish
fi

# Daylight saving time begins while it waits.
TZ=$central_europe
set_clock '2026-03-29 00:59:02'
tab '30 2 * * * x' '0 3 * * * x' '*/30 2 * * * x' '* * * * * x' '0 4 * * * x' '1 2 * * * x'
start --dry-run --verbose
set_clock '2026-03-29 00:59:58'
await logged ' line 4: '
stop "an hour is skipped"
check "skipped: a fixed time in it, as it ends" test "$(ran 1)" = "2026-03-29 03:00:00 +0200;"
check "skipped: another one" test "$(ran 6)" = "2026-03-29 03:00:00 +0200;"
check "skipped: what is due then anyway" test "$(ran 2)" = "2026-03-29 03:00:00 +0200;"
check "skipped: nothing for a wildcard in it" test "$(ran 3)" = ""
check "skipped: a wildcard goes with the clock" test "$(ran 4)" = "2026-03-29 03:00:00 +0200;"
check "skipped: the next hour is not due" test "$(ran 5)" = ""

# Daylight saving time ends: an hour later the clocks come to the same time again.
set_clock '2026-10-25 00:59:02'
tab '0 2 * * * x' '0 * * * * x' '0 3 * * * x' '59 2 * * * x' '* * * * * x'
start --dry-run --verbose
set_clock '2026-10-25 00:59:58'
await logged ' line 2: '
sleep 1
check "repeated: a fixed time had its turn" test "$(ran 1)" = ""
check "repeated: a wildcard has another" test "$(ran 2)" = "2026-10-25 02:00:00 +0100;"
check "repeated: three o'clock is not yet" test "$(ran 3)" = ""
set_clock '2026-10-25 01:59:57'
await logged ' line 3: '
stop "an hour is repeated"
check "repeated: then it is three" test "$(ran 3)" = "2026-10-25 03:00:00 +0100;"
check "repeated: no second 02:59" test "$(ran 4)" = ""

# The clock is set forward: by an hour, then by five.
TZ=UTC0
set_clock '2026-05-05 10:00:30'
tab '30 10 * * * x' '0 11 * * * x' '0 9 * * * x' '* * * * * x' '0 13 * * * x' \
	'30 15 * * * x' '0 16 * * * x' '~40m 20 10 * * * x'
start --dry-run --verbose
sleep 1
check "forward: nothing is due yet" test "$(grep -c ' line ' "$tmp/log")" = 0
set_clock '2026-05-05 10:59:56'
await logged ' line 2: '
check "forward: what was passed over is run, once" test "$(ran 1)" = "2026-05-05 10:30:00 +0000;"
check "forward: what is due is run" test "$(ran 2)" = "2026-05-05 11:00:00 +0000;"
check "forward: what was over is not" test "$(ran 3)" = ""
check "forward: of many times that were passed over one is run" \
	test "$(ran 4)" = "2026-05-05 10:01:00 +0000;2026-05-05 11:00:00 +0000;"
set_clock '2026-05-05 15:59:45'
await logged ' line 7: '
stop "forward"
check "forward: what is long over is not run" test "$(ran 5)" = ""
check "forward: but that is told" said \
	'^let go: 1 run of line 5 (x), which missed the time 2026-05-05 13:00:00 +0000$'
check "forward: of many that are long over the first" said \
	'^let go: 239 runs of line 4 (x), which missed its times from 2026-05-05 11:01:00 +0000 on$'
check "forward: they are counted" test "$(value 'let go')" = 240
check "forward: what is not long over is" test "$(ran 6)" = "2026-05-05 15:30:00 +0000;"
check "forward: nothing twice" test "$(ran 1)$(ran 2)$(ran 7)" = \
	"2026-05-05 10:30:00 +0000;2026-05-05 11:00:00 +0000;2026-05-05 16:00:00 +0000;"
check "forward: a random delay is over by then" test "$(ran 8)" = "2026-05-05 10:20:00 +0000;"
check "forward: it was told twice" test "$(value 'clock was set')" = 2

# The clock is set back: by some seconds, over a time at which a line was run, then by a
# day.
set_clock '2026-05-05 11:59:02'
tab '0 12 * * * x' '* * * * * x' '@every 1s x' '1 12 * * * x' '@reboot x'
start --dry-run --verbose
set_clock '2026-05-05 11:59:58'
await logged ' line 1: '
set_clock '2026-05-05 11:59:58'
before=$(grep -c ' line 3: ' "$tmp/log")
await logged ' line 3: ' $((before + 5))
check "back: the time has come again" test "$(date +%M)" = 00
check "back: nothing is run twice" test "$(ran 1)$(ran 2)" = \
	"2026-05-05 12:00:00 +0000;2026-05-05 12:00:00 +0000;"
check "back: nothing else is early" test "$(ran 4)" = ""
set_clock '2026-05-05 12:00:57'
await logged ' line 4: '
check "back: then they go on" test "$(ran 2)" = \
	"2026-05-05 12:00:00 +0000;2026-05-05 12:01:00 +0000;"
set_clock '2026-05-04 11:59:58'
before=$(grep -c ' line 3: ' "$tmp/log")
await logged ' line 1: ' 2
await logged ' line 3: ' $((before + 2))
check "back by a day: elapsed time has gone on" \
	test "$(grep -c ' line 3: ' "$tmp/log")" -ge $((before + 2))
stop "back"
check "back by a day: all is as it is that day" test "$(ran 1)$(ran 4)" = \
	"2026-05-05 12:00:00 +0000;2026-05-04 12:00:00 +0000;2026-05-05 12:01:00 +0000;"
check "back: the start was once" test "$(grep -c ' line 5: ' "$tmp/log")" = 1
check "back: it was told each time" test "$(value 'clock was set')" = 4

# The same of a line that goes by the clock.
set_clock '2026-05-05 12:00:02'
tab '~1h * * * * * x'
start --dry-run --verbose
set_clock '2026-05-05 12:01:58'
await logged ' line 1: '
stop "a random delay by the clock"
check "a random delay by the clock: a minute is enough" \
	test "$(ran 1 | cut -d ';' -f 1)" = "2026-05-05 12:01:00 +0000"

# There are thousands of lines, and some of them have a random delay.
set_clock '2026-05-05 12:00:02'
{
	yes '* * * * * x' | head -n 4000
	yes '~4s * * * * * x' | head -n 1000
} >"$tmp/tab"
start --dry-run --verbose
set_clock '2026-05-05 12:00:58'
await logged ' line ' 5000
# The step makes the next minute come early, and the one after that comes by itself.
set_clock '2026-05-05 12:02:50'
await logged ' line ' 15000
stop "thousands"
# Print for each minute how many different lines were run, and how many times, like
# 01:5000:5000.
awk '/^2026-05-05 12:[0-9]*:00 [+]0000 line [0-9]*: / {
	split($2, time, ":")
	runs[time[2]]++
	lines[time[2]] += !seen[time[2], $5]++
} END {
	for (minute in runs)
		print minute ":" lines[minute] ":" runs[minute]
}' "$tmp/log" >"$tmp/minutes"
check "thousands: each in the first minute" grep -qx 01:5000:5000 "$tmp/minutes"
check "thousands: each in the one that was passed over" grep -qx 02:5000:5000 "$tmp/minutes"
check "thousands: each in the one after that" grep -qx 03:5000:5000 "$tmp/minutes"
# Three quarters of 2,000 lines should be delayed by a second or more.
put_off=$(grep -c '12:0[13]:00 .* line \(4...\|5000\): .*([0-9.]* s late)' "$tmp/log")
check "thousands: random delays are random" test "$put_off" -ge 1000

finish
