#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# reload.sh - the module goes and comes while its neighbours work (TAP)
#
# For a machine whose module may be taken away: a guest. TWHEEL_KO says where
# the module is. It needs root, and leaves the module loaded as by default.

ko=${TWHEEL_KO:-/lib/modules/twheel.ko}
here=$(dirname "$0")
suites=$here/../uapi
cycles=${TWHEEL_RELOADS:-100}
n=0
failed=0
others=

# result STATUS DESCRIPTION [LOG]
result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		failed=1
		echo "not ok $n $2"
		[ -z "${3-}" ] || sed 's/^/# /' "$3"
	fi
}

skip() {
	echo "TAP version 13"
	echo "1..0 # SKIP $1"
	exit 4
}

loaded() {
	grep -q '^twheel ' /proc/modules
}

# Something of the module that can be seen without it
left_over() {
	loaded || [ -e /dev/twheel ] || [ -e /sys/module/twheel ] ||
		[ -e /sys/class/misc/twheel ] || grep -q twheel \
		/proc/misc /proc/slabinfo /proc/devices /proc/timer_list
}

# A program that arms and reads, by its exit status
works() {
	"$suites/arm" >"$log" 2>&1
}

cleanup() {
	[ -z "$others" ] || kill "$others" 2>/dev/null
	exec 3<&-
	loaded || insmod "$ko"
	rm -f "$log"
}

[ "$(id -u)" = 0 ] || skip "needs root"
[ -e "$ko" ] || skip "no module in $ko (TWHEEL_KO)"
[ -x "$suites/arm" ] || skip "no tests in $suites"
log=$(mktemp)
trap cleanup EXIT
loaded || insmod "$ko" || skip "the module cannot be loaded"

echo "TAP version 13"

# An open device holds the module, and goes on working.
test_in_use() {
	exec 3</dev/twheel
	! rmmod twheel 2>"$log" && loaded
	result $? "stays while its device is open"
	works
	result $? "works after rmmod was refused" "$log"
	exec 3<&-
	rmmod twheel
	result $? "goes when it is closed"
	! left_over
	result $? "leaves nothing behind"
}

# refused PARAMETER RANGE... - insmod fails, and the log names what is allowed
refused() {
	parameter=$1
	shift
	dmesg -c >/dev/null
	! insmod "$ko" "$parameter" 2>/dev/null && ! left_over
	result $? "refuses $parameter"
	line=$(dmesg | grep "twheel: .*${parameter%%=*}")
	for word; do
		case $line in
		*"$word"*) ;;
		*) line= ;;
		esac
	done
	[ -n "$line" ]
	result $? "says that ${parameter%%=*} goes from $1 to $2"
	! loaded || rmmod twheel
}

# accepted PARAMETERS [all] - with these it works; with all, whatever is done
accepted() {
	# shellcheck disable=SC2086 # parameters are words
	insmod "$ko" $1 && [ -c /dev/twheel ] &&
		if [ "${2-}" = all ]; then
			works
		else
			TWHEEL_STRESS_SECONDS=1 "$here/lifecycle" >"$log" 2>&1
		fi
	result $? "works with $1" "$log"
	rmmod twheel && ! left_over
	result $? "goes without a trace with $1"
}

test_geometries() {
	for bad in 0 1 1023 1073741825 4294967295; do
		refused tick_ns=$bad 1024 1073741824
	done
	for bad in 0 2 3 63 8192 4294967295; do
		refused slots=$bad 4 4096
	done
	accepted "slots=4096" all
	accepted "slots=4" all
	accepted "tick_ns=1024"
	accepted "tick_ns=1000000 slots=256"
	accepted "tick_ns=33554432"
	accepted "tick_ns=1024 slots=4"
	accepted "tick_ns=1073741824 slots=4096"
}

go_and_come() {
	i=0
	while [ $i -lt "$cycles" ]; do
		insmod "$ko" || return 1
		# Used a little, so that there is something to take away.
		(: </dev/twheel) || return 1
		rmmod twheel || return 1
		i=$((i + 1))
	done
	! left_over
}

test_neighbours() {
	dmesg -c >/dev/null
	"$here/neighbours" 3600 >"$log.neighbours" 2>&1 &
	others=$!
	go_and_come
	result $? "goes and comes $cycles times"
	kill $others
	wait $others
	result $? "disturbs no other timers meanwhile"
	others=
	sed 's/^/# /' "$log.neighbours"
	rm -f "$log.neighbours"
	# A module from outside the kernel's tree says so once; ours says nothing. Warnings
	# of the kernel are judged by whoever runs the guest.
	! dmesg | sed 's/^\[[^]]*\] *//' | grep '^twheel: ' |
		grep -vE 'loading out-of-tree|module verification failed'
	result $? "leaves no line in the log"
}

test_in_use
test_geometries
test_neighbours
insmod "$ko" && works
result $? "is there again as it was" "$log"
echo "1..$n"
exit $failed
