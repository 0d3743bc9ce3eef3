#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# setup.sh - install what the build, the guests and the checks need
#
# usage: setup.sh [build|guest|check|kernel|coverage|fuzz|bench|bare|deb|dist|lint|html|browser|
#		 languages|database|arm64]...
#
# Without a set: build guest check kernel fuzz lint. With KERNEL=arm64 in the environment guest
# includes arm64.
#
# A machine that has everything is left alone, and needs no network. Where there is no apt
# nothing is installed: what lacks is named, by command and header.

. "$(dirname "$0")/common.sh"

# The libraries of userspace/apps/reminder
databases='libsqlite3-dev libpq-dev'
# The event loops of userspace/examples/loops. Without them their examples are left out.
loops='liburing-dev libuv1-dev libevent-dev libglib2.0-dev libsystemd-dev libasio-dev'

packages() {
	case $1 in
	# objtool, which the kernel's headers bring along, links with libelf.
	build)	echo make gcc libc6-dev libelf-dev pkgconf ;;
	guest)	echo qemu-system-x86 busybox-static cpio wrk xz-utils ;;
	# Python, with pip's parts and mypy: the package in userspace/python.
	check)	echo abigail-tools g++ gcc-multilib musl-tools clang tzdata patch rsync perl zsh "$loops" \
			python3 python3-pip python3-setuptools python3-wheel mypy ;;
	# To build kernels: debug ones, that Debian does not have.
	kernel)	echo flex bison bc ;;
	coverage) echo perl ;;
	fuzz)	echo clang afl++ ;;
	# The peers that are measured, and what makes pages of figures.
	bench)	echo liburing-dev libuv1-dev libevent-dev gnuplot-nox perl ;;
	bare)	echo debootstrap e2fsprogs git ;;
	deb)	echo build-essential debhelper dh-dkms fakeroot lintian pkgconf ;;
	dist)	echo gcc git gnupg libc6-dev make rpm rpmlint ;;
	# The toolchains of Documentation/languages.md. They are large, and nothing else needs
	# them: suite languages skips those that are missing. Another nodejs than Debian's brings
	# the headers itself.
	languages) echo golang-go rustc cargo nodejs node-typescript default-jdk-headless \
			libnetty-java junit4
		[ -e /usr/include/node/node_api.h ] || echo libnode-dev ;;
	# What the application reminder is built and tested with. Without them suite reminder skips it.
	database) echo "$databases" postgresql python3 ;;
	# mandoc reads manual pages as they are, and says what is wrong with them.
	lint)	echo perl patch git sparse shellcheck clang g++ gcc-multilib mandoc "$loops" \
			"$databases" ;;
	# Sphinx makes the site, MyST has it read Markdown, and furo is what it looks like.
	html)	echo perl mandoc python3-sphinx python3-myst-parser furo ;;
	# A browser in which the site is looked at, and what drives it
	browser) echo chromium chromium-driver python3-selenium ;;
	# For guests that are arm64 machines. The compiler comes with their kernel: see kernel.sh.
	arm64)	echo binutils-aarch64-linux-gnu libc6-dev-arm64-cross libgcc-s1-arm64-cross \
		qemu-system-arm ;;
	*)	die "unknown set: $1 (build, guest, check, kernel, coverage, fuzz, bench, bare, deb, dist, lint, html," \
			"browser, languages, database, arm64)" ;;
	esac
}

# The same where there are no Debian packages: commands, and headers
commands() {
	case $1 in
	build)	echo make gcc stdio.h ;;
	guest)	echo qemu-system-x86_64 busybox cpio ;;
	check)	echo abidiff g++ clang liburing.h patch rsync perl zsh ;;
	kernel)	echo flex bison bc libelf.h ;;
	coverage) echo perl ;;
	fuzz)	echo clang afl-fuzz ;;
	bench)	echo liburing.h uv.h event2/event.h gnuplot perl ;;
	dist)	echo gcc git gpg make rpmbuild rpmlint ;;
	html)	echo perl mandoc sphinx-build ;;
	# Where there is none the site is not looked at.
	browser) ;;
	lint)	echo perl patch git sparse shellcheck clang g++ liburing.h uv.h event2/event.h sqlite3.h ;;
	*)	die "$1 takes a Debian system: there is no apt here" ;;
	esac
}

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
		all+=" $(commands "$set")"
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
	local set all=()

	[ $# -gt 0 ] || set -- build guest check kernel fuzz lint
	case "$arch, $* " in
	arm64,*" guest "*) set -- "$@" arm64 ;;
	esac
	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
		look_for "$@"
		return
	fi

	for set; do
		# shellcheck disable=SC2207 # package names hold no blanks
		all+=($(packages "$set"))
	done
	install "${all[@]}"

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
