#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# module.sh - the module comes and goes while CPUs do, and programs open its
# device (KTAP); in a guest that does not have it loaded. See also
# stress/reload.sh.

ko=/lib/modules/twheel.ko
n=0
failed=0

result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		failed=1
		echo "not ok $n $2"
	fi
}

# Others that use timers, hot-plug CPUs and try to open the device meanwhile.
neighbours() {
	for _ in 1 2; do
		while :; do usleep 1000; done &
		pids="$pids $!"
	done
	while :; do
		echo 0 >/sys/devices/system/cpu/cpu1/online
		usleep 50000
		echo 1 >/sys/devices/system/cpu/cpu1/online
		usleep 200000
	done 2>/dev/null &
	pids="$pids $!"
	while :; do
		(: </dev/twheel) 2>/dev/null
		usleep 5000
	done &
	pids="$pids $!"
}

# The neighbour that opens the device may be in the way for a moment.
patient_rmmod() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		rmmod twheel 2>/dev/null && return
		usleep 20000
	done
	return 1
}

cycles() {
	for _ in $(seq 100); do
		insmod $ko || return 1
		twheel arm 1ms 1h --every 1h --count 2 >/dev/null 2>&1 &
		armed=$!
		usleep 3000
		kill $armed
		wait $armed 2>/dev/null
		patient_rmmod || return 1
	done
}

percpu_kb() {
	awk '/^Percpu:/ { print $2 }' /proc/meminfo
}

test_load_unload() {
	pids=
	before=$(percpu_kb)
	dmesg -c >/dev/null
	neighbours
	cycles
	result $? "loads and unloads a hundred times"
	# shellcheck disable=SC2086 # pids are words
	kill $pids
	wait 2>/dev/null
	echo 1 >/sys/devices/system/cpu/cpu1/online 2>/dev/null

	# A module from outside the kernel's tree says so once; ours says nothing. Warnings
	# of the kernel are judged by whoever runs the guest.
	! dmesg | sed 's/^\[[^]]*\] *//' | grep '^twheel: ' |
		grep -vE 'loading out-of-tree|module verification failed'
	result $? "leaves no line in the log"

	! grep -q twheel /proc/modules /proc/misc /proc/slabinfo /proc/devices
	result $? "leaves no device and no cache"
	[ $(($(percpu_kb) - before)) -lt 64 ]
	result $? "leaves no per-CPU memory"
}

echo "TAP version 13"
test_load_unload
echo "1..$n"
exit $failed
