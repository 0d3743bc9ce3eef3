#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# deploy.sh - are the files of packaging/deploy what systemd, container engines and Kubernetes
# take? (TAP)
#
# What a service or a container can do with the device is tested in a guest: ../deploy.

top=$(cd "$(dirname "$0")/../.." && pwd)
files=$top/packaging/deploy
. "$top/selftests/tap.sh"

# The drop-in, with the lines that are comments
uncommented() {
	sed 's/^#\([A-Z][A-Za-z]*=\)/\1/' "$files/systemd.conf"
}

# unit LINE - the whole drop-in, and one line more, with a service that it belongs to
unit() {
	mkdir -p "$tmp/example.service.d"
	printf '[Service]\nExecStart=%s\n' "$(type -P true)" >"$tmp/example.service"
	{ uncommented; echo "$1"; } >"$tmp/example.service.d/twheel.conf"
	systemd-analyze verify --man=no --recursive-errors=no "$tmp/example.service"
}

# restricted - what systemd finds to be restricted in a service with filters of its own
restricted() {
	systemd-analyze security --offline=yes --root="$tmp/root" --json=short hardened.service |
		grep -o '"set":true,"name":"[^"]*"' | sort
}

# Is it so with the drop-in, too?
still_restricted() {
	local units=$tmp/root/etc/systemd/system left
	mkdir -p "$units/hardened.service.d" "$tmp/root/bin"
	cp "$(type -P true)" "$tmp/root/bin"
	printf '%s\n' '[Service]' ExecStart=/bin/true 'DeviceAllow=/dev/fuse rw' NotifyAccess=exec \
		SystemCallFilter=@system-service SystemCallFilter=~@resources >"$units/hardened.service"
	restricted >"$tmp/before"
	cp "$files/systemd.conf" "$units/hardened.service.d/twheel.conf"
	left=$(restricted | comm -13 - "$tmp/before")
	echo "not any more: $left"
	grep -q '~@resources' "$tmp/before" && [ -z "$left" ]
}

# What takes the place of a service's own setting, in the drop-in: systemd-analyze does not tell of all
replaced() {
	! grep -E '^(NotifyAccess|FileDescriptorStoreMax|DevicePolicy|SystemCall[A-Za-z]*)=' \
		"$files/systemd.conf"
}

spoilt() {
	! unit 'PrivateDevice=yes'
}

# calls SET - system calls that systemd counts to it
calls() {
	local name
	while read -r name; do
		case $name in
		@*)	calls "$name" ;;
		*)	echo "$name" ;;
		esac
	done < <(systemd-analyze syscall-filter "$1" | sed -n '2,$s/^ *\([@a-z0-9_-]*\).*/\1/p')
}

# The calls that the page names, as calls.c has them
documented() {
	# shellcheck disable=SC2016 # quotes of the page's
	sed -n '/^| system call /,/^$/s/^| `\([a-z_]*\)` .*/\1/p' "$top/Documentation/deployment.md" | sort
}

tested() {
	sed -n 's/^\t{ "\([a-z_]*\)",.*true },/\1/p' "$top/selftests/deploy/calls.c" | sort
}

same_calls() {
	[ -n "$(tested)" ] && diff <(documented) <(tested)
}

allowed() {
	local left
	left=$(comm -23 <(tested) <(calls "$1" | sort -u))
	echo "not in $1: $left"
	[ -n "$(tested)" ] && [ -z "$left" ]
}

# Each file is in the page, and each that the page names is there.
named() {
	diff <(cd "$files" && printf '%s\n' *) \
		<(grep -o 'packaging/deploy/[a-z.]*[a-z]' "$top/Documentation/deployment.md" |
			sed 's|.*/||' | sort -u)
}

# sections.keys that a quadlet may have, of those that the file does
quadlet() {
	local wrong
	wrong=$(awk -F= '/^\[/ { section = $0; next } /^[^#]/ { print section $1 }' "$files/podman.container" |
		grep -vE '^\[Unit\]AssertPathExists$|^\[Container\](Image|Exec|AddDevice)$') || :
	echo "not known: $wrong"
	[ -z "$wrong" ] && grep -q '^AddDevice=/dev/twheel:/dev/twheel:rw$' "$files/podman.container"
}

if command -v systemd-analyze >/dev/null; then
	try "systemd takes the drop-in" unit ''
	try "and its filter lets through what the library calls" \
		allowed "$(sed -n 's/^#SystemCallFilter=//p' "$files/systemd.conf")"
	try "a service with filters of its own keeps them" still_restricted
	try "it would notice a word that it does not know" spoilt
else
	skip "systemd takes the drop-in" "there is no systemd-analyze"
fi
try "it replaces nothing that a service has set" replaced
try "CDI, compose and Kubernetes files have the fields of their specifications" \
	"$top/selftests/packages/fields.pl" "$files"
try "so has the file for podman" quadlet
try "the page names the system calls that are tested" same_calls
try "and each of the files" named
finish
