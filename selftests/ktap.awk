# SPDX-License-Identifier: GPL-2.0-only
#
# ktap.awk - count the results in KTAP, distrustfully
#
# Prints "passed failed skipped". What counts is the innermost result lines. A
# failure is added, and named on stderr, for whatever shows that results are
# missing: a plan that is not fulfilled, a subtest without a plan, a subtest that
# failed although none of its results did, no results at all.

function blame(what)
{
	failed++
	print "ktap: " what > "/dev/stderr"
}

# The end of the document at a depth, and of those inside it.
function finish(depth, name)
{
	if (depth in plan) {
		if (plan[depth] != seen[depth])
			blame(name ": " plan[depth] " results planned, " \
			      seen[depth] + 0 " seen")
	} else if (seen[depth]) {
		blame(name ": results without a plan")
	}
	if ((depth + 1) in opened)
		finish(depth + 1, name ": a subtest that did not end")
	delete plan[depth]
	delete seen[depth]
	delete opened[depth]
}

{
	sub(/\r$/, "")
	match($0, /^ */)
	depth = int(RLENGTH / 2)
	line = substr($0, RLENGTH + 1)
}

line ~ /^K?TAP version/ {
	if (depth in opened)
		finish(depth, "a document")
	opened[depth] = 1
}

line ~ /^1\.\.[0-9]+/ {
	# Without a version line between them, two plans are two documents.
	if (depth in plan)
		finish(depth, "a document")
	opened[depth] = 1
	plan[depth] = substr(line, 4) + 0
	if (depth == 0 && !plan[depth] && line !~ /# *SKIP/)
		blame("no test is planned")
}

depth == 0 && line ~ /^# Subtest: / {
	announced = 1
	failed_before = failed
}

line ~ /^(not )?ok([ \t]|$)/ {
	bad = line ~ /^not ok/
	skip = line ~ /# *SKIP/
	opened[depth] = 1
	seen[depth]++
	number = line
	sub(/^(not )?ok[ \t]*/, "", number)
	if (number ~ /^[0-9]/ && number + 0 != seen[depth])
		blame("result " number + 0 " where " seen[depth] " should be: " line)

	inner = depth + 1
	if (inner in opened && (seen[inner] || !skip)) {
		if (!bad && !skip && !seen[inner])
			blame("no results: " line)
		finish(inner, line)
		# Exit status and results must agree.
		if (bad && failed == failed_before)
			blame("no result failed, and yet: " line)
	} else if (depth == 0 && announced && !bad && !skip) {
		blame("no results: " line)
	} else if (bad) {
		failed++
	} else if (skip) {
		skipped++
	} else {
		passed++
	}
	if (depth == 0)
		announced = 0
	delete opened[inner]
	delete plan[inner]
	delete seen[inner]
}

line ~ /^Bail out!/ {
	blame(line)
}

END {
	if (announced)
		blame("a subtest that did not end")
	if (!(0 in opened))
		blame("no results at all")
	finish(0, "the whole")
	print passed + 0, failed + 0, skipped + 0
}
