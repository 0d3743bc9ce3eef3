# SPDX-License-Identifier: GPL-2.0-only
#
# tasks.awk - a line for each CPU and task that a panicking kernel tells of: where it
# is, innermost first. Threads of the kernel that wait for work are left out.

function finish()
{
	if (who)
		print who ":" where
	who = where = ""
}

{
	sub(/\r$/, "")
	sub(/^\[ *[0-9.]+\] /, "")
}

/^NMI backtrace for cpu [0-9]+ skipped/ {
	finish()
	sub(/^NMI backtrace for /, "")
	print
	next
}

/^NMI backtrace for cpu/ {
	finish()
	who = "cpu " $5
	next
}

/^task:/ {
	finish()
	match($0, /state:./)
	state = substr($0, RSTART + 6, 1)
	if ($0 !~ /ppid:[02] / || state ~ /[RD]/)
		who = $1 " " state
	next
}

# What is only a guess has a question mark, and is no symbol here.
/^ [A-Za-z_0-9.]+\+0x/ {
	where = where " " $1
	next
}

# The registers of a program, and what follows the last of the tasks.
/RIP: 0033|<\/TASK>|^ *$/ {
	if (who ~ /^task/)
		finish()
}

END {
	finish()
}
