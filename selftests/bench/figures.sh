#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# figures.sh - what the device costs: memory, interrupts, time that locks are held
#
# Measured from outside, with the kernel's own tracers, in a guest or on a
# machine with the module loaded. Needs root.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
trace=/sys/kernel/tracing
[ -e $trace/current_tracer ] || mount -t tracefs tracefs $trace

# interrupts COMMAND... - how often the hrtimers of wheels fire while it runs
interrupts() {
	echo 0 >$trace/tracing_on
	echo nop >$trace/current_tracer
	echo 16384 >$trace/buffer_size_kb
	echo twheel_base_fire >$trace/set_ftrace_filter
	echo function >$trace/current_tracer
	echo >$trace/trace
	echo 1 >$trace/tracing_on
	"$@"
	echo 0 >$trace/tracing_on
	grep -v '^#' $trace/trace | grep -c twheel_base_fire || :
}

sync
echo 3 >/proc/sys/vm/drop_caches
"$here/figures" memory 1000000

for n in 10000 1000000; do
	"$here/figures" due $n
done

last=$(($(grep -c ^processor /proc/cpuinfo) - 1))
for seconds in 10 60; do
	n=$(interrupts taskset "$(printf %x $((1 << last)))" "$here/figures" one $seconds)
	echo "one timer $seconds s ahead on an idle CPU: $n interrupts"
done
echo "nothing armed, 5 s: $(interrupts sleep 5) interrupts"
echo nop >$trace/current_tracer
