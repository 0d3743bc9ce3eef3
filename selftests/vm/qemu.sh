#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# qemu.sh - find, or fetch, an emulator for guests of several CPUs; print its path
#
# When one CPU changes code while another one translates it, a QEMU before 8.1 may
# keep the translation of what was there before, for good. Kernels change their code
# whenever a tracepoint is switched: now and then all CPUs that come by afterwards go
# on taking a breakpoint that is there no more, and the guest is not heard of again.
# Where Debian's QEMU is that old the one from backports is unpacked in the cache.

. "$(dirname "$0")/common.sh"
. "$vm/apt.sh"

fixed=8.1
# It runs here, whatever it emulates.
foreign=()
program=qemu-system-x86_64 package=qemu-system-x86
link=$cache/qemu/$codename
[ "$arch" = amd64 ] ||
	program=qemu-system-aarch64 package=qemu-system-arm link+=-$arch
# Not to be had, or not to be run: not tried again for each guest, but within the hour.
failed=$link.failed

is_fixed() {
	local version
	version=$("$1" --version 2>/dev/null | sed -n 's/^QEMU emulator version \([0-9.]*\).*/\1/p')
	[ "$(printf '%s\n' "$fixed" "$version" | sort -V | head -n 1)" = "$fixed" ]
}

# Firmware and modules are looked for beside the program, libraries on this machine.
fetch() {
	local packages=("$package" qemu-system-common qemu-system-data seabios) deb

	use_suite "$codename-backports"
	step "fetching QEMU, as $("$program" --version | sed -n '1s/ *(.*//p') is too old" "$tmp/log" \
		download "${packages[@]/%//$codename-backports}"
	mkdir "$tmp/new"
	for deb in "$tmp"/*.deb; do
		dpkg -x "$deb" "$tmp/new" || return
	done
	rm -rf "$link"
	is_fixed "$tmp/new/usr/bin/$program" && mv -T "$tmp/new" "$link"
}

find_or_fetch() {
	if is_fixed "$link/usr/bin/$program"; then
		return
	fi
	if [ -z "$(find "$failed" -mmin -60 2>/dev/null)" ]; then
		tmp=$(mktemp -d "$cache/qemu/tmp.XXXXXX") || return
		trap 'rm -rf "$tmp"' EXIT
		# In a shell of its own: whatever goes wrong there ends only that.
		if (fetch); then
			return
		fi
		# Where apt is hidden that says nothing of other guests.
		if command -v apt-get >/dev/null; then
			touch "$failed"
		fi
	fi
	say "no later QEMU is to be had: guests may hang when tracepoints are switched"
	return 1
}

if ! is_fixed "$program"; then
	mkdir -p "$cache/qemu"
	exec {lock}>"$cache/qemu/lock"
	flock "$lock"
	if find_or_fetch; then
		program=$link/usr/bin/$program
	fi
fi
echo "$program"
