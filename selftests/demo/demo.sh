#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# demo.sh - build, load the module, show what it does: `make demo`
#
# usage: [DRIVERS=n] demo.sh [guest|host|embedded]

. "$(dirname "$0")/../vm/common.sh"

drivers=${DRIVERS:-1000000}
unset MAKEFLAGS MFLAGS

in_guest() {
	"$vm/setup.sh" build guest
	"$vm/build.sh" module userspace
	"$vm/run.sh" -c "${CPUS:-2}" -m 3072 -t 600 -d "$top/selftests/demo" -- \
		"/twheel/demo/guest.sh $drivers"
}

# insmod explains a refusal in the kernel's log, not to its caller.
load() {
	local running headers module
	running=$(uname -r) headers=${KDIR:-/lib/modules/$running/build}
	module=$build/module/$running/twheel.ko

	[ -e /proc/modules ] || die "this kernel loads no modules: try make demo"
	[ ! -e /dev/twheel ] || die "twheel is loaded already: rmmod twheel first"
	[ -e "$headers/Makefile" ] ||
		die "no kernel headers for $running in $headers: install linux-headers or kernel-devel for it, or set KDIR; or try make demo"
	step "building the module" "$build/log/module" make -C "$top" modules KDIR="$headers"
	[ -e "$module" ] || die "$headers has headers of another kernel than $running, which runs"
	as_root insmod "$module" ||
		die "this machine does not load $module: see dmesg, or try make demo"
	trap 'as_root rmmod twheel' EXIT
}

on_host() {
	"$vm/setup.sh" build
	load
	step "building user space" "$build/log/userspace" make -C "$top" userspace
	PATH=$build/userspace/bin:$PATH "$top/selftests/demo/guest.sh" "$drivers"
}

# conclude - print what heartbeat has said, and last what its timers took and what as many timerfds
# would have taken
#
# heartbeat has counted its calls. The memory is computed from what make bench has measured: 65
# bytes for each timer of ours, 948 for each timerfd. So are the calls of timerfds: 3 to arm one,
# 1 to push it back, 2 to hear that it has expired.
conclude() {
	awk '
		{ print }
		$1 == "armed" { armed = $2 }
		/^pushed back / { pushed = $3 }
		$1 == "expired" { expired = $2 }
		$1 == "ioctl" || $1 == "read" || $1 == "epoll_wait" { calls += $2 }
		END {
			if (!armed)
				exit
			printf "\nthese timers took 3 descriptors, %d calls and, by computation, %.1f MB " \
				"(65 bytes each); as timerfds, all by computation: %d descriptors, " \
				"%d system calls and %.1f MB (948 bytes each)\n", calls,
				armed * 65 / 1e6, armed, 3 * armed + pushed + 2 * expired,
				armed * 948 / 1e6
		}'
}

# As any user, on any Linux: a compiler and make are all that it takes.
embedded() {
	local heartbeat=$build/userspace/bin/heartbeat

	step "building heartbeat" "$build/log/userspace" \
		make -C "$top/userspace" O="$build/userspace" "$heartbeat"
	TWHEEL_BACKEND=embedded "$heartbeat" --plain --drivers "${DRIVERS:-100000}" \
		--timeout 2s --duration 6s | conclude
}

case ${1:-guest} in
guest)	in_guest ;;
host)	on_host ;;
embedded) embedded ;;
*)	die "TARGET=$1: guest, host or embedded" ;;
esac
