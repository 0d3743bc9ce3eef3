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
# suite.sh. JOBS (2) suites run at a time, and one more that mostly waits, unless JOBS is
# 1. KERNEL/SUITE is a suite on that kernel, which kernel.sh knows by this name.
# With HOG=1, as root, all CPUs stand still now and then, here and in guests, for up to 60 ms: tests
# that fail then would do so elsewhere, once in many runs. See hog.c; it takes half as long again.
# What a suite says is kept in build/log/check.SUITE, or in that of LOGS, and is printed as it
# is said where there is but one. The debug kernels that suites need are built meanwhile.
#
# The last line is "N passed, M failed, K skipped"; the exit status is 0 only if
# something passed and nothing failed.

. "$(dirname "$0")/common.sh"

# How long suites took when they last passed: a line each
times=$cache/times
logs=${LOGS:-$build/log}

# By suite: the kernels it needs and what it does to this machine, when it began, and its
# counts, its seconds and those of CPU time, or why there are none.
declare -A needs=() load=() begun=() result=()
# The sets of packages that the suites take
declare -A sets=()
# By process: the suite that it runs
declare -A running=()
# By kernel that suites need: wanted, or the status of making it; and those told to be missing
declare -A kernels=() missing=()
# The process of hog.c, if there is one
hog=''
# The same kernels, in the order in which they are made
wanted=()
# PROCESS:KERNEL of the one that is being built
building=''
passed=0 failed=0 skipped=0 ended=0
# The CPU time of what has ended so far, in seconds
counted=0

# Where what a suite says is kept
log_of() {
	echo "$logs/check.${1//\//.}"
}

# last NAME - how many seconds it took, or nothing
last() {
	awk -v "name=${KERNEL:-default}:${CPUS:-}:$1" \
		'$1 == name { print $2 }' "$times" 2>/dev/null || :
}

# remember NAME SECONDS
remember() {
	local name=${KERNEL:-default}:${CPUS:-}:$1
	mkdir -p "$cache"
	{ awk -v "name=$name" '$1 != name' "$times" 2>/dev/null || :
	  echo "$name $2"; } >"$times.$$"
	mv "$times.$$" "$times"
}

# The CPU time, in seconds, of all processes that have ended, those of guests included
cpu_seconds() {
	local stat
	read -r -a stat </proc/$$/stat
	echo $(((stat[15] + stat[16]) / $(getconf CLK_TCK)))
}

# judge STATUS SUITE - its counts; what is wrong with what it said goes to a file
judge() {
	local log counts

	log=$(log_of "$2")
	read -r -a counts < <(awk -f "$top/selftests/ktap.awk" "$log" 2>"$log.blame")
	# 1 is what failed tests give; all else happened around them.
	case $1,${counts[1]} in
	0,*|1,[1-9]*) ;;
	*)	echo "suite ended with status $1" >>"$log.blame"
		counts[1]=$((counts[1] + 1)) ;;
	esac
	echo "${counts[@]}"
}

# finish STATUS SUITE
finish() {
	local name=$2 took p f s cpu

	cpu=$(cpu_seconds)
	took=$((SECONDS - begun[$name]))
	read -r p f s < <(judge "$1" "$name")
	[ "$verbose" = 0 ] || cat "$(log_of "$name")"
	sed "s|^|# $name: |" "$(log_of "$name").blame"
	result[$name]="$p $f $s $took $((cpu - counted))"
	counted=$cpu
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) ended=$((ended + 1))
	[ "$f" != 0 ] || remember "$name" "$took"
	echo "# suite $name: $p passed, $f failed, $s skipped ($took s); $ended of ${#suites[@]} done"
}

# A kernel that cannot be had is one failure, told once, and not one of each test.
without_kernel() {
	result[$1]="not run: there is no $2 kernel"
	ended=$((ended + 1))
	[ -z "${missing[$2]-}" ] || return 0
	missing[$2]=1
	failed=$((failed + 1))
	echo "# FAILED: there is no $2 kernel, so what needs it is not run:"
	sed 's/^/#   /' "$logs/check.kernel.$2"
}

# Which kernel a suite lacks, be it only as yet, as $kernel. False if it lacks none.
lacks_kernel() {
	for kernel in ${needs[$1]}; do
		[ "${kernels[$kernel]}" = 0 ] || return 0
	done
	return 1
}

# Can a suite run beside those that do? A kernel that is being built is a busy one.
has_room() {
	local name idle=0 busy=${building:+1}

	if [ ${#running[@]} = 0 ]; then
		[ "${load[$1]}" != alone ] || [ -z "$building" ]
		return
	fi
	[ "$jobs" -gt 1 ] || return 1
	for name in "${running[@]}"; do
		case ${load[$name]} in
		alone)	return 1 ;;
		idle)	idle=$((idle + 1)) ;;
		busy)	busy=$((busy + 1)) ;;
		esac
	done
	case ${load[$1]} in
	alone)	return 1 ;;
	idle)	[ "$idle" = 0 ] ;;
	busy)	[ "${busy:-0}" -lt "$jobs" ] ;;
	esac
}

# The first suite that can run now, as $next.
find_next() {
	local kernel

	for next in "${suites[@]}"; do
		[ -z "${begun[$next]-}${result[$next]-}" ] || continue
		if lacks_kernel "$next"; then
			[ "${kernels[$kernel]}" = wanted ] || without_kernel "$next" "$kernel"
		elif has_room "$next"; then
			return 0
		fi
	done
	return 1
}

# The next kernel, if none is being built.
build_kernel() {
	local kernel
	[ -z "$building" ] || return 0
	for kernel in "${wanted[@]}"; do
		[ "${kernels[$kernel]}" = wanted ] || continue
		# Guests first, but suites wait for this, too.
		KERNEL=$kernel setsid nice -n 3 "$vm/kernel.sh" \
			</dev/null >"$logs/check.kernel.$kernel" 2>&1 &
		building=$!:$kernel
		return
	done
}

begin() {
	local name=$1 suite=${1#*/} took

	begun[$name]=$SECONDS
	took=$(last "$name")
	echo "# suite ${#begun[@]} of ${#suites[@]}: $name${took:+, which took $took s the last time}"
	if [ "$name" != "$suite" ]; then
		local -x KERNEL=${name%/*}
		"$vm/build.sh"
	fi
	# The suite may begin later than who is to follow what it says.
	: >"$(log_of "$name")"
	setsid "$vm/suite.sh" run "$suite" </dev/null >"$(log_of "$name")" 2>&1 &
	running[$!]=$name
	[ ${#suites[@]} != 1 ] || tail -n +1 -f --pid=$! "$(log_of "$name")" &
}

run_suites() {
	local pid status next name

	while :; do
		build_kernel
		while find_next; do
			begin "$next"
		done
		[ ${#running[@]} != 0 ] || [ -n "$building" ] || break
		status=0
		# shellcheck disable=SC2086 # there may be none
		wait -n -p pid "${!running[@]}" ${building%:*} || status=$?
		if [ "$pid" = "${building%:*}" ]; then
			kernels[${building#*:}]=$status
			building=''
			counted=$(cpu_seconds)
		else
			name=${running[$pid]}
			unset "running[$pid]"
			finish "$status" "$name"
		fi
	done
}

# Here, and by run.sh in guests
begin_hog() {
	[ -n "${HOG-}" ] || return 0
	[ "$(id -u)" = 0 ] || die "HOG is for root"
	gcc -O2 -Wall -D_GNU_SOURCE -static -pthread -o "$build/hog" "$vm/hog.c"
	"$build/hog" &
	hog=$!
	disown
}

end_hog() {
	[ -z "$hog" ] || kill "$hog"
}

# All that was begun is in sessions of its own.
stop() {
	local stat line pid sessions=" ${!running[*]} ${building%:*} "

	trap - EXIT
	end_hog
	for stat in /proc/[0-9]*/stat; do
		read -r line <"$stat" || continue
		pid=${line%% *}
		# Behind the name: state, parent, group, session
		# shellcheck disable=SC2086 # these are words
		set -- ${line##*) }
		[[ "$sessions" != *" $4 "* ]] || kill "$pid"
	done 2>/dev/null
}

# What failed, once more: the end of a long log is what is read, and kept. A test says before
# its result why that is so, and a kernel that complains begins with what matters.
recap() {
	local name
	for name; do
		echo "# what failed in $name (all that it said is in $(log_of "$name")):"
		{ awk '
			/^ *ok/			{ said = 0; next }
			/^ *not ok/		{ for (i = said > 15 ? said - 14 : 1; i <= said; i++) print line[i]
						  print; said = 0; next }
			/stuck:|^Bail out!/	{ print; next }
			/the kernel complained:/ { more = 15 }
			more			{ more--; print; next }
						{ line[++said] = $0 }' "$(log_of "$name")"
		  cat "$(log_of "$name").blame"; } | tail -n 60 | sed 's/^/#   /'
	done
}

table() {
	local name counts
	printf '# %-16s %7s %7s %7s %8s %8s\n' suite passed failed skipped seconds 'of CPU'
	for name in "${suites[@]}"; do
		case ${result[$name]-not run} in
		not*)	printf '# %-16s %s\n' "$name" "${result[$name]-not run}" ;;
		*)	read -r -a counts <<<"${result[$name]}"
			printf '# %-16s %7s %7s %7s %8s %8s\n' "$name" "${counts[@]}" ;;
		esac
	done
}

# Words are names of suites, or of several. A suite that is within another one is not run
# beside it.
find_suites() {
	local word name suite kernel set within list all=()

	for word; do
		case $word in
		check|long)	read -r -a list < <("$vm/suite.sh" list "$word") ;;
		# What was built for one series of kernels is in the way of another.
		*/*)		list=("$word") jobs=1 ;;
		*)		list=("$word") ;;
		esac
		all+=("${list[@]}")
	done
	for name in "${all[@]}"; do
		[ -z "${needs[$name]+known}" ] || continue
		suite=${name#*/}
		within=$("$vm/suite.sh" within "$suite")
		# On the same kernel
		[ -z "$within" ] || [[ " ${all[*]} " != *" ${name%"$suite"}$within "* ]] || continue
		suites+=("$name")
		needs[$name]=$("$vm/suite.sh" needs "$suite")
		load[$name]=$("$vm/suite.sh" load "$suite")
		for set in $("$vm/suite.sh" sets "$suite"); do
			sets[$set]=1
		done
		for kernel in ${needs[$name]}; do
			[ -n "${kernels[$kernel]-}" ] || wanted+=("$kernel")
			kernels[$kernel]=wanted
		done
	done
}

case ${1-} in
"")	verbose=0 ;;
-v)	verbose=1 ;;
*)	usage ;;
esac
jobs=${JOBS:-2}
mkdir -p "$logs"

suites=()
read -r -a words <<<"${SUITES:-check}"
find_suites "${words[@]}"

echo "# ${#suites[@]} suites, $jobs at a time: ${suites[*]}"

unset MAKEFLAGS MFLAGS
"$vm/setup.sh" "${!sets[@]}"
"$vm/build.sh"
counted=$(cpu_seconds)
begin_hog
trap stop EXIT
trap 'exit 130' INT TERM HUP
run_suites
trap - EXIT
end_hog
wait

bad=()
for name in "${suites[@]}"; do
	[[ "${result[$name]-}" =~ ^([0-9]+" 0 "|not) ]] || bad+=("$name")
done
recap "${bad[@]}"
table
echo "# $((SECONDS / 60)) min $((SECONDS % 60)) s, with $(($(cpu_seconds) / 60)) min of CPU time"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
