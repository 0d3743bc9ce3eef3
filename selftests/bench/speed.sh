#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086 # lists hold no blanks
#
# speed.sh - what make bench asks of speed, in one round
#
# usage: speed.sh guest|shared|host|uml [quick]
#	 speed.sh process|million|apart|together
#
#	guest	all facilities but wheels in the process, in a guest
#	shared	threads that share a descriptor, in a guest
#	host	what twheel is compared with natively
#	uml	twheel and the kernel's own timers, in user-mode Linux
#	process	wheels in the process, and what else programs have there, on this machine: CPU time
#	million	the same with a million timers, which takes longer than all else
#	apart	one thread and two on these wheels, a context each
#	together	two threads on one context
#
# Prints the lines of speed; for each size one facility after the other. The exit status
# is 1 if a facility did something wrong. That there was no time or no room for one is in its
# line.

here=$(cd "$(dirname "$0")" && pwd)
failed=0
ours=twheel,twheel-push,twheel-keyed,twheel-lease
embedded=embedded,embedded-push,embedded-keyed,embedded-objects,embedded-timers
embedded=$embedded,embedded-cached-timers,embedded-deferred
in_process=libuv,libevent,heap,hashed,core6
in_guest=$ours,$in_process,libtwheel,timerfd,timerfd-et,posix,io_uring,libevent-common
most=fill,arm,later,random,heartbeat,cancel,deliver
few=fill,arm,random,cancel,deliver
plotted=arm,random,cancel,deliver

speed() {
	"$here/speed" "$@" || failed=1
}

guest() {
	speed -n 1k -b 256 -o $most -w 3 -f $in_guest
	speed -n 10k -b 1,16,64,256,1024 -o arm,random,cancel -f twheel,twheel-keyed,io_uring
	speed -n 100k -o later -f libtwheel,libuv
	speed -n 1M -b 256 -o $most -w 30 -f $ours,$in_process
	# What takes half a minute to arm them is asked to do so once.
	speed -n 1M -o fill,later,random,cancel -w 60 -f libtwheel,timerfd
	speed -n 1M -b 256 -o fill,arm,deliver -w 30 -f io_uring
	speed -n 1M -b 1 -o random -w 30 -f twheel
	for threads in 1 2 4; do
		speed -n 100k -b 256 -o $few -t $threads -f twheel,twheel-keyed,timerfd -w 10
	done
}

guest_quick() {
	speed -n 1k -b 256 -o fill,arm,later,random,cancel,deliver -w 5 -f $in_guest
	speed -n 100k -o later -f libtwheel,libuv
}

shared() {
	for threads in 2 4; do
		speed -n 100k -b 256 -o $few -t $threads -s -f twheel,twheel-keyed -w 10
	done
}

host() {
	peers=floor,timerfd,posix,io_uring,$in_process
	speed -n 1k -b 256 -o call,page,expire,$most -f $peers -w 5
	for n in 10k 100k; do
		speed -n $n -b 256 -o call,page,$plotted -f $peers -w 5
	done
	speed -n 10k -b 1,16,64,1024 -o arm,random,cancel -f io_uring
	speed -n 1M -o call,page,expire,$most -f floor,timerfd,$in_process
	speed -n 1M -b 256 -o fill,arm,deliver -f posix,io_uring
}

host_quick() {
	for n in 1k 1M; do
		speed -n $n -o call,page,$few -f floor,timerfd,libuv,heap,hashed
	done
	speed -n 100k -b 256 -o cancel -f io_uring -w 5
	speed -n 1M -b 256 -o fill,arm,deliver -f io_uring
}

uml() {
	for n in 1k 1M; do
		speed -n $n -b 256 -o call,page,expire,$most -f floor,word,$ours
	done
	for n in 10k 100k; do
		speed -n $n -b 256 -o call,page,$plotted -f floor,twheel,twheel-keyed,twheel-lease
	done
	speed -n 10k -b 1,16,64,1024 -o arm,random,cancel -f twheel,twheel-keyed
	speed -n 1M -b 1 -o call,random -f floor,twheel -w 60
	speed -n 10M -b 256 -o arm,random,cancel -f twheel -w 60
	cat /sys/kernel/debug/peers || failed=1
}

uml_quick() {
	for n in 1k 1M; do
		speed -n $n -b 256 -o call,page,later,$few -f floor,word,$ours
	done
	speed -n 100k -b 256 -o cancel -f twheel
	speed -n 1M -b 1 -o call,random -f floor,twheel -w 60
}

process() {
	for n in ${1:-1k 10k 100k}; do
		for of in "1,256 -f $embedded,libuv,libevent,heap,heap4,hashed,core6" \
			  "1 -f embedded-cached"; do
			speed -c -n $n -o fill,arm,order,later,random,soon,cancel,deliver -w 3 -b $of
		done
	done
}

million() {
	process 1M
}

apart() {
	for threads in 1 2; do
		speed -n 100k -b 1,256 -o $few -t $threads -f embedded,embedded-threads
	done
}

together() {
	speed -n 100k -b 1,256 -o $few -t 2 -s -f embedded,embedded-threads
}

case "$*" in
guest|shared|host|uml|process|million|apart|together)			"$1" ;;
guest\ quick|host\ quick|uml\ quick)	"$1_quick" ;;
*)	sed -n 's/^#\( \|$\)//p' "$0" | sed -n '/^usage/,/^$/p' >&2
	exit 2 ;;
esac
exit $failed
