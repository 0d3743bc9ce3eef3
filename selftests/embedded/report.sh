#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# report.sh - what the tests of uapi and lib and the examples have said on each backend
#
# usage: report.sh [folder]	(build/log, where make check leaves what suites say)
#
# The columns are passed/failed/skipped of each program or script, from the last runs of the
# suites uapi, lib, examples and embedded. If one ran several times (under a sanitizer, or on
# this machine and in a guest) the best run counts, and any failure. A dash says that there is no
# such program, or that its suite did not run.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
logs=${1:-$here/../../build/log}

# counts SUITE - "program passed/failed/skipped" for each program of its log
counts() {
	[ -e "$logs/check.$1" ] || return 0
	# ktap-run.sh announces a program as a subtest, host.mk by a comment of one word.
	awk '
	function finish() {
		if (passed + failed + skipped) {
			if (!(name in most) || passed > most[name])
				most[name] = passed
			if (!(name in least) || skipped < least[name])
				least[name] = skipped
			failures[name] += failed
		}
		passed = failed = skipped = 0
	}
	function begin(program) {
		finish()
		name = program
		sub(/^embedded\//, "", name)
		sub(/^(uapi|lib)-/, substr(name, 1, index(name, "-") - 1) "/", name)
		sub(/\.sh$/, "", name)
	}
	$1 == "#" && $2 == "Subtest:" { begin($NF); next }
	/^ *# [a-z][a-z0-9_\/-]*$/ { begin($2); next }
	# What is not indented is the result of a whole program.
	/^ +ok [0-9]/ && /# *SKIP/ { skipped++; next }
	/^ +ok [0-9]/ { passed++ }
	/^ +not ok [0-9]/ { failed++ }
	END {
		finish()
		for (name in most)
			print name, most[name] "/" failures[name] "/" least[name]
	}' "$logs/check.$1"
}

printf '%-24s %16s %16s\n' program device embedded
awk '
FILENAME == ARGV[1] { device[$1] = $2; names[$1] }
FILENAME == ARGV[2] { embedded[$1] = $2; names[$1] }
END {
	for (name in names)
		printf "%-24s %16s %16s\n", name, name in device ? device[name] : "-",
			name in embedded ? embedded[name] : "-"
}' <(counts uapi; counts lib; counts examples) <(counts embedded) | LC_ALL=C sort
