# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# tap.sh - tests in shell: results as TAP, for a guest's busybox sh and for bash
#
#	. "$(dirname "$0")/tap.sh"
#	check "two and two" test $((2 + 2)) = 4
#	finish
#
# Including this file begins the document, and finish ends it with the plan. If a script
# ends early there is no plan, which every reader of TAP takes for a failure. $tmp is a
# folder that is removed when the script ends. If a result is a failure, the contents of
# $tmp/out explain it. A script that has more to clean up than $tmp defines cleanup().

tests=0
failures=0
tmp=$(mktemp -d)
trap 'cleanup || :; rm -rf "$tmp"' EXIT

echo "TAP version 13"

cleanup() {
	:
}

# skip_all REASON - end here: nothing can be tested
skip_all() {
	echo "1..0 # SKIP $1"
	exit 4
}

need_device() {
	[ -e /dev/twheel ] || skip_all "no /dev/twheel: is the module loaded?"
}

# result STATUS NAME [FILE] - a test's outcome; the end of FILE, or $tmp/out, explains a failure
result() {
	tests=$((tests + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tests $2"
	else
		failures=$((failures + 1))
		[ ! -e "${3:-$tmp/out}" ] || tail -n 100 "${3:-$tmp/out}" | sed 's/^/# /'
		echo "not ok $tests $2"
	fi
}

# skip NAME REASON - a test that cannot be run
skip() {
	tests=$((tests + 1))
	echo "ok $tests $1 # SKIP $2"
}

# check NAME COMMAND... - a test that passes if the command succeeds
check() {
	name=$1
	shift
	if "$@"; then
		result 0 "$name"
	else
		result $? "$name"
	fi
}

# run COMMAND... - store its output in $tmp/out and its exit status in $status
run() {
	status=0
	"$@" >"$tmp/out" 2>&1 </dev/null || status=$?
}

# try NAME COMMAND... - like check, but the output of the command explains a failure
try() {
	name=$1
	shift
	run "$@"
	[ "$status" = 0 ] || echo "exit status $status: $*" >>"$tmp/out"
	result $status "$name"
}

# await COMMAND... - wait until it succeeds, for half a minute or as many $tenths of a second
tenths=300
await() {
	for tenth in $(seq $tenths); do
		if "$@"; then
			return 0
		fi
		sleep 0.1
	done
	echo "# not within $tenth tenths of a second: $*"
	return 1
}

# finish - print the plan, and exit with a status that says whether all tests passed
finish() {
	echo "1..$tests"
	[ "$failures" = 0 ]
	exit
}
