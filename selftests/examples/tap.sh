# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2034 # variables are for those who include it
#
# tap.sh - TAP for scripts that run in a guest's busybox sh
#
#	. "${0%/*}/tap.sh"
#	check "two and two" test $((2 + 2)) = 4
#	finish

PATH=$PATH:${0%/*}/../bin:${0%/*}/../../build/userspace/bin
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
tests=0
failures=0

echo "TAP version 13"

# Without the device there is nothing to test: skip it all.
need_device() {
	[ -e /dev/twheel ] && return
	echo "1..0 # SKIP no /dev/twheel: is the module loaded?"
	exit 4
}

# result STATUS NAME - a test's outcome; what $tmp/out holds explains a failure
result() {
	tests=$((tests + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tests $2"
	else
		failures=$((failures + 1))
		[ ! -e "$tmp/out" ] || sed 's/^/# /' "$tmp/out"
		echo "not ok $tests $2"
	fi
}

# without_node COMMAND... - run it where /dev is empty, as in a container
#
# In a mount namespace of its own: takes root.
without_node() {
	unshare -m sh -c 'mount -t tmpfs none /dev && exec "$@"' sh "$@"
}

# check NAME COMMAND... - a test that passes if the command succeeds
check() {
	name=$1
	shift
	"$@"
	result $? "$name"
}

skip() {
	tests=$((tests + 1))
	echo "ok $tests $1 # SKIP $2"
}

# run COMMAND... - its output in $tmp/out, its exit status in $status
run() {
	"$@" >"$tmp/out" 2>&1
	status=$?
}

# said PATTERN - does $tmp/out have a line like this?
said() {
	grep -q -- "$1" "$tmp/out"
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

# value NAME [FILE] - the number behind a name in a table of figures
value() {
	sed -n "s/^$1  *\([0-9][0-9]*\).*/\1/p" "${2:-$tmp/out}"
}

# show FILE - figures, for whoever reads the log
show() {
	sed 's/^/# /' "$1"
}

finish() {
	echo "1..$tests"
	[ "$failures" = 0 ]
	exit
}
