#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# stalls.sh - run stalls with the kernel's watchdogs at their most watchful
#
# A CPU on which nothing else could run for six seconds is reported, and so is
# an RCU grace period that took five.

echo 3 >/proc/sys/kernel/watchdog_thresh
echo 5 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
exec "$(dirname "$0")/stalls" "$@"
