#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh - build what a guest is given
#
# usage: build.sh [module|userspace|tests]...	(all of them by default)
#
# The logs are in build/log, for arm64 in build/arm64/log. With BENCH=1 in the environment the
# tests include what only `make bench` needs, and what setup.sh installs as `bench`. KSELFTEST
# is the folder of the kernel's own selftests, if it is not to be fetched.

. "$(dirname "$0")/common.sh"

kernel=$("$vm/kernel.sh")
jobs=-j$(nproc)

# Programs are built by a compiler for the guest's machine. What lacks a library there is left
# out, and so are tests that are for this kind of machine.
cc=() cross=() tests=(all FORCE_TARGETS=1)
if [ "$arch" = arm64 ]; then
	cc=(CC=aarch64-linux-gnu-gcc) cross=(CROSS_COMPILE=aarch64-linux-gnu-)
	tests=(uapi stress lib hostile readme tool examples deploy torture)
	PATH=$kernel/gcc/usr/bin:$PATH
fi

# The variables of this make are not for those that it starts.
unset MAKEFLAGS MFLAGS

build_module() {
	quiet "$build/log/module" \
		make "$jobs" -C "$top" modules KDIR="$kernel/headers" products="$build" "${cross[@]}"
}

build_userspace() {
	quiet "$build/log/userspace" \
		make "$jobs" -C "$top/userspace" O="$build/guest" STATIC=1 "${cc[@]}"
}

# The tests are built with the harness of the kernel they run on. Kernels of one
# series share it, and the programs.
build_tests() {
	local harness made_of splat

	harness=${KSELFTEST:-$("$vm/kernel.sh" --source)/tools/testing/selftests}
	# A program whose source is gone would be run all the same.
	made_of=$( { cat "$harness/kselftest_harness.h"
		find "$top/selftests" -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' | sort; } | cksum)
	if [ "$made_of" != "$(cat "$build/selftests/made-of" 2>/dev/null)" ]; then
		rm -rf "$build/selftests"
		mkdir -p "$build/selftests"
		echo "$made_of" >"$build/selftests/made-of"
	fi
	quiet "$build/log/selftests" \
		make "$jobs" -C "$top/selftests" "${tests[@]}" KSELFTEST="$harness" \
		OUTPUT="$build/selftests" PROGRAMS="$build/guest" LIB="$build/guest/lib" "${cross[@]}"

	# A module that misbehaves, to see that the harness notices.
	splat=$build/splat/$(cat "$kernel/release")
	mkdir -p "$splat"
	cp -sf "$vm"/splat/* "$splat"
	quiet "$build/log/splat" \
		make "$jobs" -C "$kernel/headers" M="$splat" modules "${cross[@]}"
}

[ $# -gt 0 ] || set -- module userspace tests
for part; do
	case $part in
	module|userspace|tests) ;;
	*) die "nothing is called $part here: module, userspace, tests" ;;
	esac
done

# One at a time: suites that run side by side build, too.
mkdir -p "$build"
exec {lock}>"$build/lock"
flock "$lock"
begun=$SECONDS
for part; do
	"build_$part"
done
say "building the $* for Linux $(cat "$kernel/release"): $((SECONDS - begun)) s"
