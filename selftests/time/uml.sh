#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# uml.sh - run a command in user-mode Linux, with the module, in virtual time
#
# usage: uml.sh [-n] [-m megabytes] [-d folder] [-t seconds] [-o 'module parameters']
#		[--] command...
#
#	-n  in real time: everything there but system calls is as fast as on this machine
#	-m  the guest's memory: 64 megabytes, unless told
#	-d  where the guest's programs and further modules are: build/selftests/time
#
# In virtual time, if everybody waits, time jumps to the next event, so a year takes seconds.
# The command is a line for the guest's sh. The exit status is as that of vm/run.sh.

. "$(dirname "$0")/../vm/common.sh"
. "$(dirname "$0")/../vm/log.sh"

products=$build/selftests/time
limit=300 params='' mem=64
clock=(time-travel=inf-cpu time-travel-start=1767225600000000000)
while getopts nm:d:t:o: opt; do
	case $opt in
	n)	clock=() ;;
	m)	mem=$OPTARG ;;
	d)	products=$OPTARG ;;
	t)	limit=$OPTARG ;;
	o)	params=$OPTARG ;;
	*)	usage ;;
	esac
done
shift $((OPTIND - 1))

kernel=$(KERNEL=uml "$vm/kernel.sh")
release=$(cat "$kernel/release")

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
root=$tmp/root log=$tmp/kernel.log

# make_root COMMAND... - the guest's folder, with the command line that it is to run
make_root() {
	mkdir -p "$root"/{bin,dev,modules,proc,sys,tmp}
	cp "$(command -v busybox)" "$root/bin/busybox"
	ln -s busybox "$root/bin/sh"
	cp "$top/selftests/time/init" "$top/selftests/ktap-run.sh" "$root/"
	cp "$build/module/$release/twheel.ko" "$root/"
	find "$products" -maxdepth 1 -type f -executable -exec cp {} "$root/bin/" \;
	find "$products" -mindepth 2 -name '*.ko' -exec cp {} "$root/modules/" \;
	echo "$params" >"$root/parameters"
	echo "$*" >"$root/command"
}

# The guest's memory is a file in TMPDIR: in the machine's memory if there is room, so that
# nothing is written to a disk meanwhile. Its kernel and its programs take turns, which is
# faster on one CPU. Its virtual time begins on the first of January 2026.
boot() {
	local cpu room memory=$tmp

	cpu=$(taskset -cp $$ | grep -o '[0-9]*$')
	room=$(df -m --output=avail /dev/shm 2>/dev/null | tail -n 1) || room=0
	[ "$room" -le "$mem" ] || memory=/dev/shm
	TMPDIR=$memory timeout -k 5 "$limit" taskset -c "$cpu" "$kernel/vmlinuz" "mem=${mem}M" \
		"${clock[@]}" root=host rootfstype=hostfs rootflags="$root" rw init=/init panic=-1 \
		con=null con0=null,fd:2 con1=null,fd:1 </dev/null 2>"$log" | sed -u 's/\r$//' || :
}

judge() {
	local step

	# Check this first, since a guest that is killed complains of that, too.
	if [ "$SECONDS" -ge "$limit" ]; then
		last_words "$log" 5 "time limit of $limit s reached"
		return 124
	fi
	if has_complaints "$log"; then
		return 125
	fi
	if [ "$(tail -n 1 "$root/verdict" 2>/dev/null)" != "done" ]; then
		last_words "$log" 20 "the guest ended without a verdict"
		return 126
	fi
	for step in modules insmod rmmod; do
		grep -qx "$step 0" "$root/verdict" || { say "$step failed"; return 125; }
	done
	return "$(sed -n 's/^exit //p' "$root/verdict")"
}

make_root "$@"
boot
judge && exit || exit $?
