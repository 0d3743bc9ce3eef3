#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh - build all that a guest is given: module, programs, tests
#
# Says nothing unless something fails. The logs are in build/log.

. "$(dirname "$0")/common.sh"

kernel=$("$vm/kernel.sh")
jobs=-j$(nproc)

# The variables of this make are not for those that it starts.
unset MAKEFLAGS MFLAGS

quiet "$build/log/module" \
	make "$jobs" -C "$top" modules KDIR="$kernel/headers"
quiet "$build/log/userspace" \
	make "$jobs" -C "$top/userspace" O="$build/guest" STATIC=1

# The tests are built with the harness of the kernel they run on. Kernels of one
# series share it, and the programs.
harness=$("$vm/kernel.sh" --source)/tools/testing/selftests
if ! cmp -s "$harness/kselftest_harness.h" "$build/selftests/harness"; then
	rm -rf "$build/selftests"
	mkdir -p "$build/selftests"
	cp "$harness/kselftest_harness.h" "$build/selftests/harness"
fi
quiet "$build/log/selftests" \
	make "$jobs" -C "$top/selftests" all KSELFTEST="$harness"

# A module that misbehaves, to see that the harness notices.
splat=$build/splat/$(cat "$kernel/release")
mkdir -p "$splat"
cp -sf "$vm"/splat/* "$splat"
quiet "$build/log/splat" \
	make "$jobs" -C "$kernel/headers" M="$splat" modules
