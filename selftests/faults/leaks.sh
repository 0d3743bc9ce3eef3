#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# leaks.sh - is there memory that nobody knows of any more? (KTAP)
#
# usage: leaks.sh [clear]	(clear: forget what was there before)

. "$(dirname "$0")/tap.sh"

kmemleak=/sys/kernel/debug/kmemleak

# The kernel's own: when it cannot register a slab cache (6.1) these keep the
# name, and what goes with it.
known='sysfs_slab_add'

[ -e "$kmemleak" ] || skip_all "no kmemleak in this kernel"

# What was just allocated, or is freed after a grace period, is none yet: what
# two scans with some seconds between them have found is. A kmemleak that has
# given up, for want of memory, refuses to scan. What it says in the kernel's log
# is for us to judge: see vm/log.sh.
scan() {
	echo "twheel-vm: leaks begin" >/dev/kmsg
	echo scan >$kmemleak && sleep 6 && echo scan >$kmemleak
	scanned=$?
	echo "twheel-vm: leaks end" >/dev/kmsg
	return $scanned
}

# Who has allocated it, a line for each way to get there.
found() {
	awk '/^unreferenced object/ { if (way) print way; way = "-" }
		/\[</ { sub(/\+.*/, "", $2); way = way " " $2 }
		END { if (way) print way }' $kmemleak |
	grep -vwE "$known" | sort | uniq -c
}

if [ "${1-}" = clear ]; then
	scan
else
	scan && found >"$tmp/out" && [ ! -s "$tmp/out" ]
fi
result $? "kmemleak: ${1:-nothing is lost}"
# What was judged is not found again.
echo clear >$kmemleak
finish
