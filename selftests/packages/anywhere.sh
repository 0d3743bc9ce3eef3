#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# anywhere.sh - does what is not for Debian alone do without its commands, and do guests run a
# kernel that the user names? (TAP)
#
# A machine without dpkg and apt is this one, with a PATH that has all commands but these.

. "$(dirname "$0")/../vm/common.sh"
unset MAKEFLAGS MFLAGS KERNEL_IMAGE KDIR
kernel=$("$vm/kernel.sh")
. "$top/selftests/tap.sh"

# hide NAME COMMAND... - a folder $tmp/NAME of all commands but those, which are patterns
hide() {
	local name=$1 dir pattern
	shift
	mkdir "$tmp/$name"
	while read -r dir; do
		[ ! -d "$dir" ] || find -H "$dir" -maxdepth 1 ! -type d -print0 |
			xargs -0r ln -st "$tmp/$name" 2>/dev/null || :
	done < <(tr : '\n' <<<"$PATH")
	for pattern; do
		# shellcheck disable=SC2086 # a pattern
		(cd "$tmp/$name" && rm -f $pattern)
	done
}

# elsewhere COMMAND... - on a machine without Debian's commands
elsewhere() {
	local -x PATH=$tmp/elsewhere
	"$@"
}

# failed_with PATTERN - did the last command fail, and say so?
failed_with() {
	[ "$status" != 0 ] && grep -qE -e "$1" "$tmp/out"
}

# refuses NAME PATTERN COMMAND... - it fails, and says so
refuses() {
	local name=$1 pattern=$2
	shift 2
	run "$@"
	echo "exit status $status, expected: $pattern" >>"$tmp/out"
	check "$name" failed_with "$pattern"
}

without() {
	local -x PATH=$tmp/$1
	shift
	"$@"
}

# What is built goes to a folder of the test's.
make_there() {
	elsewhere make -s -C "$top" products="$tmp/build" "$@"
}

hide elsewhere 'dpkg*' 'apt*' 'debconf*' dkms
hide bare 'dpkg*' 'apt*' 'debconf*' gcc
check "dpkg and apt are hidden" elsewhere bash -c '! type dpkg dpkg-query apt-get apt-cache' 2>/dev/null
try "setup.sh goes on where all commands are there" elsewhere "$vm/setup.sh" build guest
refuses "it names those that are not" '^setup.sh: not found: gcc stdio.h\. There is no apt' \
	without bare "$vm/setup.sh" build

try "make modules" make_there modules KDIR="$kernel/headers"
check "gives a module" test -s "$tmp/build/module/$(cat "$kernel/release")/twheel.ko"
refuses "without headers it names them" \
	'no kernel headers in /nowhere: install linux-headers or kernel-devel for .*, or set KDIR' \
	make_there modules KDIR=/nowhere
try "make install" make_there install CFLAGS=-O0 DESTDIR="$tmp/root" prefix=/usr
check "installs the tool" test -x "$tmp/root/usr/bin/twheel"
try "make demo TARGET=embedded" env DRIVERS=100 PATH="$tmp/elsewhere" make -s -C "$top" demo TARGET=embedded
check "it counts its calls" \
	grep -Eq '^these timers took 3 descriptors, [1-9][0-9]* calls and, by computation, ' "$tmp/out"
# Of another machine than this one, which shall not load a module.
refuses "make demo TARGET=host names what it lacks" \
	'this kernel loads no modules|twheel is loaded already|no kernel headers for .* install linux-headers or kernel-devel' \
	elsewhere env KDIR=/nowhere make -s -C "$top" demo TARGET=host
refuses "make dkms-install wants dkms" 'there is no command dkms: install DKMS first' \
	make_there dkms-install
refuses "packages of a language that is misspelt" \
	'^packages.sh: there is no package for pyhton: java python ' \
	"$top/packaging/packages.sh" python pyhton

# The kernel that guests have by default, as one that the user names
named() {
	env -u KERNEL KERNEL_IMAGE="$1" KDIR="$2" "${@:3}"
}

# What is refused leaves nothing in the cache.
refused() {
	local -x XDG_CACHE_HOME=$tmp/cache
	named "$@" "$vm/kernel.sh"
}

other=$tmp/other
mkdir -p "$other/include/generated"
touch "$other/Makefile" "$other/.config" "$tmp/empty"
echo '#define UTS_RELEASE "5.14.0-0"' >"$other/include/generated/utsrelease.h"
refuses "a kernel image that is not there" 'KERNEL_IMAGE: there is no file /nowhere' \
	refused /nowhere "$kernel/headers"
refuses "a kernel without headers" 'KERNEL_IMAGE goes with KDIR' \
	refused "$kernel/vmlinuz" ''
refuses "headers that are not there" 'KDIR: no kernel headers in /nowhere' \
	refused "$kernel/vmlinuz" /nowhere
refuses "a file that is no kernel" 'KERNEL_IMAGE: .*/empty is no bzImage of Linux' \
	refused "$tmp/empty" "$kernel/headers"
refuses "headers of another kernel" \
	'KERNEL_IMAGE is Linux [0-9].*, but KDIR has headers of 5.14.0-0' \
	refused "$kernel/vmlinuz" "$other"

try "a kernel that the user names" elsewhere named "$kernel/vmlinuz" "$kernel/headers" "$vm/kernel.sh"
folder=$(tail -n 1 "$tmp/out")
try "is taken as it is" cmp "$folder/vmlinuz" "$kernel/vmlinuz"
# shellcheck disable=SC2016 # the guest's own uname is asked
try "a guest runs it, with that module" elsewhere \
	named "$kernel/vmlinuz" "$kernel/headers" "$vm/run.sh" -M "$tmp/build/module/$(cat "$kernel/release")/twheel.ko" \
	-c 1 -m 512 -l -t 120 -- "[ \"\$(uname -r)\" = $(cat "$kernel/release") ] && [ -c /dev/twheel ]"
finish
