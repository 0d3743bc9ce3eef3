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
# Everybody can read what is installed.
umask 022

top=$(cd "$(dirname "$0")/.." && pwd)
version=$(cat "$top/VERSION")
sources=/usr/src
source=$sources/twheel-$version
load=/usr/lib/modules-load.d/twheel.conf
rules=/usr/lib/udev/rules.d/60-twheel.rules

die() {
	echo "dkms.sh: $*" >&2
	exit 1
}

# is_ours FOLDER - has install made it? A tree that this script may run from has packaging/.
is_ours() {
	[ -d "$1" ] && [ ! -L "$1" ] && [ ! -e "$1/packaging" ] &&
		grep -qxF 'PACKAGE_NAME="twheel"' "$1/dkms.conf" 2>/dev/null &&
		grep -qxF "PACKAGE_VERSION=\"${1##*/twheel-}\"" "$1/dkms.conf"
}

install_all() {
	local kernel built=0

	! is_ours "$source" || die "$source is there already: remove it by make dkms-uninstall"
	! { [ -e "$source" ] || [ -L "$source" ]; } ||
		die "$source is there already, and is not from make dkms-install: move it elsewhere"
	install -d "$source"
	# This comes first, for uninstall to know the folder if the rest fails.
	sed "s/#MODULE_VERSION#/$version/" "$top/dkms.conf" >"$source/dkms.conf"
	cp -r --no-preserve=mode "$top"/{Kbuild,VERSION,module,uapi} "$source"
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

# All versions that are there, as the one that was installed need not be that of this tree. DKMS may
# know one whose folder is gone.
installed() {
	local version
	{ dkms status twheel | sed -n 's#^twheel[/,] *\([^,:]*\).*#\1#p'
	  find "$sources" -maxdepth 1 -type d -name 'twheel-*' | sed 's/.*twheel-//'; } | sort -u |
		while read -r version; do
			if [ ! -e "$sources/twheel-$version" ] || is_ours "$sources/twheel-$version"; then
				echo "$version"
			fi
		done
}

uninstall_all() {
	local versions version

	mapfile -t versions < <(installed)
	[ ${#versions[@]} -gt 0 ] || die "there is nothing to remove"
	for version in "${versions[@]}"; do
		[ -z "$(dkms status "twheel/$version")" ] || dkms remove "twheel/$version" --all
		! is_ours "$sources/twheel-$version" || rm -rf "$sources/twheel-$version"
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
! { dpkg -S "$load" || rpm -qf "$load"; } >/dev/null 2>&1 ||
	die "$load is a package's: remove twheel-dkms"
"$1_all"
