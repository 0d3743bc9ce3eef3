#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# isolation_later.sh - a CPU that a cpuset isolates while timers run there (TAP)
#
# Kernels tell modules of such a CPU since 7.0. For a machine whose CPUs nobody else
# isolates: a guest. It needs root, two CPUs and cgroup2.

cgroups=/sys/fs/cgroup
ours=$cgroups/twheel-isolation
counters=/sys/kernel/debug/twheel/counters
n=0
failed=0
pid=

skip() {
	echo "TAP version 13"
	echo "1..0 # SKIP $1"
	exit 4
}

# result STATUS DESCRIPTION
result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		failed=1
		echo "not ok $n $2"
	fi
}

# expired HERE|ELSEWHERE - on the CPU, or on all others
expired() {
	awk -v cpu=$cpu -v where="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "expired") column = i; next }
		($1 == cpu) == (where == "HERE") { sum += $column }
		END { print sum + 0 }' $counters
}

# grows HERE|ELSEWHERE - within ten seconds
grows() {
	begun=$(expired "$1")
	for _ in $(seq 100); do
		[ "$(expired "$1")" -le $((begun + 3)) ] || return 0
		usleep 100000
	done
	return 1
}

finish() {
	[ -z "$pid" ] || kill "$pid"
	wait
	rmdir "$ours"
}

cpu=$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || grep -c ^processor /proc/cpuinfo) - 1))
[ "$(uname -r | cut -d. -f1)" -ge 7 ] || skip "no module learns of it before Linux 7.0"
[ "$(id -u)" = 0 ] || skip "needs root"
[ $cpu -ge 1 ] || skip "needs two CPUs"
[ -e /dev/twheel ] || skip "no /dev/twheel: is the module loaded?"
grep -qw cpuset $cgroups/cgroup.controllers || skip "no cpusets"
mkdir "$ours" || skip "no cgroup is to be had"
trap finish EXIT
echo +cpuset >$cgroups/cgroup.subtree_control

echo "TAP version 13"
echo "1..5"
echo $cpu >"$ours"/cpuset.cpus
sh -c "echo \$\$ >$ours/cgroup.procs
	exec twheel arm 20ms --every 20ms" >/dev/null &
pid=$!
grows HERE
result $? "a timer expires where it was armed"
echo isolated >"$ours"/cpuset.cpus.partition
[ "$(cat "$ours"/cpuset.cpus.partition)" = isolated ]
result $? "CPU $cpu can be isolated"
grows ELSEWHERE
result $? "then it expires elsewhere"
# What was armed while it was not is gone from there by now.
before=$(expired HERE)
grows ELSEWHERE && [ "$(expired HERE)" = "$before" ]
result $? "and on CPU $cpu no more"
echo member >"$ours"/cpuset.cpus.partition
grows HERE
result $? "isolated no longer it has its timers again"
exit $failed
