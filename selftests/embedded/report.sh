#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# report.sh - what the tests of uapi and lib have said on each backend, by program
#
# usage: report.sh [folder]	(build/log, where make check leaves what suites say)
#
# The columns are passed/failed/skipped, from the last runs of the suites uapi, lib and
# embedded. A dash says that there is no such program, or that its suite did not run.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
logs=${1:-$here/../../build/log}

# counts SUITE - "program passed/failed/skipped" for each program of its log, the first time
counts() {
	[ -e "$logs/check.$1" ] || return 0
	# Guests name a subtest, host.mk prints a comment.
	awk '
	$1 == "#" && $2 == "Subtest:" { name = $3 }
	$1 == "#" && NF == 2 && $2 ~ /^[a-z_-]+$/ { name = $2 }
	$1 == "#" && $2 == "Totals:" {
		sub("^embedded/", "", name)
		sub("-", "/", name)
		if (name in seen)
			next
		seen[name] = 1
		split($3, p, ":"); split($4, f, ":"); split($7, s, ":")
		print name, p[2] "/" f[2] "/" s[2]
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
}' <(counts uapi; counts lib) <(counts embedded) | sort
