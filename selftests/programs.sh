# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154,SC2034 # what tap.sh sets, and scripts use
#
# programs.sh - helpers for the tests of the tool and of the examples, beside tap.sh

. "$(dirname "$0")/tap.sh"

# The programs are in these folders in a guest, and among the build products.
here=$(dirname "$0")
PATH=$PATH:$here/../bin:$here/../../guest/bin

# without_node COMMAND... - run it where /dev is empty, as in a container
#
# Uses a mount namespace of its own, and so needs root.
without_node() {
	unshare -m sh -c 'mount -t tmpfs none /dev && exec "$@"' sh "$@"
}

# said PATTERN - succeeds if $tmp/out has a matching line
#
# A command in the background may begin after this has looked: empty the file before it.
said() {
	grep -q -- "$1" "$tmp/out"
}

# prints COUNT PATTERN COMMAND... - has its output that many such lines?
prints() {
	want=$1 pattern=$2
	shift 2
	[ "$("$@" 2>/dev/null | grep -c -- "$pattern")" = "$want" ]
}

# refuses STATUS PATTERN ARGUMENT... - a test that passes if the twheel tool fails
# with one such line on stderr, and says nothing on stdout
refuses() {
	want=$1 pattern=$2
	shift 2
	twheel "$@" >"$tmp/stdout" 2>"$tmp/out"
	[ $? = "$want" ] && [ ! -s "$tmp/stdout" ] &&
		[ "$(head -n 1 "$tmp/out" | grep -c -- "^twheel: .*$pattern")" = 1 ]
	result $? "twheel $* is refused"
}

# value NAME [FILE] - print the number behind a name in a table of figures
value() {
	sed -n "s/^$1  *\([0-9][0-9]*\).*/\1/p" "${2:-$tmp/out}"
}

# ended PID - is the process gone, or a zombie?
ended() {
	! grep -q '^State:[^Z]*$' "/proc/$1/status" 2>/dev/null
}

# mask NAME - a set of signals of $pid, whose last 8 digits matter
mask() {
	sed -n "s/^$1:.*\(........\)\$/\1/p" "/proc/$pid/status"
}

# waits - is SIGTERM caught or blocked? Then the program has got so far as to deal with signals
waits() {
	ended "$pid" || [ $(((0x$(mask SigCgt) | 0x$(mask SigBlk)) >> 14 & 1)) = 1 ]
}

# show FILE - print figures as a comment, for those who read the log
show() {
	sed 's/^/# /' "$1"
}

# embedded - succeeds if programs are to have a wheel in the process, and not the device
embedded() {
	[ "${TWHEEL_BACKEND-}" = embedded ]
}

# may_set_clock - is this a guest? Without TWHEEL_TEST_CLOCK that is so where the device is used
may_set_clock() {
	! embedded || [ "${TWHEEL_TEST_CLOCK-}" = yes ]
}

# set_clock TIME - in UTC
set_clock() {
	date -u -s "$1" >/dev/null
}

# need_wheel - end here if programs would have neither
need_wheel() {
	embedded || need_device
}

# device_check REASON NAME COMMAND... - like check; skipped with an embedded wheel, for REASON
device_check() {
	reason=$1
	shift
	if embedded; then
		skip "$1" "$reason"
	else
		check "$@"
	fi
}

# Reasons, as embedded/skips.h has them for programs
counters='only the device has counters'
until_looked='a lease ends when a call looks at it: until then it is extended'

# knows_ignored - can env have a program begin with a signal that is ignored? The shells here cannot
knows_ignored() {
	env --ignore-signal=CHLD true 2>/dev/null
}
no_ignored='env cannot ignore signals'

# need_nc - end here without it; a machine that is no guest may have that of busybox alone
need_nc() {
	if command -v nc >/dev/null; then
		return
	fi
	command -v busybox >/dev/null || skip_all "there is no nc, nor busybox"
	nc() {
		busybox nc "$@"
	}
}
