#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# reload.sh - the module is unloaded and loaded, while other programs and CPUs are busy (TAP)
#
# usage: reload.sh [in_use|geometries|cycles]...	(all of them by default)
#
# For a machine whose module may be removed, such as a guest. TWHEEL_KO says where
# the module is. It needs root, and leaves the module loaded with its defaults.

. "$(dirname "$0")/tap.sh"

here=$(dirname "$0")
PATH=$PATH:$here/../bin
ko=${TWHEEL_KO:-/lib/modules/twheel.ko}
suites=$here/../uapi
cycles=${TWHEEL_RELOADS:-100}
cpu=/sys/devices/system/cpu/cpu1/online
pids=

loaded() {
	grep -q '^twheel ' /proc/modules
}

[ "$(id -u)" = 0 ] || skip_all "needs root"
[ -e "$ko" ] || skip_all "no module in $ko (TWHEEL_KO)"
[ -x "$suites/arm" ] || skip_all "no tests in $suites"
loaded || insmod "$ko" || skip_all "the module cannot be loaded"

unload() {
	if loaded; then
		rmmod twheel
	fi
}

# Something of the module that can be seen without the module
left_over() {
	loaded || [ -e /dev/twheel ] || [ -e /sys/module/twheel ] ||
		[ -e /sys/class/misc/twheel ] || grep -q twheel \
		/proc/misc /proc/slabinfo /proc/devices /proc/timer_list
}

# A program that arms and reads must succeed.
works() {
	run "$suites/arm"
	[ "$status" = 0 ]
}

end_neighbours() {
	# shellcheck disable=SC2086 # these are words
	[ -z "$pids" ] || kill $pids 2>/dev/null
	pids=
	wait
	[ ! -e "$cpu" ] || echo 1 >"$cpu" 2>/dev/null
}

cleanup() {
	end_neighbours
	exec 3<&-
	loaded || insmod "$ko"
}

# An open device keeps the module loaded, and still works.
test_in_use() {
	exec 3</dev/twheel
	! rmmod twheel 2>"$tmp/out" && loaded
	result $? "stays while its device is open"
	check "works after rmmod was refused" works
	exec 3<&-
	check "goes when it is closed" rmmod twheel
	! left_over
	result $? "leaves nothing behind"
}

# refused PARAMETER RANGE... - insmod fails, and the log names the allowed values
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
	check "says that ${parameter%%=*} goes from $1 to $2" test -n "$line"
	unload
}

# accepted PARAMETERS [all] - the module works with these; with all, the tests in arm.c do
accepted() {
	# shellcheck disable=SC2086 # parameters are words
	insmod "$ko" $1 && [ -c /dev/twheel ] &&
		if [ "${2-}" = all ]; then
			works
		else
			"$suites/batch" >"$tmp/out" 2>&1
		fi
	result $? "works with $1"
	rmmod twheel && ! left_over
	result $? "goes without a trace with $1"
}

test_geometries() {
	unload
	for bad in 0 1 1023 1073741825 4294967295; do
		refused tick_ns="$bad" 1024 1073741824
	done
	for bad in 0 2 3 63 8192 4294967295; do
		refused slots="$bad" 4 4096
	done
	accepted "slots=4096" all
	accepted "slots=4" all
	accepted "tick_ns=1024"
	accepted "tick_ns=1000000 slots=256"
	accepted "tick_ns=33554432"
	accepted "tick_ns=1024 slots=4"
	accepted "tick_ns=1073741824 slots=4096"
}

# Meanwhile other programs use timers, a CPU goes offline and comes back, and programs try
# to open the device.
begin_neighbours() {
	"$here/neighbours" 3600 >"$tmp/neighbours" 2>&1 &
	timers=$!
	while :; do
		echo 0 >"$cpu"
		sleep 0.05
		echo 1 >"$cpu"
		sleep 0.2
	done 2>/dev/null &
	pids=$!
	while :; do
		(: </dev/twheel)
		sleep 0.005
	done 2>/dev/null &
	pids="$timers $pids $!"
}

# Run a program that is to be killed with timers armed. If there is no tool, the program
# only has the device open.
use() {
	if command -v twheel >/dev/null; then
		exec twheel arm 1ms 1h --every 1h --count 2
	fi
	exec 4</dev/twheel
	exec sleep 60
}

# The neighbour that opens the device may keep the module in use for a moment.
patient_rmmod() {
	for _ in $(seq 500); do
		rmmod twheel 2>/dev/null && return
		sleep 0.02
	done
	return 1
}

go_and_come() {
	for _ in $(seq "$cycles"); do
		insmod "$ko" || return 1
		(: </dev/twheel) || return 1
		use >/dev/null 2>&1 &
		user=$!
		sleep 0.003
		kill "$user"
		wait "$user" 2>/dev/null
		patient_rmmod || return 1
	done
}

percpu_kb() {
	awk '/^Percpu:/ { print $2 }' /proc/meminfo
}

test_cycles() {
	unload
	before=$(percpu_kb)
	dmesg -c >/dev/null
	begin_neighbours
	check "goes and comes $cycles times" go_and_come
	kill "$timers"
	wait "$timers"
	result $? "disturbs no other timers meanwhile" "$tmp/neighbours"
	end_neighbours
	# A module from outside the kernel's tree causes one line about itself, and this
	# module tells its version when it comes, and prints nothing else. The harness that
	# runs the guest judges warnings of the kernel.
	! dmesg | sed 's/^\[[^]]*\] *//' | grep '^twheel: ' |
		grep -vE 'loading out-of-tree|module verification failed|: version [0-9.]+, ticks of' \
		>"$tmp/out"
	result $? "leaves no other line in the log"
	! left_over
	result $? "leaves no device and no cache"
	check "leaves no per-CPU memory" test $(($(percpu_kb) - before)) -lt 64
}

[ $# -gt 0 ] || set -- in_use geometries cycles
for part; do
	"test_$part"
done
insmod "$ko" && works
result $? "is there again as it was"
finish
