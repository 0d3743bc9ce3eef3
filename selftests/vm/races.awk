# SPDX-License-Identifier: GPL-2.0-only
#
# races.awk - of a kernel's log, leave out the data races that do not name the module
#
# The kernel has data races of its own, many of them known. A report of KCSAN that
# does not name the module loses its headline. All else stays: lines of others may
# have come in between. With -v count=1 only the number of such reports is printed.

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
	ours = 0
	next
}

race && !/==========$/ {
	lines = lines "\n" $0
	ours += /\[twheel\]/
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
