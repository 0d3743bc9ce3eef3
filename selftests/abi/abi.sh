#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# abi.sh - can programs that were linked with the last release use this library? (TAP)
#
# usage: abi.sh [keep]
#
# abidiff compares libtwheel.so with libtwheel.abi, where abidw has written down the library
# of the last release: functions and their versions, and the types of all that they take,
# down to the offset of each member. A symbols file would be smaller, but has names only.
# What is new is no failure. The checks are then tried with libraries that were broken.
#
# keep writes libtwheel.abi of the library as it is now: for a release. See
# Documentation/releasing.md.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=${here%/selftests/abi}
kept=$here/libtwheel.abi
types=(--drop-private-types --exported-interfaces-only)

# build TREE - its library, with debug information for abidw
build() {
	env -u MAKEFLAGS -u MFLAGS make -s -C "$1/userspace" O="$1/build" CFLAGS='-O2 -g' \
		"$1/build/lib/libtwheel.so"
}

# compare TREE - say what its library takes away or changes, and fail if that is anything
compare() {
	abidiff "${types[@]}" --no-added-syms --harmless \
		--headers-dir2 "$1/userspace/include" --headers-dir2 "$1/uapi" \
		"$kept" "$1/build/lib/libtwheel.so"
}

# copy NAME - a copy of what the library is made of, to be broken
copy() {
	mkdir -p "$tmp/$1/userspace"
	cp -r "$top"/userspace/{Makefile,include,lib,shim} "$tmp/$1/userspace"
	cp -r "$top"/{VERSION,uapi,module} "$tmp/$1"
}

# noticed NAME SAID EXPRESSION FILE... - is a library noticed that sed has broken like this?
# An expression that changes none of the files is a failure.
noticed() {
	local name=$1 said=$2 expression=$3 status=0
	shift 3
	copy broken
	(cd "$tmp/broken" && sed -i "$expression" "$@")
	if (cd "$tmp/broken" && cat "$@") | cmp -s - <(cd "$top" && cat "$@"); then
		echo "$expression changes nothing in $*" >"$tmp/out"
		status=1
	else
		build "$tmp/broken" >"$tmp/out" 2>&1 || status=1
	fi
	if [ "$status" = 0 ]; then
		compare "$tmp/broken" >"$tmp/out" 2>&1 && status=1
		grep -q "$said" "$tmp/out" || status=1
	fi
	result $status "noticed: $name"
	rm -rf "$tmp/broken"
}

if [ "${1-}" = keep ]; then
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	copy kept
	build "$tmp/kept"
	abidw "${types[@]}" --headers-dir "$tmp/kept/userspace/include" \
		--headers-dir "$tmp/kept/uapi" --no-corpus-path --no-comp-dir-path \
		"$tmp/kept/build/lib/libtwheel.so" |
		sed "s#$tmp/kept/userspace/\.\./##; s#$tmp/kept/##" >"$kept"
	exit
fi

. "$here/../tap.sh"
# shellcheck disable=SC2034 # of tap.sh
command -v abidiff >/dev/null || skip_all "there is no abidiff (Debian: abigail-tools)"
copy now
try "the library is built" build "$tmp/now"
try "it has what the last release had, and all of it is the same" compare "$tmp/now"

map=userspace/lib/libtwheel.map
noticed "a function that is gone" '1 Removed function:' '/twheel_now;/d' $map
noticed "a function that has moved to another version" 'twheel_now@' \
	'/twheel_now;/d; s/^};/&\nLIBTWHEEL_99 { global: twheel_now; } LIBTWHEEL_0.4;/' $map
noticed "another type of an argument" "parameter 2 of type 'typedef uint64_t' changed" \
	's/twheel_cancel(struct twheel \*tw, uint64_t handle/twheel_cancel(struct twheel *tw, uint32_t handle/' \
	userspace/include/twheel.h userspace/lib/*.c
# Compiling it would notice that, too.
noticed "a member of a struct that has moved" "struct twheel_event' changed" \
	'/^struct twheel_event {/,/^}/ { /__u64 handle;/d; s/^}/\t__u64 handle;\n}/ }
	/^static_assert.*twheel_event/d' uapi/linux/twheel.h module/core/ioctl.c

copy more
try "a library with a new function" sh -c "cd '$tmp/more' &&
	echo 'int twheel_more(void) { return 0; }' >>userspace/lib/event.c &&
	sed -i 's/-fvisibility=hidden//' userspace/Makefile &&
	echo 'LIBTWHEEL_99 { global: twheel_more; } LIBTWHEEL_0.4;' >>userspace/lib/libtwheel.map"
try "is built" build "$tmp/more"
try "and is compatible" compare "$tmp/more"
finish
