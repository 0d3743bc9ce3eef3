#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh - build the module, absence.ko and the programs for user-mode Linux
#
# Prints nothing unless something fails.

. "$(dirname "$0")/../vm/common.sh"

kernel=$(KERNEL=uml "$vm/kernel.sh")
headers=$kernel/headers
unset MAKEFLAGS MFLAGS VARIANT

quiet "$build/log/module.uml" \
	make -j"$(nproc)" -C "$top" modules ARCH=um KDIR="$headers"

mkdir -p "$build/selftests/time/absence"
cp -sf "$top"/selftests/time/absence/* "$build/selftests/time/absence"
quiet "$build/log/absence" \
	make -C "$headers" ARCH=um M="$build/selftests/time/absence" modules

quiet "$build/log/time" \
	make -C "$top/selftests/time" OUTPUT="$build/selftests/time" FORCE_TARGETS=1 \
		KSELFTEST="$(KERNEL=uml "$vm/kernel.sh" --source)/tools/testing/selftests"
