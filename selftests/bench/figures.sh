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

# traced TRACER FUNCTION COMMAND... - leaves the trace in $trace/trace
traced() {
	echo 0 >$trace/tracing_on
	echo nop >$trace/current_tracer
	echo 16384 >$trace/buffer_size_kb
	echo "$2" >$trace/set_ftrace_filter
	[ "$1" != function_graph ] || echo "$2" >$trace/set_graph_function
	echo "$1" >$trace/current_tracer
	echo >$trace/trace
	echo 1 >$trace/tracing_on
	shift 2
	"$@"
	echo 0 >$trace/tracing_on
}

# Longest and median run of the traced function, in us.
durations() {
	sed -n 's/^ *[0-9]*) *[^0-9 ]* *\([0-9.]*\) us .*/\1/p' $trace/trace | sort -n |
		awk '{ d[NR] = $1 }
		     END { if (!NR) exit 1
			   printf "%d holds, median %.0f us, longest %.0f us\n",
				  NR, d[int((NR + 1) / 2)], d[NR] }'
}

sync
echo 3 >/proc/sys/vm/drop_caches
"$here/figures" memory 1000000

for n in 10000 1000000; do
	traced function_graph expire_batch "$here/figures" due $n
	echo "  the base's lock was held: $(durations)"
done

last=$(($(grep -c ^processor /proc/cpuinfo) - 1))
for seconds in 10 60; do
	traced function twheel_base_fire taskset "$(printf %x $((1 << last)))" \
		"$here/figures" one $seconds
	echo "one timer $seconds s ahead on an idle CPU:" \
		"$(grep -c twheel_base_fire $trace/trace) interrupts"
done
traced function twheel_base_fire sleep 5
echo "nothing armed, 5 s: $(grep -v '^#' $trace/trace | grep -c twheel_base_fire) interrupts"
echo nop >$trace/current_tracer
