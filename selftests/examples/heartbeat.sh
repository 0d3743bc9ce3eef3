#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# heartbeat.sh - are the right drivers declared offline, and each of them once?

. "$(dirname "$0")/programs.sh"
need_wheel

# column N - store a column of the comparison in $tmp/out, with the names of the rows
column() {
	awk -v n="$1" '{
		name = substr($0, 1, 22)
		sub(/ *$/, "", name)
		$0 = substr($0, 24)
		printf "%-22s %s\n", name, $n
	}' "$tmp/table" >"$tmp/out"
}

# verdict NAME DEAD - check the figures of a run in which this many drivers fall silent
verdict() {
	check "$1: exit status 0" test "$status" = 0
	check "$1: none wrongly expired" test "$(value 'wrongly expired')" = 0
	check "$1: none missed" test "$(value missed)" = 0
	check "$1: none declared twice" test "$(value 'declared twice')" = 0
	# On a slow machine reports are late, so a few more drivers are rightly declared:
	# some that never fell silent, and some that would have later.
	check "$1: as many expired as fell silent" test "$(value expired)" -ge "$2" \
		-a "$(value expired)" -le $(($2 + $(value '  late reports')))
	# Drivers that learnt this from a lease that was over, or from a push, are among those.
	check "$1: whoever was too late has expired" \
		test "$(value 'lost to expiry')" -le "$(value '  late reports')"
}

# counter NAME - print a counter of the module, added up over all CPUs
counter() {
	awk -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
		{ sum += $c } END { print sum }' /sys/kernel/debug/twheel/counters
}

drivers=100000 dead=5000 timeout=6s duration=8s short=3s long=9s
if embedded; then
	# make demo TARGET=embedded has a hundred thousand.
	drivers=10000 dead=500 timeout=2s duration=3s short=2s long=6s
	counter() {
		echo 0
	}
fi

# There are that many timers, and at most eight open files.
run sh -c 'ulimit -n 8 && exec "$@"' sh heartbeat --compare --drivers $drivers \
	--timeout $timeout --duration $duration --dead $dead --quiet
cp "$tmp/out" "$tmp/table"
show "$tmp/table"
n=0
for form in handles keys leases; do
	n=$((n + 1))
	column $n
	check "$form, $drivers drivers: the column is there" said "^  *$form\$"
	verdict "$form, $drivers drivers" $dead
	check "$form: reports have pushed timers back" test "$(value 'pushed back')" -gt $drivers
	device_check "its timers are memory of the program" "$form: memory was measured" \
		test "$(value '  kernel')" -gt 0
	case $form in
	leases)	check "leases: by no system call" test "$(value '    to push back')" = 0 ;;
	*)	check "$form: by system calls" test "$(value '    to push back')" -gt 0 ;;
	esac
done

forms='handles keys leases keyed-leases pushed pushed-keys'

# options FORM - print heartbeat's options for this form
options() {
	case $1 in
	keys)		echo --keyed ;;
	leases)		echo --lease ;;
	keyed-leases)	echo --keyed --lease ;;
	pushed)		echo --push ;;
	pushed-keys)	echo --push --keyed ;;
	esac
}

# These run one by one, since the module counts the calls of all processes.
for form in $forms; do
	before=$(counter rearmed)
	# shellcheck disable=SC2046 # options are words
	run heartbeat $(options "$form") --drivers 2000 --timeout 600ms --duration $short --silent 1 \
		--batch 7 --seed 2 --quiet
	rearmed=$(($(counter rearmed) - before))
	show "$tmp/out"
	verdict "$form: everyone falls silent, short timeouts" 2000
	# The counters of the module have to confirm the system calls in the table.
	case $form in
	*leases) device_check "$counters" "$form: nothing was re-armed" test "$rearmed" = 0 ;;
	*)	device_check "$counters" "$form: every report was a re-arm" \
			test "$rearmed" = "$(value 'pushed back')" ;;
	esac
	case $form in
	pushed*) check "$form: by write()" test "$(value '  write')" -gt 0 \
			-a "$(value '    to push back')" = 0 ;;
	esac
done

# to_the_end NAME OPTION... - make a run, whose results `ended` looks at later
to_the_end() {
	log=$tmp/run.$1
	shift
	heartbeat "$@" --quiet >"$log" 2>&1
	echo $? >"$log.status"
}

# stopped NAME OPTION... - the same, but stop it for longer than a driver may be silent
#
# With batches of 32 it reads 512 records at most before its next reports. So when it goes on,
# about half of the 1000 timers have expired and are not read yet when their drivers report. On a
# busy machine it may begin so late that it is stopped before its timers are armed: in one try,
# but not in each.
stopped() {
	log=$tmp/run.$1
	tries='1 2 3'
	case $1 in
	*leases) ! embedded || tries=1 ;;
	*pushed-keys) tries=1 ;;
	esac
	shift
	for _ in $tries; do
		heartbeat "$@" --quiet >"$log" 2>&1 &
		pid=$!
		sleep 1
		kill -STOP $pid
		sleep 3
		kill -CONT $pid
		wait $pid
		echo $? >"$log.status"
		case "$(cat "$log.status") $(value '  withdrawn' "$log") $(value 'lost to expiry' "$log")" in
		"0 0 0") ;;
		*)	return ;;
		esac
	done
}

# outcome NAME - get the output of that run in $tmp/out, and its exit status
outcome() {
	cp "$tmp/run.$1" "$tmp/out"
	status=$(cat "$tmp/run.$1.status")
	show "$tmp/out"
}

# These runs mostly wait, so all run at the same time.
for form in $forms; do
	# shellcheck disable=SC2046 # options are words
	set -- $(options "$form")
	to_the_end "nobody.$form" "$@" --drivers 10000 --timeout 3s --duration 4s --dead 0 &
	to_the_end "single.$form" "$@" --drivers 1 --timeout 100ms --duration 1s --dead 1 --batch 1 &
	stopped "late.$form" "$@" --drivers 1000 --timeout 1s --duration $long --dead 0 --batch 32 &
done
wait
for form in $forms; do
	outcome "nobody.$form"
	verdict "$form: nobody falls silent" 0
	outcome "single.$form"
	verdict "$form: a single driver" 1
	# All timers had expired when the reports went on, so a driver could only be saved
	# by a re-arm.
	outcome "late.$form"
	verdict "$form: all reports too late" 0
	case $form in
	*leases) device_check "$until_looked" "$form: compare-and-swaps were lost" \
			test "$(value 'lost to expiry')" -gt 0 ;;
	pushed)	check "$form: an expired timer is not pushed back" \
			test "$(value 'lost to expiry')" -gt 0 ;;
	# Nobody is told that a record was withdrawn.
	pushed-keys) ;;
	*)	check "$form: records were withdrawn" test "$(value '  withdrawn')" -gt 0 ;;
	esac
done

# A comparison that is ended half way through must not report a failure, either.
heartbeat --compare --drivers 1000 --timeout 1h --dead 500 >"$tmp/out" 2>&1 &
pid=$!
await waits
sleep 2
kill -TERM $pid
wait $pid
status=$?
check "interrupted: exit status 0" test "$status" = 0
check "interrupted: none missed" test "$(value missed)" = 0
check "interrupted: the form under way is the last" said '^  *handles$'

run heartbeat --timeout 5 --duration 5
check "a run too short to tell is refused" test "$status" = 2
run heartbeat --timeout 9s --drivers 1000 --rate 10
check "a rate too low is refused" test "$status" = 2
run heartbeat --silent 0.5 --dead 5
check "two numbers of silent drivers are refused" test "$status" = 2
run heartbeat --compare --lease
check "comparing one form is refused" test "$status" = 2
run heartbeat --push --lease
check "writing leases is refused" test "$status" = 2
run heartbeat --drivers 1000000000
check "more drivers than the limit allows" test "$status" = 1
hint='see max_fd_timers'
! embedded || hint='allowed: 4% of memory'
check "are refused with a hint" said "$hint"

finish
