#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh - build what user-mode Linux is given: the module, and what a suite has for it
#
# usage: build.sh [time|bench]
#
#	time	the programs of this folder
#	bench	peers.ko; its programs are those of guests
#
# Prints nothing unless something fails.

. "$(dirname "$0")/../vm/common.sh"

kernel=$(KERNEL=uml "$vm/kernel.sh")
headers=$kernel/headers
unset MAKEFLAGS MFLAGS VARIANT

quiet "$build/log/module.uml" \
	make -j"$(nproc)" -C "$top" modules ARCH=um KDIR="$headers"

case ${1-time} in
time)	quiet "$build/log/time" \
		make -C "$top/selftests/time" OUTPUT="$build/selftests/time" FORCE_TARGETS=1 \
		KSELFTEST="$(KERNEL=uml "$vm/kernel.sh" --source)/tools/testing/selftests" ;;
bench)	mkdir -p "$build/selftests/bench/kernel"
	cp -sf "$top"/selftests/bench/kernel/* "$build/selftests/bench/kernel"
	quiet "$build/log/kernel.uml" \
		make -C "$headers" ARCH=um M="$build/selftests/bench/kernel" modules ;;
*)	usage ;;
esac
