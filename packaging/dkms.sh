#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dkms.sh - give the module's source to DKMS, which builds it for each kernel, or take it back
#
# usage: dkms.sh install|uninstall
#
# install builds the module for all kernels whose headers are installed; DKMS does so for
# those that come later. It also has the module loaded when the machine starts, and installs
# the udev rule. A kernel that the module is not for (see dkms.conf) is left out.

set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
version=$(cat "$top/VERSION")
source=/usr/src/twheel-$version
load=/usr/lib/modules-load.d/twheel.conf
rules=/usr/lib/udev/rules.d/60-twheel.rules

die() {
	echo "dkms.sh: $*" >&2
	exit 1
}

install_all() {
	local kernel built=0

	[ ! -e "$source" ] ||
		die "$source is there already: remove it by make dkms-uninstall, or the package twheel-dkms"
	install -d "$source"
	cp -r "$top"/{Kbuild,VERSION,module,uapi} "$source"
	sed "s/#MODULE_VERSION#/$version/" "$top/dkms.conf" >"$source/dkms.conf"
	dkms add "twheel/$version"

	for kernel in /lib/modules/*/build; do
		[ -e "$kernel/Makefile" ] || continue
		kernel=${kernel%/build} kernel=${kernel##*/}
		if dkms install "twheel/$version" -k "$kernel"; then
			built=1
		else
			echo "dkms.sh: not built for $kernel" >&2
		fi
	done
	install -D -m 644 "$top/packaging/modules-load.conf" "$load"
	install -D -m 644 "$top/packaging/udev.rules" "$rules"
	[ "$built" = 1 ] ||
		die "the module was built for no kernel: are there headers (/lib/modules/*/build)?"
}

# All versions that are there, as the one that was installed need not be that of this tree.
installed() {
	{ dkms status twheel | sed -n 's#^twheel[/,] *\([^,:]*\).*#\1#p'
	  find "${source%/*}" -maxdepth 1 -name 'twheel-*' | sed 's/.*twheel-//'; } | sort -u
}

uninstall_all() {
	local versions version

	! { dpkg -S "$load" || rpm -qf "$load"; } >/dev/null 2>&1 ||
		die "these files are those of a package: remove twheel-dkms"
	mapfile -t versions < <(installed)
	[ ${#versions[@]} -gt 0 ] || die "there is nothing to remove"
	for version in "${versions[@]}"; do
		[ -z "$(dkms status "twheel/$version")" ] || dkms remove "twheel/$version" --all
		rm -rf "${source%/*}/twheel-$version"
	done
	rm -f "$load" "$rules"
	# They may have come with these files.
	rmdir --ignore-fail-on-non-empty "${load%/*}" "${rules%/*}" 2>/dev/null || :
}

[ $# = 1 ] || set -- usage
case $1 in
install|uninstall) ;;
*)	die "usage: dkms.sh install|uninstall" ;;
esac
command -v dkms >/dev/null || die "there is no command dkms: install DKMS first"
[ "$(id -u)" = 0 ] || die "this takes root"
"$1_all"
