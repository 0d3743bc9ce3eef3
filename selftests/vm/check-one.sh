#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check-one.sh - run one suite, keep what it says, and judge it: suites.mk runs this for check.sh
#
# usage: [LOGS=folder] check-one.sh [-v] N [KERNEL/]SUITE
#	 [LOGS=folder] check-one.sh [-v] N -k KERNEL...
#
#	-v  print all that the suite has said when it has ended
#	-k  make these kernels, one after another, and say which of them cannot be had
#
# N is how many suites there are. In LOGS, check.SUITE takes what the suite says, check.SUITE.blame
# what is wrong with that, and check.results a line for each that has ended: its name, how much
# passed, failed and was skipped, its seconds and those of CPU time. For a kernel that cannot be
# had there is a line as for a failure, and suites that need it are not run.

. "$(dirname "$0")/common.sh"
. "$vm/suite.sh"

# timed LOG COMMAND... - its exit status as $status, and how long it took as $took and $cpu
timed() {
	local log=$1 user system TIMEFORMAT='%0R %0U %0S'
	shift
	status=0
	{ time "$@" </dev/null >"$log" 2>&1; } 2>"$log.time" || status=$?
	read -r took user system <"$log.time"
	rm "$log.time"
	cpu=$((user + system))
}

# A kernel that cannot be had is one failure, told once, and not one of each test.
make_kernels() {
	local kernel

	for kernel; do
		log=$logs/check.kernel.$kernel
		# Guests first, but suites wait for this, too.
		KERNEL=$kernel timed "$log" nice -n 3 "$vm/kernel.sh"
		[ "$status" != 0 ] || continue
		echo "kernel.$kernel 0 1 0 $took $cpu" >>"$results"
		# In one piece: suites begin meanwhile.
		echo "# FAILED: there is no $kernel kernel, so what needs it is not run:
$(sed 's/^/#   /' "$log")"
	done
}

run_suite() {
	if [ "$name" != "$suite" ]; then
		export KERNEL=${name%/*}
		"$vm/build.sh" || return
	fi
	"$vm/suite.sh" "$suite"
}

check() {
	local kernel log p f s lock

	log=$(log_of "$name") took=$(last "$name")
	for kernel in $(needs "$name"); do
		if grep -q "^kernel.$kernel " "$results"; then
			echo "$name not run: there is no $kernel kernel" >>"$results"
			return
		fi
	done
	echo "# suite $name begins${took:+; it took $took s the last time}"
	timed "$log" run_suite
	read -r p f s < <(awk -f "$top/selftests/ktap.awk" "$log" 2>"$log.blame")
	# 1 is what failed tests give; all else happened around them.
	case $status,$f in
	0,*|1,[1-9]*) ;;
	*)	echo "suite ended with status $status" >>"$log.blame"
		f=$((f + 1)) ;;
	esac
	# Two suites may end at once.
	exec {lock}>>"$results"
	flock "$lock"
	[ "$verbose" = 0 ] || cat "$log"
	sed "s|^|# $name: |" "$log.blame"
	echo "$name $p $f $s $took $cpu" >>"$results"
	echo "# suite $name: $p passed, $f failed, $s skipped ($took s);" \
		"$(grep -vc '^kernel\.' "$results") of $total done"
}

# What this is told is not for what suites start.
unset MAKEFLAGS MFLAGS MAKELEVEL LOGS
verbose=0
[ "${1-}" != -v ] || { verbose=1 && shift; }
[ $# -gt 1 ] || usage
total=$1 results=$logs/check.results
if [ "$2" = -k ]; then
	make_kernels "${@:3}"
else
	name=$2 suite=${2#*/}
	check
fi
