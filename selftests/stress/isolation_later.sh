#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# isolation_later.sh - a CPU that a cpuset isolates while timers run there (TAP)
#
# Since 7.0 the kernel tells modules of such a CPU. For a machine on which nobody else
# isolates CPUs, such as a guest. It needs root, two CPUs and cgroup2.

. "$(dirname "$0")/tap.sh"

cgroups=/sys/fs/cgroup
ours=$cgroups/twheel-isolation
counters=/sys/kernel/debug/twheel/counters
pid=

# expired HERE|ELSEWHERE - print how many timers expired on the CPU, or on all others
expired() {
	awk -v cpu=$cpu -v where="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "expired") column = i; next }
		($1 == cpu) == (where == "HERE") { sum += $column }
		END { print sum + 0 }' $counters
}

# grows HERE|ELSEWHERE - wait up to ten seconds until that count has grown
grows() {
	begun=$(expired "$1")
	for _ in $(seq 100); do
		[ "$(expired "$1")" -le $((begun + 3)) ] || return 0
		sleep 0.1
	done
	return 1
}

cpu=$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || grep -c ^processor /proc/cpuinfo) - 1))
[ "$(uname -r | cut -d. -f1)" -ge 7 ] || skip_all "no module learns of it before Linux 7.0"
[ "$(id -u)" = 0 ] || skip_all "needs root"
[ "$cpu" -ge 1 ] || skip_all "needs two CPUs"
need_device
grep -qw cpuset $cgroups/cgroup.controllers || skip_all "no cpusets"
mkdir "$ours" || skip_all "no cgroup is to be had"

cleanup() {
	[ -z "$pid" ] || kill "$pid"
	wait
	rmdir "$ours"
}

echo +cpuset >$cgroups/cgroup.subtree_control

echo $cpu >"$ours/cpuset.cpus"
sh -c "echo \$\$ >$ours/cgroup.procs
	exec twheel arm 20ms --every 20ms" >/dev/null &
pid=$!
check "a timer expires where it was armed" grows HERE
echo isolated >"$ours/cpuset.cpus.partition"
check "CPU $cpu can be isolated" test "$(cat "$ours/cpuset.cpus.partition")" = isolated
check "then it expires elsewhere" grows ELSEWHERE
# Timers that were armed before the CPU was isolated have left it by now.
before=$(expired HERE)
grows ELSEWHERE && [ "$(expired HERE)" = "$before" ]
result $? "and on CPU $cpu no more"
echo member >"$ours/cpuset.cpus.partition"
check "isolated no longer it has its timers again" grows HERE
finish
