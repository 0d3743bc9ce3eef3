#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# musl.sh - the library, the tool and the examples with a C library that is not glibc (TAP)
#
# Debian's compiler for musl (musl-tools) knows no headers of the kernel, so it is told where those
# are.

# shellcheck source=../tap.sh
. "$(dirname "$0")/../tap.sh"

top=$(realpath "$(dirname "$0")/../..")
build=$tmp/build

command -v musl-gcc >/dev/null || skip_all "there is no musl-gcc (Debian: musl-tools)"

mkdir "$tmp/headers"
ln -s /usr/include/linux /usr/include/asm-generic "$tmp/headers"
ln -s "/usr/include/$(gcc -print-multiarch)/asm" "$tmp/headers"
printf '#!/bin/sh\nexec musl-gcc -idirafter %s "$@"\n' "$tmp/headers" >"$tmp/cc"
chmod +x "$tmp/cc"

builds() {
	make -s -C "$top/userspace" O="$build" CC="$tmp/cc" CFLAGS='-O1 -Werror' >"$tmp/out" 2>&1
}

# The example keeps a table of keys, whose entries end one after another.
runs() {
	TWHEEL_BACKEND=embedded timeout 60 "$build/bin/$1" >"$tmp/out" 2>&1
}

check "all of userspace builds" builds
check "the tool tells its version" "$build/bin/twheel" --version
check "keyed timers" runs keyed
check "leases" runs lease
finish
