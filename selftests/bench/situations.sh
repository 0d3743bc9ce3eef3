#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# situations.sh - what the device costs besides time: accuracy, silence, memory
#
# usage: situations.sh [quick]
#
# Runs as root in a guest, or on a machine with the module loaded. Prints lines of columns
# with tabs between, as soon as each is measured; lines that begin with # are remarks:
#
#	accuracy  FACILITY  SITUATION  p50|p99|p999|max  NS		see accuracy.c
#	silence   SITUATION  interrupts  COUNT				see silence.c
#	memory    FACILITY  PENDING  BYTES				see memory.c
#
# What cannot be measured has - in place of the figure, and the reason in one more column.
# The exit status is 1 if a result was wrong: an expiration that was early, lost or came
# twice. In an emulated guest all of it takes up to five minutes, quick up to one.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
restore=
failed=0

die() {
	echo "situations.sh: $*" >&2
	exit 1
}

# measure PROGRAM ARGUMENT... - one program after the other, each a process of its own
measure() {
	program=$1
	shift
	"$here/$program" "$@" || {
		echo "situations.sh: failed: $program $*" >&2
		failed=1
	}
}

# raise FILE NUMBER - raise a limit of the kernel until the end
raise() {
	[ -e "$1" ] || return 0
	old=$(cat "$1")
	[ "$old" -lt "$2" ] || return 0
	restore="$restore echo $old >$1;"
	echo "$2" >"$1"
}

accuracy() {
	for situation in even-idle burst-idle even-loaded burst-loaded; do
		measure accuracy "$situation" "$1" "$2"
	done
}

memory_twheel() {
	for facility in twheel twheel-keyed twheel-lease; do
		measure memory "$facility" 1000000
	done
}

memory_peers() {
	for facility in timerfd io_uring; do
		measure memory "$facility" "$1"
	done
	# Making one takes longer the more there are: a million take many minutes.
	measure memory posix 100000
}

quick() {
	accuracy 1 1
	measure silence nothing 1
	measure silence one 10
	measure silence far-ioctl 1
	measure silence far-lease 1
	measure silence heartbeat-lease 1 0
	measure silence heartbeat-lease 1 100
	memory_twheel
	memory_peers 100000
}

whole() {
	accuracy 1 5
	measure silence nothing 5
	measure silence one 10
	# Peers have no part in what interrupts for twheel: so they need not wait for it.
	"$here/silence" one 60 &
	one_60s=$!
	memory_peers 1000000
	wait "$one_60s" || failed=1
	measure silence far-ioctl 10
	measure silence far-lease 10
	for kind in ioctl lease; do
		for slack in 0 1 10 100; do
			measure silence "heartbeat-$kind" 3 "$slack"
		done
	done
	memory_twheel
}

[ $# = 0 ] || [ "$*" = quick ] || {
	echo "usage: situations.sh [quick]" >&2
	exit 2
}
[ "$(id -u)" = 0 ] || die "only root may do this"
[ -e /dev/twheel ] || die "no /dev/twheel: is the module loaded?"
trap 'eval "$restore"' EXIT
raise /proc/sys/fs/nr_open 2097152
raise /proc/sys/fs/file-max 4194304
raise /proc/sys/fs/epoll/max_user_watches 2097152
echo "# Linux $(uname -r), $(grep -c ^processor /proc/cpuinfo) CPUs, all figures from this run"

"${1:-whole}"
exit $failed
