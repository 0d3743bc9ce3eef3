#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh - run the suites one after another, and count
#
# usage: [SUITES="wheel uapi ..."] [CPUS=n] check.sh
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

# Does the harness itself catch what it should?
suite_vm() {
	timeout 600 "$tests/ktap-run.sh" "$vm/selftest.sh"
}

suite_uapi() {
	mapfile -t list < <(programs uapi)
	guest 900 2 -m 2048 -- "${list[@]}"
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
	mapfile -t list < <(programs stress)
	guest 1200 4 -m 3072 -- "${list[@]}"
}

suite_examples() {
	mapfile -t list < <(cd "$tests" && find examples -name '*.sh' -executable | sort)
	guest 900 2 -m 3072 -- "${list[@]}"
}

suite_module() {
	guest 600 2 -n -- guest/module.sh
}

run_suite() {
	local name=$1 out status counts started=$SECONDS

	out=$build/log/check.$name
	echo "# suite $name"
	"suite_$name" 2>&1 </dev/null | tee "$out" || status=${PIPESTATUS[0]}
	status=${status:-0}

	read -r -a counts < <(awk -f "$tests/ktap.awk" "$out" 2>"$out.blame")
	# 1 is what failed tests give; all else happened around them.
	case $status,${counts[1]} in
	0,*|1,[1-9]*) ;;
	*)	echo "suite ended with status $status" >>"$out.blame"
		counts[1]=$((counts[1] + 1)) ;;
	esac
	sed "s/^/# $name: /" "$out.blame"
	echo "# suite $name: ${counts[0]} passed, ${counts[1]} failed, ${counts[2]} skipped ($((SECONDS - started)) s)"

	passed=$((passed + counts[0]))
	failed=$((failed + counts[1]))
	skipped=$((skipped + counts[2]))
}

mkdir -p "$build/log"
for suite in ${SUITES:-wheel install vm uapi lib stress examples module}; do
	[ "$(type -t "suite_$suite")" = function ] || die "no suite $suite"
	run_suite "$suite"
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
