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
quiet "$build/log/selftests" \
	make "$jobs" -C "$top/selftests" all KSELFTEST="$kernel/source/tools/testing/selftests"

# A module that misbehaves, to see that the harness notices.
mkdir -p "$build/splat"
cp -sf "$vm"/splat/* "$build/splat"
quiet "$build/log/splat" \
	make "$jobs" -C "$kernel/headers" M="$build/splat" modules
