#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# namespace.sh - the device in a container: a root of its own, with and without the node
#
# As root, where /dev/twheel is. The tool is static there, so a root needs nothing else.

. "$(dirname "$0")/tap.sh"

need_device
unshare -m -p -f -u -i true 2>"$tmp/out" || skip_all "the kernel has not all of these namespaces"
root=$tmp/root
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys"
cp "$(command -v twheel)" "$root/bin/"

# contained COMMAND... - run it in that root, with namespaces of its own
contained() {
	# shellcheck disable=SC2016 # for the other shell
	run unshare -m -p -f -u -i sh -c '
		mount -t proc proc "$0/proc" && mount --bind /sys "$0/sys" || exit
		[ ! -e "$0/dev/twheel" ] || mount --bind /dev/twheel "$0/dev/twheel" || exit
		exec chroot "$0" "$@"' "$root" "$@"
}

# said NAME PATTERN
said() {
	grep -q -- "$2" "$tmp/out"
	result $? "$1"
}

contained /bin/twheel doctor
check "without the node the doctor finds something wrong" test "$status" = 1
said "it says what" '^WRONG  node  .*/dev/twheel is not there, although the module is loaded'
said "and what to do about it" '-> .*PrivateDevices='
export TWHEEL_BACKEND=device
contained /bin/twheel arm 10ms
check "and no timer is armed on the device" test "$status" != 0
unset TWHEEL_BACKEND

# What engines and service managers do: the node of the host, bound over an empty file
: >"$root/dev/twheel"
contained /bin/twheel doctor
check "with the node bound in the doctor is content" test "$status" = 0
said "a timer has expired" '^ok  *timer  *one of 1 ms has expired'
contained /bin/twheel arm 10ms
check "the tool's timer expires" test "$status" = 0
finish
