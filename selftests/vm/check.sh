#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh - set up, build, run suites of tests, several at a time, and count: `make check`
#
# usage: [SUITES="check uapi kasan/uapi ..."] [CPUS=n] [JOBS=n] [LOGS=folder] [HOG=1] check.sh [-v]
#
#	-v  print all that each suite says when it has ended
#
# "check" and "long" stand for the suites of make check and of make check-long: see
# suite.sh. JOBS (2) suites run at a time, and two more that mostly wait, unless JOBS is
# 1: see suites.mk. KERNEL/SUITE is a suite on that kernel, which kernel.sh knows by this name.
# With HOG=1, as root, all CPUs stand still now and then, here and in guests, for up to 60 ms: tests
# that fail then would do so elsewhere, once in many runs. See hog.c; it takes half as long again.
# What a suite says is kept in build/log/check.SUITE, or in that of LOGS, and is printed as it
# is said where there is but one. The debug kernels that suites need are built meanwhile.
#
# The last line is "N passed, M failed, K skipped"; the exit status is 0 only if
# something passed and nothing failed.

. "$(dirname "$0")/common.sh"
. "$vm/suite.sh"

# Words are names of suites, or of several. A suite that is within another one is not run
# beside it.
find_suites() {
	local word name suite longer named all=()

	for word; do
		case $word in
		check|long)	read -r -a named < <(list "$word") ;;
		# What was built for one series of kernels is in the way of another.
		*/*)		named=("$word") jobs=1 ;;
		*)		named=("$word") ;;
		esac
		all+=("${named[@]}")
	done
	for name in "${all[@]}"; do
		suite=${name#*/}
		is_suite "$suite"
		longer=$(within "$suite")
		# On the same kernel
		[[ -n "$longer" && " ${all[*]} " = *" ${name%"$suite"}$longer "* ]] ||
			[[ " ${suites[*]} " = *" $name "* ]] || suites+=("$name")
	done
}

# Those that took longest the last time begin first, after those of which nothing is known. With
# short ones at the end all places are taken to the last.
sort_suites() {
	local name took
	mapfile -t suites < <(for name in "${suites[@]}"; do
		took=$(last "$name")
		echo "${took:-99999} $name"
	done | sort -s -k1,1rn | cut -d ' ' -f 2)
}

# The kernels that suites need and that are not kept, each of them once, and who waits for them
find_kernels() {
	local name kernel

	for name in "${suites[@]}"; do
		for kernel in $(needs "$name"); do
			KERNEL=$kernel "$vm/kernel.sh" --kept && continue
			[[ " ${kernels[*]} " = *" $kernel "* ]] || kernels+=("$kernel")
			waiting+=("$name")
		done
	done
}

# run CLASS JOBS SUITE... - have make run these, in a session of its own, and in the background
run() {
	[ $# -gt 2 ] || return 0
	: >"$(log_of "$3")"
	setsid make -s -k "-j$2" -f "$vm/suites.mk" "$1" "$1=${*:3}" one="${one[*]}" \
		kernels="${kernels[*]}" waiting="${waiting[*]}" </dev/null &
	sessions+=($!)
	[ ${#suites[@]} != 1 ] || tail -n +1 -f "--pid=$!" "$(log_of "$3")" &
}

run_suites() {
	local name busy=() idle=() alone=()

	for name in "${suites[@]}"; do
		case $jobs,$(load "${name#*/}") in
		1,*|*,busy)	busy+=("$name") ;;
		*,idle)		idle+=("$name") ;;
		*,alone)	alone+=("$name") ;;
		esac
	done
	run busy "$jobs" "${busy[@]}"
	run idle 2 "${idle[@]}"
	wait
	sessions=()
	run alone 1 "${alone[@]}"
	wait
	sessions=()
}

# Here, and by run.sh in guests
begin_hog() {
	[ "$(id -u)" = 0 ] || die "HOG is for root"
	gcc -O2 -Wall -D_GNU_SOURCE -static -pthread -o "$build/hog" "$vm/hog.c"
	"$build/hog" &
	hog=$!
	disown
}

# Makes first, so that nothing is begun any more; then all that is in their sessions.
stop() {
	local stat line
	kill -KILL "${sessions[@]}" ${hog:+"$hog"} || :
	for stat in /proc/[0-9]*/stat; do
		read -r line <"$stat" || continue
		# Behind the name: state, parent, group, session
		# shellcheck disable=SC2086 # these are words
		set -- ${line%% *} ${line##*) }
		[[ " ${sessions[*]} " != *" $5 "* ]] || kill "$1" || :
	done
} 2>/dev/null

# What failed, once more: the end of a long log is what is read, and kept. A test says before
# its result why that is so, and a kernel that complains begins with what matters.
recap() {
	local name log
	for name; do
		log=$(log_of "$name")
		echo "# what failed in $name (all that it said is in $log):"
		{ awk '
			/^ *ok/			{ said = 0; next }
			/^ *not ok/		{ for (i = said > 15 ? said - 14 : 1; i <= said; i++) print line[i]
						  print; said = 0; next }
			/stuck:|^Bail out!/	{ print; next }
			/the kernel complained:/ { more = 15 }
			more			{ more--; print; next }
						{ line[++said] = $0 }' "$log"
		  cat "$log.blame"; } | tail -n 60 | sed 's/^/#   /'
	done
}

# A line for each suite, and for each kernel that could not be had
results() {
	local name
	grep '^kernel\.' "$results" || :
	for name in "${suites[@]}"; do
		grep "^$name " "$results" || echo "$name not run"
	done
}

# What is not run for no reason that was told is a failure.
table() {
	awk -v "seconds=$SECONDS" '
		function row(name, p, f, s, took, cpu) {
			printf "# %-16s %7s %7s %7s %8s %8s\n", name, p, f, s, took, cpu
		}
		BEGIN { row("suite", "passed", "failed", "skipped", "seconds", "of CPU") }
		$2 == "not" {
			printf "# %-16s %s\n", $1, substr($0, length($1) + 2)
			failed += NF == 2
			next
		}
		{ row($1, $2, $3, $4, $5, $6) }
		{ passed += $2; failed += $3; skipped += $4; cpu += $6 }
		END {
			printf "# %d min %d s, with %d min of CPU time\n",
			       seconds / 60, seconds % 60, cpu / 60
			printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
			exit failed || !passed
		}'
}

# How long those took that passed
remember() {
	{ cat "$times" 2>/dev/null || :
	  awk -v "key=$key" '$3 == 0 { print key $1, $5 }' "$results"; } |
		awk '{ took[$1] = $2 } END { for (name in took) print name, took[name] }' >"$times.$$"
	mv "$times.$$" "$times"
}

export LOGS=$logs
jobs=${JOBS:-2} results=$logs/check.results
suites=() kernels=() waiting=() sessions=() hog=''
case ${1-} in
"")	one=("$vm/check-one.sh") ;;
-v)	one=("$vm/check-one.sh" -v) ;;
*)	usage ;;
esac

read -r -a words <<<"${SUITES:-check}"
find_suites "${words[@]}"
[ "$jobs" = 1 ] || sort_suites
echo "# ${#suites[@]} suites, $jobs at a time: ${suites[*]}"

unset MAKEFLAGS MFLAGS
mapfile -t sets < <(for name in "${suites[@]}"; do sets "${name#*/}"; done | tr ' ' '\n' | sort -u)
"$vm/setup.sh" "${sets[@]}"
"$vm/build.sh"
find_kernels
mkdir -p "$logs"
: >"$results"
one+=("${#suites[@]}")
trap stop EXIT
trap 'exit 130' INT TERM HUP
[ -z "${HOG-}" ] || begin_hog
run_suites

mapfile -t bad < <(awk '$2 != "not" && $3 && !/^kernel\./ { print $1 }' "$results")
recap "${bad[@]}"
remember
results | table
