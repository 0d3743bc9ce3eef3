#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh - build what user-mode Linux is given: the module, and what a suite has for it
#
# usage: build.sh [time|bench]
#
#	time	absence.ko and the programs of this folder
#	bench	peers.ko; its programs are those of guests
#
# Prints nothing unless something fails.

. "$(dirname "$0")/../vm/common.sh"

kernel=$(KERNEL=uml "$vm/kernel.sh")
headers=$kernel/headers
unset MAKEFLAGS MFLAGS VARIANT

# build_module FOLDER - a module of the tests, in build/selftests/FOLDER
build_module() {
	mkdir -p "$build/selftests/$1"
	cp -sf "$top/selftests/$1"/* "$build/selftests/$1"
	quiet "$build/log/${1##*/}.uml" \
		make -C "$headers" ARCH=um M="$build/selftests/$1" modules
}

quiet "$build/log/module.uml" \
	make -j"$(nproc)" -C "$top" modules ARCH=um KDIR="$headers"

case ${1-time} in
time)	build_module time/absence
	quiet "$build/log/time" \
		make -C "$top/selftests/time" OUTPUT="$build/selftests/time" FORCE_TARGETS=1 \
		KSELFTEST="$(KERNEL=uml "$vm/kernel.sh" --source)/tools/testing/selftests" ;;
bench)	build_module bench/kernel ;;
*)	usage ;;
esac
