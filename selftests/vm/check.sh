#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh - run the suites one after another, and count
#
# usage: [SUITES="wheel uapi kasan/uapi ..."] [CPUS=n] check.sh
#
# KERNEL/SUITE is a suite on that kernel, which kernel.sh knows by this name.
#
# The last line is "N passed, M failed, K skipped"; the exit status is 0 only if
# something passed and nothing failed.

. "$(dirname "$0")/common.sh"

tests=$top/selftests
passed=0 failed=0 skipped=0

# guest SECONDS CPUS RUN-OPTIONS... -- COMMAND... - KTAP of commands in a guest
guest() {
	local limit=$1 cpus=${CPUS:-$2} options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	"$vm/run.sh" -t "$limit" -c "$cpus" "${options[@]}" -- \
		"cd /twheel && ./ktap-run.sh ${*@Q}"
}

# The programs of a suite, as the guest names them
programs() {
	(cd "$build/selftests" && find "$1" -type f -executable | sort)
}

# Core tests in user space, on this machine: no device is needed.
suite_wheel() {
	timeout 1200 "$tests/ktap-run.sh" "make -s -C $tests/wheel check"
}

# The two sides of a lease in all interleavings: no device either.
suite_lease() {
	timeout 1200 "$tests/ktap-run.sh" "make -s -C $tests/lease check"
}

# When cron's lines are due: on this machine, which has the zones of the world.
suite_schedule() {
	timeout 600 "$tests/ktap-run.sh" "make -s -C $tests/schedule check"
}

# Does the harness itself catch what it should?
suite_vm() {
	timeout 1200 "$tests/ktap-run.sh" "$vm/selftest.sh"
}

suite_uapi() {
	local status=0
	mapfile -t list < <(programs uapi)
	guest 900 2 -m 2048 -- "${list[@]}" || status=$?
	# Where the tick turns the wheels: it looks for less, and not as often.
	guest 300 2 -a 'highres=off nohz=off' -- uapi/clocks uapi/rounds || status=$?
	return $status
}

# Is what make install leaves behind of use? On this machine too.
suite_install() {
	timeout 300 "$tests/ktap-run.sh" "$tests/lib/install.sh"
}

# The library, and the programs that the README prints.
suite_lib() {
	mapfile -t list < <(programs lib)
	guest 900 2 -m 2048 -- "${list[@]}" readme/readme.sh
}

suite_stress() {
	mapfile -t list < <(programs stress | grep -v /isolation)
	guest 1800 4 -m 3072 -- "${list[@]}"
}

# Programs that mean harm, as an ordinary user; and one that looks for what leaks of
# the kernel's memory, which is poisoned for it.
suite_hostile() {
	local status=0
	mapfile -t list < <(programs hostile | grep -v '/leak\|/cpu')
	guest 900 2 -m 2048 -- "${list[@]}" || status=$?
	guest 300 2 -a "$poison" -- hostile/leak || status=$?
	return $status
}
poison='init_on_alloc=0 page_poison=1 slub_debug=FZPU'

# What is left of a CPU to others: shares, which want a quiet machine.
suite_shares() {
	guest 1200 2 -m 2048 -- hostile/cpu
}

# What do others notice of 10 million timers? One round here: see make stalls.
suite_stalls() {
	guest $((1200 * ${ROUNDS:-1})) 4 -m 4096 -o 'max_user_timers=20000000' -- \
		"TWHEEL_STALLS_ROUNDS=${ROUNDS:-1} stalls/stalls.sh"
}

# A year, and wheels of several shapes, in virtual time.
suite_time() {
	"$tests/time/build.sh"
	timeout 3600 "$tests/time/geometries.sh"
}

# Are isolated CPUs left alone, whichever way and whichever they are?
suite_isolation() {
	local isolate status=0
	for isolate in 'nohz_full=2,3 isolcpus=2,3' nohz_full=1-3 isolcpus=0,2; do
		echo "# $isolate"
		guest 300 4 -a "$isolate" -- stress/isolation || status=$?
	done
	# All of them are: then each has to look after its own.
	guest 300 4 -a 'nohz_full=1-3 isolcpus=0' -- uapi/arm || status=$?
	return $status
}

suite_examples() {
	mapfile -t list < <(cd "$tests" && find examples -name '*.sh' -executable | sort)
	guest 900 2 -m 3072 -- "${list[@]}"
}

# Everything at once on a debug kernel, and an oracle that accounts for it.
suite_torture() {
	MINUTES=${TORTURE_MINUTES:-5} "$vm/torture.sh"
}

suite_module() {
	guest 600 2 -n -- guest/module.sh
}

# Whatever can fail in the kernel does; only the debug kernel can do that, which is
# slow: its watchdog waits for 120 s. Not with what makes the machine sleep: nothing
# wakes it if that fails half way.
suite_faults() {
	case ${KERNEL-} in
	kasan|gcov) ;;
	*)	local -x KERNEL=kasan
		"$vm/build.sh" ;;
	esac
	mapfile -t list < <(programs uapi | grep -v /suspend)
	guest 2400 2 -m 2048 -a "$patient" -- 'faults/leaks.sh clear' \
		faults/ioctls faults/files faults/rates "faults/programs ${list[*]}" \
		faults/hotplug faults/leaks.sh faults/insmod faults/leaks.sh
}

# Do the debug kernels notice bugs? It builds and boots them whatever KERNEL is.
suite_seeded() {
	timeout 3600 "$tests/ktap-run.sh" "$tests/seeded/seeded.sh"
}

# Three minutes of the interface on a debug kernel, and the wheel.
suite_fuzz() {
	KERNEL=kasan "$tests/ktap-run.sh" "$vm/fuzz.sh -m ${FUZZ_MINUTES:-3}"
}

run_suite() {
	local name=$1 suite=${1#*/} out status=0 counts started=$SECONDS

	if [ "$name" != "$suite" ]; then
		local -x KERNEL=${name%/*}
		"$vm/build.sh"
	fi
	out=$build/log/check.${name//\//.}
	echo "# suite $name"
	"suite_$suite" 2>&1 </dev/null | tee "$out" || status=${PIPESTATUS[0]}
	status=${status:-0}

	read -r -a counts < <(awk -f "$tests/ktap.awk" "$out" 2>"$out.blame")
	# 1 is what failed tests give; all else happened around them.
	case $status,${counts[1]} in
	0,*|1,[1-9]*) ;;
	*)	echo "suite ended with status $status" >>"$out.blame"
		counts[1]=$((counts[1] + 1)) ;;
	esac
	sed "s|^|# $name: |" "$out.blame"
	[ "${counts[1]}" = 0 ] || bad+=("$name")
	echo "# suite $name: ${counts[0]} passed, ${counts[1]} failed, ${counts[2]} skipped ($((SECONDS - started)) s)"

	passed=$((passed + counts[0]))
	failed=$((failed + counts[1]))
	skipped=$((skipped + counts[2]))
}

# What failed, once more: the end of a long log is what is read, and kept.
recap() {
	local name
	for name; do
		echo "# what failed in $name:"
		{ grep -hE 'not ok|[^A-Z]FAIL|Expected|terminated|^ *# .*:[0-9]+:|status|stuck:' \
			"$build/log/check.${name//\//.}" || :
		  cat "$build/log/check.${name//\//.}.blame"; } |
			grep -vE '^ *(ok|# +OK)' | tail -n 60 | sed 's/^/#   /'
	done
}

# What runs by default, in tiers: without a guest, in guests, on kernels built for it.
suites='wheel lease schedule install vm
	uapi lib stress hostile isolation examples module
	time seeded torture fuzz'

bad=()
mkdir -p "$build/log"
for suite in ${SUITES:-$suites}; do
	[ "$(type -t "suite_${suite#*/}")" = function ] || die "no suite $suite"
	run_suite "$suite"
done

recap "${bad[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
