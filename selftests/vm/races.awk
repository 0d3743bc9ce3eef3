# SPDX-License-Identifier: GPL-2.0-only
#
# races.awk - of a kernel's log, leave out the data races that do not name the module
#
# The kernel has data races of its own, many of them known. A report of KCSAN that
# does not name the module loses its headline. All else stays: lines of others may
# have come in between. With -v count=1 only the number of such reports is printed.
#
# What the kernel does for the module may well race by the module's fault, so the module may be
# anywhere in a stack. But reclaiming memory is about what others have allocated: if an allocation
# comes to that, its callers do not count. Nor does what an interrupt has found running. And a worker
# may look at a work while it is queued, by whomever: workqueues see to that themselves.

function flush()
{
	others += !ours
	if (!count)
		print ours ? race lines : substr(lines, 2)
	race = ""
}

/BUG: KCSAN: / {
	race = $0
	lines = ""
	ours = apart = 0
	workqueue = / (queue_work_on \/ worker_thread|worker_thread \/ queue_work_on)\r?$/
	next
}

race && !/==========$/ {
	lines = lines "\n" $0
	# A stack begins. Callers come after what they call.
	if (/ by (task|interrupt)/)
		apart = 0
	else if (/ try_to_free_(pages|mem_cgroup_pages)\+/ || / asm_(sysvec_|common_interrupt\+)/)
		apart = 1
	ours += /\[twheel\]/ && !apart && !workqueue
	next
}

race {
	flush()
}

!count

END {
	# One that was cut short may have named it.
	if (race) {
		ours = 1
		flush()
	}
	if (count)
		print others + 0
}
