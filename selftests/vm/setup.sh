#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# setup.sh - install what the build, the guests and the checks need
#
# usage: setup.sh [build|guest|check|kernel|coverage|bench|bare|deb|dist|lint|html|browser|
#		 languages|database|arm64]...
#
# Without a set: build guest check kernel lint. With KERNEL=arm64 in the environment guest
# includes arm64.
#
# A machine that has everything is left alone, and needs no network. Where there is no apt
# nothing is installed: what lacks is named, by command and header.

. "$(dirname "$0")/common.sh"

# set_of NAME PACKAGES COMMANDS - one of the sets: its Debian packages, and the same where there are
# none: commands, and headers. Without the latter it takes a Debian system.
declare -A packages=() commands=()
set_of() {
	packages[$1]=$2 commands[$1]=${3-}
}

# The libraries of userspace/apps/reminder
databases='libsqlite3-dev libpq-dev'
# The event loops of userspace/examples/loops. Without them their examples are left out.
loops='liburing-dev libuv1-dev libevent-dev libglib2.0-dev libsystemd-dev libasio-dev'

# objtool, which the kernel's headers bring along, links with libelf.
set_of build 'make gcc libc6-dev libelf-dev pkgconf' 'make gcc stdio.h'
set_of guest 'qemu-system-x86 busybox-static cpio wrk xz-utils' 'qemu-system-x86_64 busybox cpio'
# Python, with pip's parts and mypy: the package in userspace/python.
set_of check "abigail-tools g++ gcc-multilib musl-tools clang tzdata patch rsync perl zsh $loops
	python3 python3-pip python3-setuptools python3-wheel mypy" \
	'abidiff g++ clang liburing.h patch rsync perl zsh'
# To build kernels: debug ones, that Debian does not have.
set_of kernel 'flex bison bc' 'flex bison bc libelf.h'
set_of coverage perl perl
# The peers that are measured, and what makes pages of figures.
set_of bench 'liburing-dev libuv1-dev libevent-dev gnuplot-nox perl' \
	'liburing.h uv.h event2/event.h gnuplot perl'
set_of bare 'debootstrap e2fsprogs git'
set_of deb 'build-essential debhelper dh-dkms fakeroot lintian pkgconf'
set_of dist 'gcc git gnupg libc6-dev make rpm rpmlint' 'gcc git gpg make rpmbuild rpmlint'
# The toolchains of Documentation/languages.md. They are large, and nothing else needs them: suite
# languages skips those that are missing. Another nodejs than Debian's brings the headers itself.
set_of languages "golang-go rustc cargo nodejs node-typescript default-jdk-headless libnetty-java
	junit4 python3-uvloop $([ -e /usr/include/node/node_api.h ] || echo libnode-dev)"
# What the application reminder is built and tested with. Without them suite reminder skips it.
set_of database "$databases postgresql python3"
# mandoc reads manual pages as they are, and says what is wrong with them.
set_of lint "perl patch git sparse shellcheck clang g++ gcc-multilib mandoc $loops $databases" \
	'perl patch git sparse shellcheck clang g++ liburing.h uv.h event2/event.h sqlite3.h'
# Sphinx makes the site, MyST has it read Markdown, and furo is what it looks like.
set_of html 'perl mandoc python3-sphinx python3-myst-parser furo' 'perl mandoc sphinx-build'
# A browser in which the site is looked at, and what drives it. Where there is none it is not.
set_of browser 'chromium chromium-driver python3-selenium' ' '
# For guests that are arm64 machines. The compiler comes with their kernel: see kernel.sh.
set_of arm64 'binutils-aarch64-linux-gnu libc6-dev-arm64-cross libgcc-s1-arm64-cross
	qemu-system-arm'

# is_there COMMAND|HEADER
is_there() {
	case $1 in
	*.h)	gcc -include "$1" -E -x c /dev/null >/dev/null 2>&1 ;;
	*)	command -v "$1" >/dev/null ;;
	esac
}

look_for() {
	local set what all='' missing=''

	for set; do
		[ -n "${commands[$set]}" ] || die "$set takes a Debian system: there is no apt here"
		all+=" ${commands[$set]}"
	done
	# shellcheck disable=SC2086 # words, each of them once
	for what in $(printf '%s\n' $all | sort -u); do
		is_there "$what" || missing+=" $what"
	done
	[ -z "$missing" ] ||
		die "not found:$missing. There is no apt here, so install what has them, and try again"
}

# clang's sanitizer and fuzzer runtimes are a package named by its version.
clang_runtime() {
	local version
	version=$(clang -dumpversion | cut -d. -f1)
	echo "libclang-rt-$version-dev"
}

installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install() {
	local p missing=()

	for p; do
		[[ " ${missing[*]-} " = *" $p "* ]] || installed "$p" ||
			missing+=("$p")
	done
	[ ${#missing[@]} = 0 ] && return

	step "updating the package lists" "$log" as_root apt-get -q update
	# Another program may be installing something at the moment.
	step "installing ${missing[*]}" "$log" as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qy -o DPkg::Lock::Timeout=600 --no-install-recommends install "${missing[@]}"
}

main() {
	local set all=''

	[ $# -gt 0 ] || set -- build guest check kernel lint
	case "$arch, $* " in
	arm64,*" guest "*) set -- "$@" arm64 ;;
	esac
	for set; do
		[ -n "${packages[$set]-}" ] || die "unknown set: $set (${!packages[*]})"
	done
	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
		look_for "$@"
		return
	fi

	for set; do
		all+=" ${packages[$set]}"
	done
	# shellcheck disable=SC2086 # names hold no blanks
	install $all

	case " $* " in
	*" check "*|*" fuzz "*) install "$(clang_runtime)" ;;
	esac

	# The compiler that a kernel was built with is named by its headers.
	case " $* " in
	*" guest "*|*" check "*|*" lint "*)
		install "$("$vm/kernel.sh" --compiler)" ;;
	esac
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
main "$@"
