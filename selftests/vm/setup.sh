#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# setup.sh - install what the build, the guests and the checks need
#
# usage: setup.sh [build|guest|check|kernel|coverage|fuzz|bench|bare|deb|dist|lint]...
#
# Without a set: build guest check kernel fuzz lint.
#
# A machine that has everything is left alone, and needs no network.

. "$(dirname "$0")/common.sh"

# The event loops of userspace/examples/loops. Without them their examples are left out.
loops='liburing-dev libuv1-dev libevent-dev libglib2.0-dev libsystemd-dev'

packages() {
	case $1 in
	# objtool, which the kernel's headers bring along, links with libelf.
	build)	echo make gcc libc6-dev libelf-dev pkgconf ;;
	guest)	echo qemu-system-x86 busybox-static cpio wrk xz-utils ;;
	check)	echo abigail-tools g++ gcc-multilib clang tzdata patch rsync perl zsh "$loops" ;;
	# To build kernels: debug ones, that Debian does not have.
	kernel)	echo flex bison bc ;;
	coverage) echo perl ;;
	fuzz)	echo clang afl++ ;;
	# The peers that are measured, and what makes pages of figures.
	bench)	echo liburing-dev libuv1-dev libevent-dev gnuplot-nox perl ;;
	bare)	echo debootstrap e2fsprogs git ;;
	deb)	echo build-essential debhelper dh-dkms fakeroot lintian pkgconf ;;
	dist)	echo gcc git gnupg libc6-dev make rpm rpmlint ;;
	lint)	echo perl patch sparse shellcheck clang g++ gcc-multilib "$loops" ;;
	*)	die "unknown set: $1 (build, guest, check, kernel, coverage, fuzz, bench, bare, deb, dist, lint)" ;;
	esac
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
	command -v dpkg-query apt-get >/dev/null ||
		die "this is no Debian system; install by hand: $(for set; do packages "$set"; done | xargs)"

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
