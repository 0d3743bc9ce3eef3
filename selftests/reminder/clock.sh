#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# clock.sh - does reminder follow when the clock is set? For a guest, whose clock may be (TAP)

. "$(dirname "$0")/tap.sh"

PATH=$(dirname "$0"):$PATH
base=$tmp/reminders
begin=$(date +%s)

cleanup() {
	[ -z "${node-}" ] || kill "$node"
}

# given LINES - has the command had these, in this order?
given() {
	[ "$(tr '\n' ' ' <"$tmp/given")" = "$1" ]
}

# in_state STATE COUNT - are so many reminders in this state?
in_state() {
	[ "$(reminder "$base" list | awk -v state="$1" '$3 == state' | wc -l)" = "$2" ]
}

: >"$tmp/given"
reminder "$base" add "@$((begin + 7200))000000000" two-hours
reminder "$base" add "@$((begin + 3600))000000000" hour
reminder "$base" add "@$((begin + 86400))000000000" day
reminder --command "echo \$REMINDER_PAYLOAD >>$tmp/given" --horizon 90m --lease 1s "$base" run \
	>"$tmp/out" 2>&1 &
node=$!
check "what is near is claimed" await in_state 1 1
check "and what is not is left" in_state 0 2
date -s "@$((begin + 3599))" >/dev/null
check "the clock is set forward: what has its time is given" await given "hour "
check "and is done, while another one is near" await in_state 2 1
check "which is claimed" await in_state 1 1
date -s "@$begin" >/dev/null
sleep 2
check "the clock is set back: nothing is given" given "hour "
date -s "@$((begin + 7199))" >/dev/null
check "until the clock shows it" await given "hour two-hours "
check "what is done is done once" await in_state 2 2
date -s "@$((begin + 90000))" >/dev/null
check "a day later the last one is given" await given "hour two-hours day "
check "and done" await in_state 2 3
kill $node
wait $node
check "the node ends well" test $? = 0
node=

# It comes due later than its claim ends here: with that claim it would come when it has ended.
date -s "@$begin" >/dev/null
reminder "$base" add "@$((begin + 15))000000000" back
reminder --command "date +%s >$tmp/came" --lease 24s "$base" run >"$tmp/out" 2>&1 &
node=$!
check "one more is claimed" await in_state 1 1
date -s "@$((begin - 12))" >/dev/null
tenths=600
check "the clock is set back: it is given" await in_state 2 4
check "and when it is due" test "$(cat "$tmp/came")" -le $((begin + 21))
kill $node
wait $node
node=
date -s "@$begin" >/dev/null
finish
