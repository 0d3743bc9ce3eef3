#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# selftest.sh - does the harness catch what it is there to catch? (KTAP)
#
# usage: selftest.sh [long]
#
# long boots all the guests that go wrong, and not only one.

. "$(dirname "$0")/common.sh"
. "$vm/log.sh"
. "$vm/../tap.sh"

# expect STATUS PATTERN NAME RUN-ARGUMENTS... - how a run ends, and what it says
expect() {
	local want=$1 pattern=$2 name=$3 status=0
	shift 3
	"$vm/run.sh" "$@" >"$tmp/out" 2>&1 || status=$?
	echo "exit status $status, expected $want and '$pattern'" >>"$tmp/out"
	[ "$status" = "$want" ] && grep -q -- "$pattern" <(sed '$d' "$tmp/out")
	result $? "$name"
}

splat() {
	expect 125 "$2" "a guest whose kernel says $2 is a failure" \
		-n -- "insmod /lib/modules/splat.ko fault=$1; true"
}

# count COUNTS NAME KTAP... - what ktap.awk makes of these, with | for the ends of lines
count() {
	local counts=$1 name=$2 IFS=
	shift 2
	printf '%s' "$*" | tr '|' '\n' >"$tmp/ktap"
	awk -f "$top/selftests/ktap.awk" "$tmp/ktap" >"$tmp/out" 2>/dev/null
	grep -qx "$counts" "$tmp/out"
	result $? "$name"
}

# stand_in FOLDER COMMAND LINE... - put a script of these lines there, for a PATH to find first
stand_in() {
	local file=$tmp/$1/$2
	shift 2
	mkdir -p "${file%/*}"
	printf '%s\n' '#!/bin/sh' "$@" >"$file"
	chmod +x "$file"
}

# check_with FOLDER SUITES - run them where its commands are found first. The suites of these
# names that run beside this test have their logs in another folder.
check_with() {
	PATH=$tmp/$1:$PATH SUITES=$2 LOGS=$tmp/logs "$vm/check.sh" 2>&1
}

test_guest() {
	expect 3 '^hello$' "a command with exit status 3" -n -- 'echo hello; exit 3'
	expect 0 '^7489842b' "a megabyte of output arrives whole" -n -- \
		'seq 150000 | md5sum; seq 150000'
	[ "$(md5sum <<<"$(grep '^[0-9]*$' "$tmp/out")")" = "$(seq 150000 | md5sum)" ]
	result $? "and unchanged"
}

test_nets() {
	expect 0 '^hello$' "a command that succeeds" -n -- 'echo hello'
	splat bug 'kernel BUG at'
	splat null 'NULL pointer dereference'
	splat sleep 'scheduling while atomic'
	expect 124 'stuck: task:sleep S: .*nanosleep' "a command that hangs, and where" \
		-n -t 15 -- 'sleep 1000'
	expect 126 'without a verdict' "a guest that ends too early" -n -- \
		'poweroff -f; sleep 10'
	expect 125 'insmod failed' "a module that refuses to load" \
		-o tick_ns=nonsense -- 'true'
	expect 125 'rmmod failed' "a module that does not go" -- \
		'exec 5</dev/twheel; sleep 1000 &'
}

# An emulator that dies the first time.
test_retry() {
	stand_in retry qemu "[ -e '$tmp/died' ] || { touch '$tmp/died'; exit 1; }" \
		'exec qemu-system-x86_64 "$@"'
	QEMU=$tmp/retry/qemu expect 0 'boot retried: 1' "a boot that dies is tried again" \
		-n -- 'true'
	QEMU=/bin/false expect 126 'boot retried: 2' "but not for ever" -n -- 'true'
}

# Reports that the kernels here do not make on demand.
test_log() {
	local line missed=0
	while read -r line; do
		printf '%s\n' "$line" >"$tmp/log"
		complaints "$tmp/log" >/dev/null || {
			echo "not caught: $line"
			missed=1
		}
	done >"$tmp/out" <<-'END'
		WARNING: possible recursive locking detected
		WARNING: possible circular locking dependency detected
		WARNING: suspicious RCU usage
		BUG: KASAN: slab-use-after-free in twheel_pool_free+0x1/0x2 [twheel]
		BUG: KCSAN: data-race in twheel_arm_entries / twheel_expire
		UBSAN: shift-out-of-bounds in module/core/wheel.c:1:2
		BUG: sleeping function called from invalid context at mm/slab.h:1
		kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
		ODEBUG: free active (active state 0) object type: hrtimer
		INFO: task heartbeat:123 blocked for more than 120 seconds.
		rcu: INFO: rcu_preempt self-detected stall on CPU
		rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
		watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [heartbeat:123]
		list_add corruption. prev->next should be next
		list_del corruption, ffff888 is LIST_POISON1
		refcount_t: underflow; use-after-free.
		general protection fault, probably for non-canonical address 0xdead
		Oops: 0002 [#1] PREEMPT SMP NOPTI
		Out of memory: Killed process 350 (heartbeat)
		BUG twheel_timer (Tainted: G OE): Objects remaining in twheel_timer
		turning off the locking correctness validator.
		twheel-vm: lockdep is off
		twheel-vm: kmemleak is off
	END
	result $missed "reports of sanitizers, lockdep and watchdogs are recognised"

	cat >"$tmp/log" <<-'END'
		WARNING: a boot's own
		twheel-vm: init
		twheel: loading out-of-tree module taints kernel.
		twheel: module verification failed: signature and/or required key missing - tainting kernel
		smpboot: CPU 1 is now offline
	END
	[ -z "$(complaints "$tmp/log" | tee "$tmp/out")" ]
	result $? "a clean log is clean"

	cat >"$tmp/trace" <<-'END'
		files: vmalloc error: size 32768, vm_struct allocation failed, mode:0xdc0
		CPU: 1 PID: 53 Comm: files Tainted: G           O       6.1.192-kasan #1
		Call Trace:
	END
	(echo "twheel-vm: faults"; cat "$tmp/trace") >"$tmp/log"
	[ -z "$(complaints "$tmp/log" | tee "$tmp/out")" ]
	result $? "nor is an allocation that fails on purpose a complaint"
	(cat "$tmp/log"; echo "Call Trace:") >"$tmp/log2"
	complaints "$tmp/log2" >"$tmp/out" && complaints "$tmp/trace" >>"$tmp/out"
	result $? "but another trace is, and one that was not announced"

	race foreign "a data race of the kernel's own does not count"
	race ours "one that names the module does" '  twheel_arm_entries+0x1/0x2 [twheel]'
	race any "and so does what comes in between" \
		'BUG: sleeping function called from invalid context'
	race foreign "but not one in memory that is reclaimed for it" \
		'  try_to_free_mem_cgroup_pages+0x1/0x2' '  grow+0x1/0x2 [twheel]'
	race foreign "nor one in an interrupt that found it running" \
		'  asm_sysvec_apic_timer_interrupt+0x1/0x2' '  grow+0x1/0x2 [twheel]'
	race ours "unless an interrupt of its own came in there" \
		'  twheel_turn+0x1/0x2 [twheel]' '  try_to_free_pages+0x1/0x2'
	race ours "or the interrupt is its own" \
		'  kick+0x1/0x2 [twheel]' '  asm_sysvec_call_function_single+0x1/0x2'
	between='queue_work_on / worker_thread' race foreign "a worker may look at what is queued" \
		'  queue_step_works+0x1/0x2 [twheel]'
	race ours "or the other access is its own" '  try_to_free_pages+0x1/0x2' \
		'read to 0xffff888007c1c0e0 of 1 bytes by task 3 on cpu 0:' '  grow+0x1/0x2 [twheel]'
}

# race WHOSE NAME [LINE]... - what a report of KCSAN with these lines in it is: foreign, which is
# counted and no complaint; ours, the reverse; or any complaint
race() {
	local whose=$1 name=$2 others complaint=0
	shift 2
	sed 's/$/\r/' >"$tmp/log" <<-END
		==================================================================
		BUG: KCSAN: data-race in ${between:-enqueue_hrtimer / hrtimer_active}

		write to 0xffff888007c1c0e0 of 1 bytes by interrupt on cpu 1:
		 enqueue_hrtimer+0x75/0x120
		$(printf '%s\n' "$@")
		Reported by Kernel Concurrency Sanitizer on:
		==================================================================
	END
	others=$(other_races "$tmp/log")
	! complaints "$tmp/log" >"$tmp/out" || complaint=1
	case $whose,$others,$complaint in
	foreign,1,0|ours,0,1|any,*,1) result 0 "$name" ;;
	*) result 1 "$name" ;;
	esac
}

test_counting() {
	local head='KTAP version 1|1..1|# Subtest: a|'
	count '2 1 1' "results are counted" \
		"$head  TAP version 13|  1..4|  ok 1 x|  not ok 2 y|  ok 3 z # SKIP because|  ok 4 w|" \
		'not ok 1 a # exit status 1'
	count '1 1 0' "a plan not fulfilled is a failure" \
		"$head  TAP version 13|  1..2|  ok 1 x|ok 1 a"
	count '1 1 0' "a program that fails after its results is a failure" \
		"$head  1..1|  ok 1 x|not ok 1 a # exit status 139"
	count '1 2 0' "a suite that was cut short is a failure" \
		'KTAP version 1|1..2|# Subtest: a|  1..1|  ok 1 x|ok 1 a|# Subtest: b'
	count '0 1 0' "a program without results is a failure" "$head  hello|ok 1 a"
	count '0 1 0' "nothing at all is a failure" ''
	count '0 1 0' "a suite of no programs is a failure" 'KTAP version 1|1..0'
	count '0 0 1' "a program that skips is a skip" \
		"$head  1..0 # SKIP no device|ok 1 a # SKIP"
}

# What the suites take is installed once, before the first of them begins, and nothing else is. No
# package is here, and none to be had.
test_packages() {
	stand_in apt dpkg-query 'exit 1'
	stand_in apt sudo '"$@"'
	stand_in apt apt-get "echo \"\$*\" >>'$tmp/asked'; case \"\$*\" in *install*) exit 1 ;; esac"
	check_with apt 'tool html fuzz bare' >"$tmp/out"
	[ $? = 1 ] && ! grep '^# suite ' "$tmp/out" && [ "$(grep -c install "$tmp/asked")" = 1 ] &&
		grep ' gcc ' "$tmp/asked" | grep python3-sphinx | grep debootstrap >"$tmp/out"
	result $? "all that suites take is installed before they begin"
	rm "$tmp/asked"
	check_with apt tool >"$tmp/out"
	grep -q 'install.* gcc ' "$tmp/asked" && ! grep 'sphinx\|debootstrap' "$tmp/asked"
	result $? "and nothing that they do not take"
}

# What check.sh makes of a kernel that is not kept and cannot be built, as nice will have it here.
test_kernel() {
	local status=0 kept=$tmp/cache/twheel
	mkdir -p "$kept/kernel"
	ln -s "$cache"/{kvm,qemu,source} "$kept"
	ln -s "$cache"/kernel/* "$kept/kernel"
	rm -f "$kept"/kernel/kasan-*
	stand_in kernel dpkg-query 'echo installed'
	stand_in kernel nice 'echo out of paper >&2' 'exit 1'
	XDG_CACHE_HOME=$tmp/cache check_with kernel 'seeded torture fuzz' >"$tmp/out" || status=$?
	[ "$status" = 1 ] && [ "$(grep -c 'FAILED: there is no kasan kernel' "$tmp/out")" = 1 ] &&
		[ "$(grep -c 'out of paper' "$tmp/out")" = 1 ] &&
		[ "$(tail -n 1 "$tmp/out")" = "0 passed, 1 failed, 0 skipped" ]
	result $? "a kernel that cannot be built is one failure, told once"
	XDG_CACHE_HOME=$tmp/cache check_with kernel \
		'kasan/fuzz fuzz seeded seeded-long kasan/seeded-long fuzz' >"$tmp/out"
	[ "$(head -n 1 "$tmp/out")" = \
		"# 4 suites, 1 at a time: kasan/fuzz fuzz seeded-long kasan/seeded-long" ]
	result $? "a suite is run once, and not beside one that it is within" "$tmp/out"
}

# What is said once more of a test that failed: no skipped one hides it, and what those that
# passed have said does not come with it. What the suite takes is said to be here.
test_recap() {
	stand_in recap dpkg-query 'echo installed'
	stand_in recap apt-get 'exit 1'
	stand_in recap timeout "printf '%s\n' 1..2 '# a: all is well' 'ok 1 a'" \
		"printf '%s\n' 'the kernel complained:' 'BUG: no ink' but{1..40}" \
		"printf '%s\n' '# b: out of paper' 'not ok 2 b'" 'exit 1'
	check_with recap deb | sed '1,/what failed in deb/d' >"$tmp/out"
	[ "$(sed -n '1,2p; /out of/,/not ok/p' "$tmp/out")" = '#   the kernel complained:
#   BUG: no ink
#   # b: out of paper
#   not ok 2 b' ] && [ "$(tail -n 1 "$tmp/out")" = "1 passed, 1 failed, 0 skipped" ]
	result $? "a test that failed is told once more, with its reason" "$tmp/out"
}

case ${1-} in
""|long) ;;
*)	usage ;;
esac
set +e
test_guest
splat warn 'WARNING: '
test_counting
test_log
test_packages
test_kernel
test_recap
if [ "${1-}" = long ]; then
	test_nets
	test_retry
fi
finish
