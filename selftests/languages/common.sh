# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # variables are for those who include it
#
# common.sh - what the tests of languages share: the library, installed below $root, and where
# compilers and programs find it. They run on the wheel in the process. Includes ../tap.sh.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=${here%/selftests/languages}
examples=$top/userspace/examples/languages
# Programs that measure; they are tried here.
costs=$top/selftests/bench/languages
# Debian's packages are for Debian's Python.
python=${PYTHON:-/usr/bin/python3}
[ -x "$python" ] || python=python3

. "$here/../tap.sh"
. "$here/results.sh"

root=$tmp/root
export PKG_CONFIG_PATH=$root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
export LD_LIBRARY_PATH=$root/usr/lib TWHEEL_BACKEND=embedded
# The packages are for Debian's compilers, which are taken also where others come first.
PATH=/usr/bin:$PATH
export CARGO_NET_OFFLINE=true
# Of Go: no network, and what it has compiled of its own library is kept.
export GOCACHE=$top/build/languages/go GOPROXY=off GOTOOLCHAIN=local GOFLAGS=-mod=mod
# Nothing is left in the tree.
export PYTHONDONTWRITEBYTECODE=1

# What build.sh has built already, or other suites build now
install_library() {
	mkdir -p "$top/build" &&
		env -u MAKEFLAGS -u MFLAGS flock -o "$top/build/lock" make -s -C "$top/userspace" \
			O="$top/build/guest" STATIC=1 DESTDIR="$root" prefix=/usr libdir=/usr/lib \
			install >"$tmp/out" 2>&1
}

# has COMMAND... - is there such a command, or can it do that?
has() {
	command -v "$1" >/dev/null && "$@" >/dev/null 2>&1 </dev/null
}

# measured - after run: has it ended well, with figures of arm, push back and cancel?
measured() {
	[ "$status" = 0 ] && [ "$(grep -cE '^(arm|push back|cancel)	100	[0-9]+	[0-9]+' "$tmp/out")" = 3 ]
}

# begin_package LANGUAGE - find its package, and what that takes; or skip all where that is not there
begin_package() {
	local missing
	package=$top/userspace/$1
	missing=$(make -s -C "$package" missing)
	[ ! "$missing" ] || skip_all "$missing"
	install_library || { cat "$tmp/out" >&2; exit 1; }
}
