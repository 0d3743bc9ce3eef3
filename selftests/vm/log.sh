# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # common.sh sets $vm
#
# log.sh - what in a kernel's log means that something is wrong

complaint_patterns=(
	'WARNING: ' 'BUG: ' 'kernel BUG at' 'Oops' 'Kernel panic' 'Call Trace:'
	'general protection' 'unable to handle' 'double fault' 'stack guard page'
	# locking
	'possible recursive locking' 'possible circular locking' 'inconsistent lock'
	'suspicious RCU usage' 'sleeping function called' 'scheduling while atomic'
	'INFO: trying to register non-static key' 'DEBUG_LOCKS_WARN' 'held lock freed'
	'turning off the locking correctness validator'
	# hangs
	'INFO: task .* blocked' 'soft lockup' 'hard LOCKUP' 'detected .*stall'
	'self-detected stall' 'kthread starved'
	# memory
	'KASAN' 'KCSAN' 'KFENCE' 'KMSAN' 'UBSAN' 'ODEBUG' 'kmemleak: [0-9]+ new'
	'(list|slab|Slab|hlist|Object).* corrupt' 'list_(add|del)' 'refcount_t: '
	'Objects remaining' 'Poison overwritten' 'Redzone' 'bad page' 'Bad page'
	'usercopy: ' 'Out of memory' 'page allocation failure'
	# init, of a detector that gave up
	'twheel-vm: .* is off'
)

# of_run LOG - print it from where the module came in: a boot has complaints of
# its own on some machines, none of our making. A serial line ends lines in its way.
of_run() {
	if grep -q 'twheel-vm: init' "$1"; then
		sed '0,/twheel-vm: init/d; s/\r$//' "$1"
	else
		sed 's/\r$//' "$1"
	fi
}

# other_races LOG - how many data races were reported that do not name the module
other_races() {
	of_run "$1" | awk -v count=1 -f "$vm/races.awk"
}

# no_complaints - take from a log what comes with a trace and is none. Some of the kernel's code
# reports that an allocation has failed: not a complaint once it is on purpose, as selftests/faults
# announces. The leaks that follow from it are judged there. And the kernel watches CPUs without a
# tick from afar, and warns when it came to that late itself, as it does where all of a guest
# stands still for three seconds.
no_complaints() {
	awk '/twheel-vm: faults/ { on = 1 }
		/twheel-vm: leaks/ { judged = /begin/ }
		judged && /kmemleak: [0-9]+ new suspected/ { next }
		on && /vmalloc error: |percpu: allocation failed/ { due = 1 }
		on && /kmem_cache_create.*error -(12|22)/ { due = 1 }
		on && /WARNING: .* event_define_fields/ { due = 1; next }
		/WARNING: .* sched_tick_remote/ { due = 1; next }
		due && /Call Trace:/ { due = 0; next }
		{ print }'
}

# complaints LOG - print what is wrong there, with its surroundings; false if
# there is nothing
complaints() {
	local IFS='|'
	local pattern="${complaint_patterns[*]}" log line

	log=$(of_run "$1" | no_complaints | awk -f "$vm/races.awk")
	line=$(grep -nE -m1 "$pattern" <<<"$log" | cut -d: -f1) || return 1
	sed -n "$((line > 3 ? line - 3 : 1)),$((line + 50))p" <<<"$log"
}

# has_complaints LOG - as complaints, but says it to whoever looks at the run
has_complaints() {
	local found
	found=$(complaints "$1") || return
	say "the kernel complained:"
	echo "$found" >&2
}

# last_words LOG LINES WHAT - how a run has ended, and so many lines of what the kernel said last
last_words() {
	say "$3; the kernel's last words:"
	tail -n "$2" "$1" >&2
}
