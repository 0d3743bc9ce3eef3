#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# leaks.sh - is there memory that nobody knows of any more? (KTAP)
#
# usage: leaks.sh [clear]	(clear: forget what was there before)

kmemleak=/sys/kernel/debug/kmemleak

# The kernel's own: when it cannot register a slab cache (6.1) these keep the
# name, and what goes with it.
known='sysfs_slab_add'

if [ ! -e $kmemleak ]; then
	echo "1..0 # SKIP no kmemleak in this kernel"
	exit 4
fi

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

echo "TAP version 13"
echo "1..1"
if [ "${1-}" = clear ]; then
	scan && echo clear >$kmemleak
else
	scan && found | sed 's/^/# /' >/tmp/leaks && cat /tmp/leaks && [ ! -s /tmp/leaks ]
fi
status=$?
# What was judged is not found again.
echo clear >$kmemleak
[ $status = 0 ] || printf 'not '
echo "ok 1 kmemleak: ${1:-nothing is lost}"
exit $status
