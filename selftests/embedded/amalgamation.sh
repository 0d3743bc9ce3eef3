#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# amalgamation.sh - the library as one file: does it build everywhere, and do what the files do? (TAP)
#
# `make check AMALGAMATION=yes` runs all tests of this folder on it, and this a few of them.

# shellcheck source=../tap.sh
. "$(dirname "$0")/../tap.sh"

here=$(cd "$(dirname "$0")" && pwd)
top=$(realpath "$here/../..")
one=$tmp/one
strict=(-Wall -Wextra -Wpedantic -Wpointer-arith -Werror)

"$top/packaging/amalgamation.pl" "$one" || exit
try "it is the same when it is made again, elsewhere" \
	sh -c "cd / && '$top/packaging/amalgamation.pl' '$tmp/two' && diff -r '$one' '$tmp/two'"

# A program of each language among these files, with which the header has to do by itself
cat >"$one/program.c" <<'END'
#include "twheel.h"

int main(void)
{
	struct twheel_event event;
	struct twheel *tw;

	if (twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED, NULL) ||
	    twheel_arm_after(tw, 1000, 7, NULL) || twheel_read(tw, &event, 1) != 1)
		return 1;
	twheel_close(tw);
	return event.user_data != 7 || twheel_version() != TWHEEL_VERSION_NUMBER;
}
END
cat >"$one/program.cc" <<'END'
#include <stdexcept>

#include "twheel.hpp"

int main()
{
	using namespace std::chrono_literals;
	tw::options options;

	options.embedded = true;
	tw::context wheel(options);
	tw::timer timer(wheel, [](const tw::event &) { throw std::runtime_error("on purpose"); });

	timer.start(1ms);
	try {
		wheel.dispatch();
	} catch (const std::runtime_error &) {
		return 0;
	}
	return 1;
}
END

# builds COMPILER OPTIONS... - compile both as separate files
builds() {
	"$@" "${strict[@]}" -O1 -c -o "$tmp/twheel.o" "$one/twheel.c" &&
		"$@" "${strict[@]}" -pthread -o "$tmp/program" "$one/program.c" "$tmp/twheel.o"
}

# takes NAME PACKAGE COMPILER OPTIONS... - as builds, and run the program if this machine can
takes() {
	local name=$1 package=$2
	shift 2
	if ! echo 'int main(void) { return 0; }' |
	     "$@" -include stdio.h -o "$tmp/empty" -x c - 2>/dev/null; then
		skip "$name builds it" "there is none (Debian: $package)"
		return
	fi
	try "$name builds it" builds "$@"
	if "$tmp/empty" 2>/dev/null; then
		try "and a program runs with it" timeout 60 "$tmp/program"
	else
		skip "and a program runs with it" "this kernel runs no programs of 32 bits"
	fi
}

# Debian's compiler for musl knows no headers of the kernel.
mkdir "$tmp/headers"
ln -s /usr/include/linux /usr/include/asm-generic "$tmp/headers"
ln -s "/usr/include/$(gcc -print-multiarch)/asm" "$tmp/headers"

takes gcc gcc gcc -std=gnu11
takes clang clang clang
takes musl-gcc musl-tools musl-gcc -idirafter "$tmp/headers"
takes "gcc -m32" gcc-multilib gcc -m32
takes "clang -m32 with -latomic" gcc-multilib clang -m32 -Wl,--no-as-needed -latomic \
	-Wno-atomic-alignment -Wno-unused-command-line-argument

throws() {
	gcc "${strict[@]}" -O2 -fexceptions -c -o "$tmp/twheel.o" "$one/twheel.c" &&
		g++ -std=c++17 "${strict[@]}" -pthread -o "$tmp/program" "$one/program.cc" \
			"$tmp/twheel.o" && timeout 60 "$tmp/program"
}
if command -v g++ >/dev/null; then
	try "a program in C++ whose function throws" throws
else
	skip "a program in C++ whose function throws" "there is no compiler for C++ (Debian: g++)"
fi

# All that the linker sees are the functions of the library's map, or nothing.
grep -o 'twheel_[a-z_]*;' "$top/userspace/lib/libtwheel.map" | tr -d ';' | sort -u >"$tmp/exported"
symbols() {
	gcc -c -o "$tmp/twheel.o" "$one/twheel.c" &&
		nm -g --defined-only "$tmp/twheel.o" | awk '{ print $3 }' | sort >"$tmp/global" &&
		diff "$tmp/exported" "$tmp/global"
}
try "its symbols are those of the library" symbols
hidden() {
	gcc -shared -fPIC -fvisibility=hidden -DTWHEEL_API= -o "$tmp/hidden.so" "$one/twheel.c" &&
		nm -D --defined-only "$tmp/hidden.so" >"$tmp/global" && diff /dev/null "$tmp/global"
}
try "a shared object can keep them to itself" hidden
try "it says under which licence it is" sh -c "head -n 1 '$one/twheel.c' '$one/twheel.h' |
	grep -c 'SPDX-License-Identifier: GPL-2.0-only OR MIT' | grep -x 2 &&
	grep -q 'Permission is hereby granted' '$one/twheel.c' && ! grep -n '[0-9]-only' '$one'/*.[ch] | grep -v ':[12]:'"

O=$tmp/tests
try "tests of the library pass with it" \
	make -s -C "$here" O="$O" AMALGAMATION=yes CHECK= VARIANT= TESTS="open now uapi-keyed" check
finish
