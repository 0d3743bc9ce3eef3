# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# tap.sh - tests in shell: results as TAP, for a guest's busybox sh and for bash
#
#	. "${0%/*}/tap.sh"
#	check "two and two" test $((2 + 2)) = 4
#	finish
#
# Including this begins the document, and finish ends it with the plan: a script that ends
# early has none, which every reader of TAP takes for a failure. $tmp is a folder that goes
# when the script ends. What a script writes to $tmp/out explains the next result, if that
# is a failure. A script that has more to tidy up than $tmp defines cleanup().

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

# run COMMAND... - its output in $tmp/out, its exit status in $status
run() {
	status=0
	"$@" >"$tmp/out" 2>&1 </dev/null || status=$?
}

# try NAME COMMAND... - as check, and what the command says explains a failure
try() {
	name=$1
	shift
	run "$@"
	[ $status = 0 ] || echo "exit status $status: $*" >>"$tmp/out"
	result $status "$name"
}

# finish - the plan, and an exit status that says whether all passed
finish() {
	echo "1..$tests"
	[ $failures = 0 ]
	exit
}
