#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# fdstore.sh - does it take requests, and refuse what it should?
#
# ../stress/restart.c tests that requests survive when it is killed, on the device.

. "$(dirname "$0")/programs.sh"
need_wheel

socket=$tmp/socket

# start - a service without a keeper, in the background: $service
start() {
	: >"$tmp/out"
	fdstore --socket "$socket" --journal "$tmp/journal" >"$tmp/out" 2>&1 &
	service=$!
	await answers
}

ask() {
	fdstore --socket "$socket" "$@" 2>/dev/null
}

# Is the service there to say what it thinks of a request?
answers() {
	ask 7 never
	said "'never' is no duration"
}

# stop SIGNAL - end it, with its exit status in $status
stop() {
	kill "-$1" $service
	wait $service 2>/dev/null
	status=$?
}

start
ask 1 100ms
ask 2 1h
ask 3 "@$(date +%s)000000000"
ask 4 3s
ask 4 cancel
ask 5 3s
check "a duration" await said '^reminder 1, .* late$'
check "a point in time" await said '^reminder 3, '
check "after the one that was cancelled" await said '^reminder 5, '
check "which is not given" test "$(grep -c '^reminder [24]' "$tmp/out")" = 0
ask abc 1s
check "a key that is none is told" await said '^fdstore: a request is'
ask 6 yesterday
check "so is a time that is none" await said "^fdstore: reminder 6: 'yesterday' is no duration"
ask 6 200000d
check "and one that is too long" await said "^fdstore: reminder 6: '200000d' is too long: at most 106751d"
ask 6 "$(printf '\033[2J\303\244\r')"
check "control characters of a stranger are not printed" await said "^fdstore: reminder 6: '?\[2J???' is no duration"
# Send a datagram that fdstore itself would not: with a zero byte for each comma.
# shellcheck disable=SC2016 # these are variables of perl
datagram='$ARGV[1] =~ tr/,/\0/;
	socket(S, AF_UNIX, SOCK_DGRAM, 0) && send(S, $ARGV[1], 0, sockaddr_un($ARGV[0])) or die $!'
if command -v perl >/dev/null; then
	perl -MSocket -e "$datagram" "$socket" '10 100ms,
11 100ms'
	check "a datagram with a zero byte is told" await said '^fdstore: a datagram with a zero byte'
	ask 12 200ms
	check "and the next one is taken" await said '^reminder 12, '
	check "but none of its requests" test "$(grep -c '^reminder 1[01], ' "$tmp/out")" = 0
else
	skip "a datagram with a zero byte" "there is no perl"
fi
run fdstore --socket "$tmp/other" --journal "$tmp/journal"
check "a journal in use is refused" said 'in use by another'
run fdstore --socket "$socket" --journal "$tmp/journal2"
check "so is an address in use" said 'in use'
stop TERM
check "stopped: exit status 0" test "$status" = 0

start
ask 20 3s
ask 20 "@$(date +%s)000000000"
ask 21 "@$(($(date +%s) + 3600))000000000"
ask 21 1s
ask 22 3s
ask 22 "@$(($(date +%s) + 3600))000000000"
ask 26 3s
check "a key is moved from a duration to a time" await said '^reminder 20, '
check "and back" await said '^reminder 21, '
await said '^reminder 26, '
check "and is given once" test "$(grep -c '^reminder 2[02]' "$tmp/out")" = 1
ask 22 cancel
if may_set_clock; then
	ask 23 9s
	ask 24 "@$(($(date +%s) + 3000))000000000"
	set_clock "@$(($(date +%s) + 3600))"
	check "the clock is set forward: what has its time is given" await said '^reminder 24, '
	check "and no duration" test "$(grep -c '^reminder 23, ' "$tmp/out")" = 0
	set_clock "@$(($(date +%s) - 3600))"
	check "the clock is set back: a duration is over when it is" await said '^reminder 23, '
	ask 25 "@$(($(date +%s) + 9))000000000"
	set_clock "@$(($(date +%s) - 3600))"
	sleep 10
	check "but a time is not there" test "$(grep -c '^reminder 25, ' "$tmp/out")" = 0
	set_clock "@$(($(date +%s) + 3600))"
	check "until the clock shows it" await said '^reminder 25, '
else
	skip "the clock is set" "sets the clock, which is for a guest"
fi
stop TERM

start
check "an address that was left behind is taken" test -n "$service"
ask 8 100ms
check "and the journal goes on" await said '^reminder 8, '
check "nothing is given twice" test "$(grep -c '^reminder [13]' "$tmp/out")" = 0
stop KILL
! embedded || skip "reminders survive a restart" "only timers of the device outlive a program"

echo 'not a journal, but long enough for its head' >"$tmp/text"
cp "$tmp/text" "$tmp/text2"
run fdstore --socket "$tmp/other" --journal "$tmp/text"
check "a file that is no journal is refused" said 'not a journal'
check "and left as it is" cmp -s "$tmp/text" "$tmp/text2"
run fdstore --socket "$tmp/text" --journal "$tmp/journal"
check "a file that is no socket is refused" test "$status" = 1
check "and left alone" cmp -s "$tmp/text" "$tmp/text2"
run fdstore --journal "$tmp/journal"
check "no socket: exit status 2" test "$status" = 2
run fdstore --socket "$socket"
check "no journal: exit status 2" test "$status" = 2
run fdstore --socket "$tmp/nobody" 1 1s
check "nobody to ask: exit status 1" test "$status" = 1
run env NOTIFY_SOCKET=nowhere fdstore --socket "$socket" --journal "$tmp/journal"
check "a keeper's address that is none is refused" said 'NOTIFY_SOCKET'
run env NOTIFY_SOCKET=@nobody TWHEEL_BACKEND=embedded \
	fdstore --socket "$socket" --journal "$tmp/journal"
check "a keeper for a wheel in the process is refused" said 'a keeper can keep the timers of '
run env LISTEN_PID=me LISTEN_FDS=1 LISTEN_FDNAMES=timers \
	fdstore --socket "$socket" --journal "$tmp/journal"
check "a keeper that names no process is refused" said "LISTEN_PID: 'me' is not a process"
run env LISTEN_FDS=1 sh -c 'LISTEN_PID=$$ exec "$@"' sh \
	fdstore --socket "$socket" --journal "$tmp/journal"
check "so are descriptors without names" said 'LISTEN_FDNAMES: missing'
run env LISTEN_FDS=x LISTEN_FDNAMES=timers LISTEN_PID=1 fdstore --help
check "--help" said '^Usage: fdstore'

finish
