#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kselftest.sh - are the tests a kselftest? (KTAP)
#
# usage: kselftest.sh own|tree
#
# By themselves, or in a kernel's tree. All are built and installed, and some of them are
# run in a guest, by its run_kselftest.sh: that all pass is for other suites to tell.

. "$(dirname "$0")/../vm/common.sh"
. "$top/selftests/tap.sh"

unset MAKEFLAGS MFLAGS

own=$tmp/own/kselftest tree=$tmp/linux out=$tmp/objects
source=$(KERNEL='' "$vm/kernel.sh" --source)
selftests=(make -j"$(nproc)" -C "$tree/tools/testing/selftests" TARGETS=twheel FORCE_TARGETS=1)
chosen=(uapi:abi32 uapi:lease uapi:stats uapi:uring hostile:forge stress:hotplug)
run_chosen="./run_kselftest.sh ${chosen[*]/#/-t twheel/}"
# Where much takes root, or a right. The script opens /dev/stdout, which has to be the user's.
forbidden=(uapi:limits uapi:stats uapi:timens hostile:memory hostile:stall stress:hotplug)
run_forbidden="{ ./run_kselftest.sh ${forbidden[*]/#/-t twheel/}; twheel/uapi/clocks; } | cat"

# What each test of a list is called, and what there is.
list_is_whole() {
	diff <(sort "$1/kselftest-list.txt") \
		<(cd "$1" && find twheel -mindepth 2 -type f -perm -1 ! -name '*.elf' |
			grep -vE '^twheel/(bin/|readme/[^.]*$)|/(cancel_on_set|clocks|order|suspend|neighbours)$' |
			sed 's|/\([^/]*\)$|:\1|' | sort)
}

# all_skipped COMMAND... - it prints TAP, and all but what needs no device is skipped
all_skipped() {
	"$@" >"$tmp/tap" || return
	cat "$tmp/tap"
	grep -q '^ok .*# SKIP' "$tmp/tap" && ! grep -q '^not ok' "$tmp/tap" &&
		! grep '^ok' "$tmp/tap" | grep -v -e '# SKIP' -e 'twheel/lib: units$'
}

# all_chosen_pass COMMAND... - it prints TAP, and all that was chosen has passed
all_chosen_pass() {
	"$@" >"$tmp/tap" || return
	cat "$tmp/tap"
	! grep -q '^not ok' "$tmp/tap" &&
		[ "$(grep '^ok' "$tmp/tap" | grep -vc '# SKIP')" = ${#chosen[@]} ]
}

# none_fails COMMAND... - it prints TAP, where tests are skipped, and none fails
none_fails() {
	"$@" >"$tmp/tap" || return
	cat "$tmp/tap"
	grep -q 'ok .*# SKIP' "$tmp/tap" && ! grep -q 'not ok' "$tmp/tap"
}

# A compiler that finds neither liburing nor a C library of 32 bits, and is quick.
poor_compiler() {
	cat >"$tmp/cc" <<-'END'
		#!/bin/sh
		case " $* " in
		*" -luring "*|*" -m32 "*) exit 1 ;;
		esac
		while [ "$1" != -o ]; do shift; done
		touch "$2"
	END
	chmod +x "$tmp/cc"
}

# With such a compiler, and further variables
build_poor() {
	make -C "$top/selftests/uapi" CC="$tmp/cc" OUTPUT="$tmp/poor" \
		KSELFTEST="$source/tools/testing/selftests" "$@"
}

poor_is_told() {
	build_poor >"$tmp/poor.log" 2>&1 || return
	cat "$tmp/poor.log"
	[ -e "$tmp/poor/abi" ] && ! [ -e "$tmp/poor/uring" ] &&
		[ "$(grep -c '^uapi: left out: .*Debian: ' "$tmp/poor.log")" = 2 ]
}

poor_is_refused() {
	! build_poor FORCE_TARGETS=1
}

test_left_out() {
	poor_compiler
	try "what wants a library that is missing is left out, and that is said" poor_is_told
	try "or is an error, if everything is wanted" poor_is_refused
}

test_own() {
	mkdir -p "$top/build"
	try "installs, out of a kernel's tree" flock -o "$top/build/lock" \
		make -j"$(nproc)" -C "$top/selftests" install INSTALL_PATH="$own" FORCE_TARGETS=1
	try "names its tests" list_is_whole "$own"
}

# The folder as it is in the kernel's tree, and the header where a driver's would be. Of
# the tree, what makes headers and kselftests.
plant() {
	mkdir "$tree"
	tar -c -C "$source" Makefile scripts arch/x86/{Makefile,entry/syscalls,include/uapi,tools} \
		include/uapi tools/include usr/include tools/testing/selftests/kselftest \
		tools/testing/selftests/{Makefile,lib.mk,kselftest.h,kselftest_harness.h,run_kselftest.sh} \
		tools/testing/selftests/kselftest_install.sh tools/testing/selftests/gen_kselftest_tar.sh |
		tar -x -C "$tree"
	cp "$top/uapi/linux/twheel.h" "$tree/include/uapi/linux"
	cp -r "$top/selftests" "$tree/tools/testing/selftests/twheel"
}

# First elsewhere: a kernel is not built elsewhere once something was built in its tree.
test_in_tree() {
	plant
	try "headers in a folder of their own" make -C "$tree" O="$out" headers
	try "builds, installs and packs in a kernel's tree, with O=" "${selftests[@]}" O="$out" gen_tar
	mkdir "$tmp/linux-kselftest"
	try "unpacks" tar -x -f "$out/kselftest/kselftest_install/kselftest-packages/kselftest.tar.gz" \
		-C "$tmp/linux-kselftest"
	try "names its tests in a kernel's tree" list_is_whole "$tmp/linux-kselftest"

	try "headers" make -C "$tree" headers
	try "builds in a kernel's tree" "${selftests[@]}"
	if [ -e /dev/twheel ]; then
		skip "run_tests without the device skips all" "there is a device"
		return
	fi
	try "run_tests without the device skips all" all_skipped "${selftests[@]}" run_tests
}

# section NAME - a part of what the guest said, with its exit status
section() {
	sed -n "/^begin $1\$/,/^end /p" "$tmp/guest"
	return "$(sed -n "/^begin $1\$/,/^end /s/^end //p" "$tmp/guest")"
}

# The guest has busybox for a shell and all its tools. The module is put where
# reload.sh does not find it.
run_guest() {
	local status=0

	"$vm/run.sh" -n -m 2048 -t 600 -d "$1" -- "
		section() {
			echo begin \$1
			(cd /twheel/${1##*/} && \$2)
			echo end \$?
		}
		mv /lib/modules/twheel.ko /tmp
		section without ./run_kselftest.sh
		insmod /tmp/twheel.ko
		section with '$run_chosen'
		ln -sf /proc/self/fd/1 /dev/stdout
		ordinary() {
			su nobody -s /bin/sh -c '$run_forbidden'
		}
		section ordinary ordinary
		rmmod twheel" >"$tmp/guest" 2>&1 || status=$?
	cat "$tmp/guest"
	return "$status"
}

# test_in_guest FOLDER
test_in_guest() {
	try "a guest runs the installed folder" run_guest "$1"
	try "all is skipped in a guest without the module" all_skipped section without
	try "the chosen tests pass in a guest with it" all_chosen_pass section with
	try "and none fails for an ordinary user" none_fails section ordinary
}

case ${1-} in
own)	test_left_out
	test_own
	test_in_guest "$own" ;;
tree)	test_in_tree
	test_in_guest "$tmp/linux-kselftest" ;;
*)	usage ;;
esac
finish
