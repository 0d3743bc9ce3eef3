#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh - find, or fetch, a kernel to run guests with; print its folder
#
# usage: [KERNEL=6.1] kernel.sh [--compiler]
#
# Without KERNEL it is the default kernel of this Debian release. The folder is
# in the cache, and holds
#
#	vmlinuz, config		the kernel
#	release			its name, as uname -r shows it
#	compiler		the Debian package of the compiler that built it
#	headers			what modules are built against
#	source			the few files of its source that tests and lint use
#
# Nothing is installed: packages are downloaded and unpacked in the cache.

. "$(dirname "$0")/common.sh"

# A release of Debian has its own default.
name=${KERNEL:-default-$(. /etc/os-release && echo "${VERSION_CODENAME-}")}
link=$cache/kernel/$name

# What the source package is wanted for.
source_files=(
	tools/testing/selftests/kselftest.h
	tools/testing/selftests/kselftest_harness.h
	scripts/checkpatch.pl
	scripts/spelling.txt
	scripts/const_structs.checkpatch
	scripts/kernel-doc
)

# The packages that PACKAGE depends on, first alternatives only.
depends() {
	apt-cache depends --important "$1" 2>/dev/null |
		sed -n 's/^ *|*Depends: *//p'
}

# Which kernel is $name? A later series gets a line of its own here.
find_release() {
	local image

	image=$(depends linux-image-amd64 | grep -m1 '^linux-image-[0-9]') || :
	echo "${image#linux-image-}"
}

series() {
	grep -o '^[0-9]*\.[0-9]*' <<<"$1"
}

update_lists() {
	say "updating the package lists"
	quiet "$tmp/log" as_root apt-get -q update
}

download() {
	(cd "$tmp" && apt-get -q download "$@") >"$tmp/log" 2>&1
}

# The headers name each other by absolute paths, below what is now $1.
rewrite_paths() {
	local file
	for file in Makefile .kernelvariables; do
		find "$tmp/new/usr/src" -maxdepth 2 -name "$file" -type f -exec \
			sed -i "s#/usr/src/#$1/usr/src/#g; s#/usr/lib/linux#$1/usr/lib/linux#g" {} +
	done
	# With a vmlinux there the build of a module wants pahole, for BTF.
	rm -f "$tmp/new/usr/src/linux-headers-$release/vmlinux"
}

unpack() {
	local new=$tmp/new headers=usr/src/linux-headers-$release deb
	mkdir "$new"

	for deb in "$tmp"/linux-headers-*.deb "$tmp"/linux-kbuild-*.deb; do
		dpkg -x "$deb" "$new"
	done
	rewrite_paths "$1"
	ln -s "$headers" "$new/headers"
	sed -n 's/^CC = .*\(gcc-[0-9]*\)$/\1/p' "$new/$headers/.kernelvariables" \
		>"$new/compiler"
	[ -s "$new/compiler" ] || echo gcc >"$new/compiler"

	dpkg-deb --fsys-tarfile "$tmp"/linux-image-*.deb |
		tar -x -C "$tmp" --wildcards './boot/*'
	mv "$tmp/boot/vmlinuz-$release" "$new/vmlinuz"
	mv "$tmp/boot/config-$release" "$new/config"

	dpkg -x "$tmp"/linux-source-*.deb "$tmp/src"
	mkdir "$new/source"
	tar -x -f "$tmp"/src/usr/src/linux-source-*.tar.xz -C "$new/source" \
		--strip-components=1 "${source_files[@]/#/linux-source-$(series "$release")/}"
	echo "$release" >"$new/release"
}

# All or nothing: the folder appears under its name when it is complete.
fetch() {
	local common kbuild packages

	mkdir -p "$cache/kernel"
	tmp=$(mktemp -d "$cache/kernel/tmp.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT

	release=$(find_release)
	[ -n "$release" ] || { update_lists; release=$(find_release); }
	[ -n "$release" ] || die "the package lists name no linux-image-amd64"
	[ -z "${KERNEL-}" ] || [ "$name" = "$(series "$release")" ] ||
		die "KERNEL=$name is not to be had: this Debian release has $(series "$release")"

	if [ ! -d "$cache/kernel/$release" ]; then
		say "fetching Linux $release"
		common=$(depends "linux-headers-$release" | grep -m1 -- '-common')
		kbuild=$(depends "linux-headers-$release" | grep -m1 '^linux-kbuild')
		packages=("linux-image-$release" "linux-headers-$release"
			  "$common" "$kbuild" "linux-source-$(series "$release")")
		# Lists that are out of date name packages that are gone.
		download "${packages[@]}" || { update_lists; download "${packages[@]}"; } || {
			tail -n 3 "$tmp/log" >&2
			die "cannot download ${packages[*]}"
		}
		unpack "$cache/kernel/$release"
		mv -T "$tmp/new" "$cache/kernel/$release"
	fi
	ln -s "$release" "$tmp/link"
	mv -T "$tmp/link" "$link"
}

[ -e "$link/release" ] || fetch
case ${1-} in
"")		readlink -f "$link" ;;
--compiler)	cat "$link/compiler" ;;
*)		die "usage: [KERNEL=6.1] ${0##*/} [--compiler]" ;;
esac
