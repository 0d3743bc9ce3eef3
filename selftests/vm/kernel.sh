#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh - find, or fetch, a kernel to run guests with; print its folder
#
# usage: [KERNEL=K] kernel.sh [--compiler|--source|--kept], where K is
#		SERIES[-rt|-cloud]|arm64|kasan|kcsan|uml|/FOLDER
#	 KERNEL_IMAGE=/FILE KDIR=/FOLDER kernel.sh [--compiler|--source]
#
# Without KERNEL it is the default kernel of this Debian release. A series, such
# as 6.1, 6.1-rt, 6.1-cloud, 6.12 or 7.2, is the newest Debian kernel of it, from this
# release or from another one. arm64 is this release's default kernel for such machines.
# kasan and kcsan are debug kernels of the default series, built here from Debian's
# source with the fragments in config/; so is uml, user-mode Linux, which has virtual time,
# and of which vmlinuz is a program. KERNEL_IMAGE and KDIR, without KERNEL, are any x86-64
# kernel (a bzImage) and its headers, or the tree that it was built in. A name that begins
# with a slash is a folder that somebody else has made. The folder is in the cache,
# otherwise, and holds
#
#	vmlinuz, config		the kernel
#	release			its name, as uname -r shows it
#	compiler		the Debian package of the compiler for its modules
#	headers			what modules are built against
#	busybox, gcc		arm64: for guests; a compiler for that kind of machine
#
# --compiler prints what that file says. --source prints the folder of its series'
# source, which is unpacked when it is first asked for: tests, lint and the debug
# kernels use it, a demo does not. --kept makes nothing: the exit status is 0 if it is there.
#
# Nothing is installed: packages are downloaded and unpacked in the cache.

. "$(dirname "$0")/common.sh"
. "$vm/apt.sh"

# A release of Debian has its own default.
default=default-$codename
name=${KERNEL:-$default}
link=$cache/kernel/$name
[[ "$name" != /* ]] || link=$name
[ "$name" != arm64 ] || link=$cache/kernel/arm64-$codename

# A kernel that the user names is one as long as neither of its files changes.
if [ -z "${KERNEL-}" ] && [ -n "${KERNEL_IMAGE-}" ]; then
	name=named
	[ -f "$KERNEL_IMAGE" ] || die "KERNEL_IMAGE: there is no file $KERNEL_IMAGE"
	[ -n "${KDIR-}" ] || die "KERNEL_IMAGE goes with KDIR, the headers of that kernel"
	[ -e "$KDIR/Makefile" ] || die "KDIR: no kernel headers in $KDIR"
	image=$(realpath "$KERNEL_IMAGE") headers=$(realpath "$KDIR")
	link=$cache/kernel/named-$(for file in "$image" "$headers"{,/include/generated/utsrelease.h}; do
		stat -c '%n %Y %i' "$file" 2>/dev/null || :
	done | sha256sum | cut -c1-12)
fi

# A debug kernel is named by its configuration too: when that changes, so it does.
case $name in
kasan|kcsan)
	fragments=("$vm/config/base.config" "$vm/config/$name.config")
	link+=-$(cat "${fragments[@]}" | sha256sum | cut -c1-12) ;;
uml)
	fragments=("$vm/config/uml.config")
	link+=-$(cat "${fragments[@]}" | sha256sum | cut -c1-12) ;;
esac

# Which releases of Debian have a series, the first that does to be taken.
suites() {
	case $1 in
	6.1)	echo bookworm ;;
	6.12)	echo bookworm-backports trixie ;;
	7.*)	echo trixie-backports sid ;;
	esac
}

# The packages that PACKAGE depends on, first alternatives only.
depends() {
	apt-cache "${apt[@]}" depends --important "$1" 2>/dev/null |
		sed -n 's/^ *|*Depends: *//p'
}

series() {
	grep -o '^[0-9]*\.[0-9]*' <<<"$1"
}

# The default kernel of a release is named by an empty package.
default_release() {
	local image

	image=$(depends "linux-image-$arch" | grep -m1 '^linux-image-[0-9]') || :
	echo "${image#linux-image-}"
}

# newest_release SERIES [-rt|-cloud] - of what the lists have, or nothing
newest_release() {
	apt-cache "${apt[@]}" search --names-only '^linux-headers-[0-9].*-amd64$' |
		sed -nE "s/^linux-headers-(${1//./\\.}\.[^ -]*(-[0-9]+)?${2-}-amd64) .*/\1/p" |
		sort -V | tail -n 1
}

# find_source SERIES - its package, or nothing
find_source() {
	apt-cache "${apt[@]}" search --names-only "^linux-source-${1//./\\.}\$"
}

# look_in_suites SERIES COMMAND... - set the lists with which it finds something: this
# machine's own, or those of another release
look_in_suites() {
	local series=$1 suite
	shift
	[ -z "$("$@")" ] || return 0
	for suite in $(suites "$series"); do
		use_suite "$suite"
		[ -z "$("$@")" ] || return 0
	done
	return 1
}

# Find $release for $name, and set the lists that have it.
find_release() {
	local series=${name%%-*} flavour=''

	[ "$arch" = amd64 ] || use_suite "$codename"
	release=$(default_release)
	[ -n "$release" ] || { update_lists; release=$(default_release); }
	[ -n "$release" ] || die "the package lists name no linux-image-$arch"
	case $name in
	"$default"|arm64) return 0 ;;
	esac

	[ "$series" = "$name" ] || flavour=-${name#*-}
	if look_in_suites "$series" newest_release "$series" "$flavour"; then
		release=$(newest_release "$series" "$flavour")
		return
	fi

	# Of the newest series some go before the next release of Debian comes.
	case $series in
	7.*)	release=$(newest_release '[0-9]+' "$flavour") ;;
	esac
	[ -n "$release" ] || die "KERNEL=$name is not to be had from Debian"
	say "Linux $series is gone: the newest that Debian has is $release"
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

# What headers of Debian's say that their kernel was built with
named_compiler() {
	sed -n 's/^CC = .*\(gcc-[0-9]*\)$/\1/p' "$1/.kernelvariables" 2>/dev/null || :
}

# Is the compiler that a kernel was built with to be had on this machine? An older
# one will do where it is not, without the options that it does not know.
choose_compiler() {
	local headers=$1 compiler

	compiler=$(named_compiler "$headers")
	if [ -z "$compiler" ]; then
		compiler=gcc
	elif [ -z "$(apt-cache show "$compiler" 2>/dev/null)" ]; then
		sed -i "s/$compiler\$/gcc/" "$headers/.kernelvariables"
		sed -i '/CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT/d' \
			"$headers/include/config/auto.conf" "$headers/include/generated/autoconf.h"
		compiler=gcc
	fi
	echo "$compiler"
}

# wrap_tools FOLDER - those of the build's tools that want a later C library than this
# machine has are run with their own, which will be in FOLDER
wrap_tools() {
	local tool lib

	find "$new/usr/lib" -type f -perm -1 | while read -r tool; do
		[[ "$(ldd "$tool" 2>&1)" = *GLIBC_*' not found'* ]] || continue
		if [ ! -d "$new/libc" ]; then
			download libc6 || die "cannot download libc6"
			dpkg -x "$tmp"/libc6_*.deb "$new/libc"
		fi
		lib=$1/libc/usr/lib/x86_64-linux-gnu
		mv "$tool" "$tool.bin"
		printf '%s\n' '#!/bin/sh' \
			"exec $lib/ld-linux-x86-64.so.2 --library-path $lib \"\$0.bin\" \"\$@\"" >"$tool"
		chmod +x "$tool"
	done
}

unpack() {
	local new=$tmp/new headers=usr/src/linux-headers-$release deb
	mkdir "$new"

	for deb in "$tmp"/linux-headers-*.deb "$tmp"/linux-kbuild-*.deb; do
		dpkg -x "$deb" "$new"
	done
	rewrite_paths "$1"
	wrap_tools "$1"
	ln -s "$headers" "$new/headers"
	choose_compiler "$new/$headers" >"$new/compiler"
	cp "$new/$headers/.config" "$new/config"

	# In /boot, or with the modules.
	for deb in "$tmp"/linux-image-*.deb "$tmp"/linux-binary-*.deb; do
		[ ! -e "$deb" ] || dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$tmp" --wildcards '*/vmlinuz*' 2>/dev/null || :
	done
	find "$tmp" -path "$new" -prune -o -name 'vmlinuz*' -exec mv {} "$new/vmlinuz" \;
	[ -s "$new/vmlinuz" ] || die "no vmlinuz in the packages of $release"
	echo "$release" >"$new/release"
	[ "$arch" = amd64 ] || unpack_foreign "$(named_compiler "$new/$headers")"
}

# unpack_foreign GCC - what a guest of another kind has, and the compiler for it, which cannot
# be installed beside gcc-multilib. It looks for all it needs by paths from where it is.
unpack_foreign() {
	local gcc=$1 deb lib

	download "$gcc-aarch64-linux-gnu:amd64" "${gcc/gcc/cpp}-aarch64-linux-gnu:amd64" \
		"lib$gcc-dev-arm64-cross"
	for deb in "$tmp"/{gcc,cpp,libgcc}-*.deb; do
		dpkg -x "$deb" "$new/gcc"
	done
	ln -s /usr/aarch64-linux-gnu "$new/gcc/usr/"
	ln -s "aarch64-linux-gnu-$gcc" "$new/gcc/usr/bin/aarch64-linux-gnu-gcc"
	echo binutils-aarch64-linux-gnu >"$new/compiler"

	for deb in "$tmp"/{busybox-static,liburing-dev}_*.deb; do
		dpkg -x "$deb" "$tmp/foreign"
	done
	lib=$new/gcc/usr/lib/gcc-cross/aarch64-linux-gnu/${gcc#gcc-}
	cp -r "$tmp"/foreign/usr/include/liburing* "$lib/include/"
	cp "$tmp"/foreign/usr/lib/*/liburing.a "$lib/"
	find "$tmp/foreign" -name busybox -type f -exec mv {} "$new/" \;
	[ -x "$new/busybox" ] || die "no busybox in the package busybox-static"
}

# A folder for what is not complete, on the file system where it will be kept.
make_tmp() {
	tmp=$(mktemp -d "$cache/kernel/tmp.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
}

# All or nothing: the folder appears under its name when it is complete.
publish() {
	[ -d "$cache/kernel/$release" ] || mv -T "$tmp/new" "$cache/kernel/$release"
	ln -s "$release" "$tmp/link"
	mv -T "$tmp/link" "$link"
}

fetch() {
	local packages

	command -v apt-get >/dev/null ||
		die "there is no apt to fetch Linux $name: name a kernel by KERNEL_IMAGE= and KDIR="
	make_tmp
	find_release
	if [ ! -d "$cache/kernel/$release" ]; then
		mapfile -t packages < <(depends "linux-headers-$release" |
			grep -E '^linux-(headers-.*-common|kbuild)'
			# Since 7.0 an image's own package is empty.
			depends "linux-image-$release" | grep '^linux-binary' ||
			echo "linux-image-$release")
		packages+=("linux-headers-$release")
		# The tools are to run here; they build modules for any kind of machine.
		[ "$arch" = amd64 ] || mapfile -t packages < <(printf '%s\n' "${packages[@]}" \
			busybox-static liburing-dev | sed 's/^linux-kbuild.*/&:amd64/')
		step "fetching Linux $release" "$tmp/log" download "${packages[@]}"
		step "unpacking it" "$tmp/log" unpack "$cache/kernel/$release"
	fi
	publish
}

# The source of a series, whole: $1, which is its folder from then on.
fetch_source() {
	local series=${1##*/}

	command -v apt-get >/dev/null ||
		die "there is no apt to fetch the source of Linux $series: set KSELFTEST to tools/testing/selftests of one"
	make_tmp
	[ -n "$(default_release)$(find_source "$series")" ] || update_lists
	look_in_suites "$series" find_source "$series" ||
		die "Debian has no linux-source-$series (any more)"
	step "fetching the source of Linux $series" "$tmp/log" download "linux-source-$series"
	step "unpacking it" "$tmp/log" unpack_source "$1"
}

unpack_source() {
	dpkg -x "$tmp"/linux-source-*.deb "$tmp/deb"
	mkdir "$tmp/source"
	tar -x -f "$tmp"/deb/usr/src/linux-source-*.tar.xz -C "$tmp/source" --strip-components=1
	mv -T "$tmp/source" "$1"
}

# What was asked for and not granted: a check that cannot fail is none.
dropped() {
	local line option value
	while read -r line; do
		option=${line%%=*} value=${line#*=}
		case $value in
		n)	! grep -q "^$option=" "$1" ;;
		*)	grep -qFx "$line" "$1" ;;
		esac || echo "$line"
	done < <(sed -n '/^CONFIG_/p' "${fragments[@]}")
}

# image_release FILE - what uname -r says when it runs: a bzImage points to its name
image_release() {
	local at
	[ "$(dd if="$1" bs=1 skip=514 count=4 2>/dev/null | tr -d '\0')" = HdrS ] || return 0
	at=$(od -An -tu2 -j 526 -N 2 "$1")
	dd if="$1" bs=1 skip=$((at + 512)) count=200 2>/dev/null | tr '\0' '\n' | sed -n '1s/ .*//p'
}

# A folder for the kernel that the user names
name_kernel() {
	local new release

	make_tmp
	new=$tmp/new release=$(image_release "$image")
	[ -n "$release" ] || die "KERNEL_IMAGE: $image is no bzImage of Linux"
	mkdir "$new"
	sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' "$headers/include/generated/utsrelease.h" \
		>"$new/release" 2>/dev/null ||
		die "KDIR: $headers is not prepared for modules: no include/generated/utsrelease.h"
	[ "$release" = "$(cat "$new/release")" ] ||
		die "KERNEL_IMAGE is Linux $release, but KDIR has headers of $(cat "$new/release")"
	[ -e "$headers/.config" ] || die "KDIR: there is no .config in $headers"
	ln -s "$image" "$new/vmlinuz"
	ln -s "$headers" "$new/headers"
	ln -s "$headers/.config" "$new/config"
	named_compiler "$headers" >"$new/compiler"
	[ -s "$new/compiler" ] || echo gcc >"$new/compiler"
	mv -T "$new" "$link"
}

# Build a debug kernel from the source of the default kernel's series.
build() {
	local plain source tree new flags missing image=arch/x86/boot/bzImage

	unset KERNEL_IMAGE KDIR
	"$vm/setup.sh" kernel
	plain=$(KERNEL='' "$vm/kernel.sh")
	source=$(KERNEL='' "$vm/kernel.sh" --source)
	make_tmp

	# The tree is not moved once something was built in it.
	tree=$cache/kernel/${link##*/}.build
	rm -rf "$tree"
	mkdir -p "$tree"
	cat "${fragments[@]}" >"$tmp/fragment"
	echo "CONFIG_LOCALVERSION=\"-$name\"" >>"$tmp/fragment"
	flags=(-C "$source" O="$tree" CC="$(cat "$plain/compiler")")
	[ "$name" != uml ] || { image=linux; flags+=(ARCH=um); }
	quiet "$build/log/kernel.$name" \
		make "${flags[@]}" KCONFIG_ALLCONFIG="$tmp/fragment" allnoconfig
	missing=$(dropped "$tree/.config")
	[ -z "$missing" ] ||
		die "Linux ${source##*/} does not grant the $name kernel ${missing//$'\n'/ }"
	step "building the $name kernel, Linux ${source##*/}" "$build/log/kernel.$name" \
		make "${flags[@]}" -j"$(nproc)" "${image##*/}" modules

	# Modules need the tree, but not what the kernel was linked from.
	new=$tmp/new
	mkdir "$new"
	cp "$tree/$image" "$new/vmlinuz"
	cp "$tree/.config" "$new/config"
	cp "$tree/include/config/kernel.release" "$new/release"
	cp "$plain/compiler" "$new/compiler"
	ln -s "../${tree##*/}" "$new/headers"
	find "$tree" -path "$tree/tools" -prune -o -path "$tree/scripts" -prune \
		-o \( -name '*.o' -o -name '*.a' -o -name 'vmlinux*' -o -name '.*.cmd' \) -type f -exec rm {} +
	release=$(cat "$new/release")-${link##*-}
	publish
}

[ "${1-}" != --kept ] || exec test -e "$link"

# unless_there PATH COMMAND... - one at a time: two that make the same would take it from
# under each other
unless_there() {
	local path=$1 lock
	shift
	[ ! -e "$path" ] || return 0
	mkdir -p "$cache/kernel" "$cache/source"
	exec {lock}>"$path.lock"
	flock "$lock"
	[ -e "$path" ] || "$@"
}

case $name in
kasan|kcsan|uml)	unless_there "$link" build ;;
named)			unless_there "$link" name_kernel ;;
*)			unless_there "$link" fetch ;;
esac
# The modules of a debug kernel are built in its tree, and that is nothing without the source.
source=$cache/source/$(series "$(cat "$link/release")")
case $name,${1-} in
kasan,*|kcsan,*|*,--source) unless_there "$source" fetch_source "$source" ;;
esac
case ${1-} in
"")		readlink -f "$link" ;;
--compiler)	cat "$link/compiler" ;;
--source)	echo "$source" ;;
*)		usage ;;
esac
