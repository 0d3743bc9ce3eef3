# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# log.sh - what in a kernel's log means that something is wrong

complaint_patterns=(
	'WARNING: ' 'BUG: ' 'kernel BUG at' 'Oops' 'Kernel panic' 'Call Trace:'
	'general protection' 'unable to handle' 'double fault' 'stack guard page'
	# locking
	'possible recursive locking' 'possible circular locking' 'inconsistent lock'
	'suspicious RCU usage' 'sleeping function called' 'scheduling while atomic'
	'INFO: trying to register non-static key' 'DEBUG_LOCKS_WARN' 'held lock freed'
	# hangs
	'INFO: task .* blocked' 'soft lockup' 'hard LOCKUP' 'detected .*stall'
	'self-detected stall' 'kthread starved'
	# memory
	'KASAN' 'KCSAN' 'KFENCE' 'KMSAN' 'UBSAN' 'ODEBUG' 'kmemleak: [0-9]+ new'
	'(list|slab|Slab|hlist|Object).* corrupt' 'list_(add|del)' 'refcount_t: '
	'Objects remaining' 'Poison overwritten' 'Redzone' 'bad page' 'Bad page'
	'usercopy: ' 'Out of memory' 'page allocation failure'
)

# complaints LOG - print what is wrong there, with its surroundings; false if
# there is nothing
complaints() {
	local IFS='|'
	local pattern="${complaint_patterns[*]}" log line

	# A boot has complaints of its own on some machines, none of our making.
	log=$(cat "$1")
	grep -q 'twheel-vm: init' <<<"$log" && log=$(sed '1,/twheel-vm: init/d' <<<"$log")
	line=$(grep -nE -m1 "$pattern" <<<"$log" | cut -d: -f1) || return 1
	sed -n "$((line > 3 ? line - 3 : 1)),$((line + 50))p" <<<"$log"
}
