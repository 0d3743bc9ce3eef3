#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh - use the packages that are installed here: in a guest, as root, without the module
# loaded
#
# usage: guest.sh all|upgraded
#
#	all		what a machine does as it starts, what its users do, how the module is
#			replaced, and what is refused under lockdown
#	upgraded	only whether it works

. "$(dirname "$0")/tap.sh"
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
# udevadm would do nothing: the first process of a guest has another root.
export SYSTEMD_IGNORE_CHROOT=1
rm -f /usr/local/bin/uname
udevd=/usr/lib/systemd/systemd-udevd
[ -x "$udevd" ] || udevd=/lib/systemd/systemd-udevd

# documented COMMAND - run it, and tell deb.sh, which looks for it on the page
documented() {
	echo "# ran: $1"
	run sh -c "$1"
	[ "$status" = 0 ]
}

# said NAME PATTERN - is that in the output of the last command?
said() {
	grep -qE "$2" "$tmp/out"
	result $? "$1"
}

has_mode() {
	stat -c '%a %G' /dev/twheel >"$tmp/out"
	[ "$(cat "$tmp/out")" = "$1 $2" ]
}

is_open() {
	[ "$(cat /sys/module/twheel/refcnt)" != 0 ]
}

# Where udevadm speaks to udevd between its accept() and its setsockopt(SO_PASSCRED), udevd
# ignores the message, and udevadm does not know: settle returns early then, one call in some
# hundred, and control --reload does nothing.

# mode MODE GROUP - does the node have them, or get them in half a minute?
mode() {
	udevadm settle
	await has_mode "$@"
}

# Begin udevd, or do it again, with the rules that are there now.
begin_udevd() {
	killall -q -w systemd-udevd
	$udevd --daemon
}

# As systemd-modules-load does it
load_at_start() {
	# shellcheck disable=SC2046 # these are names
	modprobe -a $(sed 's/#.*//' /usr/lib/modules-load.d/twheel.conf)
}

as_user() {
	run su - user -c "$1"
	[ "$status" = 0 ]
}

start() {
	begin_udevd
	try "the module is loaded when the machine starts" load_at_start
	check "anyone may open the node" mode 666 root
	documented 'cat /sys/module/twheel/version'
	cp "$tmp/out" "$tmp/loaded"
	documented 'modinfo -F version twheel'
	check "the module on the disk and the one that is loaded have the same version" \
		cmp "$tmp/out" "$tmp/loaded"
	documented 'modinfo -F signer twheel'
	said "DKMS has signed it" '^DKMS'
	dmesg | grep 'twheel:' >"$tmp/out"
	said "the log tells the version" "twheel: version $(cat "$tmp/loaded"), "
}

use() {
	check "twheel info, as a user" as_user 'twheel info'
	said "it tells the module's version" "^module version *$(cat "$tmp/loaded")\$"
	check "a program with the shared library, as a user" as_user './hello'
	said "it greets" '^hello, wheel'
}

# Each parameter of the example, with another value than the default's
parameters() {
	modprobe -r twheel
	sed 's/^#options/options/; s/slots=64/slots=16/; s/timers=0/timers=1000/' \
		/usr/share/doc/twheel-dkms/examples/modprobe.conf >/etc/modprobe.d/twheel.conf
	documented 'modprobe twheel'
	(cd /sys/module/twheel/parameters && grep . ./*) >"$tmp/out"
	check "the example of modprobe.d has every parameter" test \
		"$(grep -c '^options' /etc/modprobe.d/twheel.conf)" = "$(grep -c . "$tmp/out")"
	said "they reach the module: slots" '^./slots:16$'
	said "they reach the module: max_user_timers" '^./max_user_timers:1000$'
	rm /etc/modprobe.d/twheel.conf
}

# The udev rule that the comment in ours tells of
keep_for_group() {
	modprobe -r twheel
	sed 's/MODE="0666"/GROUP="daemon", MODE="0660"/' /usr/lib/udev/rules.d/60-twheel.rules \
		>/etc/udev/rules.d/60-twheel.rules
	begin_udevd
	modprobe twheel
	check "a rule in /etc keeps the node for a group" mode 660 daemon
	check "others may not open it then" sh -c "! su - user -c 'twheel info'" 2>/dev/null
	rm /etc/udev/rules.d/60-twheel.rules
	begin_udevd
	modprobe -r twheel
	modprobe twheel
	check "without it anyone may, again" mode 666 root
}

replace() {
	su - user -c 'exec twheel arm 1h' &
	tenths=600
	await is_open
	run modprobe -r twheel
	said "modprobe says that the module is in use" 'Module twheel is in use'
	check "fuser says who holds a descriptor" documented 'fuser -v /dev/twheel'
	said "it names the program and its user" 'user .*twheel'
	fuser -k /dev/twheel >/dev/null 2>&1
	wait
	check "then the module is unloaded" documented 'modprobe -r twheel'
	check "and loaded again" documented 'modprobe twheel'
	check "twheel info" documented 'twheel info'
	modprobe -r twheel
}

# refused WHAT SAID LOGGED COMMAND... - and are these the messages that the page has?
refused() {
	what=$1 said=$2 logged=$3
	shift 3
	run "$@"
	check "$what: the module is refused" test ! -e /sys/module/twheel
	said "$what: $1 says: $said" "$said"
	dmesg | tail -n 5 >"$tmp/out"
	said "$what: the log says: $logged" "$logged"
}

# unsigned FILE - a copy of the module without the signature, which is at its end
unsigned() {
	module=$(modinfo -n twheel)
	case $module in
	*.xz)	xz -dc "$module" >"$1" ;;
	*)	cp "$module" "$1" ;;
	esac
	strip -g "$1"
}

refusals() {
	unsigned "$tmp/twheel.ko"
	echo integrity >/sys/kernel/security/lockdown
	refused "lockdown" 'Operation not permitted' \
		'Lockdown: modprobe: unsigned module loading is restricted' modprobe twheel
	refused "lockdown, no signature" 'Operation not permitted' \
		'Lockdown: insmod: unsigned module loading is restricted' insmod "$tmp/twheel.ko"
	echo 1 >/sys/module/module/parameters/sig_enforce
	refused "sig_enforce" 'Key was rejected by service' \
		'Loading of module with unavailable key is rejected' modprobe twheel
	refused "sig_enforce, no signature" 'Key was rejected by service' \
		'Loading of unsigned module is rejected' insmod "$tmp/twheel.ko"
}

case $1 in
all)	start; use; parameters; keep_for_group; replace; refusals ;;
upgraded) start; use; modprobe -r twheel ;;
*)	exit 2 ;;
esac
finish
